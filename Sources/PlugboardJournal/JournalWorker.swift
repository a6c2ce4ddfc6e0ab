// The slow work of a journal: waiting for the disk, making snapshots, reading old segments. The loop
// requests it and goes on. The worker wakes the loop when a piece is done.

import PlugboardPosix

/// A segment that may not be on disk yet.
public struct UnsyncedFile: Sendable {
    let segment: UInt64
    /// Nil if it is of an earlier broker, which may have been killed before it synced the segment.
    var file: (any AppendableFile)?
    var bytes = 0

    func sync(_ store: any FileStore) throws {
        if let file { return try file.sync() }
        do {
            try store.sync(JournalFiles.segment(segment))
        } catch let error as SystemError where error.code == ENOENT {
            // A snapshot has replaced the segment, and the snapshot is on disk.
        }
    }
}

/// A piece of work.
public enum JournalWork: Sendable {
    /// Syncs files, and then the names in the folder if some are new.
    case sync([UnsyncedFile], withNames: Bool)
    /// Creates the file of the next segment as `JournalFiles.next`, and reserves so many bytes.
    case prepare(bytes: Int)
    /// Sends the last `bytes` of these files to the disk. They end at `upTo` of everything that was written.
    case send([UnsyncedFile], bytes: Int, upTo: Int)
    /// Frees the unused room of an ended file, so many bytes. That may have to wait for the disk.
    case release(any AppendableFile, bytes: Int)
    /// Appends to the file of a snapshot.
    case write(SnapshotFile, [UInt8])
    /// Ends a snapshot, which replaces all segments up to this one.
    case compact(upTo: UInt64, SnapshotFile)
    /// Removes a segment that a snapshot replaces and that has so many bytes, and closes its file if it is still open.
    /// For a large file the system needs time for that.
    case trim(UInt64, closing: UnsyncedFile?, bytes: Int)
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
        case .release, .write, .compact, .trim: .rooms
        case .read: .readings
        case .prepare: .preparations
        case .send: .sendings
        }
    }

    /// Does the work, on whichever thread calls it. Returns nil if nobody needs to hear of it.
    public func run(_ store: any FileStore) -> WorkDone? {
        do {
            switch self {
            case .sync(let files, let withNames):
                try certainly {
                    for file in files { try file.sync(store) }
                    if withNames { try store.syncNames() }
                }
                return .synced
            case .prepare(let bytes):
                return .prepared(store.create(JournalFiles.next, withRoom: bytes, atLeast: bytes)?.0)
            case .send(let files, let bytes, let end):
                var left = bytes
                for each in files.reversed() where left > 0 {
                    let count = min(left, each.bytes)
                    try certainly { try each.file?.writeBack(from: each.bytes - count, count: count) }
                    left -= count
                }
                return .sent(bytes - left, upTo: end)
            case .release(let file, let bytes):
                // What couldn't be freed stays until the next start.
                try? file.releaseRoom()
                return .released(bytes: bytes)
            case .write(let file, let piece):
                file.append(piece)
                return nil
            case .compact(let last, let file): return .compacted(bytes: try store.compact(upTo: last, file))
            case .trim(let segment, _, let bytes):
                try? store.remove(JournalFiles.segment(segment))
                return .released(bytes: bytes)
            case .read(let request): return .read(ReadPiece(request, store))
            }
        } catch JournalError.failed(let error) {
            // The system tells such an error only once, also one of the names.
            return .syncFailed(error)
        } catch {
            return .compactionFailed("\(error)")
        }
    }
}

/// The result of a piece of work.
public enum WorkDone: Sendable {
    case synced
    case syncFailed(SystemError)
    /// A snapshot was made that has this many bytes.
    case compacted(bytes: Int)
    case compactionFailed(String)
    /// The disk has these bytes, which end at this count of `DiskLag`.
    case sent(Int, upTo: Int)
    /// The unused room of an ended segment was freed, or segments were removed.
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
}
