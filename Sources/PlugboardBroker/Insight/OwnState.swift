// The state behind the broker's own keys, `$broker.…`: whether a client wants them, and the counts for their
// values. Owned by the hub. What always holds: while no client observes these keys or has just asked for one,
// they have no values, and no clock is read for them.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The state behind `$broker.…`.
struct OwnState: ~Copyable {
    /// The time between two checks of observed keys.
    static let intervalNanoseconds: UInt64 = 1_000_000_000
    /// A client that asks again within this time gets the last value.
    static let freshNanoseconds: UInt64 = 100_000_000
    /// How many clients one turn checks.
    static let clientsPerTurn = 1_024

    /// The author `$broker`, who writes these keys.
    let author: AuthorHandle
    /// Whether a client observes these keys, or asked for one within the last interval.
    var isActive = false
    /// Whether the present group of writes has taken its revision.
    var hasRevision = false
    /// The slot of the next client to check, during a round.
    var nextSlot = 0
    /// When the present round began.
    var roundStart: UInt64 = 0

    /// Bytes read, bytes written, and events sent, since the broker's start.
    var received: UInt64 = 0
    var sent: UInt64 = 0
    var events: UInt64 = 0
    /// Lines from clients that have left.
    var departedLines: UInt64 = 0
    var turns: TurnTimes
    let start: UInt64
    /// When `$broker.stats` was last written, and the counts at that time.
    var sampledAt: UInt64 = 0
    var sample = OwnCounts()
    /// Work space for a key and a value.
    var key = ByteBuffer()
    var value = ByteBuffer()

    init(time: TimeSource, author: AuthorHandle) {
        turns = TurnTimes(time: time)
        start = time.nanoseconds()
        self.author = author
    }

    /// Writes the key of a client into `key`.
    mutating func setKey(client: UInt64) {
        key.removeAll()
        key.append("$broker.clients.")
        key.append(decimal: client)
    }

    mutating func setKey(_ text: StaticString) {
        key.removeAll()
        key.append(text)
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

/// Counts since the broker began.
struct OwnCounts {
    var lines: UInt64 = 0
    var writes: UInt64 = 0
    var events: UInt64 = 0
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
