// The events of the turn under way, each line once: what is told to a hundred
// observers is written down once and referred to a hundred times. Lasts from one end
// of a turn to the next; whoever has not been sent its share by then gets a copy.

import PlugboardMemory
import PlugboardWire

/// A run of bytes in the turn's log, and the next one for the same session.
private struct Extent: BitwiseCopyable {
    var start: Int32
    var end: Int32
    var next: Int32
}

/// The shared lines of a turn.
struct TurnLog: ~Copyable {
    /// Memory that is kept from turn to turn.
    private static let keptBytesMax = 4_194_304
    /// A turn whose events have come to so many bytes is to be ended.
    private static let bytesPerTurn = 524_288
    /// With so many bytes of several turns nothing more is told until all are served.
    private static let bytesOfTurns = 16 * bytesPerTurn
    /// Past this the log is copied out and begun anew, so that offsets stay small whatever
    /// one event comes to with very many observers that are all called differently.
    static let bytesMax = 67_108_864
    private var bytes = ByteBuffer()
    /// Where the events of this turn begin: some of the clients may be left to be served with earlier ones.
    private var turnStart = 0
    private var extents = List<Extent>()
    /// Numbers the events, so that a line that was encoded for one is not taken for another's.
    private var event: UInt64 = 0
    /// Where the shared part of the event stands in each form, if it does.
    private var tails = (ByteRange.none, ByteRange.none, ByteRange.none, ByteRange.none)

    init() {}

    /// Bytes written in this turn.
    @inline(__always) var count: Int { bytes.count }

    /// There is room for more events in this turn.
    @inline(__always) var hasRoom: Bool {
        count &- turnStart <= Self.bytesPerTurn && count <= Self.bytesOfTurns
    }

    /// The next turn begins.
    mutating func beginTurn() { turnStart = count }

    /// The number of the event under way.
    @inline(__always) var eventNumber: UInt64 { event }

    /// A line that stands in the log; valid until more is written.
    @_lifetime(borrow self)
    func bytes(of line: ByteRange) -> Span<UInt8> { line.bytes(of: bytes.bytes) }

    /// Begins the next event.
    @inline(__always)
    mutating func beginEvent() {
        event += 1
        tails = (.none, .none, .none, .none)
    }

    /// Where the event's line for a subscription stands; encoded if nobody with the same
    /// text and the same form was told before.
    @inline(__always)
    mutating func line(
        _ kind: Event,
        _ tail: borrowing EventTail,
        _ form: EventKind,
        for text: inout SubscriptionText
    ) -> ByteRange {
        if text.encodedEvent == event, text.encodedKind == form { return text.line }
        return encode(kind, tail, &text, form)
    }

    /// Writes a line that only this subscription is told.
    mutating func ownLine(
        _ kind: Event,
        _ tail: borrowing EventTail,
        _ telling: Telling,
        _ change: borrowing ByteBuffer,
        _ form: EventKind,
        for text: borrowing SubscriptionText
    ) -> ByteRange {
        let start = bytes.count
        Self.append(kind, tail, telling, change, form, for: text, to: &bytes)
        return ByteRange(start, bytes.count)
    }

    /// Writes a line of what is to be told anywhere.
    static func append(
        _ kind: Event,
        _ tail: borrowing EventTail,
        _ telling: Telling,
        _ change: borrowing ByteBuffer,
        _ form: EventKind,
        for text: borrowing SubscriptionText,
        to buffer: inout ByteBuffer
    ) {
        if telling == .leaving {
            EventEncoder.appendLeaveStart(sub: text.sub, to: &buffer)
        } else {
            kind.appendStart(text.updateStart, to: &buffer)
        }
        EventEncoder.appendTail(
            tail,
            change: telling == .change ? change.bytes : Span(),
            hasValue: form.hasValue && telling == .event,
            hasOld: form.hasOld,
            to: &buffer
        )
    }

    /// Adds a line to what a session is to be sent.
    @inline(__always)
    mutating func append(_ line: ByteRange, to outbox: inout Outbox) {
        if !outbox.extend(with: line) { beginRun(line, of: &outbox) }
    }

    /// Names the newest run of an outbox, and the place behind it.
    static let newestRun: Int32 = -2
    static let noRun: Int32 = -1

    /// The first run of an outbox's share, for `run(_:of:)`.
    @inline(__always)
    static func firstRun(of outbox: borrowing Outbox) -> Int32 {
        if outbox.firstExtent >= 0 { return outbox.firstExtent }
        return outbox.sharedBytes > 0 ? newestRun : noRun
    }

    /// The run of bytes at `next`, which moves on to the one after: `noRun` behind the last.
    @inline(__always)
    @_lifetime(borrow self)
    func run(_ next: inout Int32, of outbox: borrowing Outbox) -> Span<UInt8> {
        if next == Self.newestRun {
            next = Self.noRun
            return bytes.bytes[Int(outbox.newestStart)..<Int(outbox.newestEnd)]
        }
        let extent = extents[Int(next)]
        next = extent.next < 0 ? Self.newestRun : extent.next
        return bytes.bytes[Int(extent.start)..<Int(extent.end)]
    }

    /// Forgets the turn; no outbox refers to it any more.
    mutating func removeAll() {
        bytes.removeAll()
        turnStart = 0
        extents.removeAll()
        if bytes.allocatedBytes > Self.keptBytesMax { bytes.releaseMemory() }
        if extents.count > Self.keptBytesMax / 16 { extents.releaseMemory() }
    }

    private mutating func encode(
        _ kind: Event,
        _ tail: borrowing EventTail,
        _ text: inout SubscriptionText,
        _ form: EventKind
    ) -> ByteRange {
        let start = bytes.count
        kind.appendStart(text.updateStart, to: &bytes)
        let tailStart = bytes.count
        if let known = knownTail(form) {
            bytes.append(again: known.start..<known.end)
        } else {
            EventEncoder.appendTail(tail, hasValue: form.hasValue, hasOld: form.hasOld, to: &bytes)
            remember(ByteRange(tailStart, bytes.count), form)
        }
        let line = ByteRange(start, bytes.count)
        text.encodedEvent = event
        text.encodedKind = form
        text.line = line
        return line
    }

    /// Chains the newest run of an outbox to its earlier ones, and begins another.
    @inline(never)
    private mutating func beginRun(_ line: ByteRange, of outbox: inout Outbox) {
        if outbox.newestEnd >= 0 {
            let index = Int32(extents.count)
            extents.append(Extent(start: outbox.newestStart, end: outbox.newestEnd, next: -1))
            if outbox.lastExtent >= 0 { extents[Int(outbox.lastExtent)].next = index }
            outbox.noteChained(at: index)
        }
        outbox.beginRun(with: line)
    }

    private func knownTail(_ form: EventKind) -> ByteRange? {
        let range: ByteRange
        switch form.rawValue {
        case 0: range = tails.0
        case 1: range = tails.1
        case 2: range = tails.2
        default: range = tails.3
        }
        return range.isEmpty ? nil : range
    }

    private mutating func remember(_ range: ByteRange, _ form: EventKind) {
        switch form.rawValue {
        case 0: tails.0 = range
        case 1: tails.1 = range
        case 2: tails.2 = range
        default: tails.3 = range
        }
    }
}

/// The kinds of line that a write causes.
enum Event {
    case update, emit, delete

    /// Adds the start of the event's line, made from that of an update's.
    @inline(__always)
    func appendStart(_ updateStart: Span<UInt8>, to buffer: inout ByteBuffer) {
        let sub = SubscriptionText.sub(in: updateStart)
        switch self {
        case .update: buffer.append(updateStart)
        case .emit: EventEncoder.appendEmitStart(sub: sub, to: &buffer)
        case .delete: EventEncoder.appendDeleteStart(sub: sub, to: &buffer)
        }
    }
}

extension TurnLog {
    private static var always: Invariants { Invariants(of: "TurnLog") }

    /// Between two turns nothing is left of the one before.
    func checkInvariants() throws(BrokenInvariant) {
        try Self.always.hold("it ends with its turn", bytes.isEmpty && extents.isEmpty)
    }
}
