// The waiting events of one observer, in order. The list of observers owns it, and a running notification
// holds it, too. Invariants: only one thread at a time calls the observer, and never under the lock. Objects
// of the user are not released under the lock either.

import Synchronization

/// A queue in front of one observer. Appending is separate from delivering, so that the notifier can fix the
/// order under its lock, and make the calls outside of it.
final class Inbox<Event: Sendable>: Sendable {
    /// It is a class, so that passing it on costs only a reference count.
    final class Observer: Sendable {
        let call: @Sendable (Event) -> Void

        init(_ call: @escaping @Sendable (Event) -> Void) {
            self.call = call
        }
    }

    struct Remains {
        let observer: Observer
        let events: [Event?]
    }

    fileprivate struct Delivery {
        let event: Event
        let observer: Observer
    }

    fileprivate struct State {
        /// The observer; nil when the inbox is closed.
        var observer: Observer?
        /// The events. Places of delivered events are nil; the calling thread empties them outside of the
        /// lock.
        var events: [Event?] = []
        var delivered = 0
        var isDelivering = false
        var isFinished = false
    }

    /// Bursts up to this length keep their memory, which saves the next allocation. Past it,
    /// delivered places are freed as soon as they are half of all.
    fileprivate static var placesKept: Int { 16 }

    private let state: Mutex<State>

    init(_ observer: @escaping @Sendable (Event) -> Void) {
        state = Mutex(State(observer: Observer(observer)))
    }

    /// Starts with an event that the caller has to deliver by `deliverFirst()`, before all others.
    init(_ observer: @escaping @Sendable (Event) -> Void, first event: Event) {
        state = Mutex(State(observer: Observer(observer), events: [event], isDelivering: true))
    }

    var isClosed: Bool { state.withLock { $0.observer == nil } }

    /// The number of places, including those of delivered events.
    var places: Int { state.withLock { $0.events.count } }

    func append(_ event: Event) {
        state.withLock { state in
            if state.observer != nil { state.events.append(event) }
        }
    }

    /// Delivers what is waiting. If another thread is delivering already, that thread delivers this
    /// as well.
    func deliver() {
        call(from: next(isFirst: true))
    }

    /// Delivers the first event, and those that have come since.
    func deliverFirst() {
        call(from: next())
    }

    /// Forgets the observer and its waiting events, and returns them to be released outside of any
    /// lock. Nil if that was done before.
    func close() -> Remains? {
        state.withLock { $0.close() }
    }

    /// Forgets the observer as soon as it has got its waiting events. Returns the objects that can be
    /// released at once.
    func finish() -> Remains? {
        state.withLock { state in
            state.isFinished = true
            return state.isIdle ? state.close() : nil
        }
    }

    private func call(from first: Delivery?) {
        var next = first
        while let delivery = next {
            delivery.observer.call(delivery.event)
            next = self.next()
        }
    }

    /// The next event for the caller to deliver; nil if there is none, or if another thread delivers.
    private func next(isFirst: Bool = false) -> Delivery? {
        var remains: Remains?
        let next = state.withLock { state -> Delivery? in
            if isFirst, state.isDelivering { return nil }
            let next = state.next()
            if next == nil, state.isFinished { remains = state.close() }
            return next
        }
        withExtendedLifetime(remains) {}
        return next
    }
}

extension Inbox.State {
    fileprivate var isIdle: Bool { !isDelivering && events.isEmpty }

    fileprivate mutating func next() -> Inbox.Delivery? {
        if delivered < events.count, let observer, let event = events[delivered].take() {
            delivered += 1
            isDelivering = true
            giveBackPlaces()
            return Inbox.Delivery(event: event, observer: observer)
        }
        if !events.isEmpty { events.removeAll(keepingCapacity: events.count <= Inbox.placesKept) }
        delivered = 0
        isDelivering = false
        return nil
    }

    /// Frees delivered places, for an observer that never catches up entirely.
    private mutating func giveBackPlaces() {
        guard delivered > Inbox.placesKept, delivered * 2 > events.count else { return }
        events.removeFirst(delivered)
        delivered = 0
    }

    fileprivate mutating func close() -> Inbox.Remains? {
        guard let observer = observer.take() else { return nil }
        let remains = Inbox.Remains(observer: observer, events: events)
        events = []
        delivered = 0
        return remains
    }
}
