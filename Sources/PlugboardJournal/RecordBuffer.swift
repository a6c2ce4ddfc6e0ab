// The records of the turn under way: one line a commit, encoded where the commit is made
// and written in one piece at the turn's end. Each ends with a checksum that continues
// that of the line before. Owned by the hub.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Lines on their way to the journal.
public struct RecordBuffer: ~Copyable {
    /// Somebody keeps what is written.
    public private(set) var isKept = false
    /// The checksum of the last line.
    public private(set) var chain: UInt32 = 0
    /// Commits that were added since the beginning.
    public private(set) var commits: UInt64 = 0
    /// Bytes that are certain to find room in the file.
    public var room = Int.max
    /// The same with what is kept back for the broker's own writes, which nobody can refuse.
    public var ownRoom = Int.max
    /// Bytes that a record of each value would come to, about; nil where nobody counts them.
    public var liveBytes: Int?
    private var lines = ByteBuffer()
    private var lineStart = 0
    private var isBatch = false
    private var isFirstOfBatch: Bool { eventsOfBatch == 0 }
    /// Events that the batch under way has so far; 0 without one.
    public private(set) var eventsOfBatch = 0
    private let clock: () -> UInt64
    /// The time of the last line, milliseconds since 1970.
    private(set) var when: UInt64 = 0
    /// `,"when":…`, the same all through a turn, and whether it is this turn's.
    private var whenText = ByteBuffer()
    private var isTimed = false

    /// Keeps nothing until it is told to. `clock` gives milliseconds since 1970.
    public init(clock: @escaping () -> UInt64 = { WallClock.millisecondsSince1970() }) {
        self.clock = clock
    }

    /// The lines.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { lines.bytes }
    }
    @inlinable public var isEmpty: Bool { count == 0 }
    public var count: Int { lines.count }

    /// Whether a commit whose values come to `bytes` is certain to find room.
    @inlinable
    @inline(__always)
    public func hasRoom(for bytes: Int) -> Bool {
        room == .max || count &+ Self.needed(for: bytes) <= room
    }

    /// Whether what the broker itself writes is certain to find room: the end of a value.
    public var hasOwnRoom: Bool { count + Self.needed(for: 0) <= ownRoom }

    /// Bytes that such a record has at most, but for what a batch has for each of its writes,
    /// which is no more than the line that it came in.
    @inlinable
    public static func needed(for bytes: Int) -> Int { bytes &+ bytes &+ 4_096 }

    /// The same of a record of one write.
    public static func neededAlone(for bytes: Int) -> Int { bytes &+ 4_096 }

    /// Begins to keep lines, behind one with the checksum `chain`.
    public mutating func begin(after chain: UInt32) {
        isKept = true
        self.chain = chain
    }

    /// Forgets lines that were written.
    public mutating func removeFirst(_ count: Int) {
        lines.removeFirst(count)
        if lines.isEmpty, lines.allocatedBytes > JournalLimits.readBytes { lines.releaseMemory() }
    }

    /// The time is asked for anew with the next record.
    public mutating func endTurn() {
        isTimed = false
    }

    /// Adds a commit.
    @inline(__always)
    public mutating func append(_ commit: borrowing Commit) {
        commits &+= 1
        if !commit.isDelete, !commit.isUnusual, !isBatch { return appendPlain(commit) }
        if isBatch { return appendToBatch(commit) }
        beginLine()
        appendBody(commit)
        endLine()
    }

    /// Commits up to `endBatch` are one record.
    public mutating func beginBatch(revision: UInt64) {
        isBatch = true
        beginLine()
        lines.append(#"{"event":"batch","revision":"#)
        lines.append(decimal: revision)
        lines.append(#","events":["#)
    }

    /// Ends the record; a batch that kept nothing leaves none.
    public mutating func endBatch() {
        isBatch = false
        defer { eventsOfBatch = 0 }
        guard !isFirstOfBatch else { return lines.truncate(to: lineStart) }
        lines.append("]")
        endLine()
    }

    /// Notes that a revision was taken for something that isn't kept, so that it is never taken
    /// again.
    public mutating func append(passedRevision revision: UInt64) {
        if isKept { append(own: #"{"event":"revision","revision":\#(revision)"#) }
    }

    /// Begins a file: its first line continues no checksum but says the one it follows.
    mutating func beginFile(_ header: String) {
        chain = 0
        append(own: header)
    }

    /// Adds a line of the journal's own, without what all lines end with.
    mutating func append(own text: String) {
        beginLine()
        lines.append(string: text)
        endLine()
    }

    /// Adds a record as it was read, without what all lines end with.
    mutating func append(body: Span<UInt8>) {
        beginLine()
        lines.append(body)
        seal()
    }

    /// An update as nearly all are: its pieces one after the other, where there is room for them all.
    @inline(__always)
    private mutating func appendPlain(_ commit: borrowing Commit) {
        let pieces = commit.keyPrefix.count &+ commit.value.count &+ commit.by.count
        lines.reserve(pieces &+ Self.plainBytesMax)
        beginLine()
        lines.append(#"{"event":"update""#)
        lines.append(commit.keyPrefix)
        lines.append(decimal: commit.revision)
        lines.append(#","value":"#)
        lines.append(commit.value)
        lines.append(commit.by)
        endLine()
    }

    /// What such a record has beside its pieces: names, a revision, the time and the end, each with
    /// what is written behind it and written over.
    private static let plainBytesMax = 160

    private mutating func appendToBatch(_ commit: borrowing Commit) {
        if !isFirstOfBatch { lines.append(",") }
        eventsOfBatch += 1
        appendBody(commit)
        lines.append("}")
    }

    @inline(__always)
    private mutating func appendBody(_ commit: borrowing Commit) {
        if !commit.isDelete {
            lines.append(#"{"event":"update""#)
            lines.append(commit.keyPrefix)
            lines.append(decimal: commit.revision)
            lines.append(#","value":"#)
            lines.append(commit.value)
        } else {
            lines.append(#"{"event":"delete""#)
            lines.append(commit.keyPrefix)
            lines.append(decimal: commit.revision)
        }
        lines.append(commit.by)
        if commit.isUnusual { appendRest(commit) }
    }

    @inline(never)
    private mutating func appendRest(_ commit: borrowing Commit) {
        if let reason = commit.reason {
            lines.append(#","reason":""#)
            lines.append(reason.name)
            lines.append("\"")
        }
        commit.cause.append(to: &lines)
        if commit.isWhileConnected { lines.append(#","while":"connected""#) }
        if commit.expires > 0 {
            lines.append(#","expires":"#)
            lines.append(decimal: commit.expires)
        }
    }

    @inline(__always)
    private mutating func beginLine() {
        lineStart = lines.count
    }

    @inline(__always)
    private mutating func endLine() {
        if !isTimed { encodeTime() }
        lines.append(contentsOf: whenText)
        seal()
    }

    @inline(__always)
    private mutating func seal() {
        chain = Checksum.extended(chain, by: lines.bytes[lineStart...])
        RecordEnd.append(chain, to: &lines)
    }

    private mutating func encodeTime() {
        isTimed = true
        when = clock()
        whenText.removeAll()
        whenText.append(#","when":"#)
        whenText.append(decimal: when)
    }
}

/// One change of one key, as the journal keeps it.
public struct Commit: ~Escapable {
    /// As `EventEncoder.appendKeyPrefix` wrote it.
    public var keyPrefix: Span<UInt8>
    public var revision: UInt64
    /// Empty, as no JSON is: the key was deleted.
    public var value: Span<UInt8>
    /// As `EventEncoder.appendAuthor` wrote it.
    public var by: Span<UInt8>
    public var cause: WriteCause
    public var reason: EventReason?
    /// The value ends with its writer's connection.
    public var isWhileConnected = false
    /// When the value ends by itself, in milliseconds since 1970; 0 for never.
    public var expires: UInt64 = 0

    @inlinable
    @_lifetime(copy keyPrefix, copy value, copy by)
    public init(
        keyPrefix: Span<UInt8>,
        revision: UInt64,
        value: Span<UInt8>,
        by: Span<UInt8>,
        cause: WriteCause = .none,
        reason: EventReason? = nil
    ) {
        self.keyPrefix = keyPrefix
        self.revision = revision
        self.value = value
        self.by = by
        self.cause = cause
        self.reason = reason
    }

    @inline(__always)
    var isDelete: Bool { value.isEmpty }

    @inline(__always)
    var isUnusual: Bool { cause.isNamed || reason != nil || isWhileConnected || expires > 0 }
}
