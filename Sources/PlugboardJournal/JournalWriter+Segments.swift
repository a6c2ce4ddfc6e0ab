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
            mark: kind == .segment ? store.mark(ofSegment: segment, since: first) : nil,
            revision: revision,
            previous: previous
        )
    }

    func beginSegment(_ records: inout RecordBuffer) throws {
        guard let (file, room) = takeNextFile() ?? makeNextFile(live: records.liveBytes) else {
            // The old segment goes on growing. This is tried again later.
            segmentEnd += options.segmentBytes.lowerBound
            return
        }
        unreleased += reserved
        worker.add(.release(self.file, bytes: reserved))
        ended.append(present)
        index.end(bytes: bytes)
        noteSpeed()
        (self.file, areNamesNew, bytes, laidOut) = (file, true, 0, (0, 0))
        beginMeasuring(live: records.liveBytes)
        roomEnd = room
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
        let spare = max(0, (store.freeBytes() ?? .max) - heldBack(live))
        let room = min(JournalLimits.reservedBytes, spare / JournalLimits.segmentsPerDisk, roomLeft(live))
        let least = JournalLimits.headerReadBytes
        let most = max(room, JournalLimits.roomBytesMin + least)
        return store.create(JournalFiles.segment(segment + 1), withRoom: most, atLeast: least)
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
        measureLeeway(live: live, free: free)
        let part = live / JournalLimits.segmentsPerState
        let most = max(options.segmentBytes.lowerBound, leeway / JournalLimits.segmentsPerLeeway)
        var end = max(min(segmentLength, most), part)
        let isSmall = free / JournalLimits.segmentsPerDisk < 4 * end
        end = min(end, max(JournalLimits.smallSegmentBytesMin, free / JournalLimits.segmentsPerDisk))
        segmentEnd = end
        preparationStart = isSmall ? .max : end / 2
    }

    /// What the journal may take up now beyond its tight bound. It falls no faster than room is freed.
    private func measureLeeway(live: Int, free: Int) {
        let used = leeway - roomLeft(live)
        let needed = min(leeway, used + used / JournalLimits.leewayForFew)
        let wanted = max(rate.bytesPerSecond * JournalLimits.leewaySeconds, needed)
        let bounds = options.leewayBytes
        leeway = min(max(wanted, bounds.lowerBound), bounds.upperBound, free / JournalLimits.leewaysPerDisk)
        if leeway <= JournalLimits.promisedBytes { leeway = 0 }
    }

    // MARK: The next file

    /// Asks the worker to make the next segment's file, because reserving its room may have to wait for
    /// the disk. A turn may go beyond its end.
    func prepare(live: Int) {
        preparationStart = .max
        let beyond = max(JournalLimits.reservedBytes / 2, segmentEnd / JournalLimits.preparedRoomPart)
        let room = segmentEnd + beyond
        guard next == nil, !isFull, room <= roomLeft(live) else { return }
        next = (nil, room)
        worker.add(.prepare(bytes: room))
    }

    /// Renames the file that was made ahead to the next segment.
    private func takeNextFile() -> (any AppendableFile, room: Int)? {
        guard let next, let file = next.file else { return nil }
        self.next = nil
        let name = JournalFiles.segment(segment + 1)
        return (try? store.rename(JournalFiles.next, to: name)).map { (file, next.room) }
    }

    /// Removes the file that was made ahead. If that fails, the next recovery does it. One that is still being made
    /// comes later: if another one were asked for before that, one of them would be renamed and the other one written.
    func removeNextFile() {
        guard next?.file != nil else { return }
        next = nil
        try? store.remove(JournalFiles.next)
    }
}

extension FileStore {
    /// Creates a file with so much room, or with less of it, but at least `least` bytes. Nil if there is too little. One
    /// that found no room before may not have been removed.
    func create(_ name: String, withRoom most: Int, atLeast least: Int) -> (any AppendableFile, room: Int)? {
        guard let file = try? createAnew(name) else { return nil }
        var room = most
        while room >= least {
            if (try? file.reserve(room)) != nil { return (file, room) }
            room /= 2
        }
        try? remove(name)
        return nil
    }
}
