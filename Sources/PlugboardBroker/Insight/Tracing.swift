// What became of the writes of a turn, for those who trace: kept as text from the write
// until the end of the turn, when it is known how long each observer waited. Owned by the
// hub; empty, and one false flag, while nobody traces.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The traces of the turn under way.
struct Tracing: ~Copyable {
    /// Text of one turn past which writes are no longer traced, but counted as dropped.
    static let bytesMax = 4_194_304

    /// Who traces what.
    struct Tracer {
        let subscription: SubscriptionHandle
        let patterns: [[UInt8]]
        /// What this turn had no room for.
        var gap: Gap?

        mutating func drop(_ revision: UInt64) {
            if gap == nil { gap = Gap(dropped: 0, first: revision, last: revision) }
            gap?.dropped += 1
            gap?.last = revision
        }

        func isConcerned(
            _ key: Span<UInt8>,
            _ matching: borrowing Matching,
            _ sessions: borrowing SessionTable
        ) -> Bool {
            patterns.contains { pattern in Pattern.matches(pattern.span, key) }
                && sessions[matching[subscription].session].authorize(.subscribe, key)
        }
    }

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
        /// From the key to what the observers follow.
        fileprivate let head: ByteRange
        /// When it was made, in monotonic nanoseconds.
        fileprivate let time: UInt64
        /// Its observers from the first to, and without, the last.
        fileprivate let first: Int
        fileprivate var last: Int
        fileprivate var hasMore = false
    }

    /// Somebody traces.
    private(set) var isOn = false
    private(set) var tracers: [Tracer] = []
    private let source: TimeSource
    private var text = ByteBuffer()
    private var records = List<Record>()
    private var observers = List<Observer>()
    /// When each client was sent all that was there for it, in this turn.
    private var sentAt: [UInt64: UInt64] = [:]

    init(time source: TimeSource) {
        self.source = source
    }

    mutating func add(_ subscription: SubscriptionHandle, _ patterns: [[UInt8]]) {
        tracers.append(Tracer(subscription: subscription, patterns: patterns))
        isOn = true
    }

    mutating func remove(_ subscription: SubscriptionHandle) {
        tracers.removeAll { $0.subscription == subscription }
        isOn = !tracers.isEmpty
        if !isOn { removeAll() }
    }

    /// What a tracer asked for.
    func patterns(of subscription: SubscriptionHandle) -> [[UInt8]] {
        tracers.first { $0.subscription == subscription }?.patterns ?? []
    }

    /// Whether somebody is to be told of a write to this key, and there is room to note it.
    mutating func takes(
        _ key: Span<UInt8>,
        revision: UInt64,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable
    ) -> Bool {
        let isFull = text.count > Self.bytesMax
        var isWanted = false
        for index in tracers.indices where tracers[index].isConcerned(key, matching, sessions) {
            isWanted = true
            if isFull { tracers[index].drop(revision) }
        }
        return isWanted && !isFull
    }

    /// Notes a write; its observers follow.
    mutating func begin(
        _ operation: Operation,
        _ reason: EventReason?,
        _ key: Span<UInt8>,
        by author: Span<UInt8>,
        revision: UInt64,
        cause: WriteCause
    ) {
        let start = text.count
        text.append(#","key":""#)
        let keyStart = text.count
        text.append(key)
        let keyRange = ByteRange(keyStart, text.count)
        text.append(#"","revision":"#)
        text.append(decimal: revision)
        text.append(#","op":""#)
        text.append(operation.name)
        text.append("\"")
        text.append(author)
        EventEncoder.appendReason(reason, to: &text)
        cause.append(to: &text)
        let head = ByteRange(start, text.count)
        let time = source.nanoseconds()
        let first = observers.count
        records.append(
            Record(revision: revision, key: keyRange, head: head, time: time, first: first, last: first)
        )
    }

    /// Notes what becomes of the last write for one of its observers, as text in `observer`.
    mutating func append(_ observer: Span<UInt8>, client: UInt64, isSent: Bool) {
        guard !records.isEmpty else { return }
        let place = records.count - 1
        if observers.count - records[place].first == Limits.listedObserversMax {
            records[place].hasMore = true
            return
        }
        let start = text.count
        text.append(observer)
        let range = ByteRange(start, text.count)
        observers.append(Observer(text: range, client: client, isSent: isSent))
        records[place].last = observers.count
    }

    /// A client was sent all that was there for it.
    mutating func noteSent(_ client: UInt64) {
        if !records.isEmpty { sentAt[client] = source.nanoseconds() }
    }

    /// Something is to be told at the end of this turn.
    var isEmpty: Bool { records.isEmpty }

    /// How many writes were noted.
    var count: Int { records.count }

    /// The revision of a write.
    func revision(_ index: Int) -> UInt64 { records[index].revision }

    /// The key of a write.
    @_lifetime(borrow self)
    func key(_ index: Int) -> Span<UInt8> {
        records[index].key.bytes(of: text.bytes)
    }

    /// Adds the line about a write, without its beginning.
    func appendLine(_ index: Int, to buffer: inout ByteBuffer) {
        let record = records[index]
        buffer.append(record.head.bytes(of: text.bytes))
        buffer.append(#","observers":["#)
        for place in record.first..<record.last {
            let observer = observers[place]
            if place > record.first { buffer.append(",") }
            buffer.append(observer.text.bytes(of: text.bytes))
            // Who was not sent everything in this turn gets the rest in a later one.
            if observer.isSent, let time = sentAt[observer.client], time >= record.time {
                buffer.append(#","microseconds":"#)
                buffer.append(decimal: (time - record.time) / 1000)
            }
            buffer.append("}")
        }
        buffer.append(record.hasMore ? "],\"more\":true}\n" : "]}\n")
    }

    /// The gap of a tracer, once.
    mutating func takeGap(ofTracer index: Int) -> Gap? {
        defer { tracers[index].gap = nil }
        return tracers[index].gap
    }

    /// Forgets the turn.
    mutating func removeAll() {
        text.removeAll()
        records.removeAll()
        observers.removeAll()
        sentAt.removeAll(keepingCapacity: true)
        if text.allocatedBytes > Self.bytesMax { text.releaseMemory() }
    }
}

extension Tracing {
    private static var always: Invariants { Invariants(of: "Tracing") }

    /// Each tracer is a subscription that traces, and nothing is left of a turn.
    func checkInvariants(
        _ living: borrowing Living,
        _ matching: borrowing Matching
    ) throws(BrokenInvariant) {
        try Self.always.agree("it is on while somebody traces", isOn, !tracers.isEmpty)
        for tracer in tracers {
            let isThere = living.subscriptions.contains(tracer.subscription)
            try Self.always.hold("who traces is there", isThere)
        }
        var found = 0
        for subscription in living.subscriptions where matching[subscription].isTracer { found += 1 }
        try Self.always.agree("it knows all who trace", tracers.count, found)
    }
}
