// What takes long and is done beside the loop: waiting for the disk, and making snapshots.
// The loop asks, goes on, and is woken when something was done.

import PlugboardPosix

/// A file that is to be on disk.
public enum SyncRequest: Sendable {
    /// One that is written to. Where it is new, its name has to be on disk, too.
    case file(any AppendableFile, isNew: Bool)
    /// A segment of a broker before this one, which may have been killed before it saw to that.
    case earlier(segment: UInt64)

    fileprivate func run(_ store: any FileStore) throws {
        switch self {
        case .file(let file, let isNew):
            try file.sync()
            if isNew { try store.syncNames() }
        case .earlier(let segment):
            do {
                try store.sync(JournalFiles.segment(segment))
            } catch let error as SystemError where error.code == ENOENT {
                // A snapshot that is on disk has taken its place.
            }
        }
    }
}

/// A snapshot that is to be made.
public struct CompactionRequest: Sendable {
    /// It stands for all segments up to this one, which has ended.
    let segment: UInt64
    /// Bytes of those segments that stay.
    let historyBytes: Int
    /// What it says, where that is known; else it is put together from the files.
    var state: SnapshotText?
    /// Told as it comes along.
    var progress: CompactionProgress?
}

/// What was asked for and is over.
public enum WorkDone: Sendable {
    /// All requests up to this number are on disk.
    case synced(UInt64)
    case syncFailed(SystemError)
    case compacted(Compacted)
    case compactionFailed(String)
    /// Segments of so many bytes are gone.
    case trimmed(bytes: Int)
    /// The room behind a segment that has ended was given back.
    case released
    case read(ReadPiece)
    /// The next segment's file; nil where there is no room for it.
    case prepared((any AppendableFile)?)
}

/// Somebody who does the slow work, in the order in which it is asked for.
public protocol JournalWorker: AnyObject {
    /// Brings files to disk; `number` says which request it was.
    func sync(_ requests: [SyncRequest], number: UInt64)
    /// Makes the next segment's file as `JournalFiles.next`, with room for so many bytes and for what
    /// the last turn writes past them.
    func prepare(bytes: Int, isLaidOut: Bool)
    /// Gives back what a file that has ended had reserved and not used, which may take the disk's
    /// time.
    func releaseRoom(of file: any AppendableFile)
    /// Makes a snapshot.
    func compact(_ request: CompactionRequest)
    /// Removes segments before this one, which a snapshot stands for: one that is certain to be on disk, else
    /// that is made certain first.
    func trim(before segment: UInt64, isCertain: Bool)
    /// Returns when no snapshot is being made any more.
    func finishCompaction()
    /// Returns when nobody has a file open any more that was to be closed.
    func letGo()
    /// Waits a moment for whoever makes a snapshot.
    func rest()
    /// Lets go of files that were removed, which takes its time with large ones.
    func close(_ files: [any AppendableFile])
    /// Takes what was done since the last call.
    func takeDone() -> [WorkDone]
    /// Ends once what was asked for is done.
    func finish()
}

extension JournalWorker {
    public func close(_ files: [any AppendableFile]) {}
    public func trim(before segment: UInt64, isCertain: Bool) {}
    public func finishCompaction() {}
    public func letGo() {}
    public func rest() {}
}

/// One that reads beside the loop as well; what others would have to read is read at once.
public protocol ReadingWorker: JournalWorker {
    /// Reads the next piece for somebody.
    func read(_ request: ReadRequest)
}

/// One piece of work, done wherever it is called.
enum JournalWork {
    static func sync(_ requests: [SyncRequest], number: UInt64, _ store: any FileStore) -> WorkDone {
        do {
            for request in requests { try request.run(store) }
            return .synced(number)
        } catch {
            return .syncFailed(error as? SystemError ?? SystemError(code: EIO, operation: "sync"))
        }
    }

    static func prepare(bytes: Int, isLaidOut: Bool, _ store: any FileStore) -> WorkDone {
        do {
            if try store.names().contains(JournalFiles.next) { try store.remove(JournalFiles.next) }
            let file = try store.create(JournalFiles.next)
            if (try? makeRoom(in: file, bytes, isLaidOut)) ?? false { return .prepared(file) }
            try store.remove(JournalFiles.next)
        } catch {
            // The segment is written to a file that is made when it is needed.
        }
        return .prepared(nil)
    }

    private static func makeRoom(in file: any AppendableFile, _ bytes: Int, _ isLaidOut: Bool) throws -> Bool
    {
        guard try file.reserve(bytes + JournalLimits.preparedRoomBytes) else { return false }
        if isLaidOut { try file.layOut(bytes) }
        return true
    }

    static func trim(before segment: UInt64, isCertain: Bool, _ store: any FileStore) -> WorkDone {
        do {
            // The broker that made the snapshot may have been killed before it saw to that.
            if !isCertain { try store.syncNames() }
            let files = JournalFiles(names: try store.names())
            return .trimmed(bytes: try store.removeSegments(of: files, before: segment))
        } catch {
            // What can't be removed now goes with the next snapshot.
            return .trimmed(bytes: 0)
        }
    }

    static func release(_ file: any AppendableFile) -> WorkDone {
        try? file.releaseRoom()
        return .released
    }

    static func compact(_ request: CompactionRequest, _ store: any FileStore) -> WorkDone {
        defer { request.progress?.end() }
        do {
            return .compacted(try Compactor(store).run(request))
        } catch {
            return .compactionFailed("\(error)")
        }
    }
}

/// Does the work at once: for tests, and for commands that have nothing else to do.
public final class ImmediateWorker: JournalWorker {
    private let store: any FileStore
    private var done: [WorkDone] = []

    public init(_ store: any FileStore) {
        self.store = store
    }

    public func sync(_ requests: [SyncRequest], number: UInt64) {
        done.append(JournalWork.sync(requests, number: number, store))
    }

    public func releaseRoom(of file: any AppendableFile) {
        done.append(JournalWork.release(file))
    }

    public func prepare(bytes: Int, isLaidOut: Bool) {
        done.append(JournalWork.prepare(bytes: bytes, isLaidOut: isLaidOut, store))
    }

    public func compact(_ request: CompactionRequest) {
        done.append(JournalWork.compact(request, store))
    }

    public func trim(before segment: UInt64, isCertain: Bool) {
        done.append(JournalWork.trim(before: segment, isCertain: isCertain, store))
    }

    public func takeDone() -> [WorkDone] {
        defer { done = [] }
        return done
    }

    public func finish() {}
}
