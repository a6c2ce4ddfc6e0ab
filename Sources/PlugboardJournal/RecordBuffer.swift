// The records of the present turn: one line for each commit. A commit is encoded at once, and all lines
// are written together at the end of the turn. The checksum at the end of a line includes that of the
// line before. The broker's `Durability` owns the buffer.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Records that wait to be written to the journal.
public struct RecordBuffer: ~Copyable {
    /// Whether there is a journal.
    public private(set) var isKept = false
    /// The checksum of the last line.
    public private(set) var chain: UInt32 = 0
    /// The number of commits that were added, and of revisions that were passed.
    public private(set) var commits: UInt64 = 0
    /// How many bytes of records have room in the file for certain. `JournalLimits.roomBytesMin` more are reserved for
    /// the broker's own writes, which nobody can refuse.
    public var room = Int.max
    /// An estimate: the bytes of records of all values.
    public var liveBytes = 0
    private var lines = ByteBuffer()
    private var lineStart = 0
    private var isBatch = false
    private var isFirstOfBatch: Bool { eventsOfBatch == 0 }
    /// The number of events in the present batch; 0 outside of a batch.
    public private(set) var eventsOfBatch = 0
    /// The revision of the present batch, if it has something that isn't kept; 0 otherwise.
    private var passedInBatch: UInt64 = 0
    private let clock: () -> UInt64
    /// The time of the last line, in milliseconds since 1970.
    private(set) var when: UInt64 = 0

    /// Adds nothing to a journal before `begin`. `clock` returns milliseconds since 1970.
    public init(clock: @escaping () -> UInt64 = { WallClock.millisecondsSince1970() }) {
        self.clock = clock
    }

    /// The lines that wait.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { lines.bytes }
    }
    @inlinable public var isEmpty: Bool { count == 0 }
    public var count: Int { lines.count }
    /// How many bytes were ever added.
    public var addedBytes: Int { removedBytes + lines.count }
    private var removedBytes = 0

    /// Whether a commit with `bytes` bytes of values has room for certain.
    @inlinable
    @inline(__always)
    public func hasRoom(for bytes: Int) -> Bool { hasRoom(needed: Self.needed(for: bytes)) }

    @inlinable
    @inline(__always)
    public func hasRoom(needed: Int) -> Bool { room == .max || count &+ needed <= room }

    /// Whether a write of the broker itself, such as the end of a value, has room for certain.
    public var hasOwnRoom: Bool {
        room == .max || count + Self.needed(for: 0) <= room + JournalLimits.roomBytesMin
    }

    /// What a write with `bytes` bytes of values finds room for without asking: it is twice as much as its record takes.
    @inlinable
    public static func needed(for bytes: Int) -> Int { bytes &+ bytes &+ 4_096 }

    /// The most bytes of a record of a single write.
    public static func neededAlone(for bytes: Int) -> Int { bytes &+ 4_096 }

    /// The most bytes of a record of a batch with `count` writes. `bytes` are those of its request and of the values that it
    /// makes, `author` those with which each write names its writer.
    public static func needed(forBatch bytes: Int, writes count: Int, author: Int) -> Int {
        neededAlone(for: bytes) + count * (author + endBytesMax)
    }

    /// The most bytes of the members that a write's record may have and its request has not, besides its writer.
    private static let endBytesMax = 256

    /// Removes bytes that were written to the file.
    public mutating func removeFirst(_ count: Int) {
        lines.removeFirst(count)
        removedBytes += count
        if lines.isEmpty, lines.allocatedBytes > JournalLimits.readBytes { lines.releaseMemory() }
    }

    /// Adds a commit.
    @inline(__always)
    public mutating func append(_ commit: borrowing Commit) {
        commits &+= 1
        when = commit.when > 0 ? commit.when : clock()
        // Room for all parts of most records at once.
        lines.reserve(commit.key.count &+ commit.value.count &+ commit.by.count &+ Self.plainBytesMax)
        if isBatch { return appendToBatch(commit) }
        beginLine()
        appendBody(commit)
        endLine()
    }

    /// Puts all commits up to `endBatch` into one record: they are kept together or not at all.
    public mutating func beginBatch(revision: UInt64) {
        guard isKept else { return }
        isBatch = true
        beginLine()
        lines.append(#"{"event":"batch","revision":"#)
        lines.append(decimal: revision)
        lines.append(#","events":["#)
    }

    /// Ends the record, if one was begun. A batch without commits leaves none, but the revision that it has used.
    public mutating func endBatch() {
        guard isBatch else { return }
        isBatch = false
        let passed = passedInBatch
        defer { (eventsOfBatch, passedInBatch) = (0, 0) }
        if isFirstOfBatch {
            lines.truncate(to: lineStart)
            return passed > 0 ? append(passedRevision: passed) : ()
        }
        lines.append("]")
        endLine()
    }

    /// Records that a revision was used by something that isn't kept, so that it is not used again. In a batch, the
    /// batch's record tells that.
    public mutating func append(passedRevision revision: UInt64) {
        guard isKept else { return }
        if isBatch { return passedInBatch = revision }
        commits &+= 1
        append(own: #"{"event":"revision","revision":\#(revision)"#)
    }

    /// Begins a file. Its first line starts a new chain of checksums, and names the last one of the old
    /// chain as a member.
    mutating func begin(_ header: FileHeader) {
        isKept = true
        chain = 0
        append(own: header.text)
    }

    /// Adds a line of the journal itself. `text` lacks the time and the checksum.
    mutating func append(own text: String) {
        when = clock()
        beginLine()
        lines.append(string: text)
        endLine()
    }

    /// Adds a record from another file. `body` lacks the checksum; its time is added unless `when` is 0.
    mutating func append(body: Span<UInt8>, when: UInt64) {
        beginLine()
        lines.append(body)
        if when > 0 { appendTime(when) }
        seal()
    }

    /// The most bytes of an update without its parts and rare members. Includes the bytes that `append(word:count:)`
    /// writes beyond its end.
    private static let plainBytesMax = 192

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
            EventEncoder.appendKey(commit.key, to: &lines)
            lines.append(decimal: commit.revision)
            lines.append(#","value":"#)
            lines.append(commit.value)
        } else {
            lines.append(#"{"event":"delete""#)
            EventEncoder.appendKey(commit.key, to: &lines)
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
        EventEncoder.appendGrace(commit.grace, to: &lines)
        if commit.expires > 0 {
            lines.append(#","expires":"#)
            lines.append(decimal: commit.expires)
            commit.end?.append(to: &lines)
        }
    }

    @inline(__always)
    private mutating func beginLine() {
        lineStart = lines.count
    }

    @inline(__always)
    private mutating func endLine() {
        appendTime(when)
        seal()
    }

    @inline(__always)
    private mutating func seal() {
        chain = Checksum.extended(chain, by: lines.bytes[lineStart...])
        RecordEnd.append(chain, to: &lines)
    }

    @inline(__always)
    private mutating func appendTime(_ time: UInt64) {
        lines.append(#","when":"#)
        lines.append(decimal: time)
    }
}
