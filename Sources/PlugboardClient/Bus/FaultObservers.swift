// The observers of failures that nobody waits for. If there are none, a failure is printed on standard
// error, because nobody should miss that a write was refused.

import Observables
import PlugboardPosix
import Synchronization

/// The observers of one bus's faults.
final class FaultObservers: Sendable {
    private struct Observers {
        var handlers: [Int: @Sendable (Fault) -> Void] = [:]
        var next = 0
    }

    private let observers = Mutex(Observers())

    func observe(_ handler: @escaping @Sendable (Fault) -> Void) -> Disposable {
        let number = observers.withLock { observers in
            observers.next += 1
            observers.handlers[observers.next] = handler
            return observers.next
        }
        return Disposable { [weak self] in
            let removed = self?.observers.withLock { $0.handlers.removeValue(forKey: number) }
            withExtendedLifetime(removed) {}
        }
    }

    func tell(_ fault: Fault) {
        let handlers = observers.withLock { $0.handlers.sorted { $0.key < $1.key }.map(\.value) }
        if handlers.isEmpty { StandardStream.complain("plugboard: \(fault)") }
        for handler in handlers { handler(fault) }
    }
}
