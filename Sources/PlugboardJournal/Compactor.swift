// Ends snapshots that were written from the values in memory, or makes one of the last snapshot and the segments after
// it, from files to a file. A snapshot gets its name only when it is on disk, and only then are older files removed.
// It runs on the worker's thread, or at the start of a broker before anybody is served.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The result of making a snapshot.
public struct Compacted: Sendable {
    let segment: UInt64
    let snapshotBytes: Int
    /// The size and the number of the segments that the snapshot replaces.
    let segmentBytes: Int
    let segments: Int
    /// The first segment that stays as history, and the bytes of the segments that were removed.
    let firstKept: UInt64
    let removedBytes: Int
}

/// Makes one snapshot.
struct Compactor {
    private let store: any FileStore

    init(_ store: any FileStore) {
        self.store = store
    }

    /// Makes the snapshot and removes what it replaces. Throws `JournalError` if a file is damaged; then
    /// no file was removed. Throws `SystemError`.
    func run(_ request: CompactionRequest) throws -> Compacted {
        let last = request.segment
        let files = JournalFiles(names: try store.names())
        let from = files.snapshots.last { $0 <= last }
        let segments = files.segments.filter { $0 > from ?? 0 && $0 <= last }
        let segmentBytes = try segments.reduce(0) { try $0 + store.open(JournalFiles.segment($1)).bytes }
        let snapshotBytes: Int
        if let snapshot = request.snapshot {
            snapshotBytes = try store.place(JournalFiles.snapshot(last), whenOnDisk: snapshot.finish)
        } else {
            var survey = Survey(store)
            if let from { try survey.read(JournalFiles.snapshot(from)) }
            for segment in segments { try survey.read(JournalFiles.segment(segment)) }
            snapshotBytes = try write(&survey, survey.header(upTo: last), when: survey.when)
            survey.removeAll()
        }
        let (firstKept, removedBytes) = try removeOld(files, last, request.historyBytes)
        return Compacted(
            segment: last,
            snapshotBytes: snapshotBytes,
            segmentBytes: segmentBytes,
            segments: segments.count,
            firstKept: firstKept,
            removedBytes: removedBytes
        )
    }

    /// Writes what a survey found as a snapshot. Returns its size.
    func write(_ survey: inout Survey, _ header: FileHeader, when: UInt64) throws -> Int {
        try store.place(JournalFiles.snapshot(header.segment)) { file in
            var output = LogOutput(file, header, clock: { when })
            try survey.forEachLatest { body, when in try output.append(body, when: when) }
            return try output.finish(header.end)
        }
    }

    /// Removes older snapshots, old torn ends, and the segments that the new snapshot replaces, except
    /// the last `historyBytes` of them. Returns the first segment that stays, and the bytes of the
    /// removed ones.
    private func removeOld(_ files: JournalFiles, _ last: UInt64, _ historyBytes: Int) throws -> (
        UInt64, Int
    ) {
        for number in files.snapshots where number < last { try store.remove(JournalFiles.snapshot(number)) }
        let first = try SegmentIndex.firstKept(of: files.segments, upTo: last, historyBytes: historyBytes) {
            try store.open(JournalFiles.segment($0)).bytes
        }
        let bytes = try store.remove(segments: files.segments.filter { $0 < first })
        for name in files.torn.dropLast(JournalLimits.tornFilesMax) { try store.remove(name) }
        try store.syncNames()
        return (first, bytes)
    }
}
