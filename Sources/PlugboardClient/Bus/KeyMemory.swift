// What a subscription knows of each key, if it needs that later: to notice keys that were deleted while
// the connection was down, and to apply a difference to the previous value. A key is known here exactly
// as long as its observer believes that it exists.

import PlugboardMemory
import PlugboardWire
import Synchronization

/// The keys of one subscription. Only the bus's thread uses it. The lock is only for the compiler.
final class KeyMemory: Sendable {
    private struct Key {
        /// The number of the connection, from 1, on which the key came last.
        var connection: Int
        /// The last value, with `diff`.
        var value: JSON?
    }

    private struct State {
        var keys: [String: Key] = [:]
        var connection = 0
        /// Whether `synced` is still to come.
        var isCatchingUp = false
        /// The place behind the last event.
        var place = Place.beginning
    }

    private let options: SubscribeOptions
    private let state = Mutex(State())

    /// Nil if a subscription with these options needs no memory.
    init?(_ options: SubscribeOptions) {
        guard options.diff || options.noticesDeletes && options.initial else { return nil }
        self.options = options
    }

    /// Begins a new connection. Missed events follow, or a snapshot if the subscription asked for one.
    func begin(isResumed: Bool) {
        state.withLock { state in
            state.isCatchingUp = options.initial
            state.connection += 1
            if isResumed {
                // Keys that don't come are unchanged.
                state.keys = state.keys.mapValues { Key(connection: state.connection, value: $0.value) }
                return
            }
            // Without a snapshot, nobody knows whether keys are still there.
            if !options.initial { state.keys = [:] }
        }
    }

    /// Notes an event, and completes it from what was remembered. At the end of a snapshot, returns
    /// events that come before this one: one for each key that was known before and didn't come on this
    /// connection. Returns nil if the event doesn't concern this observer, because a key came and went
    /// while the connection was down.
    func complete(_ event: inout Event) -> [Event]? {
        state.withLock { state in
            defer { state.place = event.place }
            switch event.kind {
            case .update: note(&event, &state)
            case .delete, .leave:
                let wasKnown = state.keys.removeValue(forKey: event.key) != nil
                // With `since`, the program may know keys that never came to this subscription.
                return wasKnown || !state.isCatchingUp || options.since != nil ? [] : nil
            case .synced:
                state.isCatchingUp = false
                return missing(at: event.revision, &state)
            case .emit, .lagged: break
            }
            return []
        }
    }

    private func note(_ event: inout Event, _ state: inout State) {
        let before = state.keys[event.key]
        if let patch = event.patch { event.value = before?.value.map { $0.merged(with: patch) } }
        // The broker doesn't know what was known on another connection.
        if let before, before.connection != state.connection, !options.fields.isEmpty {
            event.gone = options.fields.filter { event.fields[$0] == nil }
        }
        let value = options.diff ? event.value : nil
        state.keys[event.key] = Key(connection: state.connection, value: value)
    }

    private func missing(at revision: Int, _ state: inout State) -> [Event] {
        let missing = state.keys.filter { $0.value.connection != state.connection }.keys.sorted()
        for key in missing { state.keys[key] = nil }
        guard options.noticesDeletes else { return [] }
        let kind: Event.Kind = options.where.isEmpty ? .delete : .leave
        return missing.map { .noticed(kind, of: $0, revision: revision, state.place) }
    }
}

extension JSON {
    /// This value with a merge patch (RFC 7396) applied. Parts that the patch doesn't touch keep
    /// their bytes.
    func merged(with patch: JSON) -> JSON {
        var buffer = ByteBuffer()
        MergePatch.apply(patch.bytes.span, to: bytes.span, into: &buffer)
        return JSON(copying: buffer.bytes)
    }
}
