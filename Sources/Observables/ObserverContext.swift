// Where an observer wants to be called. The observer chooses it when it is added to an observable
// thread; the registration keeps it. Invariant: calls through one serial context come one after the
// other, in order.

/// The context in which an observable thread calls an observer: an actor, the main actor or a
/// dispatch queue. See ``ObservableThread``.
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
}
