// An observable value in this process. The object whose state it is owns it. Observers keep only a handle,
// which doesn't keep the value alive. Invariants: the value and the queues of its observers change under one
// lock (see `ObserverList`), so every observer sees the same chain of changes. Observers are called outside
// of the lock.

import Observation

/// Holds a value and tells its observers of every change, with old and new value.
///
/// ```swift
/// nonisolated struct Profile: Sendable {
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
///
/// **In place.** `value.append(…)` and an `update` that can't throw copy nothing if no observer asks for the
/// old value. Those of ``observe(initial:_:)`` do, those of ``observeValues(initial:_:)`` don't. Other
/// threads wait until the change is done. The code that makes it must not use the same observable; the
/// program would end.
///
/// **Observation.** What reads `value` within `withObservationTracking`, a SwiftUI body or `Observations`, is
/// told of the next change, as soon as the new value can be read.
public final class ObservableValue<Value: Sendable>: ValueObservable, Observable {
    @usableFromInline typealias Observers = ObserverList<Value, Change<Value>>
    @usableFromInline let observers: Observers
    @usableFromInline let observation = ObservationLink<ObservableValue, Value>()

    @inlinable
    public init(_ value: Value) {
        observers = ObserverList(keeping: value)
    }

    deinit { observers.finish(releasing: true) }

    @inlinable public var value: Value {
        get {
            observation.noteRead(of: self, \.value)
            return observers.kept
        }
        _modify {
            var (value, old) = observers.takeOut()
            defer { notify(observers.putBack(value) { Change(old: old, new: $0) }) }
            yield &value
        }
        set { update(newValue) }
    }

    /// The present number of observers.
    @inlinable public var observerCount: Int { observers.count }

    @inlinable
    public func update(_ newValue: Value) {
        var value = newValue
        notify(observers.replace(&value) { Change(old: $0, new: $1) })
        // The old value is released here, outside of the lock, because its deinit may call this observable
        // again.
        withExtendedLifetime(value) {}
    }

    @discardableResult @inlinable
    public func update<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (old, result, delivery) = try observers.withKept {
            (state) throws(Failure) -> (Value?, Result, Observers.Delivery?)? in
            guard let (old, result) = try state.change(change) else { return nil }
            return (old, result, observers.post(&state) { Change(old: old, new: $0) })
        }
        notify(delivery)
        withExtendedLifetime(old) {}
        return result
    }

    @inlinable
    public func observe(
        initial: Bool, _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        observers.add(asksForOld: true, observer) { initial ? Change(old: nil, new: $0) : nil }
    }

    public func observe(
        initial: Bool, in place: ObserverPlace, _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        observers.add(asksForOld: true, in: place, observer) { initial ? Change(old: nil, new: $0) : nil }
    }

    /// Calls `observer` with every new value until the returned handle is disposed of or released. Nobody
    /// keeps the old one for it, so that changes in place copy nothing.
    ///
    /// With `initial`, it is called with the current value as well, before this method returns.
    @inlinable
    public func observeValues(
        initial: Bool = false, _ observer: @escaping @Sendable (Value) -> Void
    ) -> Disposable {
        observers.add({ observer($0.new) }) { initial ? Change(old: nil, new: $0) : nil }
    }

    @inlinable @inline(__always)
    func notify(_ delivery: Observers.Delivery?) {
        observation.noteChange(of: self)
        observers.deliver(delivery)
    }
}
