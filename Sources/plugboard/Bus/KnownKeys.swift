// The keys that a subscription knows. If the broker can't resume after a break, it sends the
// current values. A key that was known before and doesn't come again is gone, and only this list
// shows that.

import PlugboardWire

/// The keys of a subscription that began with the current values.
struct KnownKeys {
    /// The keys, each with whether it has come since the last break.
    private var keys: [String: Bool] = [:]
    private var isCatchingUp = true

    /// Call it when a broker has accepted the subscription again. If it resumes, keys that don't come are
    /// unchanged.
    mutating func begin(isResumed: Bool) {
        isCatchingUp = true
        keys = keys.mapValues { _ in isResumed }
    }

    /// Notes an event. Returns false if it is the end of a key that was never shown.
    mutating func isNews(_ event: String, key: String?) -> Bool {
        guard let key else { return true }
        switch event {
        case "update": keys[key] = true
        case "delete", "leave": return keys.removeValue(forKey: key) != nil || !isCatchingUp
        default: break
        }
        return true
    }

    /// Call it when the snapshot is complete. Returns the keys that are gone without a delete, in order.
    mutating func synced() -> [String] {
        isCatchingUp = false
        let gone = keys.filter { !$0.value }.map(\.key)
        for key in gone { keys[key] = nil }
        return gone.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
