// The records of the present turn: one line per commit. A commit is encoded when it is
// made, and all lines are written together at the end of the turn. Each line ends with a
// checksum that continues that of the line before. The hub owns the buffer.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Lines on their way to the journal.
public struct RecordBuffer: ~Copyable {
    /// Whether there is a journal.
    public private(set) var isKept = false
    /// The checksum of the last line.
    public private(set) var chain: UInt32 = 0
    /// The number of commits that were added.
    public private(set) var commits: UInt64 = 0
    /// Bytes that certainly have room in the file.
    public var room = Int.max
    /// The same, including the room that is reserved for the broker's own writes, which nobody can
    /// refuse.
    public var ownRoom = Int.max
    /// About how many bytes a record of every value would have; nil if nobody counts them.
    public var liveBytes: Int?
    private var lines = ByteBuffer()
    private var lineStart = 0
    private var isBatch = false
    private var isFirstOfBatch: Bool { eventsOfBatch == 0 }
    /// The number of events in the present batch; 0 without a batch.
    public private(set) var eventsOfBatch = 0
    private let clock: () -> UInt64
    /// The time of the last line, in milliseconds since 1970.
    private(set) var when: UInt64 = 0
    /// `,"when":…`, which is the same for a whole turn, and whether it is this turn's.
    private var whenText = ByteBuffer()
    private var isTimed = false

    /// Keeps nothing until `begin`. `clock` returns milliseconds since 1970.
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

    /// Whether a commit with values of `bytes` bytes certainly has room.
    @inlinable
    @inline(__always)
    public func hasRoom(for bytes: Int) -> Bool {
        room == .max || count &+ Self.needed(for: bytes) <= room
    }

    /// Whether the broker's own writes, such as the end of a value, certainly have room.
    public var hasOwnRoom: Bool { count + Self.needed(for: 0) <= ownRoom }

    /// The most bytes that such a record needs, without what a batch has for each of its writes.
    /// That is no more than the line that the batch came in.
    @inlinable
    public static func needed(for bytes: Int) -> Int { bytes &+ bytes &+ 4_096 }

    /// The same for a record of a single write.
    public static func neededAlone(for bytes: Int) -> Int { bytes &+ 4_096 }

    /// Begins to keep lines, after one with the checksum `chain`.
    public mutating func begin(after chain: UInt32) {
        isKept = true
        self.chain = chain
    }

    /// Removes lines that were written.
    public mutating func removeFirst(_ count: Int) {
        lines.removeFirst(count)
        if lines.isEmpty, lines.allocatedBytes > JournalLimits.readBytes { lines.releaseMemory() }
    }

    /// Ends a turn: the next record gets a new time.
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

    /// Makes one record of all commits up to `endBatch`.
    public mutating func beginBatch(revision: UInt64) {
        isBatch = true
        beginLine()
        lines.append(#"{"event":"batch","revision":"#)
        lines.append(decimal: revision)
        lines.append(#","events":["#)
    }

    /// Ends the record. A batch that kept nothing leaves none.
    public mutating func endBatch() {
        isBatch = false
        defer { eventsOfBatch = 0 }
        guard !isFirstOfBatch else { return lines.truncate(to: lineStart) }
        lines.append("]")
        endLine()
    }

    /// Notes that something that isn't kept has used a revision, so that it is never used again.
    public mutating func append(passedRevision revision: UInt64) {
        if isKept { append(own: #"{"event":"revision","revision":\#(revision)"#) }
    }

    /// Begins a file. Its first line continues no checksum, but has the one before it as a member.
    mutating func beginFile(_ header: String) {
        chain = 0
        append(own: header)
    }

    /// Adds a line of the journal's own, given without its time and checksum.
    mutating func append(own text: String) {
        beginLine()
        lines.append(string: text)
        endLine()
    }

    /// Adds a record that was read, given without its checksum.
    mutating func append(body: Span<UInt8>) {
        beginLine()
        lines.append(body)
        seal()
    }

    /// Adds an update without rare members, with room for all its pieces at once.
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

    /// Bytes of such an update beside its pieces: names, a revision, the time and the end, each
    /// with the bytes that are written after it and then overwritten.
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
    /// Empty if the key was deleted; no JSON is empty.
    public var value: Span<UInt8>
    /// As `EventEncoder.appendAuthor` wrote it.
    public var by: Span<UInt8>
    public var cause: WriteCause
    public var reason: EventReason?
    /// The value ends with its writer's connection.
    public var isWhileConnected = false
    /// When the value ends by itself, in milliseconds since 1970; 0 if never.
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
