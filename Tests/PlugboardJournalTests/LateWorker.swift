// A journal's worker that does nothing before its test says so.

import PlugboardJournal
import TestSupport

/// Syncs and compacts on request.
final class LateWorker: JournalWorker {
    private let worker: ImmediateWorker
    private var work: [(ImmediateWorker) -> Void] = []
    /// How often the loop waited for it.
    private(set) var waits = 0
    /// How many snapshots were asked for.
    private(set) var snapshots = 0

    init(_ disk: SimulatedDisk) {
        worker = ImmediateWorker(disk)
    }

    func sync(_ requests: [SyncRequest], number: UInt64) {
        work.append { $0.sync(requests, number: number) }
    }

    func releaseRoom(of file: any AppendableFile) {
        work.append { $0.releaseRoom(of: file) }
    }

    func prepare(bytes: Int) {
        work.append { $0.prepare(bytes: bytes) }
    }

    func compact(_ request: CompactionRequest) {
        snapshots += 1
        work.append { $0.compact(request) }
    }

    func trim(_ request: TrimRequest) {
        work.append { $0.trim(request) }
    }

    func takeDone() -> [WorkDone] { worker.takeDone() }
    func finish() { while doNext() {} }

    func finishCompaction() {
        waits += 1
        finish()
    }

    @discardableResult
    func doNext() -> Bool {
        guard !work.isEmpty else { return false }
        work.removeFirst()(worker)
        return true
    }
}
