// Who waits for the disk: the worker, or the loop itself if that is quicker.

import PlugboardJournal
import PlugboardPosix
import TestSupport
import Testing

/// Counts its requests, and takes as long for them as the test says.
private final class SlowWorker: JournalWorker {
    private let worker: ImmediateWorker
    private let time: SimulatedTime
    var nanoseconds: UInt64 = 0
    private(set) var syncs = 0

    init(_ disk: SimulatedDisk, _ time: SimulatedTime) {
        worker = ImmediateWorker(disk)
        self.time = time
    }

    func add(_ work: JournalWork) {
        if case .sync = work {
            syncs += 1
            time.advance(nanoseconds: nanoseconds)
        }
        worker.add(work)
    }

    func wait(for kind: JournalWork.Kind) {}
    func takeDone() -> [WorkDone] { worker.takeDone() }
}

@Suite("A sync that replies wait for", .computing)
struct SyncPlaceTests {
    private let time = SimulatedTime()
    private let worker: SlowWorker
    private let journal: TestJournal

    init() throws {
        let disk = SimulatedDisk()
        worker = SlowWorker(disk, time)
        journal = try TestJournal(
            disk, options: JournalOptions(sync: .interval), worker: worker, time: TimeSource(time))
    }

    /// Writes and waits. Returns whether the worker was asked.
    private func write(for waiting: Int = 1) throws -> Bool {
        let before = worker.syncs
        journal.publish("a", "1")
        try journal.endTurn()
        try journal.sync(for: waiting)
        #expect(journal.synced == journal.mark || worker.syncs > before)
        return worker.syncs > before
    }

    @Test("leaves nothing waiting for the disk, whoever does it")
    func nothingWaits() throws {
        for _ in 0..<40 {
            _ = try write()
            #expect(journal.waitingBytes == 0)
        }
    }

    @Test("is the worker's until the disk has been quick for long, and few replies wait")
    func quick() throws {
        worker.nanoseconds = 1_000_000
        for _ in 0..<16 { #expect(try write()) }
        #expect(try !write())
        #expect(journal.synced == journal.mark)
        #expect(try !write(for: JournalLimits.inPlaceMax))
        #expect(try write(for: JournalLimits.inPlaceMax + 1))
        #expect(try !write())
    }

    @Test("is the worker's again after a slow one")
    func slow() throws {
        for _ in 0..<16 { #expect(try write()) }
        #expect(try !write())
        worker.nanoseconds = 1_000_001
        #expect(try write(for: .max))
        worker.nanoseconds = 0
        for _ in 0..<16 { #expect(try write()) }
        #expect(try !write())
    }
}
