// The state that a broker without a journal hands to its successor: journal lines in two files that have
// no names. One file is a snapshot, the other a segment with the writes after it. The system deletes the
// files when no process has them open.

import PlugboardPosix
import PlugboardWire

/// The state that one broker hands to the next.
public struct CarriedState: Sendable {
    fileprivate static let number: UInt64 = 1

    /// The values that were written up to the snapshot's revision.
    public let snapshot: DataFile
    /// The newest write of each key after that, including deletes.
    public let segment: DataFile

    public init(snapshot: DataFile, segment: DataFile) {
        self.snapshot = snapshot
        self.segment = segment
    }

    /// Writes a state. `values` must add the value of each key whose last write is at most `since`:
    /// `keys` values, each once. `writes` must add the later writes in the order of their revisions.
    /// `when` is the present time in milliseconds since 1970. Throws `SystemError`.
    public init(
        epoch: String,
        since: UInt64,
        revision: UInt64,
        keys: Int,
        when: UInt64,
        values: ((borrowing Commit) throws -> Void) throws -> Void,
        writes: (_ add: (borrowing Commit, _ milliseconds: UInt64) throws -> Void) throws -> Void
    ) throws {
        snapshot = try DataFile.unnamed()
        segment = try DataFile.unnamed()
        var header = FileHeader(
            kind: .snapshot, segment: Self.number, epoch: epoch, revision: since, keys: keys
        )
        var output = SnapshotOutput(snapshot, header, when: when)
        try values { commit in try output.append(commit) }
        try output.finish(isSynced: false)
        header = FileHeader(kind: .segment, segment: Self.number + 1, epoch: epoch, revision: since)
        var carried = CarriedWrites(segment, after: since)
        carried.begin(header.text)
        try writes { commit, milliseconds in try carried.append(commit, milliseconds) }
        try carried.end(revision: revision)
    }

    /// Passes the values and the later writes to `take`. Throws `JournalError` if the state isn't
    /// complete.
    public func read(_ take: RecordTaker) throws -> Recovered {
        let recovered = try Journal.check(CarriedFiles(self), take)
        guard recovered.isClosed else { throw JournalError.missing(file: "the end of the carried state") }
        return recovered
    }
}

/// Writes the segment. Each revision becomes a batch, even if it has only one write.
private struct CarriedWrites: ~Copyable {
    private final class Moment {
        var milliseconds: UInt64 = 0
    }

    private let file: DataFile
    private let moment = Moment()
    private var lines: RecordBuffer
    private var revision: UInt64

    init(_ file: DataFile, after revision: UInt64) {
        self.file = file
        self.revision = revision
        lines = RecordBuffer { [moment] in moment.milliseconds }
        lines.begin(after: 0)
    }

    mutating func begin(_ header: String) {
        lines.beginFile(header)
        lines.beginBatch(revision: revision)
    }

    mutating func append(_ commit: borrowing Commit, _ milliseconds: UInt64) throws {
        if commit.revision != revision {
            try endBatch()
            revision = commit.revision
            moment.milliseconds = milliseconds
            lines.beginBatch(revision: revision)
        }
        lines.append(commit)
    }

    mutating func end(revision last: UInt64) throws {
        try endBatch()
        if last > revision { lines.append(passedRevision: last) }
        lines.append(own: #"{"event":"closed","revision":\#(last)"#)
        try write()
    }

    private mutating func endBatch() throws {
        lines.endBatch()
        lines.endTurn()
        if lines.count >= JournalLimits.readBytes { try write() }
    }

    private mutating func write() throws {
        try file.appendAll(lines.bytes)
        lines.removeFirst(lines.count)
    }
}

/// The two files as a folder that can't be changed.
private final class CarriedFiles: FileStore {
    private static let snapshot = JournalFiles.snapshot(CarriedState.number)
    private static let segment = JournalFiles.segment(CarriedState.number + 1)
    private let state: CarriedState

    init(_ state: CarriedState) {
        self.state = state
    }

    func names() -> [String] { [Self.snapshot, Self.segment] }
    func open(_ name: String) -> any ReadableFile { name == Self.snapshot ? state.snapshot : state.segment }
    func sync(_ name: String) {}
    func create(_ name: String) throws -> any AppendableFile { throw Self.refusal }
    func truncate(_ name: String, to bytes: Int) throws { throw Self.refusal }
    func rename(_ name: String, to other: String) throws { throw Self.refusal }
    func remove(_ name: String) throws { throw Self.refusal }
    func syncNames() {}

    private static var refusal: SystemError { SystemError(code: EROFS, operation: "change") }
}
