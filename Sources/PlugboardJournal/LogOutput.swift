// Writes a whole file of a journal, from its first line to its last: a snapshot, or the segment of a hand-over.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Writes lines to a file. The first one says which file it is.
struct LogOutput: ~Copyable {
    private let file: any AppendableFile
    private var lines: RecordBuffer
    private var bytes = 0
    private var syncedBytes = 0
    private let isSynced: Bool
    private var isInBatch = false

    /// `clock` gives the time of the lines, in milliseconds since 1970. If `isSynced`, the file is on disk when
    /// `finish` returns.
    init(
        _ file: any AppendableFile, _ header: FileHeader, isSynced: Bool = true, clock: @escaping () -> UInt64
    ) {
        self.file = file
        self.isSynced = isSynced
        lines = RecordBuffer(clock: clock)
        lines.begin(header)
    }

    /// Adds a record without its checksum, and without its time if `when` isn't 0.
    mutating func append(_ body: Span<UInt8>, when: UInt64) throws {
        lines.append(body: body, when: when)
        if lines.count >= JournalLimits.snapshotPieceBytes { try write() }
    }

    /// Adds a line of the journal itself.
    mutating func append(own text: String) throws {
        try endBatch()
        lines.endTurn()
        lines.append(own: text)
    }

    mutating func append(_ commit: borrowing Commit) throws {
        lines.append(commit)
        if !isInBatch, lines.count >= JournalLimits.snapshotPieceBytes { try write() }
    }

    /// Ends the batch before, and puts all commits up to the next one into a batch.
    mutating func beginBatch(revision: UInt64) throws {
        try endBatch()
        lines.beginBatch(revision: revision)
        isInBatch = true
    }

    private mutating func endBatch() throws {
        guard isInBatch else { return }
        isInBatch = false
        lines.endBatch()
        if lines.count >= JournalLimits.snapshotPieceBytes { try write() }
    }

    /// Writes the last line, and returns the file's size.
    @discardableResult
    mutating func finish(_ last: String) throws -> Int {
        try append(own: last)
        try write()
        if isSynced { try file.sync() }
        return bytes
    }

    /// A long file is synced meanwhile, so that it doesn't all wait for the disk at its end.
    private mutating func write() throws {
        bytes += lines.count
        try file.appendAll(lines.bytes)
        lines.removeFirst(lines.count)
        if isSynced, bytes - syncedBytes >= JournalLimits.snapshotSyncBytes {
            try file.sync()
            syncedBytes = bytes
        }
    }
}

// A journal in a folder without a name: a snapshot and the segment after it. A broker without a journal of its own
// hands its state to the next one in it. The system deletes the files when no process has them open.

/// The state that one broker hands to the next. `Journal.check` reads it.
public final class UnnamedJournal: FileStore {
    private static let names = [JournalFiles.snapshot(1), JournalFiles.segment(2)]

    public let snapshot: DataFile
    public let segment: DataFile

    public init(snapshot: DataFile, segment: DataFile) {
        (self.snapshot, self.segment) = (snapshot, segment)
    }

    /// Writes a state. `values` must add the value of each key whose last write is at most `since`: `keys` values,
    /// each once. `writes` must add the later writes in the order of their revisions. `when` is the present time in
    /// milliseconds since 1970. Throws `SystemError`.
    public init(
        epoch: String,
        since: UInt64,
        revision: UInt64,
        keys: Int,
        when: UInt64,
        values: ((borrowing Commit) throws -> Void) throws -> Void,
        writes: ((borrowing Commit) throws -> Void) throws -> Void
    ) throws {
        snapshot = try DataFile.unnamed()
        segment = try DataFile.unnamed()
        var header = FileHeader(kind: .snapshot, segment: 1, epoch: epoch, revision: since, keys: keys)
        var before = LogOutput(snapshot, header, isSynced: false, clock: { when })
        try values { commit in try before.append(commit) }
        try before.finish(header.end)
        header = FileHeader(kind: .segment, segment: 2, epoch: epoch, revision: since)
        var output = LogOutput(segment, header, isSynced: false, clock: { when })
        var last = since
        try writes { commit in
            if commit.revision != last {
                last = commit.revision
                try output.beginBatch(revision: last)
            }
            try output.append(commit)
        }
        // What came after the last write, such as an emit, used revisions, too.
        if revision > last { try output.append(own: #"{"event":"revision","revision":\#(revision)"#) }
        try output.finish(#"{"event":"closed","revision":\#(revision)"#)
    }

    public func names() -> [String] { Self.names }
    public func open(_ name: String) -> any ReadableFile { name == Self.names[0] ? snapshot : segment }
    public func sync(_ name: String) {}
    public func create(_ name: String) throws -> any AppendableFile { throw Self.refusal }
    public func truncate(_ name: String, to bytes: Int) throws { throw Self.refusal }
    public func rename(_ name: String, to other: String) throws { throw Self.refusal }
    public func remove(_ name: String) throws { throw Self.refusal }
    public func syncNames() {}

    private static var refusal: SystemError { SystemError(code: EROFS, operation: "change") }
}
