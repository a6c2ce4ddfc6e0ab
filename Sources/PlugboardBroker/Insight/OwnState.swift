// What the broker tells of itself under `$broker`: whether anybody wants it, and the
// counts behind it. Nothing is kept under those keys, and no clock is read for them, while
// nobody observes them or has just asked.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The state behind `$broker.…`.
struct OwnState: ~Copyable {
    /// How often what is observed is looked at anew.
    static let intervalNanoseconds: UInt64 = 1_000_000_000
    /// Who asks again sooner than this gets what was written last.
    static let freshNanoseconds: UInt64 = 100_000_000
    /// Clients that are looked at in one turn.
    static let clientsPerTurn = 1_024

    /// `$broker`, as the writer of all this.
    let author: AuthorHandle
    /// Somebody observes it, or asked within the last interval.
    var isActive = false
    /// The group of writes under way has taken its revision.
    var hasRevision = false
    /// The next slot of the clients to be looked at, while a look round is under way.
    var nextSlot = 0
    /// When the look round that is under way began.
    var roundStart: UInt64 = 0

    /// Bytes read and written, and events told, since the beginning.
    var received: UInt64 = 0
    var sent: UInt64 = 0
    var events: UInt64 = 0
    /// Lines from clients that have left.
    var departedLines: UInt64 = 0
    var turns: TurnTimes
    let start: UInt64
    /// When the stats were last written, and the counts of then.
    var sampledAt: UInt64 = 0
    var sample = OwnCounts()
    /// Work space: a key and a value.
    var key = ByteBuffer()
    var value = ByteBuffer()

    init(time: TimeSource, author: AuthorHandle) {
        turns = TurnTimes(time: time)
        start = time.nanoseconds()
        self.author = author
    }

    /// Puts the key of a client into `key`.
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

/// How long turns took, while somebody wants to know.
struct TurnTimes {
    private(set) var count: UInt64 = 0
    private(set) var nanoseconds: UInt64 = 0
    private(set) var longest: UInt64 = 0
    private var start: UInt64 = 0
    private let time: TimeSource

    init(time: TimeSource) {
        self.time = time
    }

    /// Something happened: a turn begins, if none has.
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

    /// Forgets the times; the turn under way goes on.
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

    /// Each count with its name.
    var all: [(name: StaticString, count: UInt64)] {
        [
            ("lines", lines), ("writes", writes), ("events", events), ("received", received),
            ("sent", sent),
        ]
    }
}
