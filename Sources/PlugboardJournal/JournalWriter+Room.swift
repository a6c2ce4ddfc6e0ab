// How much a journal takes up: what is held beyond what is promised is put together, and where the
// disk is small, in time. Rewritten is only what as much was written for.

import PlugboardPosix
import PlugboardWire

extension JournalWriter {
    /// Bytes that are left alone, so that the next snapshot and the segment after it find room.
    func heldBack(_ live: Int?) -> Int {
        min(live ?? 0, JournalLimits.heldBackBytesMax) + JournalLimits.roomBytesMin
    }

    /// More is held than is promised, and to put it together is worth its while. A segment longer
    /// than usual, and the next one, count as well.
    func holdsTooMuch(_ live: Int?) -> Bool {
        guard !isCompacting, let live else { return false }
        let spare = 2 * live + options.slackBytes - max(0, segmentEnd - options.segmentBytes)
        return snapshotBytes + heldBytes + bytes - spare > options.historyBytes && isWorthRewriting(live)
    }

    /// More would be gained than there is left on the disk.
    func isShort(_ live: Int?) -> Bool {
        guard let live, isWorthRewriting(live), let free = store.freeBytes() else { return false }
        return free < snapshotBytes + heldBytes + live
    }

    /// What was written since the last snapshot, and what is gone since: to rewrite what there
    /// is may come to half as much again.
    private func isWorthRewriting(_ live: Int) -> Bool {
        let work = loose.bytes + bytes + max(0, liveThen.last - live)
        let share = live / JournalLimits.workShare.1 * JournalLimits.workShare.0
        return work >= max(min(JournalLimits.workBytesMin, options.segmentBytes), share)
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
        worker.trim(before: first, isCertain: isSnapshotCertain)
        if isSnapshotCertain { letGo(before: first) }
    }

    /// Gains room where there is none: what was made beforehand goes, and what has ended is put together
    /// here and now, if that is soon done. False: there is nothing to be gained.
    func relieve(_ records: inout RecordBuffer) throws -> Bool {
        guard records.isEmpty, let live = records.liveBytes, !isReliefVain else { return false }
        isReliefVain = true
        let before = gained
        removeNextFile()
        if isCompacting, live <= JournalLimits.awaitedStateBytesMax { awaitCompaction() }
        // Where a snapshot finds no room, what is reserved is of more use to what can't be refused.
        if !isCompacting, isWorthRewriting(live), gained >= live + JournalLimits.roomBytesMin {
            if try endSegment(&records) { beginCompaction(nil, live, historyBytes: 0) }
            if live <= JournalLimits.awaitedStateBytesMax { awaitCompaction() }
        }
        if (store.freeBytes() ?? 0) < heldBack(live) + JournalLimits.shortBytes { dropHistory() }
        isReliefVain = gained <= before
        return !isReliefVain
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
        worker.trim(before: first, isCertain: isSnapshotCertain)
        awaitCompaction()
    }

    /// Lets go of what is too much while nobody writes: of a broker before this one, or what came while a
    /// snapshot was made.
    public func settle(_ records: inout RecordBuffer) throws {
        trimHistory()
        guard records.isEmpty, holdsTooMuch(records.liveBytes) else { return }
        if try endSegment(&records) { beginCompaction(nil, records.liveBytes) }
    }

    private func awaitCompaction() {
        worker.finishCompaction()
        for work in worker.takeDone() {
            switch work {
            case .compacted, .compactionFailed, .trimmed: take(work)
            default: setAside.append(work)
            }
        }
    }

    /// Takes note of a snapshot that was made, or not, and of what was removed.
    func take(_ work: WorkDone) {
        switch work {
        case .compacted(let result):
            isCompacting = false
            (snapshotBytes, snapshotSegment) = (result.snapshotBytes, result.segment)
            liveThen.last = liveThen.next
            isSnapshotCertain = true
            loose = (max(0, loose.bytes - result.segmentBytes), max(0, loose.segments - result.segments))
            heldBytes -= result.removedBytes
            letGo(before: result.firstKept)
        case .compactionFailed(let message):
            isCompacting = false
            loose = (loose.bytes / 2, loose.segments / 2)
            news.append(.compactionFailed(message))
        case .trimmed(let count): heldBytes -= count
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
