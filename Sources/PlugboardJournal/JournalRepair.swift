// What is left of a damaged journal: every line that is still as it was written, from first to
// last, made into a journal that can be opened. The damaged files are kept under other names.

import PlugboardPosix
import PlugboardWire

/// What a repair came to.
public struct Repaired: Sendable {
    /// The places that could not be read, the first few of them.
    public internal(set) var damages: [JournalPlace] = []
    public internal(set) var damageCount = 0
    public internal(set) var missingSegments: [UInt64] = []
    public internal(set) var keys = 0
    public internal(set) var revision: UInt64 = 0
    /// What the old files are called now.
    public internal(set) var kept: [String] = []
}

/// A repair under way.
public struct JournalRepair: ~Copyable {
    private static let placesMax = 20
    private let store: any FileStore
    private let files: JournalFiles
    private var latest: [[UInt8]: [UInt8]] = [:]
    private var result = Repaired()

    public init(_ store: any FileStore) throws {
        self.store = store
        files = JournalFiles(names: try store.names())
    }

    /// Makes a snapshot of what can be read and takes the files that it was read from out of the
    /// way. Interrupted, it can be done again.
    public mutating func run(epoch: String) throws -> Repaired {
        let numbers = try readAll()
        let number = (files.segments + files.snapshots).max() ?? 0
        try write(number + 1, epoch)
        for name in numbers {
            try store.rename(name, to: "damaged-" + name)
            result.kept.append("damaged-" + name)
        }
        try store.syncNames()
        return result
    }

    /// Returns the names of the files that were read.
    private mutating func readAll() throws -> [String] {
        var names: [String] = []
        let snapshot = files.snapshots.last
        if let snapshot { names.append(JournalFiles.snapshot(snapshot)) }
        var expected = snapshot.map { $0 + 1 } ?? files.segments.first ?? 1
        for number in files.segments where number >= expected {
            result.missingSegments += expected..<number
            names.append(JournalFiles.segment(number))
            expected = number + 1
        }
        for name in names { try read(name) }
        return names
    }

    private mutating func read(_ name: String) throws {
        var reader = try LogReader(name, in: store)
        var place = reader.place
        while let line = try reader.nextVerifying() {
            if reader.place.line > place.line { note(place) }
            take(line)
            place = JournalPlace(
                file: name,
                offset: reader.place.offset + line.count + 1,
                line: reader.place.line + 1
            )
        }
        if place.offset < reader.writtenBytes { note(place) }
    }

    private mutating func note(_ place: JournalPlace) {
        result.damageCount += 1
        if result.damages.count < Self.placesMax { result.damages.append(place) }
    }

    private mutating func take(_ line: UnsafeRawBufferPointer) {
        guard let record = RecordLine(line) else { return }
        result.revision = max(result.revision, record.revision)
        switch record.kind {
        case .update:
            latest[Array(record.key.bytes(of: line))] = Array(line.dropLast(RecordEnd.bytes))
        case .delete: latest[Array(record.key.bytes(of: line))] = nil
        case .batch:
            _ = record.forEachEvent(of: line) { event in
                guard let part = RecordLine(event) else { return }
                latest[Array(part.key.bytes(of: event))] =
                    part.kind == .update ? Array(event.dropLast()) : nil
            }
        default: break
        }
    }

    private mutating func write(_ number: UInt64, _ epoch: String) throws {
        result.keys = latest.count
        let name = JournalFiles.snapshot(number)
        let unfinished = JournalFiles.unfinished(name)
        if try store.names().contains(unfinished) { try store.remove(unfinished) }
        var output = SnapshotOutput(try store.create(unfinished), when: WallClock.millisecondsSince1970())
        output.begin(
            FileHeader.text(
                .snapshot,
                number,
                epoch: epoch,
                boot: "",
                revision: result.revision,
                previous: 0,
                keys: latest.count
            )
        )
        for body in latest.values { try body.withUnsafeBytes { try output.append($0) } }
        output.append(own: #"{"event":"synced","revision":\#(result.revision)"#)
        _ = try output.finish()
        try store.rename(unfinished, to: name)
        try store.syncNames()
    }
}
