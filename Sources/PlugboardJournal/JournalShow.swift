// A journal's records for a person to read, also past damage.

import PlugboardWire

/// What a person is shown of a journal, in its order.
public enum JournalSight {
    /// A line as it is stored.
    case line(UnsafeRawBufferPointer, RecordLine, JournalPlace)
    /// Something here can't be read.
    case damage(JournalPlace)
}

extension Journal {
    /// Shows every line of every file: snapshots first, then segments, each by its number.
    /// Nothing is changed. Throws what `show` throws, and `SystemError`.
    public static func forEachLine(_ store: any FileStore, _ show: (JournalSight) throws -> Void) throws {
        let files = JournalFiles(names: try store.names())
        let names = files.snapshots.map(JournalFiles.snapshot) + files.segments.map(JournalFiles.segment)
        for name in names { try forEachLine(of: name, in: store, show) }
    }

    private static func forEachLine(
        of name: String,
        in store: any FileStore,
        _ show: (JournalSight) throws -> Void
    ) throws {
        var reader = try LogReader(name, in: store)
        var expected = reader.place
        while let line = try reader.nextVerifying() {
            let place = reader.place
            if place.line > expected.line { try show(.damage(expected)) }
            if let record = RecordLine(line) { try show(.line(line, record, place)) }
            expected = JournalPlace(file: name, offset: place.offset + line.count + 1, line: place.line + 1)
        }
        if expected.offset < reader.writtenBytes { try show(.damage(expected)) }
    }
}
