// What a broker without a journal hands to the one that takes its place: a snapshot in the
// journal's own lines, in a file that has no name.

import PlugboardPosix
import PlugboardWire

/// A state on its way from one broker to the next.
public enum CarriedState {
    /// Writes a state to a file: `body` adds each value once. After the revision `lastWrite` nothing
    /// was written but the broker's own keys. Throws `SystemError`.
    public static func write(
        to file: DataFile,
        epoch: String,
        revision: UInt64,
        lastWrite: UInt64,
        keys: Int,
        when: UInt64,
        _ body: ((Commit) throws -> Void) throws -> Void
    ) throws {
        var output = SnapshotOutput(file, when: when)
        output.begin(
            FileHeader.text(
                .snapshot,
                1,
                epoch: epoch,
                boot: "\(lastWrite)",
                revision: revision,
                previous: 0,
                keys: keys
            )
        )
        try body { commit in try output.append(commit) }
        output.append(own: #"{"event":"synced","revision":\#(revision)"#)
        try output.finish(isSynced: false)
    }

    /// Reads it. Throws `JournalError` where it isn't whole.
    public static func read(from file: DataFile, _ take: RecordTaker) throws -> Recovered {
        var recovered = try Journal.check(OneFile(file), take)
        // No boot is of interest here, so that the last write stands in its place.
        if let lastWrite = UInt64(recovered.boot) { recovered.snapshotRevision = lastWrite }
        return recovered
    }
}

/// A folder with one snapshot in it.
private final class OneFile: FileStore {
    private let file: DataFile

    init(_ file: DataFile) {
        self.file = file
    }

    func names() -> [String] { [JournalFiles.snapshot(1)] }
    func open(_ name: String) -> any ReadableFile { file }
    func sync(_ name: String) {}
    func create(_ name: String) throws -> any AppendableFile { throw Self.refusal }
    func truncate(_ name: String, to bytes: Int) throws { throw Self.refusal }
    func rename(_ name: String, to other: String) throws { throw Self.refusal }
    func remove(_ name: String) throws { throw Self.refusal }
    func syncNames() {}

    private static var refusal: SystemError { SystemError(code: EROFS, operation: "change") }
}
