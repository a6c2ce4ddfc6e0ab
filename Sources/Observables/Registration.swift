// One observer in one place: as an ordinary observer, or for one key. Its table owns it; a running
// notification holds it, too. Invariants: it doesn't keep the observer alive, and once removed it
// stays removed.

import Synchronization

/// An observer that may be called.
///
/// Unchecked, since the observers of a ``PlainObservable`` aren't Sendable. That class isn't
/// either, so its registrations never leave their thread.
final class Registration<Object: AnyObject>: @unchecked Sendable {
    let id: ObjectIdentifier
    let context: ObserverContext?
    private weak let observer: Object?
    private let removed = Atomic(false)

    init(_ observer: Object, context: ObserverContext?) {
        id = ObjectIdentifier(observer)
        self.context = context
        self.observer = observer
    }

    /// The observer, if it should be called: it is neither removed nor dead. Don't ask for it under
    /// a lock: this may be the last reference, and a deinit may do anything.
    var live: Object? {
        if isRemoved { return nil }
        guard let observer else {
            remove()
            return nil
        }
        return observer
    }

    var isRemoved: Bool { removed.load(ordering: .acquiring) }

    func remove() {
        removed.store(true, ordering: .releasing)
    }

    /// Whether both are for the same living observer. The caller must hold the observer of the other
    /// registration.
    func isSame(as other: Registration) -> Bool {
        id == other.id && !isRemoved && observer != nil
    }
}
