// Shows a journal's records to a person, also those after damage. It changes nothing. It shows each
// record once, and each run of unreadable bytes once.

import PlugboardMemory
import PlugboardWire

/// What a person sees in a journal.
public enum JournalSight {
    /// A record. `forEachLine` passes its line, too.
    case record(RecordLine)
    /// Bytes that can't be read.
    case damage
}

extension Journal {
    /// Shows every record of every file: first the snapshots, then the segments, each in the order of
    /// their numbers. Changes nothing. Throws what `show` throws, and `SystemError`.
    public static func forEachLine(
        _ store: any FileStore,
        _ show: (JournalSight, Span<UInt8>, JournalPlace) throws -> Void
    ) throws {
        let files = JournalFiles(names: try store.names())
        let names = files.snapshots.map(JournalFiles.snapshot) + files.segments.map(JournalFiles.segment)
        for name in names { try forEachLine(of: name, in: store, show) }
    }

    private static func forEachLine(
        of name: String,
        in store: any FileStore,
        _ show: (JournalSight, Span<UInt8>, JournalPlace) throws -> Void
    ) throws {
        var reader = try LogReader(name, in: store)
        var expected = reader.place
        while try reader.nextVerifying() {
            let line = reader.line
            let place = reader.place
            if place.line > expected.line { try show(.damage, Span(), expected) }
            if let record = RecordLine(line) { try show(.record(record), line, place) }
            expected = JournalPlace(file: name, offset: place.offset + line.count + 1, line: place.line + 1)
        }
        if expected.offset < reader.writtenBytes { try show(.damage, Span(), expected) }
    }
}
