// Decides how much room the journal takes up. It makes a snapshot when the journal holds more than it
// should, and earlier on a small disk. It makes one only if enough was written to be worth rewriting the
// state. While a snapshot is made on another thread, it keeps the journal within its promised size: if the
// journal grows much meanwhile, clients that write are slowed down, and if it may not grow at all, the loop waits
// for the snapshot.

import PlugboardPosix
import PlugboardWire

extension JournalWriter {
    /// Bytes that must stay free for the next snapshot and the segment after it.
    func heldBack(_ live: Int?) -> Int {
        (live ?? 0) + JournalLimits.roomBytesMin
    }

    /// Whether the journal holds so much that a snapshot is worthwhile. The limit leaves some of the
    /// promised bytes for writes during the snapshot. History doesn't count.
    func holdsTooMuch(_ live: Int?) -> Bool {
        guard !isCompacting, let live else { return false }
        let spare = live + share(of: live) + options.slackBytes + leeway / 2
        let kept = index.bytesKept(upTo: segment - 1, options.historyBytes)
        return snapshotBytes + heldBytes + bytes - spare > kept && isWorthRewriting(live)
    }

    /// Whether the disk is short of room: less is free than the present snapshot, the segments and a new
    /// snapshot take up, or the free room would soon be too little for a snapshot.
    func isShort(_ live: Int?) -> Bool {
        guard let live, let free = store.freeBytes() else { return false }
        if isWorthRewriting(live) { return free < snapshotBytes + heldBytes + live }
        let left = free - max(JournalLimits.smallSegmentBytesMin, free / JournalLimits.segmentsPerDisk)
        return left < heldBack(live) && work(live) >= JournalLimits.workBytesMin
    }

    /// Whether enough was written or deleted since the last snapshot. Then a snapshot rewrites at most
    /// one and a half times as much.
    private func isWorthRewriting(_ live: Int) -> Bool {
        work(live) >= max(min(JournalLimits.workBytesMin, options.segmentBytes.lowerBound), share(of: live))
    }

    private func work(_ live: Int) -> Int { loose.bytes + bytes + max(0, liveThen.last - live) }

    private func share(of live: Int) -> Int {
        live / JournalLimits.workShare.1 * JournalLimits.workShare.0
    }

    /// How many bytes of ended segments to keep; on a small disk at most 1/4 of the room.
    var history: Int {
        guard let free = store.freeBytes() else { return options.historyBytes }
        return min(options.historyBytes, (free + heldBytes) / JournalLimits.segmentsPerDisk)
    }

    /// Removes segments that are older than the history and that a snapshot replaces.
    func trimHistory() {
        guard heldBytes > options.historyBytes else { return }
        let keep = index.bytesToKeep(upTo: segment - 1, options.historyBytes)
        let old = index.forget(upTo: segment - 1, historyBytes: keep, snapshot: snapshotSegment)
        trim(old)
        if isSnapshotCertain, let last = old.last { letGo(upTo: last) }
    }

    private func trim(_ segments: [UInt64]) {
        guard !segments.isEmpty else { return }
        roomWork.trims += 1
        worker.add(.trim(segments, isCertain: isSnapshotCertain))
    }

    /// Frees room when there is none. Removes the file that was made ahead, and makes a snapshot at once
    /// if that is quick. Returns whether there is more room now.
    func relieve(_ records: inout RecordBuffer) throws -> Bool {
        guard let live = records.liveBytes else { return false }
        let isAwaited = live <= JournalLimits.awaitedStateBytesMax
        let before = gained
        removeNextFile()
        if isAwaited, isRoomComing || roomWork.isClosing { awaitRoom(isClosing: true) }
        if records.isEmpty, isReliefPossible(live) {
            if try endSegment(&records) { beginCompaction(live, historyBytes: 0) }
            if isAwaited { awaitRoom(isClosing: true) }
        }
        if (store.freeBytes() ?? 0) < heldBack(live) + JournalLimits.shortBytes { dropHistory() }
        return gained > before
    }

    /// Whether a snapshot has room and would free some. Even a little is worth it, because otherwise
    /// writes are refused. Without room for a snapshot, the reserved room is left for writes that can't
    /// be refused.
    private func isReliefPossible(_ live: Int) -> Bool {
        !isCompacting && !isReliefVain
            && work(live) >= min(JournalLimits.workBytesMin, options.segmentBytes.lowerBound)
            && gained >= live + JournalLimits.roomBytesMin
    }

    /// Ends the segment in the middle of a turn if the turn has written very much.
    func endLongSegment(_ records: inout RecordBuffer) throws {
        let live = records.liveBytes
        guard records.isEmpty, bytes > segmentEnd || holdsTooMuch(live) else { return }
        // On a large disk the end of the next turn is early enough, and the state can be given then.
        if try endSegment(&records), leeway == 0 { compactIfWorthwhile(live) }
    }

    /// Ends the segment. If there is no room for the next one, frees the unused room of this one and
    /// tries again. Returns whether the segment ended.
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

    /// The free room, with what is reserved.
    private var gained: Int { (store.freeBytes() ?? 0) + (roomEnd ?? bytes) - bytes }

    private func dropHistory() {
        guard !isCompacting else { return }
        trim(index.forget(upTo: segment - 1, historyBytes: 0, snapshot: snapshotSegment))
        awaitRoom()
    }

    /// Makes a snapshot if the journal holds too much. Call it when nothing waits to be written: at the
    /// start, because an earlier broker may have left too much, when nothing is written any more, and on a small
    /// disk after a snapshot, because much may have been written meanwhile.
    public func settle(_ records: inout RecordBuffer) throws {
        trimHistory()
        if segment > 1 { compactIfWorthwhile(records.liveBytes) }
        guard records.isEmpty, holdsTooMuch(records.liveBytes) else { return }
        if try endSegment(&records) { beginCompaction(records.liveBytes) }
    }

    /// Notes the result of work that frees room.
    func take(_ work: WorkDone) {
        switch work {
        case .compacted(let result):
            (isCompacting, isReliefVain) = (false, false)
            snapshotTaken = time.nanoseconds() - snapshotBegan
            rate.endPeriod()
            (snapshotBytes, snapshotSegment) = (result.snapshotBytes, result.segment)
            liveThen.last = liveThen.next
            isSnapshotCertain = true
            loose = (max(0, loose.bytes - result.segmentBytes), max(0, loose.segments - result.segments))
            heldBytes -= result.removedBytes
            letGo(upTo: result.firstKept - 1)
        case .compactionFailed(let message):
            (isCompacting, isReliefVain) = (false, true)
            loose = (loose.bytes / 2, loose.segments / 2)
            news.append(.compactionFailed(message))
        case .trimmed(let count):
            heldBytes -= count
            roomWork.trims -= 1
        case .released(let bytes): roomWork.unreleased -= bytes
        default: break
        }
    }
}

extension FileStore {
    /// The bytes of all segments in the folder.
    func bytesOfSegments() throws -> Int {
        try JournalFiles(names: try names()).segments.reduce(0) {
            try $0 + open(JournalFiles.segment($1)).bytes
        }
    }
}

/// How much is written in a second. Of the seconds since the last snapshot but one, the one counts in which most was
/// written: only a snapshot makes the journal smaller, so until then the room for what was written must stay.
struct WritingRate {
    private var highest = (present: 0, before: 0)
    /// The second that is being measured.
    private var second = (began: 0 as UInt64, bytes: 0)

    var bytesPerSecond: Int { max(highest.present, highest.before) }

    /// Notes the bytes of a segment that has ended.
    mutating func note(_ bytes: Int, at nanoseconds: UInt64) {
        guard second.began > 0 else { return second = (nanoseconds, 0) }
        second.bytes += bytes
        let taken = nanoseconds - second.began
        guard taken >= 1_000_000_000 else { return }
        highest.present = max(highest.present, Int(min(Double(second.bytes) / Double(taken) * 1e9, 1e15)))
        second = (nanoseconds, 0)
    }

    /// A snapshot is made. What it took less than a second to write wasn't measured.
    mutating func endPeriod() {
        if highest.present > 0 { highest = (0, highest.present) }
    }
}

/// Work on other threads that will free room.
struct RoomWork {
    /// The number of requests to remove segments that aren't done yet.
    var trims = 0
    /// The unused room of ended segments that will be freed.
    var unreleased = 0
    /// Whether there are removed files that keep their room until they are closed.
    var isClosing = false
}

extension JournalWriter {
    /// The bytes that everything takes up, with reserved room and the snapshot that is being made.
    var taken: Int {
        let next = if case .none = nextFile { 0 } else { preparedBytes }
        let rest = max(bytes, roomEnd ?? bytes) + roomWork.unreleased
        return snapshotBytes + heldBytes + next + rest + (isCompacting ? liveThen.next : 0)
    }

    /// The bytes that the journal may take up, without the largest record.
    func promised(_ live: Int) -> Int {
        let most = isCompacting ? max(live, liveThen.last, liveThen.next) : live
        let history = index.bytesToKeep(upTo: segment - 1, options.historyBytes)
        return 3 * most + history + JournalLimits.promisedBytes + leeway - JournalLimits.roundingBytes
    }

    /// Whether work is under way that will free room.
    var isRoomComing: Bool { isCompacting || roomWork.trims > 0 || roomWork.unreleased > 0 }

    /// Waits for room to be freed if `more` bytes would break the promise.
    func keepPromise(_ more: Int, _ live: Int?) {
        guard let live, isRoomComing, taken + more > promised(live) else { return }
        awaitRoom()
    }

    /// How many bytes a second all clients together should write, so that the room lasts until the snapshot is
    /// made; nil if none is being made. It falls with the room that is left. Some room stays for those who write
    /// little, so that the loop itself hardly ever waits for the snapshot.
    var pressureOfSnapshot: Int? {
        guard isCompacting else { return nil }
        let left = max(0, promised(0) - leeway / JournalLimits.leewayForFew - taken)
        let seconds = Double(max(snapshotTaken, JournalLimits.snapshotNanoseconds.least)) / 1e9
        return Int(Double(left) / seconds)
    }

    /// Returns when all work that frees room is done.
    func awaitRoom(isClosing: Bool = false) {
        worker.wait(for: .rooms)
        takeRoomWork()
        guard isClosing, roomWork.isClosing else { return }
        roomWork.isClosing = false
        worker.wait(for: .rooms)
        worker.wait(for: .syncs)
    }

    private func takeRoomWork() {
        for work in worker.takeDone() {
            switch work {
            case .compacted, .compactionFailed, .trimmed, .released: take(work)
            default: setAside.append(work)
            }
        }
    }
}
