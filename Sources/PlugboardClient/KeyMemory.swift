// Which keys a subscription has been told of, so that those that went while the
// connection was down are missed once it is back.

import Synchronization

/// The keys of one subscription. Only the bus's thread uses it; the lock is for the compiler.
final class KeyMemory: Sendable {
    private struct Keys {
        var known: Set<String> = []
        /// Those of the snapshot that is under way.
        var seen: Set<String> = []
    }

    private let keys = Mutex(Keys())

    /// A snapshot follows; one that was cut short no longer counts.
    func beginSnapshot() {
        keys.withLock { $0.seen = [] }
    }

    /// Takes note of an event. At the end of a snapshot it returns the keys, sorted, that
    /// were known before and are not in it.
    func missing(at event: Event) -> [String] {
        keys.withLock { keys in
            switch event.kind {
            case .update:
                keys.known.insert(event.key)
                if event.isInitial { keys.seen.insert(event.key) }
            case .delete:
                keys.known.remove(event.key)
            case .synced:
                let missing = keys.known.subtracting(keys.seen).sorted()
                keys.known = keys.seen
                keys.seen = []
                return missing
            case .emit, .lagged: break
            }
            return []
        }
    }
}
