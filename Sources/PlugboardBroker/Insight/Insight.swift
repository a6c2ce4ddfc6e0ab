// The room of what the broker says of itself: its counts, its warnings, the traces of a turn, and whether
// clients observe its own keys, `$broker.…`. It makes their values, but the hub writes them.
//
// What always holds: the broker's own keys have values only while a client observes them or has just asked
// for one. Otherwise no clock is read for them.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

struct Insight: ~Copyable {
    /// The author `$broker`, which writes the broker's own keys.
    let author: AuthorHandle
    var warnings = Warnings()
    var tracing: Tracing
    var rates: Rates
    private let time: TimeSource
    /// How long turns take. The clock is read for them only while a client wants to know.
    private var turns = Times()
    /// When the present turn began; 0 if it isn't timed.
    private var turnStart: UInt64 = 0
    /// The work for requests besides events, in steps that take as long as telling one observer.
    private var steps: UInt64 = 0
    /// Whether a client observes the broker's own keys, or asked for one within the last interval.
    private(set) var isWatched = false
    /// The place of the client that the present round looks at next.
    private var nextPlace = 0
    /// A group of writes of its own keys, which share one, has taken its revision.
    private var hasOwnRevision = false

    init(time: TimeSource, author: AuthorHandle) {
        self.author = author
        self.time = time
        tracing = Tracing(time: time)
        rates = Rates(start: time.nanoseconds())
    }

    // MARK: Counts

    @inline(__always)
    mutating func count(events: Int) { rates.counts.events &+= UInt64(events) }

    @inline(__always)
    mutating func count(steps: Int) { self.steps &+= UInt64(steps) }

    var receivedBytes: UInt64 { rates.counts.received }

    mutating func count(received: Int = 0, sent: Int = 0) {
        rates.counts.received &+= UInt64(received)
        rates.counts.sent &+= UInt64(sent)
    }

    mutating func count(departed lines: UInt64) { rates.counts.lines &+= lines }

    /// All work since the start, in observers told.
    @inline(__always) var effort: UInt64 { rates.counts.events &+ steps }

    /// Call when something is ready. Begins a turn, unless one has begun.
    mutating func beginTurn() {
        if isWatched, turnStart == 0 { turnStart = time.nanoseconds() }
    }

    mutating func endTurn() {
        guard isWatched, turnStart > 0 else { return }
        turns.add(time.nanoseconds() - turnStart)
        turnStart = 0
    }

    // MARK: The broker's own keys

    /// A client asks for one of the keys. Begins rounds, and returns true, if none are going on.
    mutating func beginRounds() -> Bool {
        defer { isWatched = true }
        return !isWatched
    }

    /// Call before a group of writes. Returns whether anybody needs them.
    @discardableResult
    mutating func beginWrites() -> Bool {
        hasOwnRevision = false
        return isWatched
    }

    mutating func takesRevision() -> Bool {
        defer { hasOwnRevision = true }
        return !hasOwnRevision
    }

    /// The places of the next clients to look at. Place 0 is the first of them if a round begins.
    mutating func nextPlaces(of count: Int) -> Range<Int> {
        let first = min(count, nextPlace)
        nextPlace = min(count, first + Round.clientsPerTurn)
        return first..<nextPlace
    }

    /// All clients were looked at. Another round follows if somebody observes the keys.
    mutating func endRound(isObserved: Bool) { (nextPlace, isWatched) = (0, isObserved) }

    mutating func appendTurns(to value: inout ByteBuffer) {
        value.append(#","latency":{"#)
        value.append(member: "turns", turns.count, isFirst: true)
        value.append(member: "mean", turns.mean)
        value.append(member: "max", turns.max)
        value.append("}")
        // The present turn goes on.
        turns = Times()
    }
}

/// A look at all own keys, to update those that are observed.
enum Round {
    static let intervalNanoseconds: UInt64 = 1_000_000_000
    static let clientsPerTurn = 1_024
}

/// Counts of the broker's work, for `$broker.stats`. They only grow.
struct Counts {
    /// Lines of clients that have left. Those of connected clients are added when somebody asks.
    var lines: UInt64 = 0
    var writes: UInt64 = 0
    var events: UInt64 = 0
    var received: UInt64 = 0
    var sent: UInt64 = 0

    var all: [(name: StaticString, count: UInt64)] {
        [
            ("lines", lines), ("writes", writes), ("events", events), ("received", received),
            ("sent", sent),
        ]
    }
}

struct Times: BitwiseCopyable {
    private(set) var count: UInt64 = 0
    private var nanoseconds: UInt64 = 0
    private var longest: UInt64 = 0

    mutating func add(_ passed: UInt64) {
        count &+= 1
        nanoseconds &+= passed
        longest = Swift.max(longest, passed)
    }

    var mean: UInt64 { count == 0 ? 0 : nanoseconds / count / 1000 }
    var max: UInt64 { longest / 1000 }
}
