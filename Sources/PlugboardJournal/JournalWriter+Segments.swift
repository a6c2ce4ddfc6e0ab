// Ends a segment and begins the next one. The worker makes the next segment's file ahead, or it is made
// at that moment. The first line of a segment has the checksum of the line before it.

import PlugboardPosix
import PlugboardWire

extension JournalWriter {
    /// The first line of the present segment, or of a snapshot of all up to its end.
    func header(_ kind: RecordKind, previous: UInt32) -> FileHeader {
        FileHeader(
            kind: kind,
            segment: segment,
            epoch: epoch,
            boot: boot,
            mark: kind == .segment ? mark?.text(ofSegment: segment, in: store) : nil,
            revision: revision,
            previous: previous
        )
    }

    func beginSegment(_ records: inout RecordBuffer) throws {
        guard let (next, room) = takeNextFile() ?? makeNextFile(live: records.liveBytes) else {
            // The old segment goes on growing. This is tried again later.
            segmentEnd += options.segmentBytes.lowerBound
            return
        }
        let unused = roomEnd.map { max(0, $0 - bytes) } ?? 0
        unreleased += unused
        worker.add(.release(file, bytes: unused))
        ended.append(present)
        index.end(bytes: bytes)
        noteSpeed()
        (file, areNamesNew, bytes, sentBytes, laidOut) = (next, true, 0, 0, (0, 0))
        beginMeasuring(live: records.liveBytes)
        if roomEnd != nil { roomEnd = room }
        segmentBefore = (header(.snapshot, previous: records.chain), records.when)
        segment += 1
        index.begin(segment, after: revision)
        records.begin(header(.segment, previous: records.chain))
        try write(&records)
        if records.isEmpty { turnSignpost() }
        trimHistory()
    }

    /// Creates the file of the next segment, with room for its first bytes.
    private func makeNextFile(live: Int) -> (any AppendableFile, room: Int)? {
        let name = JournalFiles.segment(segment + 1)
        // One that found no room before may not have been removed.
        guard let file = try? store.createAnew(name) else { return nil }
        let spare = max(0, (store.freeBytes() ?? .max) - heldBack(live))
        var room = min(JournalLimits.reservedBytes, spare / JournalLimits.segmentsPerDisk)
        room = max(min(room, roomLeft(live)), JournalLimits.roomBytesMin + JournalLimits.headerReadBytes)
        while room >= JournalLimits.headerReadBytes {
            if (try? file.reserve(room)) != nil { return (file, room) }
            room /= 2
        }
        try? store.remove(name)
        return nil
    }

    /// Notes how fast the present segment was filled.
    private func noteSpeed() {
        let now = time.nanoseconds()
        let taken = max(1, now - segmentBegan)
        segmentBegan = now
        rate.note(bytes, after: taken, pressure: leastPressure)
        leastPressure = pressure
        if taken <= JournalLimits.segmentFastNanoseconds { segmentLength *= 2 }
        if taken > JournalLimits.segmentSlowNanoseconds { segmentLength /= 2 }
        let bounds = options.segmentBytes
        segmentLength = min(max(segmentLength, bounds.lowerBound), bounds.upperBound)
    }

    /// Chooses the length of a new segment. On a small disk it is short, so that a snapshot is made while
    /// there is room for it.
    func beginMeasuring(live: Int) {
        let free = store.freeBytes() ?? .max
        leeway = options.leeway(free: free, bytesPerSecond: rate.bytesPerSecond)
        let part = live / JournalLimits.segmentsPerState
        let most = max(options.segmentBytes.lowerBound, leeway / JournalLimits.segmentsPerLeeway)
        var end = max(min(segmentLength, most), part)
        let isSmall = free / JournalLimits.segmentsPerDisk < 4 * end
        end = min(end, max(JournalLimits.smallSegmentBytesMin, free / JournalLimits.segmentsPerDisk))
        segmentEnd = end
        preparationStart = isSmall ? .max : end / 2
    }

    // MARK: The next file

    /// Asks the worker to make the next segment's file, because reserving its room may have to wait for
    /// the disk. A turn may go beyond its end.
    func prepare(live: Int) {
        preparationStart = .max
        guard case .none = nextFile, !isFull, roomEnd != nil, bytesAhead <= roomLeft(live) else { return }
        nextFile = .asked
        preparedBytes = bytesAhead
        worker.add(.prepare(bytes: preparedBytes))
    }

    /// What to reserve for the next segment.
    private var bytesAhead: Int {
        segmentEnd + max(JournalLimits.reservedBytes / 2, segmentEnd / JournalLimits.preparedRoomPart)
    }

    /// Renames the file that was made ahead to the next segment.
    private func takeNextFile() -> (any AppendableFile, room: Int)? {
        guard case .ready(let file) = nextFile else { return nil }
        nextFile = .none
        let name = JournalFiles.segment(segment + 1)
        guard (try? store.rename(JournalFiles.next, to: name)) != nil else { return nil }
        return (file, preparedBytes)
    }

    /// Removes the file that was made ahead. If that fails, the next recovery does it. One that is still being made
    /// comes later: if another one were asked for before that, one of them would be renamed and the other one written.
    func removeNextFile() {
        guard case .ready = nextFile else { return }
        nextFile = .none
        try? store.remove(JournalFiles.next)
    }
}

/// The state of the next segment's file.
enum NextFile {
    /// The writer makes it when it is needed.
    case none
    /// The worker is making it.
    case asked
    case ready(any AppendableFile)
}
