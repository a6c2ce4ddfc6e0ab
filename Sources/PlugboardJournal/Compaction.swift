// How a snapshot is made: one that was written from the values in memory is ended, or the last snapshot is merged with
// the segments after it, from files to a file. A snapshot gets its name only when it is on disk, and only then are older
// files removed. It runs on the worker's thread, or at the start of a broker before anybody is served.

import PlugboardPosix

extension FileStore {
    /// Makes a snapshot that replaces all segments up to `last`, which has ended: of `file`, if it has the values, or of
    /// the files. Then removes older snapshots and old torn ends. Returns its size. Throws `JournalError` if a file is
    /// damaged; then no file was removed. Throws `SystemError`.
    func compact(upTo last: UInt64, _ file: SnapshotFile? = nil) throws -> Int {
        let files = JournalFiles(names: try names())
        let bytes =
            if let file {
                try place(JournalFiles.snapshot(last), whenOnDisk: file.finish)
            } else {
                try merge(files, upTo: last)
            }
        // If a removed name comes back after a crash, the next broker removes the file again.
        removeAll(files.snapshots.filter { $0 < last }.map(JournalFiles.snapshot))
        removeAll(files.torn.dropLast(JournalLimits.tornFilesMax))
        return bytes
    }

    private func merge(_ files: JournalFiles, upTo last: UInt64) throws -> Int {
        let from = files.snapshots.last { $0 <= last }
        let segments = files.segments.filter { $0 > from ?? 0 && $0 <= last }.map(JournalFiles.segment)
        let survey = try Survey(self, (from.map { [JournalFiles.snapshot($0)] } ?? []) + segments)
        return try write(survey, survey.header(upTo: last), when: survey.when)
    }

    /// Writes what a survey found as a snapshot. Returns its size.
    func write(_ survey: Survey, _ header: FileHeader, when: UInt64) throws -> Int {
        let name = JournalFiles.snapshot(header.segment)
        return try place(name) {
            let file = SnapshotFile(try createAnew(JournalFiles.unfinished(name)))
            var snapshot = StateSnapshot(header, file, when: when, write: file.append)
            try survey.forEachLatest { body, when in snapshot.append(body, when: when) }
            snapshot.end()
            return try file.finish()
        }
    }
}
