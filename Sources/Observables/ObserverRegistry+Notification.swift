// How a notification comes to observers that may be on other threads: at once, in their contexts, or through
// their gates.

import Synchronization

/// A notification of observers by protocol, in a trace.
public struct PublisherNotification: Sendable, Equatable {
    /// The protocol of the observers that were told, such as `StockObserver`.
    public let role: String
    /// The key as a text; nil for a notification without a key.
    public let key: String?
}

extension ObserverRegistry<any SendableObject> {
    /// Calls `body` with every observer that is a `Role`, in its context.
    ///
    /// - Parameter otherwise: makes the call to an observer without a context; nil means at once.
    func notify<Role>(
        key: Key = nil,
        _ body: @escaping @Sendable (Role) -> Void,
        otherwise: ((@escaping ObserverContext.Call) -> ObserverOutcome)? = nil
    ) {
        if isTraced.load(ordering: .acquiring) {
            trace(key: key, body, otherwise: otherwise)
        } else {
            forEach(key: key) { registration, _ in _ = tell(registration, body, otherwise) }
        }
        noteChange(key: key)
    }

    /// Calls `tracer` after each notification with what became of it for each observer.
    func trace(_ tracer: @escaping @Sendable (ObserverTrace<PublisherNotification>) -> Void) -> Disposable {
        let observation = (traces.load() ?? traces.storeIfNil(Notifier())).observe(tracer)
        isTraced.store(true, ordering: .releasing)
        return observation
    }

    /// The same with a trace. It isn't inlined, so that others don't pay for it.
    @inline(never)
    private func trace<Role>(
        key: Key,
        _ body: @escaping @Sendable (Role) -> Void,
        otherwise: ((@escaping ObserverContext.Call) -> ObserverOutcome)?
    ) {
        guard let tracing = traces.load(), tracing.observerCount > 0 else {
            return forEach(key: key) { registration, _ in _ = tell(registration, body, otherwise) }
        }
        var notes = TraceNotes<PublisherNotification>()
        forEach(key: key) { registration, _ in
            notes.note(registration.name, registration.place.phase) {
                tell(registration, body, otherwise)
            }
        }
        let notification = PublisherNotification(role: "\(Role.self)", key: key.map { "\($0)" })
        tracing.send(notes.trace(of: notification))
    }

    private func tell<Role>(
        _ registration: Registration<any SendableObject>,
        _ body: @escaping @Sendable (Role) -> Void,
        _ otherwise: ((@escaping ObserverContext.Call) -> ObserverOutcome)?
    ) -> ObserverOutcome {
        if registration.gate == nil, registration.context == nil, otherwise == nil {
            return Self.call(registration, body)
        }
        let call: ObserverContext.Call = { _ = Self.call(registration, body) }
        if let gate = registration.gate { return gate.take(call) }
        guard let context = registration.context else { return otherwise?(call) ?? .dropped }
        context(call)
        return .queued
    }

    private static func call<Role>(
        _ registration: Registration<any SendableObject>, _ body: @escaping @Sendable (Role) -> Void
    ) -> ObserverOutcome {
        guard let observer = registration.live else { return .dropped }
        guard let role = observer as? Role else {
            return registration.context == nil
                ? IsolatedRoles.tell(registration, observer, body) : IsolatedRoles.pass(over: observer)
        }
        body(role)
        return .sent
    }
}
