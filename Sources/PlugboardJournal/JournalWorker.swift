// What takes long and is done beside the loop: waiting for the disk, and making snapshots.
// The loop asks, goes on, and is woken when something was done.

import PlugboardPosix

/// A file that is to be on disk.
public struct SyncRequest: Sendable {
    let file: any AppendableFile
    /// The file is new: its name has to be on disk, too.
    let isNew: Bool
}

/// What was asked for and is over.
public enum WorkDone: Sendable {
    /// All requests up to this number are on disk.
    case synced(UInt64)
    case syncFailed(SystemError)
    case compacted(Compacted)
    case compactionFailed(String)
    case read(ReadPiece)
}

/// Somebody who does the slow work, in the order in which it is asked for.
public protocol JournalWorker: AnyObject {
    /// Brings files to disk; `number` says which request it was.
    func sync(_ requests: [SyncRequest], number: UInt64)
    /// Puts all segments up to a number together.
    func compact(upTo segment: UInt64, historyBytes: Int)
    /// Takes what was done since the last call.
    func takeDone() -> [WorkDone]
    /// Ends once what was asked for is done.
    func finish()
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
            for request in requests {
                try request.file.sync()
                if request.isNew { try store.syncNames() }
            }
            return .synced(number)
        } catch {
            return .syncFailed(error as? SystemError ?? SystemError(code: EIO, operation: "sync"))
        }
    }

    static func compact(upTo segment: UInt64, historyBytes: Int, _ store: any FileStore) -> WorkDone {
        do {
            return .compacted(try Compactor(store).run(upTo: segment, historyBytes: historyBytes))
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

    public func compact(upTo segment: UInt64, historyBytes: Int) {
        done.append(JournalWork.compact(upTo: segment, historyBytes: historyBytes, store))
    }

    public func takeDone() -> [WorkDone] {
        defer { done = [] }
        return done
    }

    public func finish() {}
}
