// Puts segments together: from the last snapshot and the segments after it comes the next
// snapshot, file to file, without the broker and its state. Written beside, brought to disk,
// then named; only then are older files removed. Runs on a thread of its own.

import PlugboardPosix
import PlugboardWire

/// What a compaction came to.
public struct Compacted: Sendable {
    public let segment: UInt64
    public let keys: Int
    public let snapshotBytes: Int
    /// Bytes of the segments that the snapshot took in, and how many they were.
    let segmentBytes: Int
    let segments: Int
}

/// One compaction.
struct Compactor {
    private let store: any FileStore

    init(_ store: any FileStore) {
        self.store = store
    }

    /// Makes the snapshot of segment `last`, which has ended. Throws `JournalError` where a file
    /// is damaged: then all files stay.
    func run(upTo last: UInt64, historyBytes: Int) throws -> Compacted {
        let files = JournalFiles(names: try store.names())
        let from = files.snapshots.last { $0 <= last }
        let segments = files.segments.filter { $0 > from ?? 0 && $0 <= last }
        var survey = Survey(store)
        if let from { try survey.read(JournalFiles.snapshot(from)) }
        for segment in segments { try survey.read(JournalFiles.segment(segment)) }
        let name = JournalFiles.snapshot(last)
        let bytes = try write(&survey, last, as: name)
        try removeOld(files, last, historyBytes)
        return Compacted(
            segment: last,
            keys: survey.index.count,
            snapshotBytes: bytes,
            segmentBytes: survey.segmentBytes,
            segments: segments.count
        )
    }

    private func write(_ survey: inout Survey, _ last: UInt64, as name: String) throws -> Int {
        let unfinished = JournalFiles.unfinished(name)
        if try store.names().contains(unfinished) { try store.remove(unfinished) }
        var output = SnapshotOutput(try store.create(unfinished), when: survey.when)
        let header = FileHeader.text(
            .snapshot,
            last,
            epoch: survey.epoch,
            boot: survey.boot,
            revision: survey.revision,
            previous: survey.chain,
            keys: survey.index.count
        )
        output.begin(header)
        try survey.forEachLatest { body in try output.append(body) }
        output.append(own: #"{"event":"synced","revision":\#(survey.revision)"#)
        let bytes = try output.finish()
        try store.rename(unfinished, to: name)
        try store.syncNames()
        return bytes
    }

    /// Snapshots before this one, segments in it except the last `historyBytes` of them, and
    /// torn ends of long ago.
    private func removeOld(_ files: JournalFiles, _ last: UInt64, _ historyBytes: Int) throws {
        for number in files.snapshots where number < last { try store.remove(JournalFiles.snapshot(number)) }
        let first = try SegmentIndex.firstKept(of: files.segments, upTo: last, historyBytes: historyBytes) {
            try store.open(JournalFiles.segment($0)).bytes
        }
        for number in files.segments where number < first { try store.remove(JournalFiles.segment(number)) }
        for name in files.torn.dropLast(JournalLimits.tornFilesMax) { try store.remove(name) }
        try store.syncNames()
    }
}

/// Writes the lines of a snapshot.
struct SnapshotOutput: ~Copyable {
    private let file: any AppendableFile
    private var lines: RecordBuffer
    private var bytes = 0

    /// All lines of the journal's own have the time of the last record.
    init(_ file: any AppendableFile, when: UInt64) {
        self.file = file
        lines = RecordBuffer(clock: { when })
        lines.begin(after: 0)
    }

    mutating func begin(_ header: String) {
        lines.beginFile(header)
    }

    mutating func append(_ body: UnsafeRawBufferPointer) throws {
        lines.append(body: body)
        if lines.count >= JournalLimits.readBytes { try write() }
    }

    mutating func append(_ commit: Commit) throws {
        lines.append(commit)
        if lines.count >= JournalLimits.readBytes { try write() }
    }

    mutating func append(own text: String) {
        lines.append(own: text)
    }

    /// Returns the size, once all of it is on disk, where that is wanted.
    @discardableResult
    mutating func finish(isSynced: Bool = true) throws -> Int {
        try write()
        if isSynced { try file.sync() }
        return bytes
    }

    private mutating func write() throws {
        bytes += lines.count
        try file.appendAll(lines.bytes)
        lines.removeFirst(lines.count)
    }
}
