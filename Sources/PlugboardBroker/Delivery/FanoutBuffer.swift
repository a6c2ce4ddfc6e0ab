// The events of the present turn, each line once: a line for a hundred observers is written once, and a
// hundred outboxes refer to it. At the end of the turn, a client that wasn't sent its share gets a copy.

import PlugboardMemory
import PlugboardWire

/// The last line that told a change or `leave`, and what it says.
private struct OwnLine: ~Copyable {
    /// A longer change is written for each subscription.
    private static let changeBytesMax = 4_096
    private(set) var line = ByteRange.none
    private var number: UInt64 = 0
    private var form = OwnForm(.update, .nothing, 0)
    private var change = ByteBuffer()

    /// Whether it is the line with this number that tells an event in a form.
    func tells(_ number: UInt64, _ form: OwnForm, _ change: borrowing ByteBuffer) -> Bool {
        self.number == number && self.form == form
            && (form.telling != .change || self.change.bytes.isEqual(to: change.bytes))
    }

    mutating func set(
        _ line: ByteRange, _ number: UInt64, _ form: OwnForm, _ change: borrowing ByteBuffer
    ) {
        let isShort = form.telling != .change || change.count <= Self.changeBytesMax
        (self.line, self.number, self.form) = (line, isShort ? number : 0, form)
        self.change.removeAll()
        if isShort, form.telling == .change { self.change.append(contentsOf: change) }
    }
}

/// How an event is told to those who may be told less than all of it.
struct OwnForm: BitwiseCopyable, Equatable {
    let event: EventKind
    let telling: FilterResult
    /// Equal for all recipients that get the same line; see `ObserverEntry`.
    private let words: UInt64

    init(_ event: EventKind, _ telling: FilterResult, _ words: UInt64) {
        (self.event, self.telling, self.words) = (event, telling, words)
    }

    /// Encodes any line of an event. `change` is what is told in place of the value.
    func append(
        _ tail: borrowing EventTail,
        _ change: borrowing ByteBuffer,
        for text: borrowing SubscriptionText,
        to buffer: inout ByteBuffer
    ) {
        if telling == .leaving {
            EventEncoder.appendLeaveStart(sub: text.sub, to: &buffer)
        } else {
            event.appendStart(text.updateStart, to: &buffer)
        }
        let kind = ObserverEntry.kind(of: words)
        EventEncoder.appendTail(
            tail,
            change: telling == .change || telling == .patch ? change.bytes : Span(),
            hasValue: kind.hasValue && telling == .event,
            hasOld: kind.hasOld,
            hasWhen: kind.hasWhen,
            to: &buffer
        )
    }
}

/// Copies of parts of a log for those who have to wait for them. Each byte is copied once, because clients that are
/// served in different turns have to wait for more and more of one log. What follows is added to the same piece of
/// memory, turn after turn, so that who waits for all of it only notes its end.
private struct KeptParts: ~Copyable {
    private static let pieceBytes = 65_536

    private struct Part {
        let place: ByteRange
        let piece: SharedBytes
        /// Where it is in the piece.
        let start: Int
    }

    /// In the order of the log, without gaps: whoever's share begins in one of them finds all that follows.
    private var parts: [Part] = []
    /// The piece to which parts are added.
    private var piece: SharedBytes?
    /// The last line that is alone in its memory.
    private var line: (place: ByteRange, bytes: SharedBytes)?
    /// Up to where somebody had to wait. Who is the first copies the bytes to memory that is there already.
    private var wanted = 0
    private let total: KeptTotal

    init(bytesMax: Int) { total = KeptTotal(most: bytesMax) }

    mutating func hold(_ place: ByteRange, of log: borrowing ByteBuffer) -> SharedBytes {
        if let line, line.place == place { return line.bytes }
        let held = SharedBytes(place.bytes(of: log.bytes), countedBy: total)
        line = (place, held)
        return held
    }

    mutating func add(_ run: ByteRange, of log: borrowing ByteBuffer) {
        if let first = parts.first?.place.start, run.start < first {
            // Others may have been sent still less, so this isn't done for a few bytes at a time.
            let start = max(0, min(run.start, first - Self.pieceBytes))
            insert(ByteRange(start, first), at: 0, of: log)
        }
        let rest = ByteRange(min(parts.last?.place.end ?? run.start, run.end), run.end)
        if wanted > rest.start, rest.count >= Outbox.heldBytesMin { insert(rest, at: parts.count, of: log) }
        wanted = max(wanted, run.end)
    }

    private mutating func insert(_ place: ByteRange, at index: Int, of log: borrowing ByteBuffer) {
        guard total.hasRoom(for: place.count) else { return }
        let piece = pieceWithRoom(for: place.count)
        parts.insert(Part(place: place, piece: piece, start: piece.count), at: index)
        piece.add(place.bytes(of: log.bytes))
    }

    private mutating func pieceWithRoom(for count: Int) -> SharedBytes {
        if let piece, piece.count + count <= Self.pieceBytes { return piece }
        let made = SharedBytes(Span(), reserving: max(count, Self.pieceBytes), countedBy: total)
        piece = made
        return made
    }

    /// Takes the kept bytes at the start of a run out of it; nil if there are none.
    func takeFirst(of run: inout ByteRange) -> HeldPart? {
        let start = run.start
        guard let part = parts.last(where: { $0.place.start <= start }), start < min(part.place.end, run.end)
        else { return nil }
        let end = min(part.place.end, run.end)
        run = ByteRange(end, run.end)
        let moved = part.start - part.place.start
        return HeldPart(shared: part.piece, place: ByteRange(start + moved, end + moved))
    }

    mutating func removeAll() {
        line = nil
        if parts.isEmpty, wanted == 0 { return }
        parts.removeAll(keepingCapacity: parts.count <= 64)
        wanted = 0
        if isKnownUniquelyReferenced(&piece) { piece = nil }
    }
}

struct FanoutBuffer: ~Copyable {
    private let inPlace = InPlace()
    /// How much memory is kept from turn to turn.
    private static let keptBytesMax = 4_194_304
    /// After so many bytes of events, the turn should end.
    private static let bytesPerTurn = 524_288
    /// After so many bytes of several turns, nothing more is told until all clients are served.
    private static let bytesOfTurns = 16 * bytesPerTurn
    /// After so many bytes, the log is copied to the outboxes and starts anew. So offsets stay small, even if
    /// one event goes to very many observers with different texts.
    static let bytesMax = 67_108_864
    private var bytes = ByteBuffer()
    /// Where the events of this turn begin. Some clients may still have to be sent earlier ones.
    private var turnStart = 0
    private var kept: KeptParts
    /// The number of the present event.
    private(set) var eventNumber: UInt64 = 0
    /// Lines with this number are of the present event, and are here. It grows with each event, and if the log starts anew.
    private var lineNumber: UInt64 = 0
    private var own = OwnLine()
    /// For each kind, where the shared part of an event is, and a bit if it is that of the present one.
    private var tails = InlineArray<8, ByteRange>(repeating: .none)
    private var knownTails: UInt8 = 0

    init(keptBytesMax: Int = Limits.sharedOwedBytesMax) { kept = KeptParts(bytesMax: keptBytesMax) }

    @inline(__always) var count: Int { bytes.count }
    var isEmpty: Bool { bytes.isEmpty }

    /// There is room for more events in this turn.
    @inline(__always) var hasRoom: Bool {
        count &- turnStart <= Self.bytesPerTurn && count <= Self.bytesOfTurns
    }

    mutating func beginTurn() { turnStart = count }

    /// The bytes of lines in the log; valid until more is written.
    @_lifetime(borrow self)
    func bytes(of line: ByteRange) -> Span<UInt8> { line.bytes(of: bytes.bytes) }

    @inline(__always)
    mutating func beginEvent() {
        eventNumber &+= 1
        lineNumber &+= 1
        knownTails = 0
    }

    /// The place of the event's line for a subscription. Encodes it, unless the same was done for another
    /// subscription with the same text and kind.
    @inline(__always)
    mutating func line(
        _ kind: EventKind, _ tail: borrowing EventTail, _ form: EventForm, for text: inout SubscriptionText
    ) -> ByteRange {
        if text.lineNumber == lineNumber, text.encodedKind == form { return text.line }
        return encode(kind, tail, &text, form)
    }

    /// The place of the line that tells a subscription a change or `leave`. Many are told the same one after the other,
    /// although they ask for different things, so the last such line isn't written again.
    mutating func ownLine(
        _ form: OwnForm,
        _ tail: borrowing EventTail,
        _ change: borrowing ByteBuffer,
        for text: borrowing SubscriptionText
    ) -> ByteRange {
        if own.tells(lineNumber, form, change) { return own.line }
        let start = bytes.count
        form.append(tail, change, for: text, to: &bytes)
        let line = ByteRange(start, bytes.count)
        own.set(line, lineNumber, form, change)
        return line
    }

    /// A copy of a line, kept once for all that have to wait for it.
    mutating func hold(_ line: ByteRange) -> SharedBytes { kept.hold(line, of: bytes) }

    /// Sees to it that a run is kept, if others have to wait for it, too.
    mutating func keep(_ run: ByteRange) { kept.add(run, of: bytes) }

    func takeKept(from run: inout ByteRange) -> HeldPart? { kept.takeFirst(of: &run) }

    /// Starts anew, even in the middle of an event. No outbox may refer to it any more.
    mutating func removeAll() {
        lineNumber &+= 1
        knownTails = 0
        bytes.removeAll()
        turnStart = 0
        kept.removeAll()
        if bytes.allocatedBytes > Self.keptBytesMax { bytes.releaseMemory() }
    }

    private mutating func encode(
        _ kind: EventKind, _ tail: borrowing EventTail, _ text: inout SubscriptionText, _ form: EventForm
    ) -> ByteRange {
        let start = bytes.count
        kind.appendStart(text.updateStart, to: &bytes)
        let tailStart = bytes.count
        let (place, bit) = (Int(form.rawValue), UInt8(1) &<< form.rawValue)
        if knownTails & bit != 0 {
            bytes.append(again: tails[place].start..<tails[place].end)
        } else {
            EventEncoder.appendTail(
                tail, hasValue: form.hasValue, hasOld: form.hasOld, hasWhen: form.hasWhen, to: &bytes
            )
            knownTails |= bit
            tails[place] = ByteRange(tailStart, bytes.count)
        }
        let line = ByteRange(start, bytes.count)
        text.lineNumber = lineNumber
        text.encodedKind = form
        text.line = line
        return line
    }
}

enum EventKind: String {
    case update, emit, delete

    /// Appends the start of the event's line, made from the start of an update's.
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
