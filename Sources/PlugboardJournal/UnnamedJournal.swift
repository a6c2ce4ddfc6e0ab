// A journal in a folder without a name: a snapshot and the segment after it. A broker without a journal of its own
// hands its state to the next one in it. The system deletes the files when no process has them open.

import PlugboardPosix

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
        var lines = RecordBuffer(clock: { when })
        lines.begin(header)
        try values { commit in
            lines.append(commit)
            try lines.write(to: snapshot, atLeast: JournalLimits.snapshotPieceBytes)
        }
        lines.append(own: header.end)
        try lines.write(to: snapshot)
        header = FileHeader(kind: .segment, segment: 2, epoch: epoch, revision: since)
        lines.begin(header)
        var last = since
        try writes { commit in
            if commit.revision != last {
                lines.endBatch()
                try lines.write(to: segment, atLeast: JournalLimits.snapshotPieceBytes)
                last = commit.revision
                lines.beginBatch(revision: last)
            }
            lines.append(commit)
        }
        lines.endBatch()
        // What came after the last write, such as an emit, used revisions, too.
        if revision > last { lines.append(passedRevision: revision) }
        lines.append(own: #"{"event":"closed","revision":\#(revision)"#)
        try lines.write(to: segment)
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

extension RecordBuffer {
    /// Writes the lines to a file, if they have at least so many bytes.
    fileprivate mutating func write(to file: any AppendableFile, atLeast least: Int = 1) throws {
        guard count >= least else { return }
        try file.appendAll(bytes)
        removeFirst(count)
    }
}
