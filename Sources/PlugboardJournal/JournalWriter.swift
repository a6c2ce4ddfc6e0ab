// Writes the end of a journal. It writes once per turn, begins a new segment when one is full, and
// requests syncs and snapshots. The broker's `Durability` owns it, and only the loop's thread uses it.
// Records are written in the order of their revisions.

import PlugboardPosix
import PlugboardWire

/// Appends records to a journal. Only one thread uses it.
public final class JournalWriter {
    let store: any FileStore
    let worker: any JournalWorker
    let time: TimeSource
    let options: JournalOptions
    let epoch: String
    let boot: String
    var file: any AppendableFile
    /// Whether names in the folder have changed since a sync was asked for.
    var areNamesNew = true
    var segment: UInt64
    /// The signpost that exists.
    var signpost: Signpost?
    /// The first segment of this broker, which names its mark.
    let first: UInt64
    /// When the segment began, in nanoseconds of `time`.
    var segmentBegan: UInt64
    /// How long the next segments are, unless the state or the disk demands otherwise.
    var segmentLength: Int
    /// How fast the journal is written.
    var rate = WritingRate()
    /// What the journal may take up beyond the tight bound.
    var leeway = 0
    /// How far the disk is behind. Only counted if the journal syncs once a second.
    var lag: DiskLag
    /// When the sync under way has taken so long, somebody is told.
    private var lagTold = JournalLimits.lagToldNanoseconds
    /// How many bytes a second all clients together should write, so that the disk or a snapshot can catch up; nil if
    /// the disk isn't behind and no snapshot is being made.
    public internal(set) var pressure: Int?
    /// The least that it was since the segment began; nil if it never was. What clients wrote while they were slowed
    /// down for a part of it doesn't show how fast they would write.
    var leastPressure: Int?
    /// Bytes that were written to the segment.
    var bytes = 0
    /// The segment ends after this many bytes.
    var segmentEnd = 0
    /// The next segment's file is requested after this many bytes.
    var preparationStart = 0
    /// The file of the next segment and its room. There is only the room while the worker makes it.
    var next: (file: (any AppendableFile)?, room: Int)?
    /// Up to this many bytes of the segment have room for certain.
    var roomEnd = 0
    /// The end of the laid-out room; and the segment's bytes when that was last checked.
    var laidOut = (end: 0, seen: 0)
    var snapshotBytes: Int
    /// The bytes of all values when it was made.
    var liveThen: Int
    /// The snapshot that is being made: the last segment that it replaces, and the bytes of all values.
    var compacting: (segment: UInt64, live: Int)?
    var isCompacting: Bool { compacting != nil }
    /// After a snapshot has failed, the next one isn't made before this segment, or the next tick of a full disk.
    var retryAt: UInt64 = 0
    /// When the last snapshot was begun, and how long the last one took.
    var snapshotBegan: UInt64 = 0
    var snapshotNanoseconds = JournalLimits.snapshotNanoseconds.first
    /// The bytes of room that other threads will free, of ended segments and of removed ones.
    var unreleased = 0
    /// Whether there are removed files that keep their room until they are closed.
    var isClosing = false
    /// The revision of the last commit, and the same at the last tick.
    var revision: UInt64
    private var tickRevision: UInt64
    /// Set if a segment has just ended and the state hasn't changed since: the beginning of a snapshot of it, and the
    /// time of its last record.
    var segmentBefore: (header: FileHeader, when: UInt64)?
    /// Whether a snapshot of it is needed, and not only if it is worthwhile.
    var isSnapshotWanted: Bool
    /// Whether the disk failed under an earlier broker. Then the system may take unwritten bytes for written: no later
    /// sync can be trusted, and the first snapshot writes everything again.
    let hasFailed: Bool
    var index: SegmentIndex
    /// Whether the worker's last sync is done and `takeNews` hasn't noted it; and why the disk can't be trusted any more.
    var isSyncDone = false
    var failure: SystemError?
    /// The size of the largest record that was refused for lack of room; 0 once there is room.
    var refused = 0
    var isFull = false
    private var written: JournalMark = 0
    private var synced: JournalMark = 0
    /// Ended segments that may not be on disk yet.
    var ended: [UnsyncedFile]
    /// Whether the file was gone from its folder when it was synced last.
    public private(set) var isGone = false
    /// Where the files are, for a person.
    public var place: String { store.place }
    /// Whether a sync is under way.
    public private(set) var isSyncing = false
    /// What the last sync brings to disk: up to this mark, and up to these bytes of this segment.
    private var syncing: (mark: JournalMark, segment: UInt64, bytes: Int) = (0, 0, 0)
    /// When it began.
    private var syncBegan: UInt64 = 0
    /// The number of quick syncs since the last slow one.
    private var quickSyncs = 0
    var news: [JournalNews] = []

    init(
        _ store: any FileStore,
        worker: any JournalWorker,
        options: JournalOptions,
        after recovered: Recovered,
        _ index: SegmentIndex,
        epoch: String,
        boot: String,
        time: TimeSource
    ) throws {
        self.store = store
        self.worker = worker
        self.time = time
        self.options = options
        self.epoch = epoch
        self.boot = boot
        first = recovered.lastSegment + 1
        segment = first
        store.makeMark(ofSegment: first)
        signpost = recovered.signpost
        segmentBegan = time.nanoseconds()
        lag = DiskLag(least: options.waitingBytes)
        segmentLength = options.segmentBytes.lowerBound
        snapshotBytes = recovered.snapshotBytes
        liveThen = recovered.snapshotBytes
        (revision, tickRevision) = (recovered.revision, recovered.revision)
        self.index = index
        file = try store.create(JournalFiles.segment(segment))
        ended = recovered.unsynced.map { UnsyncedFile(segment: $0) }
        hasFailed = recovered.files.hasFailed
        isSnapshotWanted = hasFailed
    }

    /// Writes the first line of the first segment. `settleFirst` reserves room for what follows.
    func begin(_ records: inout RecordBuffer, after recovered: Recovered) throws {
        beginMeasuring(live: 0)
        var before = header(.snapshot, previous: recovered.chain)
        before.segment -= 1
        if before.segment > 0 { segmentBefore = (before, recovered.when) }
        let header = header(.segment, previous: recovered.chain)
        records.begin(header)
        try writeTurn(&records)
        // The marks of earlier brokers count until this line is written.
        if header.mark != nil, records.isEmpty {
            let marks = recovered.files.marks
            for name in marks where name != JournalFiles.mark(segment) { try? store.remove(name) }
        }
        // Syncs what a killed broker before this one hadn't synced.
        if !recovered.isClosed, !ended.isEmpty, options.sync == .interval { beginSync() }
    }

    // MARK: Writing

    /// Writes what the turn recorded. Call it before anybody hears of the writes. If it ends a segment,
    /// call `beginSnapshot` and `keepRoom` afterwards. Records for which there is no room stay in `records`, and
    /// `records.room` isn't above 0. Throws `JournalError.failed`.
    public func flush(_ records: inout RecordBuffer, revision: UInt64) throws {
        segmentBefore = nil
        if records.isEmpty { return }
        self.revision = revision
        try writeTurn(&records)
        if bytes > preparationStart { prepare(live: records.liveBytes) }
        if records.isEmpty, bytes > segmentEnd || holdsTooMuch(records.liveBytes) {
            try beginSegment(&records)
        }
        try keepRoom(&records)
        notePressure()
    }

    private func writeTurn(_ records: inout RecordBuffer) throws {
        if records.isEmpty { return }
        try write(&records)
        guard records.isEmpty else { return }
        if signpost?.segment != segment { turnSignpost() }
        if options.sync == .always { try syncInPlace() }
    }

    /// Makes room for a record of `needed` bytes, after writing what waits. Returns false if the disk is
    /// full. If it ends a segment, call `beginSnapshot` afterwards, and then try again. Throws `JournalError.failed`.
    public func makeRoom(_ records: inout RecordBuffer, needed: Int, revision: UInt64) throws -> Bool {
        self.revision = revision
        // If the write is refused, nothing is left to be written at the end of the turn.
        try writeTurn(&records)
        if bytes > segmentEnd || holdsTooMuch(records.liveBytes) { _ = try endSegment(&records) }
        try keepRoom(&records, atLeast: needed)
        if records.count + needed <= records.room { return true }
        if hasEndedSegment { return false }
        refused = max(refused, needed)
        note(full: true)
        return false
    }

    func write(_ records: inout RecordBuffer) throws {
        guard !records.isEmpty else { return }
        do {
            while !records.isEmpty {
                let count = try file.append(records.bytes)
                records.removeFirst(count)
                bytes += count
                if options.sync == .interval { lag.noteWritten(count) }
            }
            written = records.commits
            if lag.unsent >= JournalLimits.sentBytesMin, lag.isSentAtOnce { sendToDisk() }
        } catch let error as SystemError where error.isNoRoom {
            roomEnd = bytes
        } catch let error as SystemError {
            throw JournalError.failed(error)
        }
    }

    func note(full: Bool) {
        if full == isFull { return }
        isFull = full
        news.append(.full(full))
    }

    // MARK: Syncing

    /// Syncs, unless it does already, because `waiting` replies wait for it. If the last syncs were quick and few
    /// replies wait, the loop itself syncs: passing the work to another thread takes as long as such a sync.
    /// Throws `JournalError.failed`.
    public func wantSync(for waiting: Int) throws {
        if isSynced(upTo: written) { return pass(written) }
        guard !isSyncing else { return }
        let isInPlace = waiting <= JournalLimits.inPlaceMax && quickSyncs >= JournalLimits.quickSyncsMin
        if isInPlace { try syncInPlace() } else { beginSync() }
    }

    /// A sync is done. After one slow sync the worker does the next ones.
    private func noteSyncTime() {
        let now = time.nanoseconds()
        lag.noteSynced()
        if lagTold > JournalLimits.lagToldNanoseconds { news.append(.caughtUp) }
        lagTold = JournalLimits.lagToldNanoseconds
        let isQuick = now - syncBegan <= JournalLimits.quickSyncNanoseconds
        quickSyncs = isQuick ? min(quickSyncs + 1, JournalLimits.quickSyncsMin) : 0
    }

    /// Whether `tick` must be called once a second.
    public var wantsTick: Bool {
        let isSyncing = options.sync == .interval && (isSyncing || written > syncing.mark)
        return isFull || isSyncing || revision != tickRevision
    }

    /// Call it once a second. Tries again to write records for which there was no room. Throws
    /// `JournalError.failed`.
    public func tick(_ records: inout RecordBuffer) throws {
        lookAtDisk()
        if isFull {
            retryAt = 0
            try writeTurn(&records)
            // For a write that was refused, room is only looked for. It is made if the write is tried again.
            if refused > 0 { try reserve(refused + JournalLimits.roomBytesMin, records.liveBytes) }
            try keepRoom(&records)
            if records.room >= refused {
                refused = 0
                try keepRoom(&records)
            }
        }
        if options.sync == .interval, !isSyncing, written > syncing.mark { beginSync() }
        noteSlowSync()
        // While much is written, the end of a segment asks for a snapshot, which can then be made of the state.
        if revision == tickRevision { try settle(&records) }
        tickRevision = revision
    }

    private func noteSlowSync() {
        let taken = time.nanoseconds() - syncBegan
        guard isSyncing, options.sync == .interval, taken >= lagTold else { return }
        lagTold = 2 * taken
        news.append(.behind(seconds: Int(taken / 1_000_000_000), bytes: lag.waiting))
    }

    private func beginSync() {
        isSyncing = true
        worker.add(takeUnsynced())
    }

    private func takeUnsynced() -> JournalWork {
        syncBegan = time.nanoseconds()
        syncing = (written, segment, bytes)
        defer {
            (ended, areNamesNew) = ([], false)
            lag.noteSyncBegan()
        }
        return .sync(ended + [present], withNames: areNamesNew)
    }

    /// The present segment, as something to sync.
    var present: UnsyncedFile { UnsyncedFile(segment: segment, file: file, bytes: bytes) }

    /// Syncs on the loop's thread. If the syncs are small, lays out room for the next ones first. Each of
    /// them is then one write to the disk instead of two or three in a row. Laying out takes longer, but
    /// happens only once in many syncs.
    private func syncInPlace() throws {
        let fresh = bytes - laidOut.seen
        laidOut.seen = bytes
        let room = min(options.laidOutBytes, segmentEnd - bytes)
        let isWorthwhile = fresh * JournalLimits.syncsPerLayingOutMin <= room && laidOut.end - bytes < fresh
        let quickBefore = quickSyncs
        let hasLaidOut = isWorthwhile && (try? file.layOut(room)) != nil
        if hasLaidOut { laidOut.end = bytes + room }
        try syncNow()
        if hasLaidOut { quickSyncs = quickBefore }
    }

    /// Syncs and returns when it is done.
    private func syncNow() throws {
        if case .syncFailed(let error) = takeUnsynced().run(store) {
            throw JournalError.failed(error)
        }
        noteSyncTime()
        pass(written)
    }

    /// Replies may wait even if nothing was written since the last sync. What was synced is kept if the file is
    /// still in its folder. A removed file goes with this process.
    private func pass(_ mark: JournalMark) {
        synced = max(synced, mark)
        let wasGone = isGone
        news.append(hasFile() ? .synced(synced) : .gone(synced, isNew: !wasGone))
    }

    /// Whether the file is in its folder.
    public func hasFile() -> Bool {
        let wasGone = isGone
        isGone = !store.holds(file, as: JournalFiles.segment(segment))
        if wasGone, !isGone { news.append(.found) }
        return !isGone
    }

    /// Whether everything before a mark is in the file.
    public func hasWritten(upTo mark: JournalMark) -> Bool { mark <= written }

    /// Whether everything before a mark is certainly on disk, with what earlier brokers left.
    public func isSynced(upTo mark: JournalMark) -> Bool {
        mark <= synced && ended.isEmpty && !isSyncing && !isGone
    }

    // MARK: What was done

    /// Whether `takeNews` may return anything.
    public var hasNews: Bool { !news.isEmpty || isSyncDone || failure != nil }

    /// Takes the worker's results and returns the news. Throws `JournalError.failed`: then nothing more
    /// can be promised, and the broker must end.
    public func takeNews(_ records: inout RecordBuffer) throws -> [JournalNews] {
        try takeDone()
        if isSyncDone { noteSynced(&records) }
        defer { news = [] }
        return news
    }

    private func takeDone() throws {
        for work in worker.takeDone() { take(work) }
        if let failure { throw JournalError.failed(failure) }
    }

    private func noteSynced(_ records: inout RecordBuffer) {
        (isSyncing, isSyncDone) = (false, false)
        noteSyncTime()
        pass(syncing.mark)
        if syncing.segment == segment {
            records.append(own: #"{"event":"synced","bytes":\#(syncing.bytes)"#)
        }
    }

    /// Syncs everything, then writes a last line that says so. If the disk is full, there is no such
    /// line, and the next recovery assumes that the broker was killed. Throws `JournalError.failed`.
    public func close(_ records: inout RecordBuffer, revision: UInt64) throws {
        awaitRoom()
        for kind in JournalWork.Kind.allCases { worker.wait(for: kind) }
        try takeDone()
        removeNextFile()
        try write(&records)
        try syncNow()
        if records.isEmpty {
            records.append(own: #"{"event":"closed","revision":\#(revision)"#)
            try write(&records)
        }
        try? file.releaseRoom()
        if let free = store.freeBytes(), free < JournalLimits.smallDiskBytes {
            // The next broker must be able to write and to make a snapshot, even if others fill the disk
            // until then.
            let least = heldBack(records.liveBytes)
            if (try? file.reserve(least + JournalLimits.shortBytes)) == nil { try? file.reserve(least) }
        }
        guard records.isEmpty else { return }
        try syncNow()
        turnSignpost(isClosed: true)
        try syncNow()
    }

    /// Tells the next broker that it can't rely on the last writes.
    public func noteFailure() {
        _ = try? store.create(JournalFiles.failed)
    }
}

extension SystemError {
    /// Whether the disk is full, or this user's share of it, or the file may not be larger.
    var isNoRoom: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
}

// What the writer tells the broker's loop.

/// A point in the journal: the number of commits before it.
public typealias JournalMark = UInt64

/// What the loop must react to.
public enum JournalNews: Sendable {
    /// Everything before this mark is on disk.
    case synced(JournalMark)
    /// A snapshot failed, for this reason. The segments stay, and the writer tries again later.
    case compactionFailed(String)
    /// True: the disk is full and nothing is written. False: there is room again.
    case full(Bool)
    /// Everything before this mark was written and synced, but the file is gone from its folder. `isNew` if it was
    /// there before.
    case gone(JournalMark, isNew: Bool)
    /// A sync has taken so long by now, and so many bytes wait for the disk.
    case behind(seconds: Int, bytes: Int)
    /// That sync is done.
    case caughtUp
    /// The file is in its folder again.
    case found
    /// History that a client asked for.
    case read(ReadPiece)
}
