// The observers of failures that nobody waits for. If there are none, a failure is printed on standard
// error, because nobody should miss that a write was refused.

import Observables
import PlugboardPosix
import Synchronization

/// The observers of one bus's faults.
final class FaultObservers: Sendable {
    private struct FaultObserver {
        /// The key of the faults that it gets; nil if it gets all.
        let key: String?
        let handler: @Sendable (Fault) -> Void
    }

    private struct Observers {
        var handlers: [Int: FaultObserver] = [:]
        var next = 0
    }

    private let observers = Mutex(Observers())

    func observe(key: String? = nil, _ handler: @escaping @Sendable (Fault) -> Void) -> Disposable {
        let number = observers.withLock { observers in
            observers.next += 1
            observers.handlers[observers.next] = FaultObserver(key: key, handler: handler)
            return observers.next
        }
        return Disposable { [weak self] in
            let removed = self?.observers.withLock { $0.handlers.removeValue(forKey: number) }
            withExtendedLifetime(removed) {}
        }
    }

    func tell(_ fault: Fault) {
        let told = observers.withLock { observers in
            observers.handlers.sorted { $0.key < $1.key }.map(\.value).filter {
                $0.key == nil || $0.key == fault.key
            }
        }
        if told.isEmpty { StandardStream.complain("plugboard: \(fault)") }
        for observer in told { observer.handler(fault) }
    }
}
