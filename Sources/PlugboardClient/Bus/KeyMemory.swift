// What a subscription has been told of each key, where something hangs on it: the keys
// that went while the connection was down are missed once it is back, and a difference is
// put together with the value before it. What always holds: a key is known here exactly
// while its observer believes that it is there.

import PlugboardMemory
import PlugboardWire
import Synchronization

/// The keys of one subscription. Only the bus's thread uses it; the lock is for the compiler.
final class KeyMemory: Sendable {
    private struct Key {
        /// The connection, counted from 1, on which it was told last.
        var connection: Int
        /// Where differences are told.
        var value: JSON?
    }

    private struct State {
        var keys: [String: Key] = [:]
        var connection = 0
        /// Before `synced`.
        var isCatchingUp = false
    }

    private let options: SubscribeOptions
    private let state = Mutex(State())

    /// Nil where a subscription with these options needs none.
    init?(_ options: SubscribeOptions) {
        guard options.diff || options.noticesDeletes && options.initial else { return nil }
        self.options = options
    }

    /// A new connection: what was missed follows, or a snapshot where one is asked for.
    func begin(isResumed: Bool) {
        state.withLock { state in
            state.isCatchingUp = options.initial
            state.connection += 1
            if isResumed {
                // What isn't told is as it was.
                state.keys = state.keys.mapValues { Key(connection: state.connection, value: $0.value) }
                return
            }
            // What is not told anew can't be compared.
            if !options.initial { state.keys = [:] }
        }
    }

    /// Takes note of an event, and adds to it what only the memory knows. At the end of a
    /// snapshot it returns what goes ahead of the event: a notice for each key, in order, that
    /// was known before and wasn't told on this connection. Nil where the event is none for this
    /// observer: a key is gone that came and went while the connection was down.
    func complete(_ event: inout Event) -> [Event]? {
        state.withLock { state in
            switch event.kind {
            case .update: note(&event, &state)
            case .delete, .leave:
                let wasKnown = state.keys.removeValue(forKey: event.key) != nil
                return wasKnown || !state.isCatchingUp ? [] : nil
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
        if before != nil, event.isInitial, !options.fields.isEmpty {
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
        return missing.map { .noticed(kind, of: $0, revision: revision) }
    }
}

extension JSON {
    /// This value with a merge patch (RFC 7396) applied; parts that it leaves alone keep
    /// their bytes.
    func merged(with patch: JSON) -> JSON {
        var buffer = ByteBuffer()
        MergePatch.apply(patch.bytes.span, to: bytes.span, into: &buffer)
        return JSON(copying: buffer.bytes)
    }
}
