// The waiting events of one observer, in order. The list of observers owns it, and a running notification
// holds it, too. Most events never wait: see `ObserverList`. Invariants: only one thread at a time calls the
// observer, and never under the lock. Objects of the user are not released under the lock either.

import Synchronization

/// A queue in front of one observer. Appending is separate from delivering, so that the notifier can fix the
/// order under its lock, and make the calls outside of it.
@usableFromInline
final class Inbox<Event: Sendable>: Sendable {
    @usableFromInline let call: @Sendable (Event) -> Void
    @usableFromInline let closed = Atomic(false)
    @usableFromInline let queue: Mutex<Queue>
    /// What traces say of the observer.
    @usableFromInline let place: ObserverPlace?

    /// - Parameter first: an event that the caller has to deliver by `deliverOn()`, before all others.
    @inlinable
    init(
        _ observer: @escaping @Sendable (Event) -> Void, first: Event? = nil, in place: ObserverPlace? = nil
    ) {
        call = observer
        queue = Mutex(Queue(first))
        self.place = place
    }

    /// Whether the observer was removed and must not be called any more.
    @inlinable var isClosed: Bool { closed.load(ordering: .acquiring) }

    /// Calls the observer with an event that didn't wait.
    @inlinable
    func callDirectly(_ event: Event) {
        if !isClosed { call(event) }
    }

    @inlinable
    func append(_ event: Event) {
        queue.withLock { queue in
            if !isClosed { queue.events.append(event) }
        }
    }

    /// Notes that a thread is calling the observer. That thread has to call `deliverOn()` afterwards.
    @inlinable
    func claim() {
        queue.withLock { $0.isDelivering = true }
    }

    /// Delivers what is waiting. If another thread is delivering already, that thread delivers this
    /// as well.
    @inlinable
    func deliver() {
        let isClaimed = queue.withLock { queue in
            defer { queue.isDelivering = true }
            return !queue.isDelivering
        }
        if isClaimed { deliverOn() }
    }

    /// Delivers what is waiting, for the thread that is delivering already.
    @inlinable
    func deliverOn() {
        while let event = queue.withLock({ $0.next() }) { call(event) }
    }

    /// Refuses all further calls. Returns the waiting events, to be released outside of any lock.
    @inlinable
    func close() -> [Event?] {
        queue.withLock { queue in
            closed.store(true, ordering: .releasing)
            defer { queue.forget() }
            return queue.events
        }
    }

    @usableFromInline
    struct Queue: Sendable {
        /// The events. Places of delivered ones are nil; the calling thread empties them outside of the
        /// lock.
        @usableFromInline var events: [Event?]
        @usableFromInline var delivered = 0
        @usableFromInline var isDelivering: Bool

        @inlinable
        init(_ first: Event?) {
            events = first.map { [$0] } ?? []
            isDelivering = first != nil
        }

        /// The next event to deliver. If there is none, the observer is free.
        @inlinable
        mutating func next() -> Event? {
            guard delivered < events.count, let event = events[delivered].take() else {
                forget()
                isDelivering = false
                return nil
            }
            delivered += 1
            giveBackPlaces()
            return event
        }

        /// Bursts up to 16 keep their memory, which saves the next allocation.
        @inlinable
        mutating func forget() {
            if !events.isEmpty { events.removeAll(keepingCapacity: events.count <= 16) }
            delivered = 0
        }

        /// Frees delivered places as soon as they are half of all, for an observer that never catches up
        /// entirely.
        @inlinable
        mutating func giveBackPlaces() {
            guard delivered > 16, delivered * 2 > events.count else { return }
            events.removeFirst(delivered)
            delivered = 0
        }
    }
}
