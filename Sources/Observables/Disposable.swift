// The handle of one observation. The observer owns it, and the observation lasts as long as the
// handle. Invariant: the action runs once, however many threads dispose. It runs outside of every
// lock, so it may call anything.

import Synchronization

/// Ends one observation: on `dispose()`, or when it is released.
///
/// Keep it as long as you want to be called, in a property or in a ``DisposeBag``:
/// ```swift
/// let profile = ObservableValue("Ada")
/// let observation = profile.observe { change in print(change.new) }
/// profile.value = "Grace"  // Grace
/// observation.dispose()
/// profile.value = "Barbara"  // no one is told
/// ```
/// Safe to use from any thread, and from within the notification it ends.
public final class Disposable: Sendable {
    private let action: Mutex<(@Sendable () -> Void)?>

    /// - Parameter action: runs exactly once, on the thread that disposes or releases.
    public init(_ action: @escaping @Sendable () -> Void) {
        self.action = Mutex(action)
    }

    deinit { dispose() }

    /// Removes the observer. Returns at once, even during a notification. A call that another thread has
    /// begun may still be running; no further call begins.
    public func dispose() {
        let action = action.withLock { $0.take() }
        action?()
    }

    /// Adds this observation to a bag, which keeps several together.
    public func add(to bag: inout DisposeBag) {
        bag.insert(self)
    }
}
