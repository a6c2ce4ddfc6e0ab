// Waiting in tests: for conditions, with a deadline, never for a time.

import PlugboardPosix
import Testing

/// Something that was never so within the time that is more than enough.
public struct NeverHappened: Error, CustomStringConvertible {
    public let description: String

    public init(description: String) {
        self.description = description
    }
}

/// A moment that waiting stops at.
public struct WaitLimit {
    private let end: UInt64

    public init(_ seconds: Double) {
        end = MonotonicClock.nanoseconds() + UInt64(seconds * 1e9)
    }

    public var isOver: Bool { MonotonicClock.nanoseconds() >= end }

    /// What is left, for poll(2).
    public var milliseconds: Int32 {
        let now = MonotonicClock.nanoseconds()
        return now >= end ? 0 : Int32((end - now) / 1_000_000 + 1)
    }
}

/// Waits for a condition on the test's own thread, looking again and again until the deadline.
public func eventually(
    _ what: String,
    seconds: Double = 120,
    _ location: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) throws {
    let limit = WaitLimit(seconds)
    while try !condition() {
        guard !limit.isOver else {
            Issue.record("never came true: \(what)", sourceLocation: location)
            throw NeverHappened(description: what)
        }
        Pause.sleep(seconds: 0.005)
    }
}

/// The same without a thread: with two processors all tests share two.
public func eventually(
    _ what: String,
    seconds: Double = 300,
    _ condition: () async throws -> Bool
) async throws {
    let limit = WaitLimit(seconds)
    while try await !condition() {
        guard !limit.isOver else { throw NeverHappened(description: "never: \(what)") }
        try await Task.sleep(for: .milliseconds(2))
    }
}
