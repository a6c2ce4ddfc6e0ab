// An observable value in this process. The object whose state it is owns it. Observers keep only a handle,
// which doesn't keep the value alive. Invariants: the value and the queues of its observers change under one
// lock, so every observer sees the same chain of changes. Observers are called outside of the lock.

import Synchronization

/// Holds a value and tells its observers of every change, with old and new value.
///
/// ```swift
/// struct Profile: Sendable {
///     var name: String
///     var postCount = 0
/// }
///
/// let profile = ObservableValue(Profile(name: "Ada"))
/// let observation = profile.observe(initial: true) { change in
///     print(change.old?.postCount as Any, "→", change.new.postCount)  // nil → 0
/// }
/// let counter = profile.observe(\.postCount) { change in
///     print("posts:", change.new)
/// }
/// profile.value.postCount += 1  // a part in place
/// profile.update { $0.postCount += 1 }  // in one step, whatever other threads do
/// profile.update(Profile(name: "Grace", postCount: 2))  // the whole; not a word about posts
/// observation.dispose()
/// counter.dispose()
/// ```
/// **Order.** Changes form one chain. Each observer is called for one change at a time, in that
/// order, so its `old` is always the `new` it saw before.
///
/// **Threads.** An observer runs on the thread that changes the value, normally before `update` returns. If
/// an observer is being called already (on another thread, or because it changes the value itself), `update`
/// returns, and the thread that calls the observer delivers the change afterwards. So nothing here waits for
/// an observer, and an observer is never called twice at the same time. Observers may change the value,
/// observe and dispose within a notification.
public final class ObservableValue<Value: Sendable>: ValueObservable {
    private let current: Mutex<Value>
    let observers = ObserverList<Change<Value>>()

    public init(_ value: Value) {
        current = Mutex(value)
    }

    deinit { observers.finish() }

    public var value: Value {
        get { current.withLock { $0 } }
        set { update(newValue) }
    }

    /// The present number of observers.
    public var observerCount: Int { observers.count }

    @discardableResult
    public func update<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (old, inboxes, result) = try current.withLock {
            (value) throws(Failure) -> (Value, [Inbox<Change<Value>>], Result) in
            let old = value
            var new = old
            let result = try change(&new)
            value = new
            return (old, observers.post(Change(old: old, new: new)), result)
        }
        // The old value is released here, outside of the lock, because its deinit may call this observable
        // again.
        withExtendedLifetime(old) {
            for inbox in inboxes { inbox.deliver() }
        }
        return result
    }

    public func observe(
        initial: Bool,
        _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        guard initial else { return observers.add(Inbox(observer)) }
        let (inbox, disposable) = current.withLock { value in
            let inbox = Inbox(observer, first: Change(old: nil, new: value))
            return (inbox, observers.add(inbox))
        }
        inbox.deliverFirst()
        return disposable
    }
}
