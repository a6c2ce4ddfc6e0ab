// What the tests of this target share: a place to write down what observers hear, objects whose
// lives are counted, and waiting for a condition with a deadline.

import Dispatch
import Synchronization

/// Remembers what it was told, from any thread, in order.
final class Recorder<Element: Sendable>: Sendable {
    private let recorded = Mutex<[Element]>([])

    var all: [Element] { recorded.withLock { $0 } }

    func record(_ element: Element) {
        recorded.withLock { $0.append(element) }
    }
}

/// Counts the lives of the objects made with it.
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

/// Waits until the condition holds. False if it doesn't within ten seconds.
func eventually(_ condition: @Sendable () -> Bool) async -> Bool {
    // Far away: tests that hold up threads keep the main queue waiting, in the worst case until they end.
    let deadline = ContinuousClock.now + .seconds(600)
    while !condition() {
        if ContinuousClock.now > deadline { return condition() }
        await Task.yield()
    }
    return true
}

/// Runs the body on that many threads at once, and returns when all are through.
func onThreads(_ count: Int, _ body: @Sendable (Int) -> Void) {
    DispatchQueue.concurrentPerform(iterations: count, execute: body)
}
