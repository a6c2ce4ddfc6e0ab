// What waits to be sent to one client, in this order: long parts of earlier logs, shared with other clients
// that haven't read them either; its own bytes (replies, snapshots, and what else earlier turns left); its
// share of this turn's log.

import PlugboardMemory
import PlugboardWire

/// The output of one session.
struct Outbox: ~Copyable {
    /// A part is held from this size on, which is larger than many short lines of a turn together. These are
    /// copied to memory that is there already.
    private static let heldBytesMin = 786_432
    /// Its newest run in the turn's log; −1 if there is none. Nearly always it is the only one.
    private(set) var newestEnd: Int32 = -1
    private(set) var newestStart: Int32 = -1
    private var sharedCount: Int32 = 0
    /// How many bytes of the held parts are left to send.
    private(set) var heldCount: Int32 = 0
    /// The client's own bytes.
    var own = ByteBuffer()
    /// Long parts of earlier logs, the oldest first, and how many bytes of the oldest were sent.
    private var held: [SharedBytes] = []
    private var heldSent: Int32 = 0
    /// The earlier runs: a chain in the log from first to last, −1 if there is none.
    private(set) var firstExtent: Int32 = -1
    private(set) var lastExtent: Int32 = -1
    private(set) var runs: Int32 = 0

    init() {}

    /// The bytes of its share of the log.
    @inline(__always) var sharedBytes: Int { Int(sharedCount) }
    @inline(__always) var count: Int { own.count &+ sharedBytes &+ Int(heldCount) }
    @inline(__always) var isEmpty: Bool { own.isEmpty && sharedBytes == 0 && heldCount == 0 }
    /// What is left of earlier turns.
    var keptCount: Int { own.count + Int(heldCount) }

    /// Extends the newest run by a line of the log. Returns false if the line doesn't follow it, or if more than
    /// `freshMax` bytes would wait.
    @inline(__always)
    mutating func extend(with line: ByteRange, freshMax: Int = .max) -> Bool {
        guard newestEnd == Int32(truncatingIfNeeded: line.start) else { return false }
        let end = Int32(truncatingIfNeeded: line.end)
        let shared = sharedCount &+ (end &- newestEnd)
        guard own.count &+ Int(shared) <= freshMax else { return false }
        (newestEnd, sharedCount) = (end, shared)
        return true
    }

    /// Begins another run with a line of the log. The newest one must be in the chain already.
    mutating func beginRun(with line: ByteRange) {
        newestStart = Int32(truncatingIfNeeded: line.start)
        newestEnd = Int32(truncatingIfNeeded: line.end)
        sharedCount &+= Int32(truncatingIfNeeded: line.count)
        runs += 1
    }

    /// The end of the chain of earlier runs is now at `index`.
    mutating func setChainEnd(at index: Int32) {
        if lastExtent < 0 { firstExtent = index }
        lastExtent = index
    }

    /// Forgets its share of the turn's log.
    mutating func dropShared() {
        newestStart = -1
        newestEnd = -1
        firstExtent = -1
        lastExtent = -1
        runs = 0
        sharedCount = 0
    }

    // MARK: Parts that are shared

    /// Its share of the log is one long run, and it has no own bytes before it.
    @inline(__always) var hasRunToHold: Bool {
        runs == 1 && own.isEmpty && sharedBytes >= Self.heldBytesMin
    }

    /// Keeps its share of the log, which is all of `part`, without the bytes already sent.
    private mutating func hold(_ part: SharedBytes, from sent: Int) {
        // If part of it was sent, nothing else was waiting before it.
        if held.isEmpty { heldSent = Int32(sent) }
        held.append(part)
        heldCount += Int32(part.count - sent)
        dropShared()
    }

    /// How many bytes only this client holds.
    mutating func unsharedBytes() -> Int {
        var sum = 0
        for index in held.indices where isKnownUniquelyReferenced(&held[index]) { sum += held[index].count }
        return sum
    }

    /// The unsent bytes of the oldest held part; empty if there is none.
    var heldPart: ArraySlice<UInt8> { held.first.map { $0.bytes[Int(heldSent)...] } ?? [] }

    /// The rest of a held line that was sent in part.
    var heldLineRest: ArraySlice<UInt8> {
        let rest = heldPart
        guard let first = held.first, heldSent > 0, first.bytes[Int(heldSent) - 1] != 0x0A else { return [] }
        let end = LineFramer.lineFeed(in: rest.span, from: 0) ?? rest.count - 1
        return rest.prefix(end + 1)
    }

    /// Notes that so many bytes of the held parts were sent. Returns whether they end with a line.
    mutating func removeHeld(_ count: Int) -> Bool {
        heldCount -= Int32(count)
        heldSent += Int32(count)
        while let first = held.first, heldSent >= Int32(first.count) {
            heldSent -= Int32(first.count)
            held.removeFirst()
        }
        guard let first = held.first, heldSent > 0 else { return true }
        return first.bytes[Int(heldSent) - 1] == 0x0A
    }

    mutating func dropHeld() {
        held = []
        (heldSent, heldCount) = (0, 0)
    }

    /// Turns its share of the log into its own, because more is to follow or because the turn ends. A long
    /// run is held, anything else copied. Leaves out the first `skipping` bytes.
    mutating func takeOver(_ log: borrowing FanoutBuffer, skipping: Int = 0, _ latest: inout LatestShared) {
        if sharedBytes == 0 { return }
        if hasRunToHold {
            let run = ByteRange(Int(newestStart), Int(newestEnd))
            return hold(latest.hold(run, of: log), from: skipping)
        }
        var toSkip = skipping
        own.reserve(sharedBytes - skipping)
        var next = FanoutBuffer.firstRun(of: self)
        while next != FanoutBuffer.noRun {
            let run = log.run(&next, of: self)
            let skipped = min(toSkip, run.count)
            toSkip -= skipped
            own.append(run[skipped...])
        }
        dropShared()
    }
}

extension Outbox {
    private static var always: Invariants { Invariants(of: "Outbox") }

    /// Between two turns, nothing in it refers to the log.
    func checkInvariants(_ client: UInt64) throws(BrokenInvariant) {
        let isOwn = sharedBytes == 0 && runs == 0 && firstExtent < 0 && lastExtent < 0 && newestEnd < 0
        try Self.always.hold("nothing in it is of a log that has ended", isOwn, of: "client \(client)")
        let left = held.reduce(0) { $0 + $1.count } - Int(heldSent)
        try Self.always.agree("it counts what it shares", Int(heldCount), left, of: "client \(client)")
    }
}

// Bytes that several subscriptions or clients are owed, kept once for all of them: a value that observers saw
// last, until each was told the next one, or a part of the log.

/// A shared copy of some bytes.
final class SharedBytes {
    private let copy: [UInt8]

    init(_ bytes: Span<UInt8>) {
        copy = Array(bytes)
    }

    var bytes: [UInt8] { copy }
    var count: Int { copy.count }
}

/// The copies made last. Others that have to wait for the same bytes share them.
struct LatestShared {
    /// The value before an event, and the number of that event.
    private var old: (event: UInt64, value: SharedBytes)?
    /// A part of the log.
    private var part: (place: ByteRange, bytes: SharedBytes)?

    init() {}

    var hasOld: Bool { old != nil }

    mutating func hold(_ value: Span<UInt8>, before event: UInt64) -> SharedBytes? {
        if value.isEmpty { return nil }
        if let old, old.event == event { return old.value }
        let held = SharedBytes(value)
        old = (event, held)
        return held
    }

    mutating func hold(_ place: ByteRange, of log: borrowing FanoutBuffer) -> SharedBytes {
        if let part, part.place == place { return part.bytes }
        let held = SharedBytes(log.bytes(of: place))
        part = (place, held)
        return held
    }

    /// The turn has ended.
    mutating func forgetOld() { old = nil }

    /// The log starts anew.
    mutating func forgetPart() { part = nil }
}
