// Waiting in tests: for a condition, with a deadline, and never just for a time.

import PlugboardPosix
import Testing

/// The pauses between looks at a condition: the longer it takes, the longer they are, because each look takes
/// processor time from what is waited for. They add at most an eighth to the wait, and at most 0.1 s.
private struct Pauses {
    private let start = ContinuousClock.now

    var next: Duration { min(max(start.duration(to: .now) / 8, .milliseconds(2)), .milliseconds(100)) }
}

/// Waits for a condition on the test's own thread. Checks it again and again until the deadline.
public func eventually(
    _ what: String,
    seconds: Double = HangGuard.seconds,
    _ location: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) throws {
    let limit = TimeLimit(seconds: seconds)
    let pauses = Pauses()
    while try !condition() {
        guard !limit.isOver else {
            Issue.record("never came true: \(what)", sourceLocation: location)
            throw NeverHappened(description: what)
        }
        Pause.sleep(seconds: pauses.next / .seconds(1))
    }
}

/// Waits for a condition without blocking a thread: with two processors, all tests share two threads.
public func eventually(
    _ what: String, seconds: Double = HangGuard.seconds, _ condition: () async throws -> Bool
) async throws {
    let limit = TimeLimit(seconds: seconds)
    let pauses = Pauses()
    while try await !condition() {
        guard !limit.isOver else { throw NeverHappened(description: "never: \(what)") }
        try await Task.sleep(for: pauses.next)
    }
}
