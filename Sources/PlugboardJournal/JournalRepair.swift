// Saves what is left of a damaged journal. It takes every line whose checksum is valid, and makes a journal of the
// newest of each key that can be opened. Files of another bus don't count. It renames the files of before and keeps them.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The result of a repair.
public struct Repaired: Sendable {
    /// What was left out, and why. Only the first 20 are listed.
    public internal(set) var damages: [String] = []
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
    /// Whether there is a journal, after `run` has found nothing damaged.
    public private(set) var isThere = true

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
        if whole == nil, let name = files.nameWithoutNext { throw JournalError.noNumber(after: name) }
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
            isThere = found.epoch != nil
            return found
        } catch JournalError.damaged, JournalError.missing, is SystemError {
            return nil
        }
    }

    /// The files to read: the newest undamaged snapshot and everything after it. This includes damaged snapshots, and the
    /// segments that they replaced, as far as these still exist.
    private mutating func sources() throws -> [String] {
        let base = try files.snapshots.last { number in
            var recovery = try Recovery(store)
            return try recovery.isWhole(snapshot: number)
        }
        let snapshots = files.snapshots.filter { $0 >= base ?? 0 }.map(JournalFiles.snapshot)
        // Two files may have swapped their names, so what a segment says of itself counts.
        let segments = files.segments.map { named in
            let name = JournalFiles.segment(named)
            return (name: name, named: named, number: (try? FileHeader.of(name, in: store))?.segment ?? named)
        }
        .filter { max($0.named, $0.number) > base ?? 0 }.sorted { $0.number < $1.number }
        let foreign = foreign(among: snapshots + segments.map(\.name), of: base.map(JournalFiles.snapshot))
        for name in foreign {
            note(Damage(place: JournalPlace(file: name, offset: 0, line: 1), what: "it is of another bus"))
        }
        let own = segments.filter { $0.number > base ?? 0 && !foreign.contains($0.name) }
        noteMissing(of: own.map(\.number), after: files.snapshots.last ?? 0)
        return snapshots.filter { !foreign.contains($0) } + own.map(\.name)
    }

    /// The files of another bus: of an epoch to which nothing leads. The undamaged snapshot, if there is one, says which
    /// epoch is this bus's. Otherwise that is the bus of which most files were made in this folder, or if none of the
    /// files was, of which most files are.
    private func foreign(among names: [String], of base: String?) -> [String] {
        var headers: [String: FileHeader] = [:]
        for name in names { headers[name] = try? FileHeader.of(name, in: store) }
        let epochs = names.compactMap { headers[$0]?.epoch }.reduce(into: [String]()) { epochs, epoch in
            if !epochs.contains(epoch) { epochs.append(epoch) }
        }
        guard epochs.count > 1 else { return [] }
        let steps = steps(among: names, headers)
        let known = base.flatMap { headers[$0]?.epoch }
        let buses = (known.map { [$0] } ?? epochs).map { first in
            // A file without a first line is read, too, so what follows it does so in any bus.
            var bus: Set = [first]
            let steps = steps.map { [$0.before ?? first, $0.epoch] }
            for _ in epochs { for step in steps where !bus.isDisjoint(with: step) { bus.formUnion(step) } }
            return bus
        }
        let made = headers.filter { wasMadeHere($0.key, $0.value) }
        let counts = buses.map { bus in
            [made, headers].map { files in files.values.count { bus.contains($0.epoch) } }
        }
        let own = zip(buses, counts).max { $0.1.lexicographicallyPrecedes($1.1) }?.0 ?? []
        return names.filter { name in headers[name].map { !own.contains($0.epoch) } ?? false }
    }

    /// Where an epoch follows another one in the same journal: it begins after the last record of the one before it. That
    /// one is nil if it is only known that a file is there.
    private func steps(
        among names: [String], _ headers: [String: FileHeader]
    ) -> [(before: String?, epoch: String)] {
        var ends: [UInt32: String?] = [:]
        for name in names {
            let header = headers[name]
            // A snapshot doesn't change what comes before the next segment.
            let isSnapshot = header?.kind == .snapshot
            let end = isSnapshot ? header?.previous : try? LogReader.end(of: name, in: store)
            if let end { ends.updateValue(header?.epoch, forKey: end) }
        }
        return headers.values.compactMap { header in
            ends[header.previous].flatMap { $0 == header.epoch ? nil : ($0, header.epoch) }
        }
    }

    /// Whether a broker made the file in this folder: no copy of it has its mark.
    private func wasMadeHere(_ name: String, _ header: FileHeader) -> Bool {
        name == JournalFiles.segment(header.segment)
            && store.isTrue(mark: header.mark ?? "", ofSegment: header.segment)
    }

    /// Notes gaps between segments. Segments up to the snapshot may be missing at the beginning, because
    /// the oldest are removed first.
    private mutating func noteMissing(of segments: [UInt64], after snapshot: UInt64) {
        var expected = min(segments.first ?? .max, snapshot + 1)
        for number in segments {
            if number > expected { result.missingSegments.append(expected...(number - 1)) }
            expected = number + 1
        }
        let last = max(segments.last ?? 0, files.signposts.last?.segment ?? 0)
        if last >= expected { result.missingSegments.append(expected...last) }
    }

    private mutating func note(_ damage: Damage) {
        result.damageCount += 1
        if result.damages.count < Self.placesMax { result.damages.append("\(damage.place): \(damage.what)") }
    }

    /// A write of a key. `body` is nil if it deletes the key. Otherwise it lacks its end: the checksum or, in a batch, the
    /// closing brace. `when` is 0 if the body has its time.
    private struct Newest {
        let revision: UInt64
        let number: Int
        let body: [UInt8]?
        let when: UInt64
    }

    /// Writes the newest update of each key in these files as a snapshot, in the order of the revisions.
    private mutating func write(_ names: [String], _ epoch: String) throws {
        var header = FileHeader(kind: .snapshot, segment: files.last + 1, epoch: epoch, revision: 0)
        var newest: [[UInt8]: Newest] = [:]
        var number = 0
        try LogReader.read(names, in: store, skip: { note($0) }) { reader in
            header.revision = max(header.revision, reader.record.revision)
            let isBatch = reader.record.kind == .batch
            return reader.record.forEachWrite(of: reader.line) { write, bytes in
                let key = Array(write.key.bytes(of: bytes))
                // Files may have swapped their names, or come twice.
                if let known = newest[key], known.revision > write.revision { return }
                number += 1
                let body = Array(bytes[..<(bytes.count - (isBatch ? 1 : RecordEnd.bytes))])
                newest[key] = Newest(
                    revision: write.revision,
                    number: number,
                    body: write.kind == .update ? body : nil,
                    when: isBatch ? write.when : 0
                )
            }
        }
        let count = newest.values.count { $0.body != nil }
        header.keys = count
        (result.keys, result.revision) = (count, header.revision)
        let name = JournalFiles.snapshot(header.segment)
        let file = SnapshotFile(try store.createAnew(JournalFiles.unfinished(name)))
        let now = WallClock.millisecondsSince1970()
        var snapshot = StateSnapshot(header, file, when: now, write: file.append)
        for write in newest.values.sorted(by: { ($0.revision, $0.number) < ($1.revision, $1.number) }) {
            if let body = write.body { snapshot.append(body.span, when: write.when) }
        }
        snapshot.end()
        _ = try store.finish(file, as: name)
    }
}
