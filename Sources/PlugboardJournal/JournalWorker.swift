// The slow work of a journal: waiting for the disk, making snapshots, reading old segments. The loop
// requests it and goes on. The worker wakes the loop when a piece is done.

import PlugboardPosix

/// A file to sync.
public enum SyncRequest: Sendable {
    /// A file of this broker. If it is new, its name must get to disk, too.
    case file(any AppendableFile, isNew: Bool)
    /// A segment of an earlier broker, which may have been killed before it synced the segment.
    case earlier(segment: UInt64)

    func run(_ store: any FileStore) throws {
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
    /// The snapshot's file, if it has the values in memory. Otherwise the compactor reads the files.
    var snapshot: SnapshotFile?
}

/// A piece of work.
public enum JournalWork: Sendable {
    /// Syncs files.
    case sync([SyncRequest])
    /// Creates the file of the next segment as `JournalFiles.next`, and reserves so many bytes.
    case prepare(bytes: Int)
    /// Sends bytes to the disk that were written before. They end at `upTo` of everything that was written.
    case send([FilePiece], upTo: Int)
    /// Frees the unused room of an ended file, so many bytes. That may have to wait for the disk.
    case release(any AppendableFile, bytes: Int)
    /// Closes files that were removed. For large files the system needs time for that.
    case close([any AppendableFile])
    /// Appends to the file of a snapshot.
    case write(SnapshotFile, [UInt8])
    /// Makes a snapshot, or ends the one whose file was written.
    case compact(CompactionRequest)
    /// Removes segments that a snapshot replaces. If it isn't certain that the snapshot is on disk, the names are
    /// synced first.
    case trim([UInt64], isCertain: Bool)
    /// Reads the next piece of history for a client.
    case read(ReadRequest)

    /// Work of one kind is done in the order of the requests.
    public enum Kind: Int, CaseIterable, Sendable {
        case syncs, rooms, readings, preparations, sendings
    }

    /// All that frees room is one kind. So unused room is free before a snapshot that reads the file counts its bytes.
    public var kind: Kind {
        switch self {
        case .sync: .syncs
        case .release, .close, .write, .compact, .trim: .rooms
        case .read: .readings
        case .prepare: .preparations
        case .send: .sendings
        }
    }

    /// Does the work, on whichever thread calls it. Returns nil if nobody needs to hear of it.
    public func run(_ store: any FileStore) -> WorkDone? {
        do {
            switch self {
            case .sync(let requests):
                for request in requests { try request.run(store) }
                return .synced
            case .prepare(let bytes): return .prepared(try Self.prepare(bytes, store))
            case .send(let pieces, let end):
                for piece in pieces { try piece.file.writeBack(from: piece.start, count: piece.count) }
                return .sent(pieces.reduce(0) { $0 + $1.count }, upTo: end)
            case .release(let file, let bytes):
                try? file.releaseRoom()
                return .released(bytes: bytes)
            case .close: return nil
            case .write(let file, let piece):
                file.append(piece)
                return nil
            case .compact(let request): return .compacted(try Compactor(store).run(request))
            case .trim(let segments, let isCertain):
                // An earlier broker made the snapshot. It may have been killed before the name was on disk.
                if !isCertain { try store.syncNames() }
                return .trimmed(bytes: try store.remove(segments: segments))
            case .read(let request): return .read(SegmentReading.piece(request, store))
            }
        } catch {
            return failed(error)
        }
    }

    private func failed(_ error: any Error) -> WorkDone? {
        switch self {
        // The system tells such an error only once.
        case .sync, .send: .syncFailed(error as? SystemError ?? SystemError(code: EIO, operation: "sync"))
        case .compact: .compactionFailed("\(error)")
        // The segment's file will be made when it is needed.
        case .prepare: .prepared(nil)
        // The next snapshot removes what couldn't be removed now.
        case .trim: .trimmed(bytes: 0)
        case .release, .close, .write, .read: nil
        }
    }

    private static func prepare(_ bytes: Int, _ store: any FileStore) throws -> (any AppendableFile)? {
        let file = try store.createAnew(JournalFiles.next)
        if (try? file.reserve(bytes)) ?? false { return file }
        try store.remove(JournalFiles.next)
        return nil
    }
}

/// The result of a piece of work.
public enum WorkDone: Sendable {
    case synced
    case syncFailed(SystemError)
    case compacted(Compacted)
    case compactionFailed(String)
    /// Segments with this many bytes were removed.
    case trimmed(bytes: Int)
    /// The disk has these bytes, which end at this count of `DiskLag`.
    case sent(Int, upTo: Int)
    /// The unused room of an ended segment was freed.
    case released(bytes: Int)
    case read(ReadPiece)
    /// The file of the next segment; nil if there is no room for it.
    case prepared((any AppendableFile)?)
}

/// Does the journal's slow work.
public protocol JournalWorker: AnyObject {
    func add(_ work: JournalWork)
    /// Returns when all work of a kind is done that was added before.
    func wait(for kind: JournalWork.Kind)
    /// Returns the results since the last call.
    func takeDone() -> [WorkDone]
    /// Returns when everything that was requested is done.
    func finish()
}
