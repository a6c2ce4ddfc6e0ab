// Where an observer wants to be called. The observer chooses it when it is added to an observable; the
// registration keeps it. Invariant: calls through one serial context come one after the
// other, in order.

import Synchronization

/// The context in which an observable calls an observer: an actor, the main actor or a dispatch queue.
/// Calls in a context are made later; nobody waits for them.
///
/// Calls through one context come in the order of the notifications. Keep the context and use
/// it for several additions if their calls are to share one order.
public struct ObserverContext: Sendable {
    typealias Call = @Sendable () -> Void

    private let schedule: @Sendable (@escaping Call) -> Void

    init(_ schedule: @escaping @Sendable (@escaping Call) -> Void) {
        self.schedule = schedule
    }

    /// On the main actor: within the call `MainActor.assumeIsolated` succeeds.
    public static let mainActor = actor(MainActor.shared)

    /// On this actor: within the call its `assumeIsolated` succeeds.
    ///
    /// The actor is not kept alive, so it may well be the observer itself; once it is gone, its
    /// calls are dropped.
    public static func actor(_ actor: some Actor) -> ObserverContext {
        let (calls, continuation) = AsyncStream<Call>.makeStream()
        let source = StreamSource(continuation)
        Task { [weak actor] in
            for await call in calls {
                guard let actor else { return }
                await run(call, on: actor)
            }
        }
        return ObserverContext { source.continuation.yield($0) }
    }

    func callAsFunction(_ call: @escaping Call) {
        schedule(call)
    }

    private static func run(_ call: Call, on actor: isolated some Actor) {
        call()
    }

    /// Observes with calls in this context. Once the handle is disposed of, no further call begins.
    func observe<Event: Sendable>(
        _ observer: @escaping @Sendable (Event) -> Void,
        by observe: (@escaping @Sendable (Event) -> Void) -> Disposable
    ) -> Disposable {
        let isOver = Flag()
        let observation = observe { event in
            self { if !isOver.isSet { observer(event) } }
        }
        return Disposable {
            isOver.set()
            observation.dispose()
        }
    }
}

/// The main actor as a context of closures that are isolated to it.
public struct MainActorContext: Sendable {
    public static let mainActor = MainActorContext()

    func observe<Event: Sendable>(
        _ observer: @escaping @MainActor (Event) -> Void,
        by observe: (@escaping @Sendable (Event) -> Void) -> Disposable
    ) -> Disposable {
        ObserverContext.mainActor.observe(
            { event in MainActor.assumeIsolated { observer(event) } }, by: observe
        )
    }
}

/// Set once, by any thread.
private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }
}
