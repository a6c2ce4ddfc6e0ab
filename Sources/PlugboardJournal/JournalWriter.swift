// Writes the end of a journal: one write per turn, new segments when one is full, and
// requests for syncs and snapshots. The broker's `Durability` owns it, and only the loop's thread uses it.
// Records are written in the order of their revisions.

import PlugboardPosix
import PlugboardWire

/// What the loop must react to.
public enum JournalNews: Sendable {
    /// Everything up to this mark is on disk.
    case synced(JournalMark)
    /// A snapshot failed. The segments stay, and the writer tries again later.
    case compactionFailed(String)
    /// The disk is full and nothing is written, or it has room again.
    case full(Bool)
    /// Records that were read again for a client.
    case read(ReadPiece)
}

extension JournalWriter {
    /// Whether `takeNews` may have news.
    public var hasNews: Bool { !news.isEmpty || !setAside.isEmpty }

    /// Whether `tick` has work once a second.
    public var wantsTick: Bool { isFull || (options.sync == .interval && written > asked) }
}

/// A point in the journal that a sync can pass: the number of commits before it.
public typealias JournalMark = UInt64

/// Adds records to a journal.
public final class JournalWriter {
    let store: any FileStore
    let worker: any JournalWorker
    let time: TimeSource
    let options: JournalOptions
    let epoch: String
    let boot: String
    var file: any AppendableFile
    var isFileNew = true
    var segment: UInt64
    /// The signpost that is on disk.
    var signpost: Signpost?
    /// When the segment began.
    var segmentBegan: UInt64
    /// Bytes of the segment that were written.
    var bytes = 0
    /// After so many bytes the segment ends.
    var segmentEnd: Int
    /// After so many bytes the next segment is prepared.
    var preparationStart: Int
    /// The file for the next segment.
    var nextFile = NextFile.none
    var preparedBytes = 0
    /// Bytes of the segment that certainly have room; nil if that can't be known.
    var roomEnd: Int? = 0
    /// The end of the laid-out room, and the segment's bytes when that was last checked.
    var laidOut = (end: 0, seen: 0)
    /// A reply has waited for the disk in this segment.
    var isAwaited = false
    var loose: (bytes: Int, segments: Int)
    /// Bytes of all ended segments that exist.
    var heldBytes: Int
    var snapshotBytes: Int
    /// The last segment that a snapshot replaces, and whether that snapshot is certainly on disk.
    var snapshotSegment: UInt64
    var isSnapshotCertain = false
    /// The bytes of all values when the last snapshot was made, and for the one that is being
    /// made.
    var liveThen: (last: Int, next: Int)
    var isCompacting = false
    var roomWork = RoomWork()
    /// A try to gain room has failed, and no tick has come since.
    var isReliefVain = false
    /// The revision of the last commit.
    var revision: UInt64
    /// Set when a segment has just ended and the state is the one at its end.
    var segmentBefore: SnapshotText.End?
    /// Which revisions are in which segment.
    var index: SegmentIndex
    /// What the worker has done and the loop hasn't looked at yet.
    var setAside: [WorkDone] = []
    /// The size of the largest record that had no room, until there is room.
    private var refused = 0
    var isFull = false
    fileprivate var written: JournalMark = 0
    fileprivate var asked: JournalMark = 0
    private var synced: JournalMark = 0
    /// Ended segments that aren't on disk yet.
    var ended: [(segment: UInt64, request: SyncRequest)] = []
    private var syncNumber: UInt64 = 0
    /// A sync is under way.
    public private(set) var isSyncing = false
    private var isSyncWanted = false
    /// An earlier broker left something that may not be on disk.
    private var wantsSyncAtOnce = false
    /// The mark that the sync under way brings to disk, and the bytes of its segment then.
    private var syncing: (mark: JournalMark, segment: UInt64, bytes: Int) = (0, 0, 0)
    /// When the sync was asked for.
    private var syncBegan: UInt64 = 0
    /// The number of quick syncs since the last slow one.
    private var quickSyncs = 0
    var news: [JournalNews] = []

    init(
        _ store: any FileStore,
        worker: any JournalWorker,
        options: JournalOptions,
        after recovered: Recovered,
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
        segment = recovered.lastSegment + 1
        signpost = recovered.signpost
        segmentBegan = time.nanoseconds()
        segmentEnd = options.segmentBytes
        preparationStart = options.segmentBytes / 2
        loose = (recovered.looseBytes, recovered.looseSegments)
        heldBytes = try store.bytesOfSegments()
        snapshotBytes = recovered.snapshotBytes
        snapshotSegment = recovered.snapshot
        liveThen = (recovered.snapshotBytes, 0)
        revision = recovered.revision
        index = SegmentIndex(store, epoch: epoch)
        file = try store.create(JournalFiles.segment(segment))
        index.begin(segment, after: recovered.revision)
        ended = recovered.unsynced.map { ($0, .earlier(segment: $0)) }
        wantsSyncAtOnce = !recovered.isClosed && !ended.isEmpty
    }

    /// Writes the first line of the first segment.
    func begin(_ records: inout RecordBuffer, revision: UInt64, chain: UInt32) throws {
        beginMeasuring(live: nil)
        records.begin(after: chain)
        records.beginFile(header(revision: revision, previous: chain))
        try flush(&records, revision: revision)
        // Brings to disk what a killed broker before this one had no time for.
        if wantsSyncAtOnce, options.sync == .interval { beginSync() }
        if segment > 1 { compactIfWorthwhile(nil) }
    }

    // MARK: Writing

    /// Writes what the turn recorded. Call it before anybody is told of it, and call `compact`
    /// after it if a segment has ended. Records without room stay, and `records.room` then says
    /// that there is none.
    public func flush(_ records: inout RecordBuffer, revision: UInt64) throws {
        segmentBefore = nil
        if records.isEmpty { return }
        self.revision = revision
        try write(&records)
        if signpost?.segment != segment, records.isEmpty { turnSignpost() }
        if options.sync == .always, records.isEmpty { try syncInPlace() }
        if bytes > preparationStart { prepare(live: records.liveBytes) }
        if records.isEmpty, bytes > segmentEnd || holdsTooMuch(records.liveBytes) {
            try beginSegment(&records)
        }
        try keepRoom(&records)
        pace()
    }

    /// Makes room for a record of `needed` bytes by writing what waits. Returns false if the disk
    /// is full.
    public func makeRoom(_ records: inout RecordBuffer, needed: Int, revision: UInt64) throws -> Bool {
        self.revision = revision
        try write(&records)
        try endLongSegment(&records)
        try keepRoom(&records, atLeast: needed)
        if records.count + needed <= records.room { return true }
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
            }
            written = records.commits
        } catch let error as SystemError where error.isNoRoom {
            roomEnd = roomEnd.map { _ in bytes }
        } catch let error as SystemError {
            throw JournalError.failed(error)
        }
    }

    private func note(full: Bool) {
        if full == isFull { return }
        isFull = full
        news.append(.full(full))
    }

    /// Keeps enough room reserved for the next turn.
    private func keepRoom(_ records: inout RecordBuffer, atLeast needed: Int = 0) throws {
        // A turn that needs no room of its own leaves some for the next one.
        let least = max(needed, JournalLimits.headerReadBytes) + JournalLimits.roomBytesMin
        if let end = roomEnd, end - bytes < least { keepPromise(least - (end - bytes), records.liveBytes) }
        try reserve(least, records.liveBytes)
        if let end = roomEnd, end - bytes < least, try relieve(&records) {
            try reserve(least, records.liveBytes)
        }
        // If nothing is certain, the waiting records are the first to get room.
        records.ownRoom = roomEnd.map { max(0, $0 - bytes) } ?? (records.isEmpty ? .max : 0)
        records.room = records.ownRoom == .max ? .max : max(0, records.ownRoom - JournalLimits.roomBytesMin)
        note(full: records.room == 0 || !records.isEmpty || refused > 0)
    }

    /// Reserves as much as possible, but at least `least`. Room that was reserved before stays.
    /// Enough stays free for the next snapshot, including what is written here.
    private func reserve(_ least: Int, _ live: Int?) throws {
        guard let end = roomEnd else { return }
        let wanted = max(JournalLimits.reservedBytes, least)
        guard end - bytes < max(JournalLimits.reservedBytes / 2, least) else { return }
        let rest = end - bytes
        var size = wanted
        if let live { size = min(size, max(least, rest + promised(live) - taken)) }
        if let free = store.freeBytes() {
            let spare = max(0, free - heldBack(live))
            size = min(size, rest + max(spare / 2, min(spare, least - rest)))
        }
        while size >= least {
            do {
                roomEnd = try file.reserve(size) ? max(roomEnd ?? 0, bytes + size) : nil
                return
            } catch let error as SystemError where error.isNoRoom {
                size /= 4
            }
        }
    }

    // MARK: Syncing

    /// Brings the journal to disk soon, because `waiting` replies wait for that. If the disk has
    /// been quick for long and few replies wait, the loop itself syncs: handing the work to the
    /// worker takes as long as the sync.
    public func wantSync(for waiting: Int = .max) throws {
        isAwaited = true
        if !isSyncing, waiting <= JournalLimits.inPlaceMax, quickSyncs >= JournalLimits.quickSyncsMin {
            return try syncInPlace()
        }
        isSyncWanted = true
        if !isSyncing { beginSync() }
    }

    /// After one slow sync, the worker does the next ones.
    private func noteSyncTime() {
        let isQuick = time.nanoseconds() - syncBegan <= JournalLimits.quickSyncNanoseconds
        quickSyncs = isQuick ? min(quickSyncs + 1, JournalLimits.quickSyncsMin) : 0
    }

    /// To call once a second. Tries again to write what had no room.
    public func tick(_ records: inout RecordBuffer) throws {
        isReliefVain = false
        if isFull {
            try write(&records)
            try keepRoom(&records, atLeast: refused)
            if records.room >= refused {
                refused = 0
                try keepRoom(&records)
            }
        }
        if options.sync == .interval, !isSyncing, written > asked { beginSync() }
        if !isCompacting, segment > 1 { compactIfWorthwhile(records.liveBytes) }
    }

    private func beginSync() {
        isSyncing = true
        isSyncWanted = false
        asked = written
        syncBegan = time.nanoseconds()
        syncNumber += 1
        syncing = (written, segment, bytes)
        worker.sync(takeUnsynced(), number: syncNumber)
    }

    private func takeUnsynced() -> [SyncRequest] {
        defer {
            ended = []
            isFileNew = false
        }
        return ended.map(\.request) + [.file(file, isNew: isFileNew)]
    }

    /// Syncs in the loop, and lays out room for the next syncs if they are small. A sync then is
    /// one write to the disk instead of two or three in a row. Laying out takes longer, but is
    /// needed only once in many syncs.
    private func syncInPlace() throws {
        let fresh = bytes - laidOut.seen
        laidOut.seen = bytes
        let isWorthwhile = fresh * JournalLimits.syncsPerLayingOutMin <= options.laidOutBytes
        let quickBefore = quickSyncs
        guard isWorthwhile, laidOut.end - bytes < fresh, layOut() else { return try syncNow() }
        try syncNow()
        quickSyncs = quickBefore
    }

    private func layOut() -> Bool {
        guard (try? file.layOut(options.laidOutBytes)) != nil else { return false }
        laidOut.end = bytes + options.laidOutBytes
        return true
    }

    /// Waits for the disk.
    private func syncNow() throws {
        asked = written
        syncBegan = time.nanoseconds()
        if case .syncFailed(let error) = JournalWork.sync(takeUnsynced(), number: 0, store) {
            throw JournalError.failed(error)
        }
        noteSyncTime()
        pass(written)
    }

    private func pass(_ mark: JournalMark) {
        guard mark > synced else { return }
        synced = mark
        news.append(.synced(mark))
    }

    // MARK: What was done

    /// Notes what the worker has done and returns the news. Throws `JournalError.failed`: then
    /// nothing more can be promised, and the broker must end.
    public func takeNews(_ records: inout RecordBuffer) throws -> [JournalNews] {
        let done = setAside + worker.takeDone()
        setAside = []
        for work in done {
            switch work {
            case .read(let piece): news.append(.read(piece))
            case .prepared(let file): nextFile = file.map { .ready($0) } ?? .none
            case .synced: noteSynced(&records)
            case .syncFailed(let error): throw JournalError.failed(error)
            case .compactionFailed, .trimmed, .released: take(work)
            case .compacted:
                take(work)
                try settle(&records)
            }
        }
        defer { news = [] }
        return news
    }

    private func noteSynced(_ records: inout RecordBuffer) {
        isSyncing = false
        noteSyncTime()
        pass(syncing.mark)
        if syncing.segment == segment {
            records.append(own: #"{"event":"synced","bytes":\#(syncing.bytes)"#)
        }
        if isSyncWanted, written > asked { beginSync() }
    }

    /// Brings everything to disk, then writes the last line, which says so. If the disk is full,
    /// there is no last line, and the next recovery takes that for a kill.
    public func close(_ records: inout RecordBuffer, revision: UInt64) throws {
        worker.finish()
        removeNextFile()
        for case .syncFailed(let error) in worker.takeDone() { throw JournalError.failed(error) }
        try write(&records)
        if records.isEmpty {
            try syncNow()
            records.append(own: #"{"event":"closed","revision":\#(revision)"#)
            try write(&records)
        }
        try? file.releaseRoom()
        if let free = store.freeBytes(), free < JournalLimits.smallDiskBytes {
            // So that the next broker can write and make a snapshot even if others fill the disk
            // meanwhile.
            let least = heldBack(records.liveBytes)
            if (try? file.reserve(least + JournalLimits.shortBytes)) == nil { _ = try? file.reserve(least) }
        }
        guard records.isEmpty else { return }
        try syncNow()
        turnSignpost(isClosed: true)
        try store.syncNames()
    }

    /// Tells the next broker that it can't rely on the last writes.
    public func noteFailure() {
        _ = try? store.create(JournalFiles.failed)
    }
}

extension SystemError {
    /// The disk, or this user's share of it, is full.
    var isNoRoom: Bool { code == ENOSPC || code == EDQUOT }
}
