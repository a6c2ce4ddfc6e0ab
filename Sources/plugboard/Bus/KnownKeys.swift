// Which keys a subscription has told of. After a break that the broker can't bridge it tells
// what is there; what was there before and isn't told again is gone, and nobody else says so.

import PlugboardWire

/// The keys of a subscription that began with the current values.
struct KnownKeys {
    /// Each with whether it was told since the last break.
    private var keys: [String: Bool] = [:]
    private var isCatchingUp = true

    /// A broker agreed anew. Where it goes on, what it doesn't tell is as it was.
    mutating func begin(isResumed: Bool) {
        isCatchingUp = true
        keys = keys.mapValues { _ in isResumed }
    }

    /// Takes note of an event; false where it tells the end of a key that nobody was told of.
    mutating func isNews(_ event: String, key: String?) -> Bool {
        guard let key else { return true }
        switch event {
        case "update": keys[key] = true
        case "delete", "leave": return keys.removeValue(forKey: key) != nil || !isCatchingUp
        default: break
        }
        return true
    }

    /// All that is there has been told: the keys that went without a word, in order.
    mutating func synced() -> [String] {
        isCatchingUp = false
        let gone = keys.filter { !$0.value }.map(\.key)
        for key in gone { keys[key] = nil }
        return gone.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
