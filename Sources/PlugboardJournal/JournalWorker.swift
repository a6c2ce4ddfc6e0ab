// The slow work of a journal: waiting for the disk, making snapshots, reading old segments. The loop
// requests it and goes on. The worker wakes the loop when a piece is done.

import PlugboardPosix

/// A file to sync.
public enum SyncRequest: Sendable {
    /// A file of this broker. If it is new, its name must get to disk, too.
    case file(any AppendableFile, isNew: Bool)
    /// A segment of an earlier broker, which may have been killed before it synced the segment.
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
                // A snapshot has replaced the segment, and the snapshot is on disk.
            }
        }
    }
}

/// A snapshot to make.
public struct CompactionRequest: Sendable {
    /// The snapshot replaces all segments up to this one, which has ended.
    let segment: UInt64
    /// How many bytes of those segments stay as history.
    let historyBytes: Int
    /// The text of the snapshot, if the loop wrote it. Otherwise the compactor reads the files.
    var state: SnapshotText?
    var progress: CompactionProgress?
}

/// Segments to remove, which a snapshot replaces.
public struct TrimRequest: Sendable {
    /// The first one that may exist; nil if that isn't known, and the folder must be listed.
    let first: UInt64?
    /// The first one that stays.
    let end: UInt64
    /// Whether the snapshot is on disk for certain. If not, the names are synced first.
    let isCertain: Bool
}

/// The result of a piece of work.
public enum WorkDone: Sendable {
    /// All syncs up to this request number are done.
    case synced(UInt64)
    case syncFailed(SystemError)
    case compacted(Compacted)
    case compactionFailed(String)
    /// Segments with this many bytes were removed.
    case trimmed(bytes: Int)
    /// The disk has these bytes, which end at this count of `DiskLag`.
    case sent(Int, upTo: Int)
    /// The unused room of an ended segment was freed.
    case released
    case read(ReadPiece)
    /// The file of the next segment; nil if there is no room for it.
    case prepared((any AppendableFile)?)
}

/// Does the journal's slow work. Work of one kind is done in the order of the requests.
public protocol JournalWorker: AnyObject {
    /// Syncs files. `number` counts the requests.
    func sync(_ requests: [SyncRequest], number: UInt64)
    /// Creates the file of the next segment as `JournalFiles.next`, and reserves `bytes` bytes.
    func prepare(bytes: Int)
    /// Sends bytes to the disk that were written before. They end at `end` of everything that was written.
    func send(_ pieces: [FilePiece], upTo end: Int)
    /// Frees the unused room of an ended file. That may have to wait for the disk.
    func releaseRoom(of file: any AppendableFile)
    /// Makes a snapshot.
    func compact(_ request: CompactionRequest)
    /// Removes segments that a snapshot replaces.
    func trim(_ request: TrimRequest)
    /// Returns when no snapshot is being made and earlier requests to remove or release are done.
    func finishCompaction()
    /// Returns when all files that were passed to `close` are closed.
    func letGo()
    /// Closes files that were removed. For large files the system needs time for that.
    func close(_ files: [any AppendableFile])
    /// Returns the results since the last call.
    func takeDone() -> [WorkDone]
    /// Returns when everything that was requested is done.
    func finish()
}

extension JournalWorker {
    public func close(_ files: [any AppendableFile]) {}
    public func trim(_ request: TrimRequest) {}
    public func send(_ pieces: [FilePiece], upTo end: Int) {}
    public func finishCompaction() {}
    public func letGo() {}
}

/// A worker that can also read without holding up the loop. With any other worker, the writer reads at
/// once.
public protocol ReadingWorker: JournalWorker {
    /// Reads the next piece of history for a client.
    func read(_ request: ReadRequest)
}

/// The work itself, on whichever thread calls it.
enum JournalWork {
    static func sync(_ requests: [SyncRequest], number: UInt64, _ store: any FileStore) -> WorkDone {
        do {
            for request in requests { try request.run(store) }
            return .synced(number)
        } catch {
            return .syncFailed(error as? SystemError ?? SystemError(code: EIO, operation: "sync"))
        }
    }

    static func prepare(bytes: Int, _ store: any FileStore) -> WorkDone {
        do {
            let file = try store.createAnew(JournalFiles.next)
            if (try? file.reserve(bytes)) ?? false { return .prepared(file) }
            try store.remove(JournalFiles.next)
        } catch {
            // The segment's file will be made when it is needed.
        }
        return .prepared(nil)
    }

    static func trim(_ request: TrimRequest, _ store: any FileStore) -> WorkDone {
        do {
            // An earlier broker made the snapshot. It may have been killed before the name was on disk.
            if !request.isCertain { try store.syncNames() }
            guard let first = request.first else {
                let files = JournalFiles(names: try store.names())
                return .trimmed(bytes: try store.removeSegments(of: files, before: request.end))
            }
            return .trimmed(bytes: try store.removeSegments(from: first, before: request.end))
        } catch {
            // The next snapshot removes what couldn't be removed now.
            return .trimmed(bytes: 0)
        }
    }

    static func send(_ pieces: [FilePiece], upTo end: Int) -> WorkDone {
        do {
            for piece in pieces { try piece.file.writeBack(from: piece.start, count: piece.count) }
            return .sent(pieces.reduce(0) { $0 + $1.count }, upTo: end)
        } catch {
            // The system tells such an error only once.
            return .syncFailed(error as? SystemError ?? SystemError(code: EIO, operation: "write back"))
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

/// Does the work at once, on the caller's thread. For tests, and for commands that have nothing else to
/// do.
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

    public func prepare(bytes: Int) {
        done.append(JournalWork.prepare(bytes: bytes, store))
    }

    public func send(_ pieces: [FilePiece], upTo end: Int) {
        done.append(JournalWork.send(pieces, upTo: end))
    }

    public func compact(_ request: CompactionRequest) {
        done.append(JournalWork.compact(request, store))
    }

    public func trim(_ request: TrimRequest) {
        done.append(JournalWork.trim(request, store))
    }

    public func takeDone() -> [WorkDone] {
        defer { done = [] }
        return done
    }

    public func finish() {}
}
