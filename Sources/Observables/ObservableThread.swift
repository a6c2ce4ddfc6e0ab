// The base type for a thread that has observers: its work is in `main()`, or comes by
// `perform`. Owned by whoever starts it; while it runs it keeps itself alive. What always holds:
// an observer is called in the context it chose, and without one on this thread only.

import Synchronization

/// A thread of its own with weakly held observers of any protocols, each called where it wants.
///
/// ```swift
/// protocol ProgressObserver: Observer { func progressed(to percent: Int) }
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
///     func progressed(to percent: Int) { self.percent = percent }
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
/// doesn't wait for them. Whether an observer conforms is asked in its context, so that a
/// conformance isolated to an actor (as above) counts there. Observers without a context are
/// called on the thread itself: at once if that is what notifies, otherwise when it next turns
/// to the work it was given.
///
/// **Work.** `main()` does what `perform(_:)` brings until `stop()`, unless a subclass does
/// something else; what is left then is done before the thread ends.
///
/// All of it may be called from any thread and from within a notification, and nothing but
/// ``join()`` waits.
open class ObservableThread: Publisher, @unchecked Sendable {
    let registry = ObserverRegistry<any SendableObject>()
    private let work = ThreadWork()

    public init() {}

    /// What the thread does; it ends when this returns.
    open func main() {
        performUntilStopped()
    }

    /// Starts the thread. Calling it again does nothing.
    ///
    /// - Throws: if the system has no thread left to give; it can be tried again then.
    public final func start() throws(ThreadStartFailure) {
        try work.start { self.main() }
    }

    /// Asks the thread to end, which `main()` sees as ``isStopped``. Doesn't wait for it.
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

    /// Has the thread do something, after what it was given before.
    ///
    /// - Returns: false if the thread has ended and won't do it. Before the start, it waits.
    @discardableResult
    public final func perform(_ action: @escaping @Sendable () -> Void) -> Bool {
        work.add(action)
    }

    /// Does what has been given to the thread so far. For a `main()` with work of its own to call
    /// now and then; elsewhere it does nothing.
    public final func performPending() {
        if isCurrent { work.perform() }
    }

    /// Does what is given to the thread until it is stopped. Elsewhere it does nothing.
    public final func performUntilStopped() {
        if isCurrent { work.performUntilStopped() }
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
        registry.forEach(key: key) { registration, _ in
            let call: @Sendable () -> Void = {
                if let observer = registration.live as? Role { body(observer) }
            }
            if let context = registration.context {
                context(call)
            } else if isCurrent {
                call()
            } else {
                perform(call)
            }
        }
    }
}
