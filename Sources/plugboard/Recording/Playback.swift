// Plays a recording: the values from the start at once, then each event at its time. Requests run
// ahead of their replies, except if a reply is needed: for the revision that a later write names as
// its cause, and for batches with a delete.

import PlugboardPosix
import PlugboardWire

/// One replay.
struct Playback: ~Copyable {
    /// The result of a replay.
    struct Outcome {
        var values: UInt64 = 0
        var events: UInt64 = 0
        /// Events of the broker's own keys, which are left out.
        var reserved: UInt64 = 0
        /// Deletes of keys that weren't there.
        var gone: UInt64 = 0
        /// Batches that don't fit in one line.
        var parted: UInt64 = 0
        var refused: UInt64 = 0
        /// The revision of the bus at the end.
        var revision: UInt64 = 0
    }

    private static let sendBytes = 64 * 1024
    /// How many requests may wait for their replies.
    private static let awaitedMax = 1_024
    /// The time between two updates of the bar.
    private static let sliceNanoseconds: UInt64 = 100_000_000

    private(set) var outcome = Outcome()
    /// The last line that was played, or left out.
    private(set) var number = 0
    /// Reports a refusal: the line's number, and what the broker said.
    private let report: (Int, String) -> Void
    private let connection: BrokerConnection
    private let requests: ReplayRequests
    private let speed: ReplaySpeed
    private var bar: ProgressBar
    private var outgoing: [UInt8] = []
    private var awaited: ArraySlice<ReplayRequest> = []
    private var revisions = RevisionMap()
    private var gaps = 0
    /// The moment at which the recording's time is 0.
    private var start: UInt64?

    init(
        connection: BrokerConnection,
        requests: ReplayRequests,
        speed: ReplaySpeed,
        bar: ProgressBar,
        report: @escaping (Int, String) -> Void
    ) {
        self.connection = connection
        self.requests = requests
        self.speed = speed
        self.bar = bar
        self.report = report
    }

    /// Plays everything in `reader`, and returns when the broker has done it.
    mutating func run(_ reader: inout RecordingReader) throws {
        let connection = connection
        while true {
            if reader.mustWait || outgoing.count >= Self.sendBytes || awaited.count >= Self.awaitedMax {
                try flush()
            }
            guard let events = try reader.next({ try connection.wait(for: $0, milliseconds: $1) }) else {
                break
            }
            try play(events, isWhole: reader.hasHeader)
        }
        try settle()
        outcome.revision = try connection.accepted(ObjectWriter(op: "sync"))["revision"]?.integer ?? 0
        bar.clear()
    }

    /// Removes the bar before anything else is shown.
    mutating func clear() {
        bar.clear()
    }

    /// Waits until everything that was sent so far has been answered.
    mutating func settle() throws {
        try send()
        while !awaited.isEmpty { try take(connection.nextLine()) }
    }

    private mutating func play(_ events: [RecordedEvent], isWhole: Bool) throws {
        number = events.last?.number ?? number
        let playable = events.filter { !$0.isReserved }
        outcome.reserved += UInt64(events.count - playable.count)
        guard let first = playable.first else { return }
        try passGap(first.gapsBefore)
        // Values that come again after a gap are from that time and not from the start.
        if !first.isInitial || gaps > 0 { try wait(until: first.milliseconds, isWhole) }
        for event in playable { try learn(event.cause) }
        let made = requests.requests(playable) { self.revisions[$0] }
        if made.count > 1 { outcome.parted += 1 }
        for request in made {
            if request.events.count > 1, request.events.contains(where: { $0.kind == .delete }) {
                try playCarefully(request)
            } else {
                append(request)
            }
        }
    }

    /// Forgets the revisions from before a gap, because they mean nothing after it.
    private mutating func passGap(_ count: Int) throws {
        guard count != gaps else { return }
        try settle()
        (gaps, revisions) = (count, RevisionMap())
    }

    private mutating func append(_ request: ReplayRequest) {
        outgoing += request.line
        awaited.append(request)
    }

    /// Waits for the reply with the new revision for the one that a write names.
    private mutating func learn(_ cause: UInt64?) throws {
        guard let cause, revisions[cause] == nil,
            awaited.contains(where: { $0.events.first?.revision == cause })
        else { return }
        try send()
        while revisions[cause] == nil, !awaited.isEmpty { try take(connection.nextLine()) }
    }

    /// The broker would refuse a whole batch that deletes an absent key. So that delete is left
    /// out.
    private mutating func playCarefully(_ request: ReplayRequest) throws {
        try settle()
        var request: ReplayRequest? = request
        while let attempt = request {
            try connection.send(attempt.line)
            let reply = try connection.nextLine()
            guard reply.kind == .error("not_found"), let place = reply["write"]?.integer,
                place < attempt.events.count, attempt.events[Int(place)].kind == .delete
            else { return note(reply, attempt) }
            outcome.gone += 1
            var left = attempt.events
            left.remove(at: Int(place))
            request = requests.requests(left) { self.revisions[$0] }.first
        }
    }

    // MARK: - Time

    private mutating func wait(until milliseconds: Double, _ isWhole: Bool) throws {
        guard speed.factor != nil else { return }
        if start == nil {
            try settle()
            let now = MonotonicClock.nanoseconds()
            // A part of a recording begins with its first event.
            let passed = isWhole ? 0 : speed.nanoseconds(after: milliseconds)
            start = now - min(now, passed)
        }
        let due = (start ?? 0) + speed.nanoseconds(after: milliseconds)
        while true {
            let now = MonotonicClock.nanoseconds()
            guard now < due else { return }
            try flush()
            let left = min(due - now, Self.sliceNanoseconds)
            let line = try connection.nextLine(milliseconds: Int32((left + 999_999) / 1_000_000))
            if let line { try take(line) }
        }
    }

    // MARK: - Requests and replies

    private mutating func flush() throws {
        try send()
        while !awaited.isEmpty, let line = try connection.nextLine(milliseconds: 0) { try take(line) }
        while awaited.count >= Self.awaitedMax { try take(connection.nextLine()) }
        let count = Int(outcome.values + outcome.events)
        bar.update(done: speed.factor == nil ? count : Int(milliseconds), count: count)
    }

    /// The present time in the recording.
    private var milliseconds: Double {
        guard let start, let factor = speed.factor else { return 0 }
        return min(Double(MonotonicClock.nanoseconds() - start) / 1e6 * factor, RecordedLine.millisecondsMax)
    }

    private mutating func send() throws {
        guard !outgoing.isEmpty else { return }
        try connection.send(outgoing)
        outgoing.removeAll(keepingCapacity: true)
    }

    /// Replies come in the order of the requests.
    private mutating func take(_ line: BrokerLine) throws {
        if case .event = line.kind { return }
        guard let request = awaited.popFirst() else { return }
        note(line, request)
    }

    private mutating func note(_ reply: BrokerLine, _ request: ReplayRequest) {
        let events = request.events
        if let refusal = reply.refusal {
            if reply.kind == .error("not_found"), events.count == 1, events[0].kind == .delete {
                outcome.gone += 1
                return
            }
            outcome.refused += UInt64(events.count)
            bar.clear()
            let place = Int(clamping: reply["write"]?.integer ?? 0)
            report(events[min(place, events.count - 1)].number, refusal.message)
            return
        }
        let values = events.count { $0.isInitial }
        outcome.values += UInt64(values)
        outcome.events += UInt64(events.count - values)
        guard let revision = reply["revision"]?.integer, let recorded = events.first?.revision else { return }
        revisions.note(recorded, as: revision)
    }
}
