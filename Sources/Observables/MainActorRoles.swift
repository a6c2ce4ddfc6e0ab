// Observers that conform to a role only on the main actor. Elsewhere a cast can't tell such an observer from one
// that doesn't conform at all. So the first cast that fails is tried again on the main actor, and the answer is
// kept for the class and the role.

import Synchronization

/// Tells observers without a context whose conformance is isolated to the main actor.
enum MainActorRoles {
    private struct Pair: Hashable {
        let observer: ObjectIdentifier
        let role: ObjectIdentifier
    }

    private static let known = Mutex<[Pair: Bool]>([:])

    /// Tells an observer that isn't a `Role` here on the main actor, if it is one there.
    static func tell<Role>(
        _ registration: Registration<any SendableObject>,
        _ observer: any SendableObject,
        _ body: @escaping @Sendable (Role) -> Void
    ) {
        let pair = Pair(observer: ObjectIdentifier(type(of: observer)), role: ObjectIdentifier(Role.self))
        if known.withLock({ $0[pair] }) == false { return }
        ObserverContext.mainActor {
            let observer = registration.live
            let role = observer as? Role
            if observer != nil { known.withLock { $0[pair] = role != nil } }
            if let role { body(role) }
        }
    }
}

extension ObserverRegistry<any SendableObject> {
    /// Calls `body` with every observer that is a `Role`, in its context.
    ///
    /// - Parameter otherwise: makes the call to an observer without a context; nil means at once.
    func notify<Role>(
        key: Key = nil,
        _ body: @escaping @Sendable (Role) -> Void,
        otherwise: ((@escaping ObserverContext.Call) -> Void)? = nil
    ) {
        forEach(key: key) { registration, _ in
            let call: ObserverContext.Call = {
                guard let observer = registration.live else { return }
                if let role = observer as? Role {
                    body(role)
                } else {
                    MainActorRoles.tell(registration, observer, body)
                }
            }
            if let context = registration.context {
                context(call)
            } else if let otherwise {
                otherwise(call)
            } else {
                call()
            }
        }
        noteChange(key: key)
    }
}
