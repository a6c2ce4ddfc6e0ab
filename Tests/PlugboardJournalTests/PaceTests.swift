import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("While a large snapshot is made, the loop", .computing)
struct PaceTests {
    /// A journal whose snapshot has begun and makes no progress.
    private static func journal(_ disk: SimulatedDisk, _ worker: LateWorker) throws -> TestJournal {
        let journal = try TestJournal(
            disk,
            options: JournalOptions(sync: .never, historyBytes: 0),
            worker: worker
        )
        // Each key has 200,000 bytes, and all have more than `awaitedStateBytesMax`.
        let value = "\"" + String(repeating: "x", count: 199_998) + "\""
        var number = 0
        while worker.snapshots == 0, number < 400 {
            journal.publish("key.\(number % 100)", value)
            try journal.endTurn()
            number += 1
        }
        #expect(worker.snapshots == 1)
        return journal
    }

    @Test("rests a few times a turn, and longer once the journal has grown far too much")
    func longer() throws {
        let disk = SimulatedDisk()
        let worker = LateWorker(disk)
        let journal = try Self.journal(disk, worker)
        let value = "\"" + String(repeating: "y", count: 20 * JournalLimits.bytesPerRest) + "\""
        let begun = journal.recordedBytes
        var (grown, rests): ([Int], [Int]) = ([], [])
        for number in 1...80 {
            let before = worker.rests
            journal.publish("small.\(number % 5)", value)
            try journal.endTurn()
            grown.append(journal.recordedBytes - begun)
            rests.append(worker.rests - before)
        }
        #expect(worker.waits == 0)
        // What was written before the first turn of these counts, too.
        let turn = 21 * JournalLimits.bytesPerRest
        let unpaced = grown[rests.firstIndex { $0 > 0 } ?? 0]
        #expect(unpaced <= JournalLimits.unpacedBytes + turn)
        let slight = grown[rests.firstIndex { $0 > JournalLimits.restsMax } ?? 0] - unpaced
        #expect(abs(slight - JournalLimits.slightExcessBytes) <= turn)
        #expect(Set(rests) == [0, JournalLimits.restsMax, 20])
        #expect(rests == rests.sorted())
    }
}
