// The base type for a thread that has observers. Its work is in `main()`, or comes by `perform`.
// Its owner is the object that starts it; while it runs it keeps itself alive. Invariant: an
// observer is called in the context that it chose; without one, only on this thread.

import Synchronization

/// A thread of its own with weakly held observers of any protocols. Each observer chooses where it is called.
///
/// ```swift
/// nonisolated protocol ProgressObserver: Observer { func progressed(to percent: Int) }
///
/// final class Import: ObservableThread, @unchecked Sendable {
///     override func main() {
///         for percent in [0, 50, 100] where !isStopped {
///             withObservers { (observer: any ProgressObserver) in observer.progressed(to: percent) }
///         }
///     }
/// }
///
/// final class Log: ProgressObserver, Sendable {
///     func progressed(to percent: Int) { print("imported", percent, "%") }
/// }
///
/// @MainActor final class ProgressBar: @MainActor ProgressObserver {
///     var percent = 0
///     @MainActor func progressed(to percent: Int) { self.percent = percent }
/// }
///
/// func run(_ log: Log, _ bar: ProgressBar) throws {
///     let work = Import()
///     work.add(log)  // on the thread itself
///     work.add(bar, on: .mainActor)  // on the main actor
///     try work.start()
///     work.join()
/// }
/// ```
/// **Contexts.** An observer chooses with `add(_:on:)` where it is called: on an actor, the main
/// actor or a queue. Such calls are made later, in the order of the notifications; the thread
/// doesn't wait for them. The thread checks in an observer's context whether it conforms, so a
/// conformance isolated to an actor (as above) counts there. Observers without a context are called
/// on the thread itself: at once if the thread notifies, and otherwise when it next looks at its
/// work. If such an observer conforms only on the main actor, it is called there.
///
/// **Work.** `main()` does the work from `perform(_:)` until `stop()`, unless a subclass overrides
/// it. The thread does the remaining work before it ends.
///
/// All functions may be called from any thread and from within a notification. Only ``join()`` and
/// ``sleep(for:)`` wait.
nonisolated open class ObservableThread: Publisher, @unchecked Sendable {
    let registry = ObserverRegistry<any SendableObject>()
    private let work = ThreadWork()

    public init() {}

    /// The thread's work. The thread ends when this returns.
    open func main() {
        performUntilStopped()
    }

    /// Starts the thread. Calling it again does nothing.
    ///
    /// - Throws: if the system can't start a thread. You can try again later.
    public final func start() throws(ThreadStartFailure) {
        try work.start { self.main() }
    }

    /// Asks the thread to end by setting ``isStopped``. Doesn't wait for the end.
    public final func stop() {
        work.stop()
    }

    public final var isStopped: Bool { work.isStopped }

    /// Whether the caller is on this thread.
    public final var isCurrent: Bool { work.isCurrent }

    /// Waits until the thread has ended. Returns at once if it isn't running or is the caller.
    public final func join() {
        work.join()
    }

    /// Gives the thread an action, to do after earlier ones.
    ///
    /// - Returns: false if the thread has ended and won't do it. Before the start, the action waits.
    @discardableResult
    public final func perform(_ action: @escaping @Sendable () -> Void) -> Bool {
        work.add(action)
    }

    /// Does the work that the thread has been given so far. A `main()` with work of its own calls it now and
    /// then. On other threads it does nothing.
    public final func performPending() {
        if isCurrent { work.perform() }
    }

    /// Does the work that the thread is given until it is stopped. On other threads it does
    /// nothing.
    public final func performUntilStopped() {
        if isCurrent { work.performUntilStopped() }
    }

    /// Sleeps until the time is over or ``stop()`` is called, whichever comes first. A `main()` that waits
    /// for something regularly uses it instead of the system's sleep, so that the thread ends at once.
    ///
    /// - Returns: false if the thread was stopped, also before the call. Meanwhile no work is done.
    @discardableResult
    public final func sleep(for time: Duration) -> Bool {
        work.sleep(for: time)
    }

    /// How many living observers there are, those of keys not counted.
    public final var observerCount: Int { registry.count() }

    /// Adds observers that are called on the thread itself.
    public final func add(_ observers: [any SendableObject]) {
        registry.add(observers)
    }

    /// Adds observers that are called in a context. To change it, remove them first.
    public final func add(_ observers: [any SendableObject], on context: ObserverContext) {
        registry.add(observers, context: context)
    }

    public final func add(_ observers: any SendableObject..., on context: ObserverContext) {
        add(observers, on: context)
    }

    public final func remove(_ observers: [any SendableObject]) {
        registry.remove(observers)
    }

    /// Calls `body` with every observer that conforms to the protocol its argument names, each in
    /// its context.
    public final func withObservers<Role>(_ body: @escaping @Sendable (Role) -> Void) {
        notify(key: nil, body)
    }

    final func notify<Role>(key: ObservedKey?, _ body: @escaping @Sendable (Role) -> Void) {
        registry.notify(key: key, body) { self.run($0) }
    }

    /// Makes a call on the thread: at once if that is the caller.
    final func run(_ call: @escaping ObserverContext.Call) -> ObserverOutcome {
        guard isCurrent else { return perform(call) ? .queued : .dropped }
        call()
        return .sent
    }
}
