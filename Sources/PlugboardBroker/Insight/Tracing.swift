// Notes what happened to each write and each call of a turn, for tracers. The notes are kept as text until
// the end of the turn, when it is known how long each observer waited. Owned by `Insight`. What always holds:
// while nobody traces writes, or all who do rest, `isOn` is false, and a write costs only that test.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The tracers, and the traces of the present turn.
struct Tracing: ~Copyable {
    private let inPlace = InPlace()
    /// The most bytes of notes in one turn, and the most bytes of lines that tracers are told in one. Beyond
    /// that, writes are dropped and counted.
    static let bytesMax = 1_048_576

    /// One observer of a traced write.
    private struct Observer: BitwiseCopyable {
        /// `{"client":…,"name":…,"sub":…,"outcome":"…"`.
        let text: ByteRange
        let client: UInt64
        let isSent: Bool
    }

    /// One write.
    struct Record: BitwiseCopyable {
        let revision: UInt64
        fileprivate let key: ByteRange
        /// The text of the line from the key up to the observers.
        fileprivate let head: ByteRange
        /// When the write was made, in monotonic nanoseconds.
        fileprivate let time: UInt64
        /// The places of its observers: from `first` up to, not including, `last`.
        fileprivate let first: Int
        fileprivate var last: Int
        fileprivate var hasMore = false
        /// Whether it is about a call, which has no observers.
        fileprivate var isCall = false
    }

    /// How many tracers have a limit.
    private var limitedCount = 0
    /// How many tracers don't rest, and how many of these want writes.
    private var awakeCount = 0
    private var awakeForWritesCount = 0
    /// The tracers by their numbers, and the free numbers.
    private var slots: [Tracer] = []
    private var freeSlots: [Int] = []
    private var numbers: [SubscriptionHandle: Int] = [:]
    /// The patterns of all tracers. A write costs nothing for tracers that don't want it.
    private let tree = PatternTree<Int>()
    /// The numbers of the tracers that the last search found.
    private(set) var found = List<Int>()
    /// The numbers of tracers that have a gap, in the order in which they are told, and how many of them were
    /// told.
    private var withGap = List<Int>()
    private var toldGaps = 0
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

    mutating func add(_ tracer: Tracer) {
        let number = freeSlots.popLast() ?? slots.count
        if number == slots.count { slots.append(Tracer(subscription: .none, session: .none, patterns: [])) }
        var tracer = tracer
        for pattern in tracer.patterns {
            let (node, index) = tree.insert(pattern.span, number)
            tracer.standing.append(TracerPlace(node: node, index: index))
        }
        tracer.isListed = slots[number].isListed
        slots[number] = tracer
        numbers[tracer.subscription] = number
        if tracer.limit != nil { limitedCount += 1 }
        countAwake(tracer, 1)
    }

    /// Whether anybody wants to know of writes now.
    @inline(__always) var isOn: Bool { awakeForWritesCount > 0 }

    /// Whether anybody wants to know of calls now.
    var isOnForCalls: Bool { awakeCount > 0 }

    private mutating func countAwake(_ tracer: Tracer, _ difference: Int) {
        awakeCount += difference
        if !tracer.onlyCalls { awakeForWritesCount += difference }
    }

    /// Returns the deadline of its rest, for the caller to cancel.
    mutating func remove(_ subscription: SubscriptionHandle) -> DeadlineTicket? {
        guard let number = numbers.removeValue(forKey: subscription) else { return nil }
        while let place = slots[number].standing.popLast() { removePattern(place) }
        let tracer = slots[number]
        slots[number] = Tracer(subscription: .none, session: .none, patterns: [], isListed: tracer.isListed)
        freeSlots.append(number)
        if tracer.limit != nil { limitedCount -= 1 }
        if !tracer.isResting { countAwake(tracer, -1) }
        if numbers.isEmpty { removeAll() }
        return tracer.limit?.ticket
    }

    private mutating func removePattern(_ place: TracerPlace) {
        guard let moved = tree.remove(at: place.index, from: place.node) else { return }
        slots[moved].setPlace(place.node, from: place.node.entries.count, to: place.index)
    }

    /// Ends a tracer's rest.
    mutating func wake(_ subscription: SubscriptionHandle) {
        guard let number = numbers[subscription] else { return }
        if slots[number].isResting { countAwake(slots[number], 1) }
        slots[number].limit?.wake(after: records.count)
    }

    /// The patterns of a tracer.
    func patterns(of subscription: SubscriptionHandle) -> [[UInt8]] {
        numbers[subscription].map { slots[$0].patterns } ?? []
    }

    /// The subscription of a tracer.
    func subscription(_ number: Int) -> SubscriptionHandle { slots[number].subscription }

    /// Whether a tracer that wants this note of the turn is told it.
    func isTold(_ place: Int, _ number: Int) -> Bool { limitedCount == 0 || slots[number].isTold(place) }

    /// The numbers of tracers with a limit.
    var limited: [Int] { limitedCount == 0 ? [] : slots.indices.filter { slots[$0].limit != nil } }

    /// Finds the tracers that want a write or a call of a key and may see it, each once. Returns the cost in
    /// visits.
    mutating func find(_ key: Span<UInt8>, isCall: Bool, _ sessions: borrowing SessionTable) -> Int {
        found.removeAll()
        searches += 1
        let visits = tree.match(key, into: &found)
        var count = 0
        for place in found.indices {
            let number = found[place]
            guard slots[number].lastSearch != searches, isCall || !slots[number].onlyCalls,
                sessions[slots[number].session].authorize(.subscribe, key)
            else { continue }
            slots[number].lastSearch = searches
            found[count] = number
            count += 1
        }
        let all = found.count
        found.truncate(to: count)
        return visits + all
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
        for place in found.indices where !slots[found[place]].isResting {
            isWanted = true
            // One tracer is enough, unless each has to count the write.
            if !isFull, limitedCount == 0 { break }
            if isFull { drop(revision, ofTracer: found[place]) } else { countEvent(ofTracer: found[place]) }
        }
        return isWanted && !isFull
    }

    /// Counts the next note for a tracer with a limit.
    private mutating func countEvent(ofTracer index: Int) {
        guard slots[index].limit != nil else { return }
        slots[index].limit?.take(records.count, at: source.nanoseconds())
        if slots[index].isResting { countAwake(slots[index], -1) }
    }

    /// The end of a tracer's rest, if that has just begun.
    func restEnd(ofTracer index: Int) -> UInt64? {
        guard limitedCount > 0, let limit = slots[index].limit, limit.isReached, limit.ticket == nil else {
            return nil
        }
        return limit.end
    }

    /// Notes the deadline that ends a tracer's rest.
    mutating func setDeadline(_ ticket: DeadlineTicket, ofTracer index: Int) {
        slots[index].limit?.ticket = ticket
    }

    /// Notes a write or a call. `rest` is its line from the writer on. Call `append` for each observer of a write
    /// afterwards.
    mutating func begin(_ operation: Operation, _ key: Span<UInt8>, _ rest: Span<UInt8>, revision: UInt64) {
        let start = text.count
        text.append(#","key":""#)
        let keyRange = ByteRange(text.count, text.count + key.count)
        text.append(key)
        text.append(#"","revision":"#)
        text.append(decimal: revision)
        text.append(#","op":""#)
        text.append(operation.name)
        text.append("\"")
        text.append(rest)
        let (isCall, first) = (operation == .call, observers.count)
        let head = ByteRange(start, text.count)
        let time = isCall ? 0 : source.nanoseconds()
        records.append(
            Record(
                revision: revision, key: keyRange, head: head, time: time, first: first, last: first,
                isCall: isCall)
        )
    }

    /// The last write has more observers than a line names.
    mutating func markIncomplete() {
        if !records.isEmpty { records[records.count - 1].hasMore = true }
    }

    /// Notes the outcome of the last write for one observer. `observer` is the text.
    mutating func append(_ observer: Span<UInt8>, client: UInt64, isSent: Bool) {
        guard !records.isEmpty else { return }
        let place = records.count - 1
        let start = text.count
        text.append(observer)
        let range = ByteRange(start, text.count)
        observers.append(Observer(text: range, client: client, isSent: isSent))
        records[place].last = observers.count
    }

    /// Notes that a client was sent everything that waited for it.
    mutating func setSent(_ client: UInt64) {
        if !records.isEmpty { sentAt[client] = source.nanoseconds() }
    }

    /// Whether no write was noted in this turn.
    var isEmpty: Bool { records.isEmpty }

    /// The number of noted writes.
    var count: Int { records.count }

    /// The revision of a write.
    func revision(_ index: Int) -> UInt64 { records[index].revision }

    /// Appends the line about a write for a tracer, without the members before the key.
    func appendLine(_ index: Int, for tracer: Int, to buffer: inout ByteBuffer) {
        let record = records[index]
        buffer.append(record.head.bytes(of: text.bytes))
        if !record.isCall { appendObservers(of: record, to: &buffer) }
        // It is the last before the tracer's rest.
        let isLast = slots[tracer].limit?.isLast(index) == true
        buffer.append(isLast ? #","rests":true}\#n"# : "}\n")
    }

    private func appendObservers(of record: Record, to buffer: inout ByteBuffer) {
        buffer.append(#","observers":["#)
        for place in record.first..<record.last {
            let observer = observers[place]
            if place > record.first { buffer.append(",") }
            buffer.append(observer.text.bytes(of: text.bytes))
            // A client that wasn't sent everything gets the rest in a later turn, so its time isn't known.
            if observer.isSent, let time = sentAt[observer.client], time >= record.time {
                buffer.append(#","microseconds":"#)
                buffer.append(decimal: (time - record.time) / 1000)
            }
            buffer.append("}")
        }
        buffer.append(record.hasMore ? #"],"more":true"# : "]")
    }

    /// Drops a write for a tracer, because this turn tells too much already.
    mutating func drop(_ index: Int, ofTracer tracer: Int) { drop(records[index].revision, ofTracer: tracer) }

    private mutating func drop(_ revision: UInt64, ofTracer tracer: Int) {
        if !slots[tracer].isListed {
            slots[tracer].isListed = true
            withGap.append(tracer)
        }
        slots[tracer].drop(revision)
    }

    /// Tracers have a gap, or had one.
    var hasGaps: Bool { !withGap.isEmpty }

    /// Takes the gap of the next tracer that has one.
    mutating func takeGap() -> (gap: LostRange, subscription: SubscriptionHandle)? {
        while toldGaps < withGap.count {
            let number = withGap[toldGaps]
            toldGaps += 1
            slots[number].isListed = false
            if let gap = slots[number].gap.take() { return (gap, slots[number].subscription) }
        }
        return nil
    }

    /// Takes the gap of a tracer that is told of a later write.
    mutating func takeGap(ofTracer number: Int) -> LostRange? { slots[number].gap.take() }

    /// Forgets the tracers whose gaps were taken.
    mutating func forgetToldGaps() {
        withGap.removeFirst(toldGaps)
        toldGaps = 0
    }

    /// Forgets the turn's writes.
    mutating func removeAll() {
        text.removeAll()
        records.removeAll()
        observers.removeAll()
        sentAt.removeAll(keepingCapacity: true)
        for number in limited { slots[number].limit?.forgetTurn() }
        if text.allocatedBytes > Self.bytesMax { text.releaseMemory() }
    }
}

extension Tracing {
    /// All tracers.
    var tracers: [Tracer] { slots.filter { $0.subscription != .none } }

    private static var always: Invariants { Invariants(of: "Tracing") }

    /// The tracers are the subscriptions that trace.
    func checkInvariants(_ living: borrowing Living, _ matching: borrowing Matching) throws(BrokenInvariant) {
        let awake = tracers.filter { !$0.isResting }
        try Self.always.agree("it counts who doesn't rest", awakeCount, awake.count)
        let forWrites = awake.count { !$0.onlyCalls }
        try Self.always.agree("it counts who wants writes", awakeForWritesCount, forWrites)
        for tracer in tracers {
            let isThere = living.subscriptions.contains(tracer.subscription)
            try Self.always.hold("who traces is there", isThere)
            let isIts = matching[tracer.subscription].session == tracer.session
            try Self.always.hold("it knows whose who traces is", isIts)
            let isEnding = tracer.limit?.ticket != nil
            try Self.always.agree("who rests has a deadline", tracer.isResting, isEnding)
        }
        try Self.always.agree("it knows the number of each", numbers.count, tracers.count)
        var standing = 0
        for (subscription, number) in numbers {
            try Self.always.hold("each has its number", slots[number].subscription == subscription)
            for place in slots[number].standing {
                let stands =
                    place.index < place.node.entries.count && place.node.entries[place.index] == number
                try Self.always.hold("each pattern stands in the tree", stands)
                standing += 1
            }
        }
        try Self.always.agree("nobody stands in the tree who is gone", try tree.checkInvariants(), standing)
        try checkGaps()
        try Self.always.agree("it counts those with a limit", limitedCount, tracers.count { $0.limit != nil })
        var found = 0
        for subscription in living.subscriptions where matching[subscription].isTracer { found += 1 }
        try Self.always.agree("it knows all who trace", tracers.count, found)
    }

    /// Each tracer with a gap is listed once, to be told of it.
    private func checkGaps() throws(BrokenInvariant) {
        try Self.always.agree("who has a gap is listed once", withGap.count, slots.count(where: \.isListed))
        for number in withGap.all {
            try Self.always.hold("who is listed knows it", slots[number].isListed)
        }
        for tracer in slots where tracer.gap != nil {
            let waits = tracer.isListed && tracer.subscription != .none
            try Self.always.hold("who has a gap is there, and waits to be told", waits)
        }
    }
}

// A tracer: a subscription that traces, with its patterns and its limit. Owned by `Tracing`, which gives it a
// number.

/// A subscription that traces, and its patterns.
struct Tracer {
    /// `.none` if the number is free.
    let subscription: SubscriptionHandle
    /// The session of the subscription.
    let session: SessionHandle
    let patterns: [[UInt8]]
    /// The places of the patterns in the tree.
    var standing: [TracerPlace] = []
    /// The last search that found it. It may have several matching patterns.
    var lastSearch: UInt64 = 0
    /// How many events it gets in a time; nil if all.
    var limit: TraceLimit?
    /// It isn't told of writes.
    var onlyCalls = false
    /// Writes that were dropped for it, as it was not told yet.
    var gap: LostRange?
    /// Its number is in `withGap`, perhaps for an earlier tracer with this number.
    var isListed = false

    mutating func drop(_ revision: UInt64) {
        if gap == nil { gap = LostRange(dropped: 0, first: revision, last: revision) }
        gap?.dropped += 1
        gap?.last = revision
    }

    /// It is told nothing until its rest is over.
    var isResting: Bool { limit?.isReached == true }

    /// Whether it is told this note of the turn, if it wants it.
    func isTold(_ place: Int) -> Bool { limit?.told.contains(place) != false }

    /// Another entry of the tree was removed, so one of its own has moved.
    mutating func setPlace(_ node: PatternNode<Int>, from last: Int, to index: Int) {
        for place in standing.indices where standing[place].node === node && standing[place].index == last {
            standing[place].index = index
            return
        }
    }
}

/// The place of a tracer's pattern in the tree.
struct TracerPlace {
    let node: PatternNode<Int>
    var index: Int
}

// How many events a tracer gets in a time. After that it rests until the time is over. While all tracers
// rest, a write costs no more than without tracers. Owned by its tracer. What always holds between turns: a
// resting tracer has a deadline that ends the rest.

/// The limit of one tracer, and its place in the present span.
struct TraceLimit {
    /// The span if only the number of events is given, and the number if only the span is given.
    static let millisecondsDefault: UInt32 = 1_000
    static let eventsDefault = 1

    /// How many events it gets in one span.
    let events: Int
    /// The span in nanoseconds.
    private let span: UInt64
    private var count = 0
    /// When the present span ends.
    private(set) var end: UInt64 = 0
    /// The deadline that ends the rest.
    var ticket: DeadlineTicket?
    /// Which notes of this turn the tracer is told: those after its last rest and before the next one.
    private(set) var told = 0..<Int.max

    init(events: Int, milliseconds: UInt32) {
        self.events = events
        span = UInt64(milliseconds) * 1_000_000
    }

    var isReached: Bool { count >= events }

    /// Whether a note is the last one before the rest.
    func isLast(_ place: Int) -> Bool { isReached && place + 1 == told.upperBound }

    /// Counts the event of a note.
    mutating func take(_ place: Int, at now: UInt64) {
        if now >= end { (count, end) = (0, now &+ span) }
        count += 1
        if isReached { told = told.lowerBound..<(place + 1) }
    }

    /// Ends the rest. Notes of this turn that exist already aren't told.
    mutating func wake(after places: Int) {
        (count, end, ticket, told) = (0, 0, nil, places..<Int.max)
    }

    /// The turn has ended.
    mutating func forgetTurn() { told = isReached ? 0..<0 : 0..<Int.max }
}
