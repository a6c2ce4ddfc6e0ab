// Waiting in tests: for conditions with a deadline, never for a fixed time.

import Synchronization
import Testing

/// A condition that didn't come true in more than enough time.
struct NeverHappened: Error, CustomStringConvertible {
    let description: String
}

/// Waits until `condition` holds.
func eventually(
    _ what: String,
    within limit: Duration = .seconds(300),
    _ condition: () throws -> Bool
) async throws {
    let start = ContinuousClock.now
    while try !condition() {
        guard start.duration(to: .now) < limit else { throw NeverHappened(description: "never: \(what)") }
        try await Task.sleep(for: .milliseconds(2))
    }
}

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
