// A snapshot of the values in memory. The loop adds some of them in each turn, and the worker writes them: so nobody
// waits, and no record is read again. It gets its name only when it is on disk, and only then are older files removed.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import Synchronization

/// A snapshot that is being made. Used by the loop's thread.
public struct StateSnapshot: ~Copyable {
    private let header: FileHeader
    let file: SnapshotFile
    /// Writes a piece to the file.
    private let write: ([UInt8]) -> Void
    private var lines: RecordBuffer

    /// `when` is the time of the last record before, in milliseconds since 1970.
    init(_ header: FileHeader, _ file: SnapshotFile, when: UInt64, write: @escaping ([UInt8]) -> Void) {
        self.header = header
        self.file = file
        self.write = write
        lines = RecordBuffer(clock: { when })
        lines.begin(header)
    }

    /// The segments up to this one are replaced.
    var segment: UInt64 { header.segment }

    /// Adds a value. The header says how many there are.
    public mutating func append(_ commit: borrowing Commit) {
        lines.append(commit)
        handOver(atLeast: JournalLimits.snapshotPieceBytes)
    }

    /// Adds a value from a file, as `RecordBuffer` does.
    mutating func append(_ body: Span<UInt8>, when: UInt64) {
        lines.append(body: body, when: when)
        handOver(atLeast: JournalLimits.snapshotPieceBytes)
    }

    /// Whether as many values were added as the header says.
    var isWhole: Bool { header.keys == Int(lines.commits) }

    /// Whether so much waits to be written that no more should be added now.
    public var isHeldUp: Bool { file.waitingBytes > JournalLimits.snapshotWaitingBytesMax }

    private mutating func handOver(atLeast least: Int = 0) {
        guard lines.count >= least else { return }
        file.noteWaiting(lines.count)
        write(Array(lines.bytes))
        lines.removeFirst(lines.count)
    }

    mutating func end() {
        lines.append(own: header.end)
        handOver()
    }
}

/// The file of a snapshot that is being made. The worker writes it.
public final class SnapshotFile: Sendable {
    private struct State {
        var bytes = 0
        var syncedBytes = 0
        /// The first error. After it, nothing more is written.
        var error: (any Error)?
    }

    private let file: any AppendableFile
    private let state = Mutex(State())
    private let waiting = Atomic<Int>(0)

    init(_ file: any AppendableFile) { self.file = file }

    /// The bytes of pieces that the worker hasn't written.
    var waitingBytes: Int { waiting.load(ordering: .relaxed) }

    func noteWaiting(_ count: Int) { waiting.add(count, ordering: .relaxed) }

    /// Appends a piece. A long file is synced meanwhile, so that it doesn't all wait for the disk at its end.
    func append(_ piece: [UInt8]) {
        defer { waiting.subtract(piece.count, ordering: .relaxed) }
        state.withLock { state in
            guard state.error == nil else { return }
            do {
                try file.appendAll(piece.span)
                state.bytes += piece.count
                guard state.bytes - state.syncedBytes >= JournalLimits.snapshotSyncBytes else { return }
                try file.sync()
                state.syncedBytes = state.bytes
            } catch {
                state.error = error
            }
        }
    }

    /// Returns the size when everything is on disk. Throws the first error.
    func finish() throws -> Int {
        try state.withLock { state in
            if let error = state.error { throw error }
            try file.sync()
            return state.bytes
        }
    }
}

extension FileStore {
    /// Ends a snapshot that replaces all segments up to `last`. Then removes older snapshots and old torn ends. Returns
    /// its size. Throws `JournalError` or `SystemError`; then no file was removed.
    func compact(upTo last: UInt64, _ file: SnapshotFile) throws -> Int {
        let files = JournalFiles(names: try names())
        let bytes = try finish(file, as: JournalFiles.snapshot(last))
        // If a removed name comes back after a crash, or if one can't be removed now, a later snapshot does it.
        let old = files.snapshots.filter { $0 < last }.map(JournalFiles.snapshot)
        for name in old + files.torn.dropLast(JournalLimits.tornFilesMax) { try? remove(name) }
        return bytes
    }
}
