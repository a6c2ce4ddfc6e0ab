// Shows a journal's records to a person, also those after damage.
// It changes nothing. Every line is shown once, and every piece
// of damage as well.

import PlugboardMemory
import PlugboardWire

/// What a person sees of a journal, in order.
public enum JournalSight {
    /// A record. Its line is passed with it.
    case record(RecordLine)
    /// Some bytes here can't be read.
    case damage
}

extension Journal {
    /// Shows every line of every file: snapshots first, then segments, both by their numbers.
    /// Changes nothing. Throws what `show` throws, and `SystemError`.
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
