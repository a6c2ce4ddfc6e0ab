// Observers that conform to a role only on an actor. Elsewhere a cast can't tell such an observer from one
// that doesn't conform at all. So a cast that fails is tried again on the actor on which the observer was
// added, on the main actor, and where the class is known to conform. A class that is found to be an `Observer`
// nowhere is reported once. Invariant: all calls of an observer go through the same contexts one after the
// other, so that they stay in order.

import Synchronization

/// Tells observers without a context whose conformance is isolated to an actor.
enum IsolatedRoles {
    private struct Pair: Hashable {
        /// The observer's class.
        let observer: ObjectIdentifier
        /// Nil for any role.
        let role: ObjectIdentifier?
    }

    /// Where a class conforms to a role.
    private enum Place {
        case on(ObserverContext)
        /// Neither on the main actor nor on an actor where the class has been found to conform to anything.
        case nowhere
        /// The same, and no role of the class has been found at all, which is reported.
        case unreached
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
        switch place(of: pair) {
        case .nowhere: return .filtered
        case .unreached: return .dropped
        case .on, nil: break
        }
        tryOnMain(registration, pair, body)
        return .queued
    }

    /// What becomes of an observer that isn't a `Role` where it has to be one: in its context, or on the thread
    /// of its observable. If it is no observer there at all, it is reported.
    static func pass(over observer: AnyObject) -> ObserverOutcome {
        if conforms(observer, to: (any Observer).self) { return .filtered }
        UnreachedObserver.report(type(of: observer))
        return .dropped
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
        guard let context = context(of: pair) else { return noteNowhere(registration, pair) }
        context {
            if !call(registration, pair, context, body) { noteNowhere(registration, pair) }
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
        guard let role = observer as? Role else {
            if conforms(observer, to: (any Observer).self) { noteObserver(pair, context) }
            return false
        }
        note(pair, context)
        body(role)
        return true
    }

    /// Whether an object conforms to a role here. A cast to a role that the compiler knows would not look at
    /// where it is, so this must stay generic.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private static func conforms<Role>(_ observer: AnyObject, to role: Role.Type) -> Bool {
        observer as? Role != nil
    }

    private static func place(of pair: Pair) -> Place? { known.withLock { $0[pair] } }

    private static func isNowhere(_ pair: Pair) -> Bool {
        switch place(of: pair) {
        case .nowhere, .unreached: true
        case .on, nil: false
        }
    }

    private static func context(of pair: Pair) -> ObserverContext? {
        let anyRole = Pair(observer: pair.observer, role: nil)
        let place = known.withLock { $0[pair] ?? $0[anyRole] }
        if case .on(let context) = place { return context }
        return nil
    }

    /// Every role refines `Observer`, and a conformance to it is isolated as that to the role is. So a class
    /// that is an observer nowhere has roles that nobody can call, or none.
    private static func noteNowhere(_ registration: Registration<any SendableObject>, _ pair: Pair) {
        let isUnreached = known.withLock { known in
            guard known[pair] == nil else { return false }
            var isObserver = known[ofObserver(pair)] != nil
            if case .on = known[Pair(observer: pair.observer, role: nil)] { isObserver = true }
            known[pair] = isObserver ? .nowhere : .unreached
            return !isObserver
        }
        if isUnreached, let observer = registration.live { UnreachedObserver.report(type(of: observer)) }
    }

    /// Notes that a class is an observer in a context, though not in this role.
    private static func noteObserver(_ pair: Pair, _ context: ObserverContext) {
        known.withLock { $0[ofObserver(pair)] = .on(context) }
    }

    private static func ofObserver(_ pair: Pair) -> Pair {
        Pair(observer: pair.observer, role: ObjectIdentifier((any Observer).self))
    }

    /// Notes the first context in which a class was found to conform. Its other roles are tried there, too.
    private static func note(_ pair: Pair, _ context: ObserverContext) {
        known.withLock { known in
            if case .on = known[pair] { return }
            known[pair] = .on(context)
            let anyRole = Pair(observer: pair.observer, role: nil)
            if case .on = known[anyRole] { return }
            known[anyRole] = .on(context)
            for other in known.keys where other.observer == pair.observer {
                if case .on = known[other] { continue }
                known[other] = nil
            }
        }
    }
}
