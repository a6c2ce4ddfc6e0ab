// Saves what is left of a damaged journal. It takes every line whose checksum is valid, from first to
// last, and makes a journal of them that can be opened. It renames the files of before and keeps them.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The result of a repair.
public struct Repaired: Sendable {
    /// Places that could not be read. Only the first 20 are listed.
    public internal(set) var damages: [JournalPlace] = []
    public internal(set) var damageCount = 0
    public internal(set) var missingSegments: [ClosedRange<UInt64>] = []
    public internal(set) var keys = 0
    public internal(set) var revision: UInt64 = 0
    /// The new names of the old files.
    public internal(set) var kept: [String] = []
}

/// Repairs one journal. Nobody else may use the folder meanwhile.
public struct JournalRepair: ~Copyable {
    private static let placesMax = 20
    private let store: any FileStore
    private let files: JournalFiles
    private let boot: String
    private var result = Repaired()

    /// `boot` names the machine's present start. Throws `SystemError`.
    public init(_ store: any FileStore, boot: String = "") throws {
        self.store = store
        files = JournalFiles(names: try store.names())
        self.boot = boot
    }

    /// Makes a snapshot of all lines that can be read, then renames all files before it. If it is interrupted, the next
    /// run does the rest. Returns nil and changes nothing if nothing is damaged. Throws `JournalError.unknownVersion` for
    /// a journal of a later version, because it might lose records that it doesn't know.
    public mutating func run(epoch: String) throws -> Repaired? {
        let whole = try whole()
        if let whole, !whole.isRepaired { return nil }
        let made = whole?.snapshot ?? files.last + 1
        let snapshots = files.snapshots.filter { $0 < made }.map(JournalFiles.snapshot)
        let old = snapshots + files.segments.map(JournalFiles.segment)
        if let whole {
            // Otherwise an earlier run was interrupted.
            if old.isEmpty { return nil }
            result.revision = whole.revision
        } else {
            try write(try sources(), epoch)
        }
        for name in old {
            try store.rename(name, to: "damaged-" + name)
            result.kept.append("damaged-" + name)
        }
        try store.syncNames()
        return result
    }

    /// What is found in a journal that isn't damaged.
    private mutating func whole() throws -> Recovered? {
        var keys = 0
        do {
            let found = try Journal.check(store, boot: boot) { _, _ in keys += 1 }
            result.keys = keys
            return found
        } catch JournalError.damaged, JournalError.missing {
            return nil
        }
    }

    /// The files to read, in order: the newest undamaged snapshot and everything after it. This includes
    /// damaged snapshots, and the segments that they replaced, as far as these still exist.
    private mutating func sources() throws -> [String] {
        let base = try files.snapshots.last { number in
            var recovery = try Recovery(store)
            return try recovery.isWhole(snapshot: number)
        }
        let segments = files.segments.filter { $0 > base ?? 0 }
        noteMissing(of: segments, after: files.snapshots.last ?? 0)
        let named = try segments.map {
            (try numberSaid(by: JournalFiles.segment($0)) ?? $0, JournalFiles.segment($0))
        }
        let snapshots = files.snapshots.filter { $0 >= base ?? 0 }.map { ($0, JournalFiles.snapshot($0)) }
        // A snapshot comes after the segments that it replaces: so does its name.
        return (named + snapshots).sorted { $0 < $1 }.map(\.1)
    }

    /// The number in a segment's first line. Files that swapped their names are read in their own order.
    private func numberSaid(by name: String) throws -> UInt64? {
        try FileHeader.of(name, in: store).flatMap { $0.kind == .segment ? $0.segment : nil }
    }

    /// Notes gaps between segments. Segments up to the snapshot may be missing at the beginning, because
    /// the oldest are removed first.
    private mutating func noteMissing(of segments: [UInt64], after snapshot: UInt64) {
        var expected = min(segments.first ?? .max, snapshot + 1)
        for number in segments {
            if number > expected { result.missingSegments.append(expected...(number - 1)) }
            expected = number + 1
        }
        if files.last >= expected { result.missingSegments.append(expected...files.last) }
    }

    private mutating func note(_ place: JournalPlace) {
        result.damageCount += 1
        if result.damages.count < Self.placesMax { result.damages.append(place) }
    }

    /// Writes the newest update of each key in these files as a snapshot, in the order of the files.
    private mutating func write(_ names: [String], _ epoch: String) throws {
        var header = FileHeader(kind: .snapshot, segment: files.last + 1, epoch: epoch, revision: 0)
        // Each lacks its end: the checksum or, in a batch, the closing brace. `when` is 0 if the body has its time.
        var latest: [[UInt8]: (number: Int, body: [UInt8], when: UInt64)] = [:]
        var number = 0
        try LogReader.read(names, in: store, skip: { note($0.place) }) { reader in
            header.revision = max(header.revision, reader.record.revision)
            let isBatch = reader.record.kind == .batch
            return reader.record.forEachWrite(of: reader.line) { write, bytes in
                number += 1
                let body = Array(bytes[..<(bytes.count - (isBatch ? 1 : RecordEnd.bytes))])
                latest[Array(write.key.bytes(of: bytes))] =
                    write.kind == .update ? (number, body, isBatch ? write.when : 0) : nil
            }
        }
        header.keys = latest.count
        (result.keys, result.revision) = (latest.count, header.revision)
        let name = JournalFiles.snapshot(header.segment)
        let file = SnapshotFile(try store.createAnew(JournalFiles.unfinished(name)))
        _ = try store.place(name) {
            let now = WallClock.millisecondsSince1970()
            var snapshot = StateSnapshot(header, file, when: now, write: file.append)
            for (_, body, when) in latest.values.sorted(by: { $0.number < $1.number }) {
                snapshot.append(body.span, when: when)
            }
            snapshot.end()
            return try file.finish()
        }
    }
}
