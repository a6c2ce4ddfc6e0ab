// The worker of a broker. The journal's writer owns it. It has a thread for each kind of
// work, so that a snapshot never delays a sync, a reader or the next segment. Each thread
// does its work in the order in which it was asked for.

import PlugboardPosix
import Synchronization

/// Does the work on other threads and wakes the loop.
public final class BackgroundWorker: ReadingWorker, Sendable {
    private let store: any FileStore
    private let wakeup: Wakeup
    private let syncs: WorkQueue
    private let compactions: WorkQueue
    private let readings: WorkQueue
    private let preparations: WorkQueue
    private let done = Mutex<[WorkDone]>([])

    /// Signals `wakeup` after each piece of work. Throws `SystemError`.
    public init(_ store: any FileStore, wakeup: Wakeup) throws {
        self.store = store
        self.wakeup = wakeup
        syncs = try WorkQueue(isAwaited: true)
        compactions = try WorkQueue(isAwaited: false)
        readings = try WorkQueue(isAwaited: true)
        preparations = try WorkQueue(isAwaited: false)
    }

    public func sync(_ requests: [SyncRequest], number: UInt64) {
        syncs.add { [self] in report(JournalWork.sync(requests, number: number, store)) }
    }

    public func releaseRoom(of file: any AppendableFile) {
        // The same thread makes snapshots. So the room is given back before a snapshot that reads
        // this file counts its bytes.
        compactions.add { [self] in
            let work = JournalWork.release(file)
            // The loop needn't wake up for it.
            done.withLock { $0.append(work) }
        }
    }

    public func prepare(bytes: Int, isLaidOut: Bool) {
        preparations.add { [self] in
            report(JournalWork.prepare(bytes: bytes, isLaidOut: isLaidOut, store))
        }
    }

    public func compact(_ request: CompactionRequest) {
        compactions.add { [self] in report(JournalWork.compact(request, store)) }
    }

    public func trim(before segment: UInt64, isCertain: Bool) {
        compactions.add { [self] in
            report(JournalWork.trim(before: segment, isCertain: isCertain, store))
        }
    }

    public func finishCompaction() {
        compactions.wait()
    }

    public func letGo() {
        compactions.wait()
        syncs.wait()
    }

    public func rest() {
        Pause.sleep(seconds: JournalLimits.restSeconds)
    }

    public func close(_ files: [any AppendableFile]) {
        // A file closes when its last reference goes, which is the one of this piece of work.
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
    }

    private func report(_ work: WorkDone) {
        done.withLock { $0.append(work) }
        wakeup.signal()
    }
}
