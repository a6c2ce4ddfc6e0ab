// The slow work of a journal, done beside the loop: waiting for the disk, making
// snapshots and reading old segments. The loop asks and goes on. It is woken when
// something is done.

import PlugboardPosix

/// A file to bring to disk.
public enum SyncRequest: Sendable {
    /// A file of this broker. If it is new, its name must be on disk as well.
    case file(any AppendableFile, isNew: Bool)
    /// A segment of an earlier broker, which may have been killed before it was on disk.
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
                // A snapshot that is on disk has replaced it.
            }
        }
    }
}

/// A snapshot to make.
public struct CompactionRequest: Sendable {
    /// It replaces all segments up to this one, which has ended.
    let segment: UInt64
    /// Bytes of those segments that stay as history.
    let historyBytes: Int
    /// The text of the snapshot, if it is known. Otherwise it is put together from the files.
    var state: SnapshotText?
    /// Counts the progress.
    var progress: CompactionProgress?
}

/// A piece of work that is over.
public enum WorkDone: Sendable {
    /// All requests up to this number are on disk.
    case synced(UInt64)
    case syncFailed(SystemError)
    case compacted(Compacted)
    case compactionFailed(String)
    /// Segments with this many bytes are gone.
    case trimmed(bytes: Int)
    /// The room after an ended segment was given back.
    case released
    case read(ReadPiece)
    /// The file for the next segment; nil if there is no room for it.
    case prepared((any AppendableFile)?)
}

/// Does the slow work. Work of the same kind is done in the order in which it is asked for.
public protocol JournalWorker: AnyObject {
    /// Brings files to disk. `number` is the number of the request.
    func sync(_ requests: [SyncRequest], number: UInt64)
    /// Makes the file for the next segment as `JournalFiles.next`, with room for this many bytes,
    /// and for what the last turn writes beyond them.
    func prepare(bytes: Int, isLaidOut: Bool)
    /// Gives back the unused room of an ended file, which may take the disk's time.
    func releaseRoom(of file: any AppendableFile)
    /// Makes a snapshot.
    func compact(_ request: CompactionRequest)
    /// Removes segments before this one, which a snapshot replaces. If it isn't certain that the
    /// snapshot is on disk, it is brought there first.
    func trim(before segment: UInt64, isCertain: Bool)
    /// Returns when no snapshot is being made.
    func finishCompaction()
    /// Returns when all files that were to be closed are closed.
    func letGo()
    /// Waits a moment for the thread that makes a snapshot.
    func rest()
    /// Closes removed files, which takes time if they are large.
    func close(_ files: [any AppendableFile])
    /// Returns what was done since the last call.
    func takeDone() -> [WorkDone]
    /// Ends when everything that was asked for is done.
    func finish()
}

extension JournalWorker {
    public func close(_ files: [any AppendableFile]) {}
    public func trim(before segment: UInt64, isCertain: Bool) {}
    public func finishCompaction() {}
    public func letGo() {}
    public func rest() {}
}

/// A worker that can also read beside the loop. Without it, the writer reads at once.
public protocol ReadingWorker: JournalWorker {
    /// Reads the next piece for a client.
    func read(_ request: ReadRequest)
}

/// The pieces of work themselves, on whichever thread they are called.
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
            // The segment's file will be made when it is needed.
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
            // The broker that made the snapshot may have been killed before its name was on disk.
            if !isCertain { try store.syncNames() }
            let files = JournalFiles(names: try store.names())
            return .trimmed(bytes: try store.removeSegments(of: files, before: segment))
        } catch {
            // What can't be removed now is removed with the next snapshot.
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

/// Does the work at once, for tests and for commands with nothing else to do.
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
