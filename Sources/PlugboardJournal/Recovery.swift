// Reads the state from the files: the newest snapshot, then every record after it. It checks each
// checksum. If the end is what a crash can leave, it cuts it off and keeps it in another file. Any other
// deviation is damage: it stops the recovery, and snapshots and segments stay as they are.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// What a recovery found besides the values.
public struct Recovered: Sendable {
    /// The life of the revision counter; nil if there was no journal.
    public internal(set) var epoch: String?
    public internal(set) var revision: UInt64 = 0
    /// When the last line was written, in milliseconds since 1970.
    public internal(set) var when: UInt64 = 0
    /// Names the start of the machine during which the journal was last written.
    public internal(set) var boot = ""
    /// Whether the last broker ended in order.
    public internal(set) var isClosed = false
    /// The place of what was cut off, and the file that keeps it; nil if there was no room for that.
    public internal(set) var torn: (place: JournalPlace, keptAs: String?)?
    /// Whether writes that clients heard of may be lost, because the machine stopped before they were on
    /// disk. Then the broker begins a new epoch.
    public internal(set) var mayLack = false
    /// Whether the folder may be an older copy of what its last broker left. Then the broker begins a new
    /// epoch, too.
    public internal(set) var mayBeCopy = false
    /// The files that were found.
    let files: JournalFiles
    /// The number of the last segment or snapshot; 0 if there is none.
    var lastSegment: UInt64 = 0
    var signpost: Signpost?
    /// The number of the snapshot that was read (0 if there is none), and its size.
    var snapshot: UInt64 = 0
    var snapshotBytes = 0
    /// Segments that may not be on disk, because their broker was killed before it synced them.
    var unsynced: [UInt64] = []
    /// The revision of the snapshot; 0 if there is none. Of the writes up to it, only the newest of each
    /// key are known.
    public internal(set) var snapshotRevision: UInt64 = 0
    /// The checksum of the last record.
    var chain: UInt32 = 0

    /// Whether `JournalRepair` made the journal and no broker has used it yet.
    public var isRepaired: Bool { snapshot > 0 && boot.isEmpty && snapshot == lastSegment }
}

/// One recovery.
struct Recovery: ~Copyable {
    private let store: any FileStore
    private var found: Recovered
    private var files: JournalFiles { found.files }
    /// Names the machine's present start.
    private let boot: String
    /// Otherwise nothing on disk changes: a torn end is reported and stays.
    private let isCutting: Bool

    init(_ store: any FileStore, boot: String = "", isCutting: Bool = false) throws {
        self.store = store
        self.boot = boot
        self.isCutting = isCutting
        found = Recovered(files: JournalFiles(names: try store.names()))
    }

    /// Whether a snapshot is complete and undamaged, and can be opened.
    mutating func isWhole(snapshot number: UInt64) throws -> Bool {
        do {
            try readSnapshot(number) { _, _ in }
            return true
        } catch JournalError.damaged, is SystemError {
            return false
        }
    }

    /// Reads everything.
    static func run(_ store: any FileStore, boot: String, isCutting: Bool, _ take: RecordTaker) throws
        -> Recovered
    {
        var recovery = try Recovery(store, boot: boot, isCutting: isCutting)
        return try recovery.run(take)
    }

    private mutating func run(_ take: RecordTaker) throws -> Recovered {
        // A signpost names a segment that is gone, and no snapshot replaces it.
        if files.last > files.lastThere { throw JournalError.missing(file: JournalFiles.segment(files.last)) }
        found.signpost = files.signposts.last
        if isCutting { try removeUnfinished() }
        if let number = files.snapshots.last { try readSnapshot(number, take) }
        try readSegments(take)
        // The files can't show whether writes are missing, but they show how the last broker ended: what a killed broker
        // has written isn't lost while the machine runs.
        let isSameBoot = !boot.isEmpty && found.boot == boot
        found.mayLack = found.epoch != nil && !isSameBoot && !found.isClosed
        return found
    }

    // MARK: Snapshot

    private mutating func readSnapshot(_ number: UInt64, _ take: RecordTaker) throws {
        var reader = try LogReader(JournalFiles.snapshot(number), in: store)
        _ = try reader.nextRecord()
        let header = try Self.header(reader, .snapshot, number)
        note(header)
        found.snapshot = number
        found.lastSegment = number
        found.snapshotBytes = reader.fileBytes
        found.snapshotRevision = header.revision
        found.chain = header.previous
        // The segments after it can show that it is none.
        found.mayBeCopy = store.hasStamps
        var keys = 0
        while try reader.nextRecord() {
            if reader.record.kind == .synced {
                found.when = reader.record.when
                continue
            }
            guard reader.record.kind == .update else { throw reader.damage("the record is no value").error }
            keys += 1
            take(reader.record, reader.line)
        }
        guard keys == header.keys else { throw reader.damage("there aren't as many values as it says").error }
    }

    private mutating func note(_ header: FileHeader) {
        (found.epoch, found.boot, found.revision) = (header.epoch, header.boot, header.revision)
    }

    /// What the first line of a file says.
    private static func header(_ reader: borrowing LogReader, _ kind: RecordKind, _ number: UInt64) throws
        -> FileHeader
    {
        guard let header = FileHeader(reader.record, reader.line), header.kind == kind,
            header.segment == number
        else { throw reader.damage("not the beginning of this file").error }
        return header
    }

    // MARK: Segments

    private mutating func readSegments(_ take: RecordTaker) throws {
        let numbers = files.segments.filter { $0 > found.snapshot }
        for (index, number) in numbers.enumerated() {
            guard number == found.lastSegment + 1 else {
                // Without a base, what is missing may be a segment or a snapshot.
                let expected = JournalFiles.segment(found.lastSegment + 1)
                let before = "what comes before \(JournalFiles.segment(number))"
                throw JournalError.missing(file: found.lastSegment > 0 ? expected : before)
            }
            let later = Array(numbers[(index + 1)...])
            if try !readSegment(number, later: later, take) { return }
        }
    }

    /// Returns false if the segment has a torn end. Nothing can follow it.
    private mutating func readSegment(_ number: UInt64, later: [UInt64], _ take: RecordTaker) throws -> Bool {
        var reader = try LogReader(JournalFiles.segment(number), in: store)
        var damage = try open(&reader, number)
        if damage == nil { damage = try readRecords(&reader, number, take) }
        guard let damage else { return true }
        try cut(&reader, damage, number, later)
        return false
    }

    /// Reads the first line of a segment. Returns damage that a crash may explain: the line is missing,
    /// or it doesn't continue the record before it.
    private mutating func open(_ reader: inout LogReader, _ number: UInt64) throws -> Damage? {
        // A file that has only laid-out room is empty from its beginning, not from the end of the room.
        let beginning = reader.place
        switch try reader.next() {
        case .end: return Damage(place: beginning, what: "the file is empty", isUnwritten: true)
        case .damage(let damage): return damage
        case .record:
            let header = try Self.header(reader, .segment, number)
            guard header.previous == found.chain else {
                // A crash loses what was written last. It doesn't put another bus's file there.
                let isSameLife = found.epoch == nil || header.epoch == found.epoch
                return Damage(
                    place: reader.place,
                    what: "it doesn't continue the segment before it",
                    isUnwritten: number > 1 && isSameLife
                )
            }
            note(header)
            found.mayBeCopy = store.hasStamps && !store.isTrue(mark: header.mark ?? "", ofSegment: number)
            return nil
        }
    }

    /// Takes the records of a segment that has begun. Returns damage that a crash may explain.
    private mutating func readRecords(
        _ reader: inout LogReader, _ number: UInt64, _ take: RecordTaker
    ) throws -> Damage? {
        found.isClosed = false
        defer {
            (found.lastSegment, found.chain) = (number, reader.chain)
            found.unsynced.append(number)
        }
        while true {
            switch try reader.next() {
            case .record: try apply(reader, take)
            case .damage(let damage): return damage
            case .end:
                let wasClosed = found.signpost == Signpost(segment: number, isClosed: true)
                if wasClosed, !found.isClosed { throw reader.damage("the end is missing").error }
                return nil
            }
        }
    }

    private mutating func apply(_ reader: borrowing LogReader, _ take: RecordTaker) throws {
        let (kind, revision) = (reader.record.kind, reader.record.revision)
        found.isClosed = kind == .closed
        found.when = reader.record.when
        switch kind {
        case .update, .delete: take(reader.record, reader.line)
        case .batch: try reader.forEachWrite(take)
        case .revision: break
        case .synced:
            // Earlier segments are synced first.
            found.unsynced = []
            return
        case .closed: return
        case .segment, .snapshot: throw reader.damage("another file begins here").error
        }
        guard revision > found.revision else {
            throw reader.damage("the revision is not above the one before").error
        }
        found.revision = revision
    }

    // MARK: The end

    /// Cuts off what a crash can leave. Throws for any other damage.
    private mutating func cut(
        _ reader: inout LogReader, _ damage: Damage, _ number: UInt64, _ later: [UInt64]
    ) throws {
        let offset = damage.place.offset
        let isSameStart = !boot.isEmpty && found.boot == boot
        // What was written since the machine was started is there, unless the disk failed.
        let isThere = isSameStart && !files.hasFailed
        let wasSafe = try reader.saysSafe(upTo: isThere ? nil : offset, later: later, in: store)
        guard damage.isUnwritten, !wasSafe else { throw damage.error }
        if let signpost = found.signpost, signpost.segment >= number {
            // It names a segment only after that has begun, and only a stopped machine can lose that beginning.
            let isOfThisStart = !boot.isEmpty && signpost.boot == Signpost.mark(ofBoot: boot)
            let isLost = offset == 0 && (isSameStart || isOfThisStart)
            if signpost.isClosed || isLost { throw damage.error }
        }
        if reader.writtenBytes == 0, later.isEmpty {
            // The file has no written bytes, so nothing is missing.
            found.isClosed = false
            if isCutting {
                try turnSignpostBack(before: number)
                try store.remove(JournalFiles.segment(number))
                try store.syncNames()
            }
            return
        }
        let kept = JournalFiles.torn(number, at: offset)
        found.torn = (damage.place, kept)
        found.isClosed = false
        guard isCutting else { return }
        let end = reader.writtenBytes
        try turnSignpostBack(before: offset > 0 ? number + 1 : number)
        let isKept = try store.cut(segment: number, at: offset, writtenTo: end, later: later, keptAs: kept)
        if !isKept { found.torn?.keptAs = nil }
    }

    /// Sets the signpost back to a segment before `number`. Otherwise the next recovery would miss the
    /// segments that are about to be cut off.
    private mutating func turnSignpostBack(before number: UInt64) throws {
        guard let old = found.signpost, old.segment >= number else { return }
        found.signpost = number > 1 ? Signpost(segment: number - 1) : nil
        if let new = found.signpost { try store.turn(old, to: new) } else { try store.remove(old.name) }
        try store.syncNames()
    }

    private func removeUnfinished() throws {
        let names = files.unfinished + files.signposts.dropLast().map(\.name)
        for name in names { try store.remove(name) }
        if !names.isEmpty { try store.syncNames() }
    }
}

// The end of a journal after a crash. Bytes that were being written to disk may be missing, or zero, or there only in
// part, even in the middle. But if a later line says that bytes were on disk, they must be right. Otherwise it is
// damage.

extension LogReader {
    /// Whether a later line of this segment says that everything up to `offset` was on disk, or a line in the `later`
    /// segments: such a line means that all earlier segments are on disk. Then no crash explains damage there. Without
    /// an offset, any later line says so.
    mutating func saysSafe(upTo offset: Int?, later: [UInt64], in store: any FileStore) throws -> Bool {
        let isHere = try hasLine { record in
            guard let offset else { return true }
            return record.kind == .closed || record.kind == .synced && record.bytes > UInt64(offset)
        }
        if isHere { return true }
        for number in later {
            var reader = try LogReader(JournalFiles.segment(number), in: store)
            let isLater = try reader.hasLine {
                offset == nil || $0.kind == .closed || $0.kind == .synced
            }
            if isLater { return true }
        }
        return false
    }

    /// Whether there is such a line from here on.
    private mutating func hasLine(where isRight: (RecordLine) -> Bool) throws -> Bool {
        while true {
            switch try next() {
            case .end: return false
            case .damage: continue
            case .record: if isRight(record) { return true }
            }
        }
    }
}

extension FileStore {
    /// Cuts a segment at `offset` and renames the segments after it. Keeps what it cuts off for a person to look at.
    /// `end` is the end of what was written to the segment; only laid-out room follows. If it is interrupted, it can
    /// be repeated. Returns false if there was no room to keep it: then a broker that can start is worth more.
    func cut(segment number: UInt64, at offset: Int, writtenTo end: Int, later: [UInt64], keptAs name: String)
        throws -> Bool
    {
        for number in later.reversed() {
            try rename(JournalFiles.segment(number), to: JournalFiles.torn(number, at: 0))
        }
        let segment = JournalFiles.segment(number)
        if offset == 0 {
            // Its first line is missing, so the segment never began.
            try rename(segment, to: name)
            try syncNames()
            return true
        }
        var isKept = true
        do {
            try copy(segment, offset..<end, to: createAnew(name))
            try syncNames()
        } catch let error as SystemError where error.isNoRoom {
            // The copy would take the last room.
            try? remove(name)
            isKept = false
        }
        try truncate(segment, to: offset)
        return isKept
    }

    private func copy(_ name: String, _ range: Range<Int>, to copy: any AppendableFile) throws {
        let source = try open(name)
        var place = range.lowerBound
        var chunk = ByteBuffer()
        while place < range.upperBound {
            chunk.removeAll()
            let wanted = min(JournalLimits.readBytes, range.upperBound - place)
            try chunk.append(upTo: wanted) { room in try source.read(at: place, into: &room) }
            if chunk.isEmpty { break }
            try copy.appendAll(chunk.bytes)
            place += chunk.count
        }
        try copy.sync()
    }
}
