// The end of a journal, where records are added: one write a turn, new segments as they
// fill, and the asking for syncs and snapshots. Used by the loop's thread alone.

import PlugboardPosix
import PlugboardWire

/// What the loop has to act upon.
public enum JournalNews: Sendable {
    /// Everything up to this mark is on disk.
    case synced(JournalMark)
    /// A snapshot couldn't be made; the segments stay, and it is tried again later.
    case compactionFailed(String)
    /// The disk is full: nothing is written any more, or is again.
    case full(Bool)
    /// What was read again for somebody.
    case read(ReadPiece)
}

extension JournalWriter {
    /// Whether `takeNews` may have something.
    public var hasNews: Bool { !news.isEmpty || !setAside.isEmpty }

    /// Whether `tick` has something to do in a second.
    public var wantsTick: Bool { isFull || (options.sync == .interval && written > asked) }
}

/// A point in what was written, that a sync can pass: how many commits there were.
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
    /// What is noted as the newest one.
    var signpost: Signpost?
    /// When it began.
    var segmentBegan: UInt64
    /// Bytes of the segment that were written.
    var bytes = 0
    /// Bytes past which it ends.
    var segmentEnd: Int
    /// Bytes past which it is time to think of the next one.
    var preparationStart: Int
    /// What the next one is written to.
    var nextFile = NextFile.none
    var preparedBytes = 0
    /// Bytes of the segment that are certain to have room; nil where that can't be known.
    var roomEnd: Int? = 0
    /// Bytes up to which the segment is laid out, and those it had when that was last thought of.
    var laidOut = (end: 0, seen: 0)
    /// Somebody has waited for the disk in this segment.
    var isAwaited = false
    var loose: (bytes: Int, segments: Int)
    /// Bytes of all segments that have ended and are there.
    var heldBytes: Int
    var snapshotBytes: Int
    /// The last segment that a snapshot stands for, and whether that is certain to be on disk.
    var snapshotSegment: UInt64
    var isSnapshotCertain = false
    /// What the values came to when the last snapshot was made, and the one that is being made.
    var liveThen: (last: Int, next: Int)
    var isCompacting = false
    var roomWork = RoomWork()
    /// It was tried in vain to gain room, and no time has passed since.
    var isReliefVain = false
    /// The revision of the last commit.
    var revision: UInt64
    /// A segment has just ended: the state is what it left.
    var segmentBefore: SnapshotText.End?
    /// Which revisions lie where.
    var index: SegmentIndex
    /// What the worker has done that is yet to be looked at.
    var setAside: [WorkDone] = []
    /// The most that there was no room for, until there is.
    private var refused = 0
    var isFull = false
    fileprivate var written: JournalMark = 0
    fileprivate var asked: JournalMark = 0
    private var synced: JournalMark = 0
    /// Ended segments that are not on disk yet.
    var ended: [(segment: UInt64, request: SyncRequest)] = []
    private var syncNumber: UInt64 = 0
    /// A sync is under way.
    public private(set) var isSyncing = false
    private var isSyncWanted = false
    /// A broker before this one left something that may not be on disk.
    private var wantsSyncAtOnce = false
    /// Which mark a sync under way brings to disk, and the bytes of the present segment then.
    private var syncing: (mark: JournalMark, segment: UInt64, bytes: Int) = (0, 0, 0)
    /// When it was asked for.
    private var syncBegan: UInt64 = 0
    /// Syncs since the last one that took its time.
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
        // What a broker before this one was killed too soon to see to.
        if wantsSyncAtOnce, options.sync == .interval { beginSync() }
        if segment > 1 { compactIfWorthwhile(nil) }
    }

    // MARK: Writing

    /// Writes what the turn recorded. Call it before anybody is told of it, and `compact` after it
    /// where a segment has ended. What finds no room stays, and `records.room` says that there is
    /// none.
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

    /// Makes room for a record of `needed` bytes by writing what waits. False: the disk is full.
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

    /// Keeps enough room reserved for what the next turn may bring.
    private func keepRoom(_ records: inout RecordBuffer, atLeast needed: Int = 0) throws {
        // A turn that asks for no room of its own leaves some for the next one.
        let least = max(needed, JournalLimits.headerReadBytes) + JournalLimits.roomBytesMin
        if let end = roomEnd, end - bytes < least { keepPromise(least - (end - bytes), records.liveBytes) }
        try reserve(least, records.liveBytes)
        if let end = roomEnd, end - bytes < least, try relieve(&records) {
            try reserve(least, records.liveBytes)
        }
        // Where nothing is certain, what waits is the first to find room.
        records.ownRoom = roomEnd.map { max(0, $0 - bytes) } ?? (records.isEmpty ? .max : 0)
        records.room = records.ownRoom == .max ? .max : max(0, records.ownRoom - JournalLimits.roomBytesMin)
        note(full: records.room == 0 || !records.isEmpty || refused > 0)
    }

    /// As much as there is, down to the least that is of use. What was reserved before stays. So much
    /// is left that the next snapshot finds room, also of what is written here.
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

    /// So many replies wait for what was written: it is brought to disk as soon as that can be.
    /// Where the disk has been quick for long, few are not worth the way to the worker and back,
    /// which takes as long as the sync: it is waited for here and now.
    public func wantSync(for waiting: Int = .max) throws {
        isAwaited = true
        if !isSyncing, waiting <= JournalLimits.inPlaceMax, quickSyncs >= JournalLimits.quickSyncsMin {
            return try syncInPlace()
        }
        isSyncWanted = true
        if !isSyncing { beginSync() }
    }

    /// One slow sync, and the next ones are the worker's.
    private func noteSyncTime() {
        let isQuick = time.nanoseconds() - syncBegan <= JournalLimits.quickSyncNanoseconds
        quickSyncs = isQuick ? min(quickSyncs + 1, JournalLimits.quickSyncsMin) : 0
    }

    /// Once a second. What found no room is tried again.
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

    /// The same with room laid out for the next ones, if these are few bytes each: a sync then is
    /// one write of the disk's, where it would be two or three one after the other. Laying out
    /// takes its time, once in many syncs.
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

    /// Waits for the disk here and now.
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

    /// Takes note of what the worker has done, and tells. Throws `JournalError.failed`:
    /// then nothing more can be promised, and the broker has to end.
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

    /// Brings everything to disk, then writes the last line, which says that it is there. Where the
    /// disk is full there is none, and the next recovery takes it for a kill.
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
            // So that the next broker can make a snapshot, and write, whoever fills the disk meanwhile.
            let least = heldBack(records.liveBytes)
            if (try? file.reserve(least + JournalLimits.shortBytes)) == nil { _ = try? file.reserve(least) }
        }
        guard records.isEmpty else { return }
        try syncNow()
        turnSignpost(isClosed: true)
        try store.syncNames()
    }

    /// Leaves word for the next broker that what was written last can't be relied on.
    public func noteFailure() {
        _ = try? store.create(JournalFiles.failed)
    }
}

extension SystemError {
    /// The disk, or this user's share of it, is full.
    var isNoRoom: Bool { code == ENOSPC || code == EDQUOT }
}
