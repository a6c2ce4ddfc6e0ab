// Counts of the broker's work, for `$broker.stats`. Owned by `Insight`. What always holds: counts only grow,
// and the clock is read for turns only while a client wants to know.

import PlugboardPosix

/// Counts since the broker began.
struct Counts {
    /// Lines of clients that have left. Those of connected clients are added when somebody asks.
    var lines: UInt64 = 0
    var writes: UInt64 = 0
    /// Events, once for each observer.
    var events: UInt64 = 0
    /// Bytes that were read and sent.
    var received: UInt64 = 0
    var sent: UInt64 = 0

    /// Each count with the name of its member.
    var all: [(name: StaticString, count: UInt64)] {
        [
            ("lines", lines), ("writes", writes), ("events", events), ("received", received),
            ("sent", sent),
        ]
    }
}

/// How long turns took, while a client wants to know.
struct TurnTimes {
    private(set) var count: UInt64 = 0
    private(set) var nanoseconds: UInt64 = 0
    private(set) var longest: UInt64 = 0
    private var start: UInt64 = 0
    private let time: TimeSource

    init(time: TimeSource) {
        self.time = time
    }

    /// Begins a turn, unless one has begun.
    mutating func begin() {
        if start == 0 { start = time.nanoseconds() }
    }

    mutating func end() {
        if start == 0 { return }
        let passed = time.nanoseconds() - start
        start = 0
        count += 1
        nanoseconds += passed
        longest = max(longest, passed)
    }

    /// Forgets the times of finished turns. The present turn goes on.
    mutating func reset() {
        (count, nanoseconds, longest) = (0, 0, 0)
    }
}
