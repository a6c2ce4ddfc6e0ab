// How much a journal takes up: what is held beyond what is promised is put together, and where the
// disk is small, in time. Rewritten is only what as much was written for.

import PlugboardPosix
import PlugboardWire

extension JournalWriter {
    /// Bytes that are left alone, so that the next snapshot and the segment after it find room.
    func heldBack(_ live: Int?) -> Int {
        (live ?? 0) + JournalLimits.roomBytesMin
    }

    /// So much is held that to put it together is worth its while. Of what is promised enough is left for
    /// what is written meanwhile. What is kept as history has to be there in any case.
    func holdsTooMuch(_ live: Int?) -> Bool {
        guard !isCompacting, let live else { return false }
        let spare = live + share(of: live) + options.slackBytes
        let kept = index.bytesKept(upTo: segment - 1, options.historyBytes)
        return snapshotBytes + heldBytes + bytes - spare > kept && isWorthRewriting(live)
    }

    /// More would be gained than there is left on the disk; or what is left would soon be too little
    /// for a snapshot.
    func isShort(_ live: Int?) -> Bool {
        guard let live, let free = store.freeBytes() else { return false }
        if isWorthRewriting(live) { return free < snapshotBytes + heldBytes + live }
        let left = free - max(JournalLimits.smallSegmentBytesMin, free / JournalLimits.segmentsPerDisk)
        return left < heldBack(live) && work(live) >= JournalLimits.workBytesMin
    }

    /// What was written since the last snapshot, and what is gone since: to rewrite what there
    /// is may come to half as much again.
    private func isWorthRewriting(_ live: Int) -> Bool {
        work(live) >= max(min(JournalLimits.workBytesMin, options.segmentBytes), share(of: live))
    }

    private func work(_ live: Int) -> Int { loose.bytes + bytes + max(0, liveThen.last - live) }

    private func share(of live: Int) -> Int {
        live / JournalLimits.workShare.1 * JournalLimits.workShare.0
    }

    /// Bytes of ended segments to keep: on a small disk no more than a part of what there is room for.
    var history: Int {
        guard let free = store.freeBytes() else { return options.historyBytes }
        return min(options.historyBytes, (free + heldBytes) / JournalLimits.segmentsPerDisk)
    }

    /// Removes what is older than the history and in a snapshot.
    func trimHistory() {
        guard heldBytes > options.historyBytes else { return }
        let keep = index.bytesToKeep(upTo: segment - 1, options.historyBytes)
        let first = index.forget(upTo: segment - 1, historyBytes: keep, snapshot: snapshotSegment)
        guard let first else { return }
        trim(before: first)
        if isSnapshotCertain { letGo(before: first) }
    }

    private func trim(before segment: UInt64) {
        roomWork.trims += 1
        worker.trim(before: segment, isCertain: isSnapshotCertain)
    }

    /// Gains room where there is none: what was made beforehand goes, and what has ended is put together
    /// here and now, if that is soon done. False: there is nothing to be gained.
    func relieve(_ records: inout RecordBuffer) throws -> Bool {
        guard let live = records.liveBytes else { return false }
        let isAwaited = live <= JournalLimits.awaitedStateBytesMax
        let before = gained
        removeNextFile()
        if isAwaited, isRoomComing || roomWork.isClosing { awaitRoom(isClosing: true) }
        if records.isEmpty, isReliefPossible(live) {
            if try endSegment(&records) { beginCompaction(nil, live, historyBytes: 0) }
            if isAwaited { awaitRoom(isClosing: true) }
        }
        if (store.freeBytes() ?? 0) < heldBack(live) + JournalLimits.shortBytes { dropHistory() }
        return gained > before
    }

    /// A snapshot finds room, and gains some, however little: else writes would be refused. Where it
    /// finds none, what is reserved is of more use to what can't be refused.
    private func isReliefPossible(_ live: Int) -> Bool {
        !isCompacting && !isReliefVain && work(live) >= min(JournalLimits.workBytesMin, options.segmentBytes)
            && gained >= live + JournalLimits.roomBytesMin
    }

    /// A turn has written so much that its segment ends in the middle of it.
    func endLongSegment(_ records: inout RecordBuffer) throws {
        let live = records.liveBytes
        guard records.isEmpty, bytes > segmentEnd || holdsTooMuch(live) else { return }
        if try endSegment(&records) { compactIfWorthwhile(live) }
        pace()
    }

    /// Ends the segment, if need be with the room behind its end for the next one.
    private func endSegment(_ records: inout RecordBuffer) throws -> Bool {
        let ended = segment
        try beginSegment(&records)
        if segment == ended {
            try? file.releaseRoom()
            (roomEnd, laidOut.end) = (bytes, 0)
            try beginSegment(&records)
        }
        segmentBefore = nil
        return segment > ended
    }

    /// Room that there is, reserved or not.
    private var gained: Int { (store.freeBytes() ?? 0) + (roomEnd ?? bytes) - bytes }

    private func dropHistory() {
        let first = index.forget(upTo: segment - 1, historyBytes: 0, snapshot: snapshotSegment)
        guard let first, !isCompacting else { return }
        trim(before: first)
        awaitRoom()
    }

    /// Lets go of what is too much while nobody writes: of a broker before this one, or what came while a
    /// snapshot was made.
    public func settle(_ records: inout RecordBuffer) throws {
        trimHistory()
        guard records.isEmpty, holdsTooMuch(records.liveBytes) else { return }
        if try endSegment(&records) { beginCompaction(nil, records.liveBytes) }
    }

    /// Takes note of a snapshot that was made, or not, and of what was removed.
    func take(_ work: WorkDone) {
        switch work {
        case .compacted(let result):
            (isCompacting, isReliefVain) = (false, false)
            (snapshotBytes, snapshotSegment) = (result.snapshotBytes, result.segment)
            liveThen.last = liveThen.next
            isSnapshotCertain = true
            loose = (max(0, loose.bytes - result.segmentBytes), max(0, loose.segments - result.segments))
            heldBytes -= result.removedBytes
            letGo(before: result.firstKept)
        case .compactionFailed(let message):
            (isCompacting, isReliefVain) = (false, true)
            loose = (loose.bytes / 2, loose.segments / 2)
            news.append(.compactionFailed(message))
        case .trimmed(let count):
            heldBytes -= count
            roomWork.trims -= 1
        case .released: if !roomWork.unreleased.isEmpty { roomWork.unreleased.removeFirst() }
        default: break
        }
    }
}

extension FileStore {
    /// Bytes of all segments that are there.
    func bytesOfSegments() throws -> Int {
        try JournalFiles(names: try names()).segments.reduce(0) {
            try $0 + open(JournalFiles.segment($1)).bytes
        }
    }
}
