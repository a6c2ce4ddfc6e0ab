// Finds the newest write of each key. It reads the files twice, each time from front to back with all checksums. In
// memory it keeps keys and the numbers of their writes in that order; values stay in the files. Snapshots are made of
// it where the state isn't in memory or can't be given at once.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The newest writes of several files.
struct Survey {
    private let store: any FileStore
    private let names: [String]
    /// The number of the newest write of each key that has a value.
    private(set) var latest: [[UInt8]: UInt64] = [:]
    private var header = FileHeader(kind: .snapshot, segment: 0, epoch: "", revision: 0)
    /// The time of the last record, in milliseconds since 1970.
    private(set) var when: UInt64 = 0

    /// Reads files, in this order. Damage is passed to `skip`, which throws if it may not be skipped.
    init(_ store: any FileStore, _ names: [String], skip: (Damage) throws -> Void = { throw $0.error }) throws
    {
        self.store = store
        self.names = names
        var number: UInt64 = 0
        try LogReader.read(names, in: store, skip: skip) { reader in
            note(reader)
            return reader.record.forEachWrite(of: reader.line) { write, bytes in
                number += 1
                latest[Array(write.key.bytes(of: bytes))] = write.kind == .update ? number : nil
            }
        }
    }

    /// The first line of a snapshot of what was read.
    func header(upTo segment: UInt64) -> FileHeader {
        var header = self.header
        (header.segment, header.keys) = (segment, latest.count)
        return header
    }

    private mutating func note(_ reader: borrowing LogReader) {
        if reader.record.when > 0 { when = reader.record.when }
        header.revision = max(header.revision, reader.record.revision)
        if let first = FileHeader(reader.record, reader.line) {
            (header.epoch, header.boot, header.previous) = (first.epoch, first.boot, first.previous)
        }
        // What a snapshot says of the record before it counts, not its own records.
        if !reader.record.isOfSnapshot { header.previous = reader.chain }
    }

    /// Passes the newest update of each key to `body`, in the order of the files. Each lacks its end: the checksum or,
    /// in a batch, the closing brace. `when` is 0 if the record itself has its time.
    func forEachLatest(_ body: (Span<UInt8>, _ when: UInt64) throws -> Void) throws {
        var (number, left) = (0 as UInt64, latest.count)
        try LogReader.read(names, in: store, skip: { _ in }) { reader in
            let isBatch = reader.record.kind == .batch
            let endBytes = isBatch ? 1 : RecordEnd.bytes
            return try reader.record.forEachWrite(of: reader.line) { write, bytes in
                number += 1
                guard latest[Array(write.key.bytes(of: bytes))] == number else { return }
                left -= 1
                try body(bytes[..<(bytes.count - endBytes)], isBatch ? write.when : 0)
            }
        }
        guard left == 0 else {
            let place = JournalPlace(file: names.last ?? "", offset: 0, line: 0)
            throw JournalError.damaged(place, "the files have changed")
        }
    }
}
