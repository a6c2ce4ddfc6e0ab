// What one observer is still owed, in order. Owned by the list of observers; a notification
// under way holds it too. What always holds: one thread at a time calls the observer, never
// under the lock, and nothing of the user's is released under it either.

import Synchronization

/// A queue in front of one observer. Appending is separate from delivering, so that the order
/// can be settled under the lock of whoever notifies, and the calls be made outside of it.
final class Inbox<Event: Sendable>: Sendable {
    typealias Observer = @Sendable (Event) -> Void

    private struct State {
        /// Nil once closed.
        var observer: Observer?
        /// Delivered places are nil: emptied by the one who calls, outside of the lock.
        var events: [Event?] = []
        var delivered = 0
        var isDelivering = false
    }

    /// Bursts up to this length don't give their memory back, to be spared the next allocation.
    private static var capacityKept: Int { 16 }

    private let state: Mutex<State>

    init(_ observer: @escaping Observer) {
        state = Mutex(State(observer: observer))
    }

    /// Starts with an event that the caller has to deliver by `drain()`, before all others.
    init(_ observer: @escaping Observer, first event: Event) {
        state = Mutex(State(observer: observer, events: [event], isDelivering: true))
    }

    var isClosed: Bool { state.withLock { $0.observer == nil } }

    func append(_ event: Event) {
        state.withLock { state in
            if state.observer != nil { state.events.append(event) }
        }
    }

    /// Delivers what is waiting, unless someone is at it already, who then delivers this as well.
    func deliver() {
        if claim() { drain() }
    }

    /// Whether something is waiting and no one delivers it: if so, the caller now has to `drain()`.
    func claim() -> Bool {
        state.withLock { state in
            guard !state.isDelivering, state.delivered < state.events.count else { return false }
            state.isDelivering = true
            return true
        }
    }

    /// Calls the observer until nothing is waiting. Only for the one who claimed.
    func drain() {
        while let (event, observer) = next() { observer(event) }
    }

    /// Forgets the observer and what it is owed, and returns them to be released outside of any
    /// lock. Nil if that had been done before.
    func close() -> Remains? {
        state.withLock { state in
            guard let observer = state.observer.take() else { return nil }
            let remains = Remains(observer: observer, events: state.events)
            state.events = []
            state.delivered = 0
            return remains
        }
    }

    struct Remains {
        let observer: Observer
        let events: [Event?]
    }

    private func next() -> (Event, Observer)? {
        state.withLock { state in
            if state.delivered < state.events.count, let observer = state.observer,
                let event = state.events[state.delivered].take()
            {
                state.delivered += 1
                return (event, observer)
            }
            state.events.removeAll(keepingCapacity: state.events.count <= Self.capacityKept)
            state.delivered = 0
            state.isDelivering = false
            return nil
        }
    }
}
