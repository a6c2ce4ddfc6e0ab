// What one observer is still owed, in order. Owned by the list of observers; a notification
// under way holds it too. What always holds: one thread at a time calls the observer, never
// under the lock, and nothing of the user's is released under it either.

import Synchronization

/// A queue in front of one observer. Appending is separate from delivering, so that the order
/// can be settled under the lock of whoever notifies, and the calls be made outside of it.
final class Inbox<Event: Sendable>: Sendable {
    /// An object, so that handing it out costs no more than counting a reference.
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
        /// Nil once closed.
        var observer: Observer?
        /// Delivered places are nil: emptied by the one who calls, outside of the lock.
        var events: [Event?] = []
        var delivered = 0
        var isDelivering = false
        var isFinished = false
    }

    /// Bursts up to this length don't give their memory back, to be spared the next allocation;
    /// past it, delivered places are given back as soon as they are half of all.
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

    /// How many places are kept, those of delivered events included.
    var places: Int { state.withLock { $0.events.count } }

    func append(_ event: Event) {
        state.withLock { state in
            if state.observer != nil { state.events.append(event) }
        }
    }

    /// Delivers what is waiting, unless someone is at it already, who then delivers this as well.
    func deliver() {
        call(from: next(isFirst: true))
    }

    /// Delivers the event that this began with, and what came since.
    func deliverFirst() {
        call(from: next())
    }

    /// Forgets the observer and what it is owed, and returns them to be released outside of any
    /// lock. Nil if that had been done before.
    func close() -> Remains? {
        state.withLock { $0.close() }
    }

    /// Forgets the observer as soon as it has got what it is owed; returned is what can go at once.
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

    /// The next event, if the caller is the one who delivers: has been, or is now as the first.
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

    /// For an observer that never catches up entirely.
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
