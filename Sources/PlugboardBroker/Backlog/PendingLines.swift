// Lines that have to wait and can't be made from the state later: emits, and all events of a subscription
// with `delivery` "all". The session limits their size. Events beyond the limit become a gap, which is told
// in their place.

import PlugboardMemory
import PlugboardWire

struct LostRange: BitwiseCopyable {
    var dropped: UInt64
    let first: UInt64
    var last: UInt64
    /// The number of the first one in the turn's log; 0 if it isn't there.
    var event: UInt64 = 0
    /// How many of them aren't in a journal, and the revisions of the first and the last of these.
    private(set) var lost: UInt64 = 0
    private(set) var lostFirst: UInt64 = 0
    private(set) var lostLast: UInt64 = 0
    /// The first revision that is in a journal, and how many of its events come before the gap; 0 if there is
    /// none.
    var keptFirst: UInt64 = 0
    var keptBefore = 0

    var isKept: Bool { keptFirst > 0 }

    mutating func addLost(_ count: UInt64, from first: UInt64, to last: UInt64) {
        if lost == 0 { lostFirst = first }
        (lost, lostLast) = (lost + count, last)
    }
}

/// Whole lines, in the order of their events.
struct PendingLines: ~Copyable {
    struct Header: BitwiseCopyable {
        let revision: UInt64
        /// The number of the event in the turn's log.
        let event: UInt64
        let keyHash: UInt64
        /// The observable whose phases hold it back.
        let observable: ObservableHandle?
        let count: Int
        var isShared = false
    }

    /// How many bytes a queued line counts besides its own.
    private static let headerBytes = 40

    private var headers = List<Header>()
    /// The first header whose line is still here.
    private var first = 0
    private var bytes = ByteBuffer()
    /// The bytes of long lines. Each is kept once for all queues that have it.
    private var shared: [SharedBytes] = []
    private var sharedBytes = 0
    /// Who was late with a line's key, by the number of the line's event.
    private var late: [UInt64: LateNames] = [:]
    /// What is missing after the last line.
    private(set) var gap: LostRange?

    /// The number of lines, without the gap.
    var lineCount: Int { headers.count - first }
    var byteCount: Int { bytes.count + sharedBytes + lineCount * Self.headerBytes }
    var isEmpty: Bool { lineCount == 0 && gap == nil }
    /// Nothing more is kept until the gap was told.
    var hasGap: Bool { gap != nil }

    static func cost(ofLine count: Int) -> Int { count + headerBytes }

    mutating func append(_ line: Span<UInt8>, _ header: Header) {
        headers.append(header)
        bytes.append(line)
    }

    /// Adds a line that other queues have, too.
    mutating func append(_ line: SharedBytes, _ header: Header) {
        var header = header
        header.isShared = true
        headers.append(header)
        shared.append(line)
        sharedBytes += header.count
    }

    /// Some observers didn't acknowledge a key that waited at its gate. Takes time with the number of lines.
    mutating func addLateNames(_ naming: inout LateNaming, of observable: ObservableHandle) {
        for place in first..<headers.count where headers[place].observable == observable {
            let event = headers[place].event
            late[event] = naming.names(at: headers[place].revision, after: late[event])
        }
    }

    /// Adds an event to the gap. `before` is how many events of its revision come before it in the journal;
    /// nil if it isn't in the journal.
    mutating func drop(revision: UInt64, event: UInt64, before: Int?) {
        var gap = gap ?? LostRange(dropped: 0, first: revision, last: revision, event: event)
        gap.dropped += 1
        gap.last = revision
        if let before {
            if !gap.isKept { (gap.keptFirst, gap.keptBefore) = (revision, before) }
        } else {
            gap.addLost(1, from: revision, to: revision)
        }
        self.gap = gap
    }

    /// Adds events to the gap that were dropped elsewhere.
    mutating func drop(_ more: LostRange) {
        guard more.dropped > 0 else { return }
        if gap == nil { gap = LostRange(dropped: 0, first: more.first, last: more.last) }
        gap?.dropped += more.dropped
        gap?.addLost(more.dropped, from: more.first, to: more.last)
        gap?.last = more.last
    }

    /// The number of lines, and one for the gap.
    var count: Int { lineCount + (gap == nil ? 0 : 1) }

    /// The next line's header; nil if only the gap is left.
    var frontHeader: Header? { first < headers.count ? headers[first] : nil }

    /// The number of the next event, of a line or the gap.
    var frontEvent: UInt64? { frontHeader?.event ?? gap?.event }

    /// Whether a line about this key is among them. Takes time with their number.
    func contains(keyHash: UInt64) -> Bool {
        for place in first..<headers.count where headers[place].keyHash == keyHash { return true }
        return false
    }

    /// Appends the next line, if not only the gap is left.
    func appendFront(to buffer: inout ByteBuffer) {
        guard let header = frontHeader else { return }
        if header.isShared, let line = shared.first {
            buffer.append(line.bytes.span)
        } else {
            buffer.append(bytes.bytes[..<header.count])
        }
        if late.isEmpty { return }
        late[header.event]?.append(toLineAtEndOf: &buffer)
    }

    /// Takes the next line out. Returns how many bytes it counted.
    mutating func removeFront() -> Int {
        guard let header = frontHeader else { return 0 }
        if !late.isEmpty { late[header.event] = nil }
        if header.isShared {
            sharedBytes -= shared.removeFirst().count
        } else {
            bytes.removeFirst(header.count)
        }
        first += 1
        if lineCount == 0 {
            bytes.releaseMemory()
            headers.releaseMemory()
            first = 0
        } else if first > lineCount {
            headers.removeFirst(first)
            first = 0
        }
        return Self.cost(ofLine: header.count)
    }

    mutating func takeGap() -> LostRange? { gap.take() }
}

extension PendingLines: Checked {
    func checkInvariants() throws(BrokenInvariant) {
        var (size, event, long) = (0, UInt64(0), 0)
        for place in first..<headers.count {
            let header = headers[place]
            try Self.always.hold("the oldest comes first", header.event >= event, of: "line \(place - first)")
            if header.isShared { long += header.count } else { size += header.count }
            event = header.event
        }
        try Self.always.agree("a line is as long as it says", bytes.count, size)
        try Self.always.agree("a long line is as long as it says", sharedBytes, long)
        try Self.always.agree("long lines are counted", shared.reduce(0) { $0 + $1.count }, sharedBytes)
        guard let gap else { return }
        let isWhole = gap.dropped > 0 && gap.lost <= gap.dropped && gap.first <= gap.last
        try Self.always.hold("a gap says what is missing", isWhole)
    }
}
