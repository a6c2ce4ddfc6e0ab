// Observers that conform to a role only on an actor. Elsewhere a cast can't tell such an observer from one
// that doesn't conform at all. So a cast that fails is tried again on the actor on which the observer was
// added, on the main actor, and where the class is known to conform. Invariant: all calls of an observer go
// through the same contexts one after the other, so that they stay in order.

import Synchronization

/// Tells observers without a context whose conformance is isolated to an actor.
enum IsolatedRoles {
    private struct Pair: Hashable {
        let observer: ObjectIdentifier
        /// Nil for any role.
        let role: ObjectIdentifier?
    }

    /// Where a class conforms to a role.
    private enum Place {
        case on(ObserverContext)
        /// Neither on the main actor nor on an actor where the class has been found to conform to anything.
        case nowhere
    }

    private static let known = Mutex<[Pair: Place]>([:])

    /// Tells an observer that isn't a `Role` here, if it is one on an actor that is known.
    static func tell<Role>(
        _ registration: Registration<any SendableObject>,
        _ observer: any SendableObject,
        _ body: @escaping @Sendable (Role) -> Void
    ) -> ObserverOutcome {
        let pair = Pair(observer: ObjectIdentifier(type(of: observer)), role: ObjectIdentifier(Role.self))
        if let home = registration.home {
            home { if !call(registration, pair, home, body) { tryOnMain(registration, pair, body) } }
            return .queued
        }
        if isNowhere(pair) { return .filtered }
        tryOnMain(registration, pair, body)
        return .queued
    }

    private static func tryOnMain<Role>(
        _ registration: Registration<any SendableObject>,
        _ pair: Pair,
        _ body: @escaping @Sendable (Role) -> Void
    ) {
        if isNowhere(pair) { return }
        ObserverContext.mainActor {
            if !call(registration, pair, .mainActor, body) { tryWhereKnown(registration, pair, body) }
        }
    }

    /// Tries it where others of its class were told.
    private static func tryWhereKnown<Role>(
        _ registration: Registration<any SendableObject>,
        _ pair: Pair,
        _ body: @escaping @Sendable (Role) -> Void
    ) {
        guard let context = context(of: pair) else { return noteNowhere(pair) }
        context {
            if !call(registration, pair, context, body) { noteNowhere(pair) }
        }
    }

    /// Calls the observer if it conforms here, and notes that. Returns false if it doesn't.
    private static func call<Role>(
        _ registration: Registration<any SendableObject>,
        _ pair: Pair,
        _ context: ObserverContext,
        _ body: (Role) -> Void
    ) -> Bool {
        guard let observer = registration.live else { return true }
        guard let role = observer as? Role else { return false }
        note(pair, context)
        body(role)
        return true
    }

    private static func isNowhere(_ pair: Pair) -> Bool {
        if case .nowhere = known.withLock({ $0[pair] }) { true } else { false }
    }

    private static func context(of pair: Pair) -> ObserverContext? {
        let anyRole = Pair(observer: pair.observer, role: nil)
        let place = known.withLock { $0[pair] ?? $0[anyRole] }
        if case .on(let context) = place { return context }
        return nil
    }

    private static func noteNowhere(_ pair: Pair) {
        known.withLock { if $0[pair] == nil { $0[pair] = .nowhere } }
    }

    /// Notes the first context in which a class was found to conform. Its other roles are tried there, too.
    private static func note(_ pair: Pair, _ context: ObserverContext) {
        known.withLock { known in
            if case .on = known[pair] { return }
            known[pair] = .on(context)
            let anyRole = Pair(observer: pair.observer, role: nil)
            guard known[anyRole] == nil else { return }
            known[anyRole] = .on(context)
            for other in known.keys where other.observer == pair.observer {
                if case .nowhere = known[other] { known[other] = nil }
            }
        }
    }
}
