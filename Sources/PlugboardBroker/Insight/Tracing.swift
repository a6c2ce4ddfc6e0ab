// Notes what happened to each write and each call of a turn, for tracers. They are told in the next turn, when it is
// known how long each observer waited. Owned by `Insight`. What always holds:
// while nobody traces writes, or all who do rest, `isOn` is false, and a write costs only that test.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

struct Tracing: ~Copyable {
    private let inPlace = InPlace()
    /// The most bytes of notes that wait, and the most bytes of lines that tracers are told of one turn. Beyond that,
    /// writes are dropped and counted.
    static let bytesMax = 1_048_576

    /// How many of those that want writes don't rest.
    private var awakeCount = 0
    private var tracers: [SubscriptionHandle: Tracer] = [:]
    private let tree = PatternTree<Tracer>()
    private(set) var found: [Tracer] = []
    private var searches: UInt64 = 0
    private let source: TimeSource
    private var turn = TracedTurn()
    /// What all notes take up that aren't told yet, about.
    private var bytes = 0

    init(time source: TimeSource) {
        self.source = source
    }

    /// Returns false if finding who traces a key could then take too many steps. Then nothing was added.
    mutating func add(_ tracer: Tracer) -> Bool {
        for pattern in tracer.patterns { tree.insert(pattern.span) { _ in tracer } }
        guard tree.steps <= Limits.patternStepsMax else {
            _ = removeFromTree(tracer)
            return false
        }
        tracers[tracer.subscription] = tracer
        countAwake(tracer, 1)
        return true
    }

    private func removeFromTree(_ tracer: Tracer) -> Int {
        let nodes = tracer.patterns.compactMap { tree.node(of: $0.span) }
        return nodes.reduce(0) { $0 + tree.remove(from: $1) { $0 === tracer } }
    }

    @inline(__always) var isOn: Bool { awakeCount > 0 }

    var isOnForCalls: Bool { !tracers.isEmpty }

    private mutating func countAwake(_ tracer: Tracer, _ difference: Int) {
        if !tracer.onlyCalls { awakeCount += difference }
    }

    /// Returns the deadline of its rest, for the caller to cancel, and the cost in visits: it is looked for among
    /// those with the same patterns, as a write looks for all of them.
    mutating func remove(_ subscription: SubscriptionHandle) -> (ticket: DeadlineTicket?, visits: Int) {
        guard let tracer = tracers.removeValue(forKey: subscription) else { return (nil, 0) }
        let visits = removeFromTree(tracer)
        tracer.gap = nil
        if !tracer.isResting { countAwake(tracer, -1) }
        if tracers.isEmpty, let turn = endTurn() { end(turn) }
        return (tracer.limit?.ticket, visits)
    }

    mutating func wake(_ subscription: SubscriptionHandle) {
        guard let tracer = tracers[subscription] else { return }
        if tracer.isResting { countAwake(tracer, 1) }
        tracer.limit?.wake()
    }

    func patterns(of subscription: SubscriptionHandle) -> [[UInt8]] { tracers[subscription]?.patterns ?? [] }

    /// Finds the tracers that want a write or a call of a key and don't rest, each once. Returns the cost in visits.
    mutating func find(_ key: Span<UInt8>, isCall: Bool, _ sessions: borrowing SessionTable) -> Int {
        found.removeAll(keepingCapacity: true)
        searches += 1
        var entries = 0
        let visits = tree.match(key) { end in
            entries += end.entries.count
            for tracer in end.entries
            where tracer.lastSearch != searches && (isCall || !tracer.onlyCalls) && !tracer.isResting
                && sessions[tracer.session].authorize(.subscribe, key)
            {
                tracer.lastSearch = searches
                found.append(tracer)
            }
        }
        return visits + entries
    }

    /// Whether there is no room for further notes.
    var isFull: Bool { bytes > Self.bytesMax }

    /// Notes a write or a call for the tracers that were found. `rest` is its line from the writer on. Returns who rests
    /// from now on.
    mutating func note(_ operation: Operation, _ key: Span<UInt8>, _ rest: Span<UInt8>, revision: UInt64)
        -> [Tracer]
    {
        let now = source.nanoseconds()
        var head = ByteBuffer()
        head.append(member: "key", text: key)
        head.append(member: "revision", revision)
        head.append(member: "op", text: operation.name)
        head.append(rest)
        for tracer in found { tracer.limit?.take(at: now) }
        let note = TracedTurn.Note(
            key: Array(key),
            revision: revision,
            head: Array(head.bytes),
            time: now,
            tracers: found.map { ($0, $0.isResting) },
            observers: operation == .call ? nil : []
        )
        turn.notes.append(note)
        count(head.count + found.count * MemoryLayout<(Tracer, Bool)>.stride)
        let resting = found.filter(\.isResting)
        for tracer in resting { countAwake(tracer, -1) }
        return resting
    }

    /// Adds the observers of the last write. There may be more than a line names.
    mutating func append(_ observers: [TracedObserver], hasMore: Bool) {
        turn.notes[turn.notes.count - 1].observers = observers
        turn.notes[turn.notes.count - 1].hasMore = hasMore
        count(observers.reduce(0) { $0 + $1.text.count })
    }

    private mutating func count(_ more: Int) {
        bytes += more
        turn.bytes += more
    }

    mutating func setSent(_ client: UInt64) {
        if !turn.notes.isEmpty { turn.sentAt[client] = source.nanoseconds() }
    }

    /// Ends the turn. Returns what happened in it; nil if nothing was noted.
    mutating func endTurn() -> TracedTurn? {
        if turn.notes.isEmpty { return nil }
        var ended = TracedTurn()
        swap(&ended, &turn)
        return ended
    }

    /// All of a turn was told.
    mutating func end(_ turn: TracedTurn) { bytes -= turn.bytes }

    /// Whether a tracer hasn't ended since it was found.
    func contains(_ tracer: Tracer) -> Bool { tracers[tracer.subscription] === tracer }
}

extension Tracing: Checked {
    var restingCount: Int { tracers.values.count(where: \.isResting) }

    /// `withGap` are those that are to be told of a gap.
    func checkInvariants(_ matching: borrowing Matching, withGap: [Tracer]) throws(BrokenInvariant) {
        let awake = tracers.values.count { !$0.isResting && !$0.onlyCalls }
        try Self.always.agree("it counts who wants writes and doesn't rest", awakeCount, awake)
        var standing = 0
        for (subscription, tracer) in tracers {
            let isThere = matching.contains(subscription)
            try Self.always.hold("who traces is there", isThere)
            let isIts =
                matching[subscription].session == tracer.session && tracer.subscription == subscription
            try Self.always.hold("it knows whose who traces is", isIts)
            let isEnding = tracer.limit?.ticket != nil
            try Self.always.agree("who rests has a deadline", tracer.isResting, isEnding)
            for pattern in tracer.patterns {
                let stands = tree.node(of: pattern.span)?.entries.count { $0 === tracer } ?? 0
                try Self.always.agree("each pattern stands in the tree", stands, 1)
                standing += 1
            }
        }
        try Self.always.agree("nobody stands in the tree who is gone", try tree.checkInvariants(), standing)
        try checkGaps(withGap)
        let found = matching.handles.count { matching[$0].isTracer }
        try Self.always.agree("it knows all who trace", tracers.count, found)
    }

    private func checkGaps(_ withGap: [Tracer]) throws(BrokenInvariant) {
        let listed = Set(withGap.map { ObjectIdentifier($0) })
        try Self.always.agree("who has a gap is listed once", withGap.count, listed.count)
        try Self.always.hold("who is listed knows it", withGap.allSatisfy(\.isListed))
        for tracer in tracers.values {
            let isSound = tracer.isListed ? listed.contains(ObjectIdentifier(tracer)) : tracer.gap == nil
            try Self.always.hold("who has a gap waits to be told", isSound)
        }
    }
}

/// What happened in a turn, for tracers.
struct TracedTurn {
    /// What happened to a write or a call, and who is told of it.
    struct Note {
        let key: [UInt8]
        let revision: UInt64
        /// The text of the line from the key up to the observers.
        fileprivate let head: [UInt8]
        fileprivate let time: UInt64
        /// Whether it is the last one before the rest of a tracer stands beside it.
        let tracers: [(tracer: Tracer, rests: Bool)]
        /// Nil if it is about a call, which has none.
        fileprivate var observers: [TracedObserver]?
        fileprivate var hasMore = false
    }

    fileprivate var notes: [Note] = []
    fileprivate var bytes = 0
    /// When each client was sent everything that waited for it.
    fileprivate var sentAt: [UInt64: UInt64] = [:]
    /// Who is told next, and of what.
    private var (note, tracer) = (0, 0)
    /// How many more bytes of lines tracers are told.
    var bytesLeft = Tracing.bytesMax

    var isTold: Bool { note == notes.count }

    /// The next note for a tracer.
    mutating func next() -> (note: Note, tracer: Tracer, rests: Bool)? {
        while note < notes.count {
            guard tracer < notes[note].tracers.count else {
                (note, tracer) = (note + 1, 0)
                continue
            }
            defer { tracer += 1 }
            let (found, rests) = notes[note].tracers[tracer]
            return (notes[note], found, rests)
        }
        return nil
    }

    /// Appends the line about a write or a call, without the members before the key and the end.
    func append(_ note: Note, to buffer: inout ByteBuffer) {
        buffer.append(note.head.span)
        guard let observers = note.observers else { return }
        buffer.append(#","observers":["#)
        for (place, observer) in observers.enumerated() {
            if place > 0 { buffer.append(",") }
            buffer.append(observer.text.span)
            // A client that wasn't sent everything gets the rest in a later turn, so its time isn't known.
            if observer.isSent, let time = sentAt[observer.client], time >= note.time {
                buffer.append(member: "microseconds", (time - note.time) / 1000)
            }
            buffer.append("}")
        }
        buffer.append(note.hasMore ? #"],"more":true"# : "]")
    }
}

/// A subscription that traces, with its patterns and its limit. Owned by `Tracing`.
final class Tracer {
    let subscription: SubscriptionHandle
    let session: SessionHandle
    let patterns: [[UInt8]]
    /// The last search that found it. It may have several matching patterns.
    var lastSearch: UInt64 = 0
    var limit: TraceLimit?
    let onlyCalls: Bool
    /// Writes that were dropped for it, as it was not told yet.
    var gap: LostRange?
    /// A chore is to tell of it.
    var isListed = false

    init(
        _ subscription: SubscriptionHandle, of session: SessionHandle, _ patterns: [[UInt8]], onlyCalls: Bool
    ) {
        (self.subscription, self.session, self.patterns) = (subscription, session, patterns)
        self.onlyCalls = onlyCalls
    }

    func drop(_ revision: UInt64) {
        isListed = true
        if gap == nil { gap = LostRange(dropped: 0, first: revision, last: revision) }
        gap?.dropped += 1
        gap?.last = revision
    }

    /// It is told nothing new until its rest is over.
    var isResting: Bool { limit?.isReached == true }
}

/// An observer of a traced write.
struct TracedObserver {
    /// `{"client":…,"name":…,"sub":…,"outcome":"…"`.
    let text: [UInt8]
    let client: UInt64
    let isSent: Bool
}

// How many events a tracer gets in a time. After that it rests until the time is over. While all tracers
// rest, a write costs no more than without tracers. Owned by its tracer. What always holds between turns: a
// resting tracer has a deadline that ends the rest.

struct TraceLimit {
    /// The span if only the number of events is given, and the number if only the span is given.
    static let millisecondsDefault: UInt32 = 1_000
    static let eventsDefault = 1

    let events: Int
    private let span: UInt64
    private var count = 0
    private(set) var end: UInt64 = 0
    var ticket: DeadlineTicket?

    init(events: Int, milliseconds: UInt32) {
        self.events = events
        span = UInt64(milliseconds) * 1_000_000
    }

    var isReached: Bool { count >= events }

    mutating func take(at now: UInt64) {
        if now >= end { (count, end) = (0, now &+ span) }
        count += 1
    }

    /// Ends the rest.
    mutating func wake() { (count, end, ticket) = (0, 0, nil) }
}
