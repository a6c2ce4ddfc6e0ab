// Ends a segment and begins the next one. The worker makes the next segment's file ahead, or it is made
// at that moment. The first line of a segment has the checksum of the line before it.

import PlugboardPosix
import PlugboardWire

extension JournalWriter {
    func header(revision: UInt64, previous: UInt32) -> String {
        FileHeader(
            kind: .segment,
            segment: segment,
            epoch: epoch,
            boot: boot,
            mark: mark?.text(ofSegment: segment, in: store),
            revision: revision,
            previous: previous
        ).text
    }

    func beginSegment(_ records: inout RecordBuffer) throws {
        guard let (next, room) = takeNextFile() ?? makeNextFile(live: records.liveBytes) else {
            // The old segment goes on growing. This is tried again later.
            segmentEnd += options.segmentBytes.lowerBound
            return
        }
        let unused = roomEnd.map { max(0, $0 - bytes) } ?? 0
        roomWork.unreleased += unused
        worker.add(.release(file, bytes: unused))
        ended.append((segment, .file(file, isNew: isFileNew)))
        index.end(bytes: bytes)
        loose = (loose.bytes + bytes, loose.segments + 1)
        heldBytes += bytes
        if countsLag { noteUnsent() }
        unsentStart = 0
        noteSpeed()
        (file, isFileNew, bytes, laidOut) = (next, true, 0, (0, 0))
        beginMeasuring(live: records.liveBytes)
        if roomEnd != nil { roomEnd = room }
        let end = FileHeader(
            kind: .snapshot,
            segment: segment,
            epoch: epoch,
            boot: boot,
            revision: revision,
            previous: records.chain
        )
        segmentBefore = (end, records.when)
        segment += 1
        index.begin(segment, after: revision)
        records.beginFile(header(revision: revision, previous: records.chain))
        try write(&records)
        if records.isEmpty { turnSignpost() }
        trimHistory()
    }

    /// Creates the file of the next segment, with room for its first bytes.
    private func makeNextFile(live: Int?) -> (any AppendableFile, room: Int)? {
        let name = JournalFiles.segment(segment + 1)
        guard let file = try? store.create(name) else { return nil }
        let spare = max(0, (store.freeBytes() ?? .max) - heldBack(live))
        var room = min(JournalLimits.reservedBytes, spare / JournalLimits.segmentsPerDisk)
        if let live { room = min(room, promised(live) - taken) }
        room = max(room, JournalLimits.roomBytesMin + JournalLimits.headerReadBytes)
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
        rate.note(bytes, at: now)
        if taken <= JournalLimits.segmentFastNanoseconds { segmentLength *= 2 }
        if taken > JournalLimits.segmentSlowNanoseconds { segmentLength /= 2 }
        let bounds = options.segmentBytes
        segmentLength = min(max(segmentLength, bounds.lowerBound), bounds.upperBound)
    }

    /// Chooses the length of a new segment. On a small disk it is short, so that a snapshot is made while
    /// there is room for it.
    func beginMeasuring(live: Int?) {
        let free = store.freeBytes() ?? .max
        leeway = options.leeway(free: free, bytesPerSecond: rate.bytesPerSecond)
        let part = (live ?? 0) / JournalLimits.segmentsPerState
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
    func prepare(live: Int?) {
        preparationStart = .max
        guard case .none = nextFile, !isFull, roomEnd != nil, leavesRoom(live) else { return }
        nextFile = .asked
        preparedBytes = bytesAhead
        worker.add(.prepare(bytes: preparedBytes))
    }

    /// Whether the promised size leaves room for the next segment.
    private func leavesRoom(_ live: Int?) -> Bool {
        guard let live else { return true }
        return taken + bytesAhead <= promised(live)
    }

    /// What to reserve for the next segment.
    private var bytesAhead: Int {
        segmentEnd + max(JournalLimits.preparedRoomBytes, segmentEnd / JournalLimits.preparedRoomPart)
    }

    /// Renames the file that was made ahead to the next segment.
    private func takeNextFile() -> (any AppendableFile, room: Int)? {
        guard case .ready(let file) = nextFile else { return nil }
        nextFile = .none
        let name = JournalFiles.segment(segment + 1)
        guard (try? store.rename(JournalFiles.next, to: name)) != nil else { return nil }
        return (file, preparedBytes)
    }

    /// Removes the file that was made ahead. If that fails, the next recovery does it.
    func removeNextFile() {
        if case .none = nextFile { return }
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
