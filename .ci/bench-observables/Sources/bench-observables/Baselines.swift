// What the observables are compared with: the least that one writes by hand, and Swift's own Observation.

import Observation
import Synchronization

/// A locked list of closures. It promises neither order nor an end to calls after removal.
final class LockedList<Event: Sendable>: Sendable {
    private let observers = Mutex<[@Sendable (Event) -> Void]>([])

    func observe(_ observer: @escaping @Sendable (Event) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    func send(_ event: Event) {
        for observer in observers.withLock({ $0 }) { observer(event) }
    }
}

@Observable final class Model {
    var number = 0

    /// Observation tells of one change, so an observer has to ask again for the next.
    func arm(_ counter: Counter) {
        withObservationTracking {
            _ = number
        } onChange: {
            counter.add(1)
        }
    }
}

/// What each observer does. One thread uses it.
final class Counter: @unchecked Sendable {
    private(set) var sum = 0

    func add(_ number: Int) { sum &+= number }
}
