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
    let place: ObserverPlace
    /// Holds calls back; nil if the observer gets them all at once.
    let gate: ObserverGate<ObserverContext.Call>?
    private weak let observer: Object?
    /// The actor on which it was added, if that is known, and not the main actor.
    private weak let actor: (any Actor)?
    private let homeContext = Mutex<ObserverContext?>(nil)
    private let removed = Atomic(false)

    init(
        _ observer: Object,
        context: ObserverContext?,
        options: ObserverOptions = ObserverOptions(),
        isolation: (any Actor)? = nil
    ) {
        id = ObjectIdentifier(observer)
        self.context = context
        self.observer = observer
        actor = isolation === MainActor.shared ? nil : isolation
        place = options.place
        gate = options.needsGate ? ObserverGate(options, context: context) { $0() } : nil
    }

    var name: String { place.name ?? observer.map { "\(type(of: $0))" } ?? "an observer that is gone" }

    /// Where it was added: a context that is made only when it is needed.
    var home: ObserverContext? {
        guard let actor else { return nil }
        return homeContext.withLock { context in
            let home = context ?? .actor(actor)
            context = home
            return home
        }
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
        gate?.shut()
    }

    /// Whether both are for the same living observer. The caller must hold the observer of the other
    /// registration.
    func isSame(as other: Registration) -> Bool {
        id == other.id && !isRemoved && observer != nil
    }
}
