// Decides how much room the journal takes up. It makes a snapshot when the files hold more than the present values
// and a part of that again, and earlier on a small disk. While a snapshot is made on another thread, it keeps the
// journal within its promised size: if the journal grows much meanwhile, clients that write are slowed down, and if it
// may not grow at all, the loop waits for the snapshot. `live` is about how many bytes the records of all values have.

import PlugboardPosix
import PlugboardWire

extension JournalWriter {
    // MARK: Why a snapshot is made

    /// The bytes in the files that a snapshot would leave out. History doesn't count.
    private func dead(_ live: Int) -> Int { index.looseBytes + bytes + liveThen - live }

    /// A snapshot is due when there are more of them than this. That leaves half of the leeway to clients that write
    /// meanwhile, or more if they will probably write as much as `meanwhile`.
    private func deadMax(_ live: Int, meanwhile: Int = 0) -> Int {
        let left = leeway - leeway / JournalLimits.leewayForFew - meanwhile
        let used = max(leeway / JournalLimits.leewayUsedMin, min(left, leeway / 2))
        return JournalLimits.share(of: live) + options.slackBytes + used
    }

    var mayCompact: Bool { !isCompacting && segment >= retryAt }

    /// Whether earlier brokers left very much, because they didn't live long enough to make a snapshot.
    func isOverdue(_ live: Int) -> Bool {
        let factor = JournalLimits.overdueFactor
        return index.looseSegments > factor * JournalLimits.looseSegmentsMax
            || dead(live) > factor * deadMax(live)
    }

    /// Whether there are so many that a snapshot is worthwhile.
    func holdsTooMuch(_ live: Int) -> Bool {
        guard mayCompact else { return false }
        let meanwhile = min(Double(rate.bytesPerSecond) * Double(snapshotNanoseconds) / 1e9, Double(leeway))
        return dead(live) > deadMax(live, meanwhile: Int(meanwhile))
    }

    func isCompactionWorthwhile(_ live: Int) -> Bool {
        guard mayCompact else { return false }
        return holdsTooMuch(live) || index.looseSegments > JournalLimits.looseSegmentsMax || isShort(live)
    }

    /// Whether the disk is short of room: less is free than the present snapshot, the segments and a new
    /// snapshot take up, or the free room would soon be too little for a snapshot. A snapshot for that rewrites at most
    /// one and a half times as much as it leaves out, if there is time.
    private func isShort(_ live: Int) -> Bool {
        guard let free = store.freeBytes() else { return false }
        let dead = dead(live)
        if dead >= max(workBytesMin, JournalLimits.share(of: live)) {
            return free < snapshotBytes + index.heldBytes + live
        }
        let left = free - max(JournalLimits.smallSegmentBytesMin, free / JournalLimits.segmentsPerDisk)
        return left < heldBack(live) && dead >= JournalLimits.workBytesMin
    }

    private var workBytesMin: Int { min(JournalLimits.workBytesMin, options.segmentBytes.lowerBound) }

    /// Bytes that must stay free for the next snapshot and the segment after it.
    func heldBack(_ live: Int) -> Int { live + JournalLimits.roomBytesMin }

    // MARK: What may be taken up

    /// The bytes that everything takes up, with reserved room and the snapshot that is being made.
    private var taken: Int {
        let segments = index.heldBytes + bytes + reserved + unreleased + (next?.room ?? 0)
        return snapshotBytes + segments + (compacting?.live ?? 0)
    }

    /// The bytes that are reserved after the end of the segment.
    var reserved: Int { max(0, roomEnd - bytes) }

    /// How many more bytes the journal may take up, without the largest record.
    func roomLeft(_ live: Int) -> Int {
        let most = compacting.map { max(live, liveThen, $0.live) } ?? live
        let history = index.bytesToKeep(options.historyBytes)
        let besides = JournalLimits.promisedBytes + leeway - JournalLimits.roundingBytes
        return 3 * most + history + besides - taken
    }

    /// How many bytes a second all clients together should write, so that the room lasts until the snapshot is
    /// made; nil if none is being made, unless the room is short while old segments are removed. If it takes longer than
    /// the last one, it falls with the room that is left. Some room stays for those who write little, so that the loop
    /// itself hardly ever waits.
    var pressureOfRoom: Int? {
        let left = roomLeft(0)
        guard isCompacting || unreleased > 0 && left < leeway / JournalLimits.leewayShort else { return nil }
        let room = max(0, left - leeway / JournalLimits.leewayForFew)
        let expected = max(snapshotNanoseconds, JournalLimits.snapshotNanoseconds.least)
        let passed = min(time.nanoseconds() - snapshotBegan, expected)
        return Int(min(Double(room) / Double(max(expected - passed, expected / 2)) * 1e9, 1e15))
    }

    /// Keeps enough room reserved for the next turn, at least `needed` bytes.
    public func keepRoom(_ records: inout RecordBuffer, atLeast needed: Int = 0) throws {
        // Some room is always kept for the next turn. `roomBytesMin` of it is for writes that can't be
        // refused.
        let least = max(needed, JournalLimits.headerReadBytes) + JournalLimits.roomBytesMin
        if reserved < least, least - reserved > roomLeft(records.liveBytes) { awaitRoom() }
        try reserve(least, records.liveBytes)
        if reserved < least {
            try relieve(&records)
            try reserve(least, records.liveBytes)
        }
        records.room = reserved - JournalLimits.roomBytesMin
        // Otherwise a snapshot may come first, and this is called again.
        if !hasEndedSegment { note(full: records.room <= 0 || !records.isEmpty || refused > 0) }
    }

    /// Reserves as much as it can, but at least `least` bytes. Reserved room is never given up. Enough
    /// stays free for the next snapshot, which grows with what is written here. Writes that can't be refused have room
    /// in any case: a delete makes the next snapshot smaller.
    func reserve(_ least: Int, _ live: Int) throws {
        guard reserved < max(JournalLimits.reservedBytes / 2, least) else { return }
        let own = JournalLimits.roomBytesMin
        var size = max(least, min(JournalLimits.reservedBytes, reserved + roomLeft(live)))
        if let free = store.freeBytes() {
            let spare = max(0, free - heldBack(live))
            size = max(own, min(size, reserved + max(spare / 2, min(spare, least - reserved))))
        }
        while size >= own, size > reserved {
            do {
                try file.reserve(size)
                roomEnd = max(roomEnd, bytes + size)
                return
            } catch let error as SystemError where error.isNoRoom {
                size /= 4
            } catch let error as SystemError {
                throw JournalError.failed(error)
            }
        }
    }

    // MARK: Freeing room

    /// How many bytes of ended segments to keep. On a small disk, the history takes at most 1/4 of the room.
    var history: Int {
        let room = store.freeBytes().map { ($0 + index.heldBytes) / JournalLimits.segmentsPerDisk } ?? .max
        return index.bytesToKeep(min(options.historyBytes, room))
    }

    /// Removes segments that a snapshot replaces, and that are older than the history.
    func trimHistory() { trim(keeping: history) }

    private func trim(keeping historyBytes: Int) {
        for old in index.forgetOld(keeping: historyBytes) {
            unreleased += old.bytes
            // It needs no sync any more, and the system may drop its unwritten bytes.
            let unsynced = ended.firstIndex { $0.segment == old.number }.map { ended.remove(at: $0) }
            if unsynced != nil { isClosing = true }
            worker.add(.trim(old.number, closing: unsynced, bytes: old.bytes))
        }
    }

    /// Frees room when there is none. Removes the file that was made ahead, and ends the segment for a
    /// snapshot.
    private func relieve(_ records: inout RecordBuffer) throws {
        let live = records.liveBytes
        if live <= JournalLimits.awaitedStateBytesMax { awaitRoom(isClosing: true) }
        removeNextFile()
        // A snapshot that frees only a little is worth it, because otherwise writes are refused. Without room for it,
        // the reserved room is left for writes that can't be refused.
        let hasRoom = (store.freeBytes() ?? 0) + reserved >= heldBack(live)
        if mayCompact, hasRoom, dead(live) >= workBytesMin, try endSegment(&records) {
            isSnapshotWanted = true
        }
        guard !isCompacting, !hasEndedSegment else { return }
        if (store.freeBytes() ?? 0) < heldBack(live) + JournalLimits.shortBytes {
            trim(keeping: 0)
            awaitRoom()
        }
    }

    /// Returns when all work that frees room is done. Files that were removed keep their room until they are closed.
    func awaitRoom(isClosing: Bool = false) {
        // The second time for segments that a snapshot lets go.
        for _ in 1...2 where isCompacting || unreleased > 0 {
            worker.wait(for: .rooms)
            for work in worker.takeDone() { take(work) }
        }
        guard isClosing, self.isClosing else { return }
        self.isClosing = false
        // Syncs and sendings may have them open, too.
        worker.wait(for: .syncs)
        worker.wait(for: .sendings)
    }

    /// Notes a result of the worker's. What a sync brings is left to `takeNews`, because it writes records.
    func take(_ work: WorkDone) {
        switch work {
        case .synced: isSyncDone = true
        case .syncFailed(let error): failure = error
        case .sent(let count, let end): lag.noteSent(count, upTo: end, at: time.nanoseconds())
        case .read(let piece): news.append(.read(piece))
        case .compacted(let bytes):
            guard let made = compacting else { return }
            compacting = nil
            snapshotNanoseconds = time.nanoseconds() - snapshotBegan
            rate.endPeriod()
            (snapshotBytes, liveThen, index.snapshot) = (bytes, made.live, made.segment)
            trimHistory()
        case .compactionFailed(let message): failCompaction(message)
        case .released(let bytes): unreleased -= bytes
        case .prepared(let file): next = file.flatMap { file in next.map { (file, $0.room) } }
        }
    }

    func failCompaction(_ message: String) {
        compacting = nil
        retryAt = segment + UInt64(index.looseSegments / 2) + 1
        news.append(.compactionFailed(message))
    }

    // MARK: Ending a segment early

    /// Ends the segment if nothing waits to be written. If there is no room for the next one, frees the unused room of
    /// this one and tries again. Returns whether the segment ended.
    func endSegment(_ records: inout RecordBuffer) throws -> Bool {
        guard records.isEmpty, !hasEndedSegment else { return hasEndedSegment }
        let ended = segment
        try beginSegment(&records)
        if segment == ended {
            try? file.releaseRoom()
            (roomEnd, laidOut.end) = (bytes, 0)
            try beginSegment(&records)
        }
        return segment > ended
    }

    /// Call it before anybody is served, after the first snapshot was begun if it is time for one.
    public func settleFirst(_ records: inout RecordBuffer) throws {
        if needsSnapshotAtOnce { awaitRoom() }
        if hasFailed {
            guard index.snapshot == segment - 1 else {
                throw JournalError.failed(SystemError(code: EIO, operation: "write anew"))
            }
            try certainly { try store.remove(JournalFiles.failed) }
        }
        trimHistory()
        try keepRoom(&records)
    }

    /// Ends the segment for a snapshot if the journal holds too much, although nothing is written any more.
    func settle(_ records: inout RecordBuffer) throws {
        trimHistory()
        if isCompactionWorthwhile(records.liveBytes) { _ = try endSegment(&records) }
        try keepRoom(&records)
    }
}

/// How much clients write in a second if nothing slows them down. The highest rate since the last snapshot but one
/// counts: only a snapshot makes the journal smaller, so until then the room for what was written must stay.
struct WritingRate {
    private var highest = (present: 0, before: 0)
    /// What is being measured: the time in which clients could write as they liked, and the bytes they wrote.
    private var measured = (nanoseconds: 0 as UInt64, bytes: 0)

    /// A rate is of at least this long. Quick clients hardly have longer until the first snapshot slows them down.
    private static let nanosecondsMin: UInt64 = 50_000_000
    /// Whoever writes about as much as a pressure allows would write more without it.
    private static let slowedFrom = 0.75

    var bytesPerSecond: Int { max(highest.present, highest.before) }

    /// Notes the bytes of a segment that has ended after so long. Clients were asked meanwhile to write at most
    /// `pressure` bytes a second.
    mutating func note(_ bytes: Int, after nanoseconds: UInt64, pressure: Int?) {
        let isSlowed = pressure.map {
            Double(bytes) * 1e9 >= Self.slowedFrom * Double($0) * Double(nanoseconds)
        }
        if isSlowed ?? false { return }
        measured.nanoseconds += nanoseconds
        measured.bytes += bytes
        guard measured.nanoseconds >= Self.nanosecondsMin else { return }
        let rate = Double(measured.bytes) / Double(measured.nanoseconds) * 1e9
        highest.present = max(highest.present, Int(min(rate, 1e15)))
        measured = (0, 0)
    }

    /// A snapshot is made. If little was written since the last one, nothing was measured.
    mutating func endPeriod() {
        if highest.present > 0 { highest = (0, highest.present) }
    }
}
