// The first line of a segment or a snapshot. It says which file this is and which record comes before it.
// So recovery detects a file that is missing or in the wrong place.

import PlugboardPosix
import PlugboardWire

/// What the first line of a file says.
struct FileHeader {
    /// The version of the file format.
    static let version: UInt64 = 1
    let kind: RecordKind
    var segment: UInt64
    var epoch: String
    /// Names the machine's start.
    var boot = ""
    /// Shows that the folder isn't a copy; see `FileStore.mark`.
    var mark: String?
    var revision: UInt64
    /// The checksum of the record before this file.
    var previous: UInt32 = 0
    /// How many values a snapshot has.
    var keys: Int?

    /// The last line of a snapshot.
    var end: String { #"{"event":"synced","revision":\#(revision)"# }

    /// The line without its time and checksum.
    var text: String {
        let name = kind == .snapshot ? "snapshot" : "segment"
        let count = keys.map { #","keys":\#($0)"# } ?? ""
        return
            #"{"event":"\#(name)","version":\#(Self.version),"segment":\#(segment),"epoch":"\#(epoch)""#
            + #","revision":\#(revision)\#(count),"previous":"\#(String(previous, radix: 16))","boot":"\#(boot)""#
            + (mark.map { #","mark":"\#($0)""# } ?? "")
    }
}

extension FileHeader {
    /// Nil if the record isn't the beginning of a file.
    init?(_ record: RecordLine, _ line: Span<UInt8>) {
        guard record.kind == .segment || record.kind == .snapshot, let previous = record.previous else {
            return nil
        }
        self.init(
            kind: record.kind,
            segment: record.segment,
            epoch: String(record.epoch.bytes(of: line)),
            boot: String(record.boot.bytes(of: line)),
            mark: String(record.mark.bytes(of: line)),
            revision: record.revision,
            previous: previous,
            keys: Int(exactly: record.keys)
        )
    }

    /// The first line of a file; nil if it can't be read. Throws `SystemError`.
    static func of(_ name: String, in store: any FileStore) throws -> FileHeader? {
        var reader = try LogReader(name, in: store, readBytes: JournalLimits.headerReadBytes)
        guard case .record = try reader.next() else { return nil }
        return FileHeader(reader.record, reader.line)
    }
}
