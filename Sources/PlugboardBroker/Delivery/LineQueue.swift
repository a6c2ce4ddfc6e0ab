// Lines that must wait and cannot be made later from the state: emits, and everything
// that a subscription with `delivery` "all" is told. Bounded by its session; what comes
// past the bound is a gap, which is told in its place.

import PlugboardMemory
import PlugboardWire

/// Events that were dropped one after the other.
struct Gap: BitwiseCopyable {
    /// Events dropped.
    var dropped: UInt64
    /// The revisions of the first and the last of them.
    let first: UInt64
    var last: UInt64
    /// The number of the first in the turn's log; 0 where that has none.
    var event: UInt64 = 0
    /// Those of them that no journal has.
    var lost: UInt64 = 0
    /// The revision of the first that one has, and how many events of that went before it; 0 for none.
    var keptFirst: UInt64 = 0
    var keptBefore = 0

    /// A journal has some of them.
    var isKept: Bool { keptFirst > 0 }
}

/// Whole lines in the order of their revisions.
struct LineQueue: ~Copyable {
    /// What is known of a line beside its bytes.
    struct Header: BitwiseCopyable {
        let revision: UInt64
        /// The number of the event in the turn's log.
        let event: UInt64
        let keyHash: UInt64
        /// The observable whose gate it waits for.
        let observable: ObservableReference?
        let count: Int
    }

    private var bytes = ByteBuffer()
    /// What is missing after the last line.
    private(set) var gap: Gap?
    /// Lines in it, the gap not counted.
    private(set) var lineCount = 0

    init() {}

    /// Bytes of memory that the lines take up.
    var byteCount: Int { bytes.count }
    var isEmpty: Bool { bytes.isEmpty && gap == nil }
    /// Nothing more is kept until what was dropped has been told.
    var hasGap: Bool { gap != nil }

    /// What a line takes up in the queue.
    static func cost(of line: Span<UInt8>) -> Int {
        line.count + MemoryLayout<Header>.size
    }

    /// Adds a line.
    mutating func append(_ line: Span<UInt8>, _ header: Header) {
        var header = header
        withUnsafeBytes(of: &header) { bytes.append(Span(kept: $0)) }
        bytes.append(line)
        lineCount += 1
    }

    /// Notes an event that was not kept here. `before` is how many of its revision went before it
    /// in the journal; nil where that has none of it.
    mutating func drop(revision: UInt64, event: UInt64, before: Int?) {
        var gap = gap ?? Gap(dropped: 0, first: revision, last: revision, event: event)
        gap.dropped += 1
        gap.last = revision
        if let before {
            if !gap.isKept { (gap.keptFirst, gap.keptBefore) = (revision, before) }
        } else {
            gap.lost += 1
        }
        self.gap = gap
    }

    /// Notes events that were not kept elsewhere.
    mutating func drop(_ more: Gap) {
        guard more.dropped > 0 else { return }
        if gap == nil { gap = Gap(dropped: 0, first: more.first, last: more.last) }
        gap?.dropped += more.dropped
        gap?.lost += more.dropped
        gap?.last = more.last
    }

    /// Lines and the gap.
    var count: Int { lineCount + (gap == nil ? 0 : 1) }

    /// The number of the event that comes next, told by a line or the gap.
    var frontEvent: UInt64? { bytes.isEmpty ? gap?.event : header.event }

    /// The key of the next line, as its hash.
    var frontKeyHash: UInt64? { bytes.isEmpty ? nil : header.keyHash }

    /// The revision of what comes next, a line or the gap.
    var frontRevision: UInt64? { bytes.isEmpty ? gap?.first : header.revision }

    /// The observable whose gate the next line waits for.
    var frontObservable: ObservableReference? { bytes.isEmpty ? nil : header.observable }

    /// Whether a line about a key is among them. Takes time with their number.
    func contains(keyHash: UInt64) -> Bool {
        var place = 0
        while place < bytes.count {
            let header = bytes.bytes.raw.loadUnaligned(fromByteOffset: place, as: Header.self)
            if header.keyHash == keyHash { return true }
            place += MemoryLayout<Header>.size + header.count
        }
        return false
    }

    /// The next line; nil where only the gap is left.
    var front: Span<UInt8>? {
        if bytes.isEmpty { return nil }
        let start = MemoryLayout<Header>.size
        return bytes.bytes[start..<start + header.count]
    }

    /// Takes the next line out. Returns what it took up.
    mutating func removeFront() -> Int {
        let count = MemoryLayout<Header>.size + header.count
        bytes.removeFirst(count)
        lineCount -= 1
        if bytes.isEmpty { bytes.releaseMemory() }
        return count
    }

    /// Takes the gap out, once it was told.
    mutating func closeGap() {
        gap = nil
    }

    private var header: Header { bytes.bytes.raw.loadUnaligned(as: Header.self) }
}

extension LineQueue {
    private static var always: Invariants { Invariants(of: "LineQueue") }

    /// Each line has its header, in the order of the events.
    func checkInvariants() throws(BrokenInvariant) {
        var (place, found, event) = (0, 0, UInt64(0))
        while place < bytes.count {
            let rest = bytes.count - place - MemoryLayout<Header>.size
            try Self.always.hold("a line has a header", rest >= 0)
            let header = bytes.bytes.raw.loadUnaligned(fromByteOffset: place, as: Header.self)
            try Self.always.hold("a line is as long as it says", header.count >= 0 && header.count <= rest)
            try Self.always.hold("the oldest comes first", header.event >= event, of: "line \(found)")
            (found, event) = (found + 1, header.event)
            place += MemoryLayout<Header>.size + header.count
        }
        try Self.always.agree("its count is that of its lines", lineCount, found)
        guard let gap else { return }
        let isWhole = gap.dropped > 0 && gap.lost <= gap.dropped && gap.first <= gap.last
        try Self.always.hold("a gap says what is missing", isWhole)
    }
}
