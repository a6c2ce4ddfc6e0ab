// Notes what happened to each write and each call of a turn, for tracers. The notes are kept as text until
// the end of the turn, when it is known how long each observer waited. Owned by `Insight`. What always holds:
// while nobody traces writes, or all who do rest, `isOn` is false, and a write costs only that test.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

struct Tracing: ~Copyable {
    private let inPlace = InPlace()
    /// The most bytes of notes in one turn, and the most bytes of lines that tracers are told in one. Beyond
    /// that, writes are dropped and counted.
    static let bytesMax = 1_048_576

    private struct Observer: BitwiseCopyable {
        /// `{"client":…,"name":…,"sub":…,"outcome":"…"`.
        let text: ByteRange
        let client: UInt64
        let isSent: Bool
    }

    struct Record: BitwiseCopyable {
        let revision: UInt64
        fileprivate let key: ByteRange
        /// The text of the line from the key up to the observers.
        fileprivate let head: ByteRange
        fileprivate let time: UInt64
        /// The place of the first of its observers. The last of them stands before the next record's first.
        fileprivate let first: Int
        fileprivate var hasMore = false
        /// Whether it is about a call, which has no observers.
        fileprivate var isCall = false
    }

    /// Those that are told so much in a time.
    private(set) var limited: [Tracer] = []
    /// How many of those that want writes don't rest.
    private var awakeCount = 0
    private var tracers: [SubscriptionHandle: Tracer] = [:]
    private let tree = PatternTree<Tracer>()
    private(set) var found: [Tracer] = []
    /// Tracers that have a gap, or had one, in the order in which they are told.
    private var withGap: ArraySlice<Tracer> = []
    private var searches: UInt64 = 0
    private let source: TimeSource
    private var text = ByteBuffer()
    private var records = List<Record>()
    private var observers = List<Observer>()
    /// When each client was sent everything that waited for it in this turn.
    private var sentAt: [UInt64: UInt64] = [:]

    init(time source: TimeSource) {
        self.source = source
    }

    /// Returns false if finding who traces a key could then take too many steps. Then nothing was added.
    mutating func add(_ tracer: Tracer) -> Bool {
        for pattern in tracer.patterns { _ = tree.insert(pattern.span, tracer) }
        guard tree.steps <= Limits.patternStepsMax else {
            _ = removeFromTree(tracer)
            return false
        }
        tracers[tracer.subscription] = tracer
        if tracer.limit != nil { limited.append(tracer) }
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
        let visits = limited.count + removeFromTree(tracer)
        tracer.gap = nil
        if tracer.limit != nil { limited.removeAll { $0 === tracer } }
        if !tracer.isResting { countAwake(tracer, -1) }
        if tracers.isEmpty { removeAll() }
        return (tracer.limit?.ticket, visits)
    }

    mutating func wake(_ subscription: SubscriptionHandle) {
        guard let tracer = tracers[subscription] else { return }
        if tracer.isResting { countAwake(tracer, 1) }
        tracer.limit?.wake(after: records.count)
    }

    func patterns(of subscription: SubscriptionHandle) -> [[UInt8]] { tracers[subscription]?.patterns ?? [] }

    /// Finds the tracers that want a write or a call of a key, each once. Returns the cost in visits.
    mutating func find(_ key: Span<UInt8>, isCall: Bool, _ sessions: borrowing SessionTable) -> Int {
        found.removeAll(keepingCapacity: true)
        searches += 1
        var entries = 0
        let visits = tree.match(key) { end in
            entries += end.entries.count
            for tracer in end.entries
            where tracer.lastSearch != searches && (isCall || !tracer.onlyCalls)
                && sessions[tracer.session].authorize(.subscribe, key)
            {
                tracer.lastSearch = searches
                found.append(tracer)
            }
        }
        return visits + entries
    }

    /// The same for the key of a note of the turn.
    mutating func find(ofNote place: Int, _ sessions: borrowing SessionTable) -> Int {
        var text = ByteBuffer()
        swap(&text, &self.text)
        defer { swap(&text, &self.text) }
        return find(records[place].key.bytes(of: text.bytes), isCall: records[place].isCall, sessions)
    }

    /// Whether to note a write to the key that was just searched for: a tracer wants it, and there is room.
    /// Without room, it is dropped for those tracers.
    mutating func takes(revision: UInt64) -> Bool {
        let isFull = text.count > Self.bytesMax
        var isWanted = false
        for tracer in found where !tracer.isResting {
            isWanted = true
            if isFull { drop(revision, for: tracer) }
            guard !isFull, tracer.limit != nil else { continue }
            tracer.limit?.take(records.count, at: source.nanoseconds())
            if tracer.isResting { countAwake(tracer, -1) }
        }
        return isWanted && !isFull
    }

    /// `rest` is its line from the writer on. Call `append` for each observer of a write afterwards.
    mutating func begin(_ operation: Operation, _ key: Span<UInt8>, _ rest: Span<UInt8>, revision: UInt64) {
        let start = text.count
        text.append(#","key":""#)
        let keyRange = ByteRange(text.count, text.count + key.count)
        text.append(key)
        text.append("\"")
        text.append(member: "revision", revision)
        text.append(member: "op", text: operation.name)
        text.append(rest)
        let (isCall, first) = (operation == .call, observers.count)
        let head = ByteRange(start, text.count)
        let time = isCall ? 0 : source.nanoseconds()
        records.append(
            Record(
                revision: revision, key: keyRange, head: head, time: time, first: first, isCall: isCall)
        )
    }

    /// The last write has more observers than a line names.
    mutating func markIncomplete() {
        if !records.isEmpty { records[records.count - 1].hasMore = true }
    }

    mutating func append(_ observer: Span<UInt8>, client: UInt64, isSent: Bool) {
        let start = text.count
        text.append(observer)
        let range = ByteRange(start, text.count)
        observers.append(Observer(text: range, client: client, isSent: isSent))
    }

    mutating func setSent(_ client: UInt64) {
        if !records.isEmpty { sentAt[client] = source.nanoseconds() }
    }

    var isEmpty: Bool { records.isEmpty }

    var count: Int { records.count }

    func revision(_ index: Int) -> UInt64 { records[index].revision }

    /// Appends the line about a write for a tracer, without the members before the key.
    func appendLine(_ index: Int, for tracer: Tracer, to buffer: inout ByteBuffer) {
        let record = records[index]
        buffer.append(record.head.bytes(of: text.bytes))
        if !record.isCall { appendObservers(of: index, to: &buffer) }
        // It is the last before the tracer's rest.
        let isLast = tracer.limit?.isLast(index) == true
        buffer.append(isLast ? #","rests":true}\#n"# : "}\n")
    }

    private func appendObservers(of index: Int, to buffer: inout ByteBuffer) {
        let record = records[index]
        let last = index + 1 < records.count ? records[index + 1].first : observers.count
        buffer.append(#","observers":["#)
        for place in record.first..<last {
            let observer = observers[place]
            if place > record.first { buffer.append(",") }
            buffer.append(observer.text.bytes(of: text.bytes))
            // A client that wasn't sent everything gets the rest in a later turn, so its time isn't known.
            if observer.isSent, let time = sentAt[observer.client], time >= record.time {
                buffer.append(member: "microseconds", (time - record.time) / 1000)
            }
            buffer.append("}")
        }
        buffer.append(record.hasMore ? #"],"more":true"# : "]")
    }

    /// Drops a write for a tracer, because this turn tells too much already.
    mutating func drop(_ revision: UInt64, for tracer: Tracer) {
        if !tracer.isListed {
            tracer.isListed = true
            withGap.append(tracer)
        }
        tracer.drop(revision)
    }

    var hasGaps: Bool { !withGap.isEmpty }

    mutating func takeGap() -> (gap: LostRange, subscription: SubscriptionHandle)? {
        while let tracer = withGap.popFirst() {
            // A slice keeps what was taken from its front.
            if withGap.isEmpty { withGap = [] }
            tracer.isListed = false
            if let gap = tracer.gap.take() { return (gap, tracer.subscription) }
        }
        return nil
    }

    mutating func removeAll() {
        text.removeAll()
        records.removeAll()
        observers.removeAll()
        sentAt.removeAll(keepingCapacity: true)
        for tracer in limited { tracer.limit?.forgetTurn() }
        if text.allocatedBytes > Self.bytesMax { text.releaseMemory() }
    }
}

extension Tracing: Checked {
    var restingCount: Int { tracers.values.count(where: \.isResting) }

    func checkInvariants(_ matching: borrowing Matching) throws(BrokenInvariant) {
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
        try checkGaps()
        let isKnown = limited.allSatisfy { $0.limit != nil && tracers[$0.subscription] === $0 }
        try Self.always.hold("who has a limit is there", isKnown)
        try Self.always.agree("all with a limit", limited.count, tracers.values.count { $0.limit != nil })
        let found = matching.handles.count { matching[$0].isTracer }
        try Self.always.agree("it knows all who trace", tracers.count, found)
    }

    private func checkGaps() throws(BrokenInvariant) {
        let listed = Set(withGap.map { ObjectIdentifier($0) })
        try Self.always.agree("who has a gap is listed once", withGap.count, listed.count)
        try Self.always.hold("who is listed knows it", withGap.allSatisfy(\.isListed))
        for tracer in tracers.values {
            let isSound = tracer.isListed ? listed.contains(ObjectIdentifier(tracer)) : tracer.gap == nil
            try Self.always.hold("who has a gap waits to be told", isSound)
        }
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
    var isListed = false

    init(
        _ subscription: SubscriptionHandle, of session: SessionHandle, _ patterns: [[UInt8]], onlyCalls: Bool
    ) {
        (self.subscription, self.session, self.patterns) = (subscription, session, patterns)
        self.onlyCalls = onlyCalls
    }

    func drop(_ revision: UInt64) {
        if gap == nil { gap = LostRange(dropped: 0, first: revision, last: revision) }
        gap?.dropped += 1
        gap?.last = revision
    }

    /// It is told nothing until its rest is over.
    var isResting: Bool { limit?.isReached == true }

    func isTold(_ place: Int) -> Bool { limit?.told.contains(place) != false }
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
    /// Which notes of this turn the tracer is told: those after its last rest and before the next one.
    private(set) var told = 0..<Int.max

    init(events: Int, milliseconds: UInt32) {
        self.events = events
        span = UInt64(milliseconds) * 1_000_000
    }

    var isReached: Bool { count >= events }

    func isLast(_ place: Int) -> Bool { isReached && place + 1 == told.upperBound }

    mutating func take(_ place: Int, at now: UInt64) {
        if now >= end { (count, end) = (0, now &+ span) }
        count += 1
        if isReached { told = told.lowerBound..<(place + 1) }
    }

    /// Ends the rest. Notes of this turn that exist already aren't told.
    mutating func wake(after places: Int) {
        (count, end, ticket, told) = (0, 0, nil, places..<Int.max)
    }

    mutating func forgetTurn() { told = isReached ? 0..<0 : 0..<Int.max }
}
