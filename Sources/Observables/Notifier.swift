// A source of events that are not kept. Its owner is the object that causes the events. Invariants:
// all observers get the events in one order; after `finish()` there are no more.

/// Tells observers that something happened, and keeps no state. An observer that needs the state reads it
/// from the object that has it.
///
/// ```swift
/// enum PersonProperty: Sendable { case name, age }
///
/// let changes = Notifier<PersonProperty>()
/// let observation = changes.observe(initial: .name) { property in
///     print("show the", property)
/// }
/// changes.send(.age)
/// changes.finish()
/// changes.send(.name)  // no one hears of this
/// observation.dispose()
/// ```
/// Threads and re-entrancy are as with ``ObservableValue``: an observer is called on the sending
/// thread, for one event at a time and in order. Inside the call it may send, observe and dispose.
public final class Notifier<Event: Sendable>: Sendable {
    @usableFromInline let observers = ObserverList<Void, Event>(keeping: ())

    @inlinable
    public init() {}

    deinit { observers.finish() }

    /// The present number of observers.
    @inlinable public var observerCount: Int { observers.count }

    /// Whether `finish()` has been called.
    @inlinable public var isFinished: Bool { observers.isFinished }

    /// Sends an event to every observer. After `finish()` it does nothing.
    @inlinable
    public func send(_ event: Event) {
        observers.send(event)
    }

    /// Calls `observer` for every event until the returned handle is disposed of or released.
    ///
    /// With an `initial` event, it is called with that first, before this method returns, so that the same
    /// code that reacts to events also sets things up. A finished notifier calls no one.
    @inlinable
    public func observe(
        initial: Event? = nil, _ observer: @escaping @Sendable (Event) -> Void
    ) -> Disposable {
        observers.add(observer) { initial }
    }

    /// Stops for good: it releases the observers, ends the streams, and ignores later events.
    /// Events that were sent before still reach all observers.
    public func finish() {
        observers.finish()
    }

    /// The events from now on, as a stream of its own for one loop. It ends with the notifier.
    ///
    /// ```swift
    /// func react(to changes: Notifier<PersonProperty>) async {
    ///     for await property in changes.events() {
    ///         print("changed:", property)
    ///     }
    /// }
    /// ```
    /// - Parameter policy: what happens to events that come faster than they are read. By default
    ///   all are kept, since an event, unlike a value, says nothing of those before it.
    @inlinable
    public func events(
        buffering policy: AsyncStream<Event>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Event> {
        .fed(buffering: policy) { yield in observe(yield) }
    }
}
