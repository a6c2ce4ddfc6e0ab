// The worker of a broker. The journal's writer owns it. Syncs, sending to the disk, snapshots, reading and making the
// next segment's file have a thread each, so a snapshot never delays the others. Each thread does its work in
// the order of the requests.

import PlugboardPosix
import Synchronization

/// Does the journal's slow work on other threads and wakes the loop after each piece.
public final class BackgroundWorker: ReadingWorker, Sendable {
    private let store: any FileStore
    private let wakeup: Wakeup
    private let syncs: WorkQueue
    private let compactions: WorkQueue
    private let readings: WorkQueue
    private let preparations: WorkQueue
    private let sendings: WorkQueue
    private let done = Mutex<[WorkDone]>([])

    /// Signals `wakeup` after each piece of work that the loop must hear of. Throws `SystemError`.
    public init(_ store: any FileStore, wakeup: Wakeup) throws {
        self.store = store
        self.wakeup = wakeup
        syncs = try WorkQueue(isAwaited: true)
        compactions = try WorkQueue(isAwaited: false)
        readings = try WorkQueue(isAwaited: true)
        preparations = try WorkQueue(isAwaited: false)
        sendings = try WorkQueue(isAwaited: false)
    }

    public func sync(_ requests: [SyncRequest], number: UInt64) {
        syncs.add { [self] in report(JournalWork.sync(requests, number: number, store)) }
    }

    public func releaseRoom(of file: any AppendableFile) {
        // This thread also makes snapshots. So the room is free before a snapshot that reads this file
        // counts its bytes.
        compactions.add { [self] in
            let work = JournalWork.release(file)
            // No wakeup: the loop can learn of it later.
            done.withLock { $0.append(work) }
        }
    }

    public func prepare(bytes: Int) {
        preparations.add { [self] in report(JournalWork.prepare(bytes: bytes, store)) }
    }

    public func send(_ pieces: [FilePiece], upTo end: Int) {
        sendings.add { [self] in report(JournalWork.send(pieces, upTo: end)) }
    }

    public func compact(_ request: CompactionRequest) {
        compactions.add { [self] in report(JournalWork.compact(request, store)) }
    }

    public func trim(_ request: TrimRequest) {
        compactions.add { [self] in report(JournalWork.trim(request, store)) }
    }

    public func finishCompaction() {
        compactions.wait()
    }

    public func letGo() {
        compactions.wait()
        syncs.wait()
    }

    public func close(_ files: [any AppendableFile]) {
        // A file is closed when its last reference is released. This closure holds it.
        compactions.add { _ = files }
    }

    public func read(_ request: ReadRequest) {
        readings.add { [self] in report(.read(SegmentReading.piece(request, store))) }
    }

    public func takeDone() -> [WorkDone] {
        done.withLock { done in
            defer { done = [] }
            return done
        }
    }

    public func finish() {
        syncs.finish()
        compactions.finish()
        readings.finish()
        preparations.finish()
        sendings.finish()
    }

    private func report(_ work: WorkDone) {
        done.withLock { $0.append(work) }
        wakeup.signal()
    }
}
