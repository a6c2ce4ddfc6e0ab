// What tests learn from other threads.

import Synchronization

/// Set once, from any thread.
final class Flag: Sendable {
    private let raised = Atomic(false)
    var isRaised: Bool { raised.load(ordering: .acquiring) }
    func raise() { raised.store(true, ordering: .releasing) }
}

/// What callbacks got, in order.
final class Log<Element: Sendable>: Sendable {
    private let kept = Mutex<[Element]>([])
    var all: [Element] { kept.withLock { $0 } }
    var count: Int { kept.withLock { $0.count } }
    func add(_ element: Element) { kept.withLock { $0.append(element) } }
}
