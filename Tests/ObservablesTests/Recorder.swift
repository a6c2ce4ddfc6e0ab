// What the tests of this target share: a recorder for what observers get, objects that count their lives,
// and waiting for a condition with a deadline.

import Dispatch
import Synchronization

/// Records values in order. Any thread may use it.
final class Recorder<Element: Sendable>: Sendable {
    private let recorded = Mutex<[Element]>([])

    var all: [Element] { recorded.withLock { $0 } }

    func record(_ element: Element) {
        recorded.withLock { $0.append(element) }
    }
}

/// Counts the objects that were made with it and still live.
final class Census: Sendable {
    private let lives = Atomic(0)

    var living: Int { lives.load(ordering: .sequentiallyConsistent) }

    func citizen() -> Citizen { Citizen(self) }

    /// An object that is counted as long as it lives, and can observe.
    final class Citizen: Sendable {
        private let census: Census

        fileprivate init(_ census: Census) {
            self.census = census
            census.lives.add(1, ordering: .sequentiallyConsistent)
        }

        deinit { census.lives.subtract(1, ordering: .sequentiallyConsistent) }
    }
}

/// Waits until the condition holds. Returns false if it doesn't before the deadline.
func eventually(_ condition: @Sendable () -> Bool) async -> Bool {
    // A distant deadline, because tests that block threads keep the main queue waiting, at worst until
    // they end.
    let deadline = ContinuousClock.now + .seconds(600)
    while !condition() {
        if ContinuousClock.now > deadline { return condition() }
        await Task.yield()
    }
    return true
}

/// Runs the body on `count` threads at the same time. Returns when all have ended.
func onThreads(_ count: Int, _ body: @Sendable (Int) -> Void) {
    DispatchQueue.concurrentPerform(iterations: count, execute: body)
}
