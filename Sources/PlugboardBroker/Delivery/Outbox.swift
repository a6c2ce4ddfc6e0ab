// What waits to be sent to one client, in this order: parts of earlier logs, shared with other clients that
// haven't read them either, and what came before and between them; its own bytes (replies, snapshots, and what
// else earlier turns left); its share of this turn's log.

import PlugboardMemory
import PlugboardWire

struct Outbox: ~Copyable {
    /// Less than so many bytes of a log are copied to each client that has to wait for them. To keep a part costs
    /// a client much less than that.
    static let heldBytesMin = 128
    /// Its run in the turn's log; −1 if it has none.
    private var end: Int32 = -1
    private var start: Int32 = -1
    /// How many of its own bytes are earlier runs of this turn.
    private var copiedCount: Int32 = 0
    /// How many bytes of the held parts are left to send, and how many of them no other client shares.
    private(set) var heldCount: Int32 = 0
    private var heldOwnCount: Int32 = 0
    var own = ByteBuffer()
    /// The parts, the oldest first.
    private var held: [HeldPart] = []

    @inline(__always) var sharedBytes: Int { Int(end &- start) }
    @inline(__always) var count: Int { own.count &+ sharedBytes &+ Int(heldCount) }
    @inline(__always) var isEmpty: Bool { own.isEmpty && sharedBytes == 0 && heldCount == 0 }
    /// What is left of earlier turns.
    var keptCount: Int { own.count - Int(copiedCount) + Int(heldCount) }
    /// The same without what other clients share.
    var keptOwnCount: Int { own.count - Int(copiedCount) + Int(heldOwnCount) }

    /// Extends its run by a line of the log. Returns false if the line doesn't follow it, or if more than
    /// `freshMax` bytes would wait.
    @inline(__always)
    mutating func extend(with line: ByteRange, freshMax: Int = .max) -> Bool {
        guard end == Int32(truncatingIfNeeded: line.start) else { return false }
        let end = Int32(truncatingIfNeeded: line.end)
        guard own.count &+ Int(end &- start) <= freshMax else { return false }
        self.end = end
        return true
    }

    /// Begins a run with a line of the log. What it was told before must have been copied.
    @inline(__always)
    mutating func beginRun(with line: ByteRange) {
        (start, end) = (Int32(truncatingIfNeeded: line.start), Int32(truncatingIfNeeded: line.end))
    }

    /// Its share of the log.
    var run: ByteRange { sharedBytes == 0 ? .none : ByteRange(Int(start), Int(end)) }

    /// Adds its share of the log to its own bytes, and forgets it. More of this turn may follow.
    mutating func copyRun(of log: borrowing FanoutBuffer, goesOn: Bool = false) {
        if goesOn { copiedCount &+= end &- start }
        own.append(log.bytes(of: run))
        dropShared()
    }

    /// Notes that so many bytes of its share were sent.
    mutating func removeShared(_ count: Int) {
        start &+= Int32(truncatingIfNeeded: count)
        if start == end { dropShared() }
    }

    /// Notes that so many of its own bytes were sent.
    mutating func removeOwn(_ count: Int) {
        own.removeFirst(count)
        copiedCount = 0
    }

    private mutating func dropShared() { (start, end) = (-1, -1) }

    /// What is left of this turn is left of an earlier one from now on.
    mutating func endServing() { copiedCount = 0 }

    // MARK: Parts that are shared

    /// Its share of the log, if it can be kept as parts: one run of which much is left.
    var runToHold: ByteRange? { copiedCount == 0 && sharedBytes >= Self.heldBytesMin ? run : nil }

    /// Keeps a part that comes after its own bytes, which become a part, too. Returns how many bytes it copied.
    mutating func hold(_ part: HeldPart) -> Int {
        let copied = own.count
        if !own.isEmpty {
            append(HeldPart(shared: SharedBytes(own.bytes), place: ByteRange(0, copied)))
            own.removeAll()
        }
        append(part)
        return copied
    }

    private mutating func append(_ part: HeldPart) {
        heldCount += Int32(part.count)
        if !part.isShared { heldOwnCount += Int32(part.count) }
        if held.isEmpty || !held[held.count - 1].extend(by: part) { held.append(part) }
    }

    /// The unsent bytes of the oldest held part; empty if there is none.
    var heldPart: ArraySlice<UInt8> { held.first?.left ?? [] }

    /// How many bytes one write is given: those of a held part, or all.
    var offeredBytes: Int { held.first?.count ?? count }

    /// The rest of the held line that was sent in part.
    var heldLineRest: ArraySlice<UInt8> {
        let rest = heldPart
        let end = LineFramer.lineFeed(in: rest.span, from: 0) ?? rest.count - 1
        return rest.prefix(end + 1)
    }

    /// Notes that so many bytes of the held parts were sent. Returns whether they end with a line.
    mutating func removeHeld(_ count: Int) -> Bool {
        heldCount -= Int32(count)
        var left = count
        while let first = held.first, left > 0 {
            if !first.isShared { heldOwnCount -= Int32(min(left, first.count)) }
            if left < first.count { return held[0].removeFirst(left) }
            left -= first.count
            held.removeFirst()
        }
        return true
    }

    mutating func dropAll() {
        own.removeAll()
        held = []
        (heldCount, heldOwnCount, copiedCount) = (0, 0, 0)
        dropShared()
    }
}

extension Outbox: Checked {
    func checkInvariants(_ client: UInt64) throws(BrokenInvariant) {
        let isOwn = start < 0 && end < 0 && copiedCount == 0
        try Self.always.hold("nothing in it is of a log that has ended", isOwn, of: "client \(client)")
        let left = held.reduce(0) { $0 + $1.count }
        try Self.always.agree("it counts what it holds", Int(heldCount), left, of: "client \(client)")
        let own = held.reduce(0) { $0 + ($1.isShared ? 0 : $1.count) }
        try Self.always.agree("and what nobody shares", Int(heldOwnCount), own, of: "client \(client)")
    }
}

// Bytes that several subscriptions or clients are owed, kept once for all of them: a value that observers saw
// last, until each was told the next one, or a part of the log.

final class SharedBytes {
    private(set) var bytes: [UInt8]
    /// What it counts for while it is there; nil if its holder counts its bytes.
    fileprivate let total: KeptTotal?

    /// With room for so many bytes at least.
    init(_ bytes: Span<UInt8>, reserving count: Int = 0, countedBy total: KeptTotal? = nil) {
        self.bytes = []
        self.total = total
        self.bytes.reserveCapacity(max(count, bytes.count))
        add(bytes)
    }

    deinit { total?.bytes -= bytes.count }

    var count: Int { bytes.count }

    func add(_ more: Span<UInt8>) {
        bytes.append(more)
        total?.bytes += more.count
    }
}

/// How many bytes are kept for several clients at once, and count for none of these.
final class KeptTotal {
    let most: Int
    fileprivate(set) var bytes = 0

    init(most: Int) { self.most = most }

    func hasRoom(for count: Int) -> Bool { bytes + count <= most }
}

/// The values before events, each kept once for all that are told of the event later, as long as one of them waits.
struct OldValues {
    private let total: KeptTotal
    /// The newest one, and the number of its event.
    private var newest: (event: UInt64, value: SharedBytes)?

    init(bytesMax: Int = Limits.oldBytesMax) { total = KeptTotal(most: bytesMax) }

    var isSettled: Bool { newest == nil }

    /// The value before an event; nil if there is no room for it.
    mutating func hold(_ value: Span<UInt8>, before event: UInt64) -> SharedBytes? {
        if let newest, newest.event == event { return newest.value }
        guard total.hasRoom(for: value.count) else { return nil }
        let held = SharedBytes(value, countedBy: total)
        newest = (event, held)
        return held
    }

    mutating func endTurn() { newest = nil }
}

/// What a client has yet to be sent of shared bytes.
struct HeldPart {
    let shared: SharedBytes
    private(set) var place: ByteRange

    /// Takes in a part that follows it in the same bytes. Returns whether it does.
    mutating func extend(by next: HeldPart) -> Bool {
        guard shared === next.shared, place.end == next.place.start else { return false }
        place = ByteRange(place.start, next.place.end)
        return true
    }

    var count: Int { place.count }
    var left: ArraySlice<UInt8> { shared.bytes[place.start..<place.end] }

    /// Other clients hold it, too, so it doesn't count for this one.
    var isShared: Bool { shared.total != nil }

    /// Notes that so many bytes were sent, but not all. Returns whether they end with a line.
    mutating func removeFirst(_ count: Int) -> Bool {
        place = ByteRange(place.start + count, place.end)
        return shared.bytes[place.start - 1] == 0x0A
    }
}
