// How much room a journal takes up, and how much it rewrites, in bytes of a disk that knows
// what is reserved.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("A journal's size", .computing)
struct RoomTests {
    private static let slack = 4 * 1_048_576

    /// Makes snapshots when somebody waits for them, or a while later.
    private static func lazyWorker(_ disk: SimulatedDisk) -> LateWorker {
        LateWorker(disk) { if case .compact = $0 { true } else { false } }
    }

    /// A journal whose promises are compared with its disk after each turn.
    private final class Measured {
        let disk = SimulatedDisk()
        let journal: TestJournal
        private let history: Int
        private var largest = 0
        private var peak = 0
        private var liveBefore = 0

        init(history: Int, sync: SyncMode = .never) throws {
            self.history = history
            let options = JournalOptions(sync: sync, historyBytes: history)
            journal = try TestJournal(disk, options: options)
            disk.beforeWrite = { [unowned self] bytes in peak = max(peak, disk.occupied + bytes.count) }
        }

        func turn(_ body: (TestJournal) -> Void, largest: Int) throws {
            self.largest = max(self.largest, largest + 200)
            peak = 0
            let live = max(journal.liveBytes, liveBefore)
            body(journal)
            liveBefore = journal.liveBytes
            try journal.endTurn()
            let most = 2 * journal.liveBytes + history + RoomTests.slack + self.largest
            #expect(disk.occupied <= most, "\(disk.occupied) of \(journal.liveBytes)")
            let mostMeanwhile = 2 * live + history + RoomTests.slack + self.largest + live
            #expect(peak <= mostMeanwhile, "\(peak) of \(live)")
        }

        /// Bytes that were rewritten for each byte written, including room that was laid out.
        var ratio: Double {
            Double(disk.writtenBytes - journal.recordedBytes) / Double(journal.recordedBytes)
        }
    }

    fileprivate static func value(_ count: Int, _ number: Int) -> String {
        "\"\(number) \(String.filler("x", count))\""
    }

    @Test(
        "is limited at each moment, whatever the history, and little is rewritten",
        arguments: [0, 1_000_000, 5_000_000]
    )
    func five(history: Int) throws {
        let measured = try Measured(history: history)
        for number in 1...LongSuite.count(20_000, quick: 2_500) {
            try measured.turn({ $0.publish("key.\(number % 5)", Self.value(5_000, number)) }, largest: 5_000)
        }
        #expect(measured.ratio <= 1.5)
        LongSuite.print("five keys of 5 kB, history \(history): \(measured.ratio) bytes rewritten for each")
        try measured.journal.close()
        #expect(try TestJournal(measured.disk.afterKill()).state == measured.journal.state)
    }

    @Test("is limited while values come, are overwritten and go", arguments: [SyncMode.never, .always])
    func growing(sync: SyncMode) throws {
        let measured = try Measured(history: 0, sync: sync)
        for round in 1...2 {
            for number in 0..<3_000 {
                try measured.turn({ $0.publish("key.\(number)", Self.value(3_000, round)) }, largest: 3_000)
            }
        }
        for number in 0..<3_000 { try measured.turn({ $0.delete("key.\(number)") }, largest: 0) }
        #expect(measured.ratio <= 3)
        #expect(measured.disk.occupied < Self.slack)
        LongSuite.print("3,000 keys written twice and deleted: \(measured.ratio) bytes rewritten for each")
        #expect(try TestJournal(measured.disk.afterKill()).state.isEmpty)
    }

    @Test("is limited with the largest records")
    func large() throws {
        let measured = try Measured(history: 1_000_000)
        for number in 1...12 {
            let count = number % 3 == 0 ? 3_000_000 : 900_000
            try measured.turn({ $0.publish("key.\(number % 2)", Self.value(count, number)) }, largest: count)
            if number % 4 == 0 { try measured.turn({ $0.delete("key.\(number % 2)") }, largest: 0) }
        }
        #expect(measured.ratio <= 3)
    }

    struct Load: Sendable {
        let keys: Int
        let bytes: Int
        let turns: Int
        let writesPerTurn: Int
        var history = 0
    }

    @Test(
        "is limited at each moment, even if no work is done before the loop waits for it",
        arguments: [
            Load(keys: 5, bytes: 5_000, turns: 200, writesPerTurn: 20),
            Load(keys: 5, bytes: 5_000, turns: 20, writesPerTurn: 400, history: 1_000_000),
            Load(keys: 1_000, bytes: 5_000, turns: 200, writesPerTurn: 40),
            Load(keys: 5, bytes: 900_000, turns: 20, writesPerTurn: 4),
            Load(keys: 5, bytes: 900_000, turns: 3, writesPerTurn: 40),
        ]
    )
    func late(load: Load) throws {
        let disk = SimulatedDisk()
        let worker = LateWorker(disk)
        let options = JournalOptions(sync: .never, historyBytes: load.history)
        let journal = try TestJournal(disk, options: options, worker: worker)
        var peak = 0
        disk.beforeWrite = { [unowned disk] bytes in peak = max(peak, disk.occupied + bytes.count) }
        var number = 0
        for _ in 1...load.turns {
            for _ in 1...load.writesPerTurn {
                number += 1
                #expect(try journal.hasRoom(for: load.bytes + 10))
                journal.publish("key.\(number % load.keys)", Self.value(load.bytes, number))
                peak = max(peak, disk.occupied)
            }
            try journal.endTurn()
            peak = max(peak, disk.occupied)
        }
        #expect(worker.waits > 0)
        // The history begins at the beginning of a file.
        let history = load.history > 0 ? load.history + JournalLimits.segmentBytes.lowerBound : 0
        let most = 3 * journal.liveBytes + history + Self.slack + load.bytes + 200
        #expect(peak <= most, "\(peak) of \(journal.liveBytes)")
        LongSuite.print("\(load): \(peak) of \(most), \(worker.waits) waits")
        try journal.close()
        #expect(try TestJournal(disk.afterKill()).state == journal.state)
    }

    @Test("is no reason to rest if a snapshot progresses as fast as the journal grows")
    func promptly() throws {
        let disk = SimulatedDisk()
        let worker = LateWorker(disk)
        let options = JournalOptions(sync: .never, historyBytes: 0)
        let journal = try TestJournal(disk, options: options, worker: worker)
        for number in 1...4_000 {
            journal.publish("key.\(number % 5)", Self.value(5_000, number))
            try journal.endTurn()
            if number % 50 == 0 { worker.finish() }
        }
        #expect(worker.waits == 0)
    }

    /// A client that could write 20 MB a second, in turns of 5 ms, and writes as much as the journal's pressure allows.
    private struct PacedClient {
        let journal: TestJournal
        let time: SimulatedTime
        private(set) var writes = 0
        private(set) var slowest = Int.max
        /// The number of turns in which it had to rest.
        private(set) var rests = 0
        private var owed = 0

        init(_ journal: TestJournal, _ time: SimulatedTime) { (self.journal, self.time) = (journal, time) }

        mutating func turn() throws {
            time.advance(nanoseconds: 5_000_000)
            let share = journal.pressure.map { max(1_024, $0 / 200) } ?? .max
            slowest = min(slowest, share)
            owed -= min(owed, share)
            guard owed < share else { return rests += 1 }
            for _ in 1...20 {
                writes += 1
                journal.publish("key.\(writes % 5)", RoomTests.value(5_000, writes))
            }
            owed += 100_000
            try journal.endTurn()
        }
    }

    @Test("lasts until a snapshot is made, if clients write no faster than they should")
    func paced() throws {
        let disk = SimulatedDisk()
        disk.capacity = 1 << 30
        let worker = Self.lazyWorker(disk)
        let time = SimulatedTime()
        let options = JournalOptions(sync: .never, historyBytes: 0, leewayBytes: 8_000_000...8_000_000)
        let journal = try TestJournal(disk, options: options, worker: worker, time: TimeSource(time))
        var client = PacedClient(journal, time)
        // A snapshot takes five seconds.
        for _ in 1...1_000 { try client.turn() }
        #expect(worker.waits == 0)
        #expect(client.slowest == 1_024)
        // One more snapshot has what was written meanwhile.
        for _ in 1...2 {
            worker.finish()
            try journal.endTurn()
            journal.publish("key.0", "0")
            try journal.endTurn()
        }
        #expect(journal.pressure == nil)
    }

    @Test("lasts until old segments are removed, if clients write no faster than they should")
    func removedLate() throws {
        let disk = SimulatedDisk()
        disk.capacity = 1 << 30
        let worker = LateWorker(disk) { if case .trim = $0 { true } else { false } }
        let time = SimulatedTime()
        let options = JournalOptions(sync: .never, historyBytes: 0, leewayBytes: 5_000_000...40_000_000)
        let journal = try TestJournal(disk, options: options, worker: worker, time: TimeSource(time))
        var client = PacedClient(journal, time)
        // From the fifth snapshot on nothing is removed before the end.
        for _ in 1...2_000 {
            if worker.snapshots < 5 { worker.finish() }
            try client.turn()
        }
        #expect(worker.waits == 0)
        #expect(client.rests > 0)
        for _ in 1...2 {
            worker.finish()
            try journal.endTurn()
            journal.publish("key.0", "0")
            try journal.endTurn()
        }
        #expect(journal.pressure == nil)
    }

    @Test("grows with the rate of writing, although snapshots take long and old segments are removed late")
    func grows() throws {
        let disk = SimulatedDisk()
        disk.capacity = 1 << 32
        let worker = LateWorker(disk) {
            switch $0 {
            case .compact, .trim: true
            default: false
            }
        }
        let time = SimulatedTime()
        let options = JournalOptions(sync: .never, historyBytes: 0, leewayBytes: 5_000_000...100_000_000)
        let journal = try TestJournal(disk, options: options, worker: worker, time: TimeSource(time))
        var client = PacedClient(journal, time)
        // Each second what other threads have to do is done.
        for turn in 1...1_500 {
            if turn % 200 == 0 { worker.finish() }
            try client.turn()
        }
        #expect(worker.waits == 0)
        #expect(client.writes > 20 * 750)
    }

    @Test("follows the highest rate of writing, until a snapshot was made since")
    func rate() {
        var rate = WritingRate()
        func note(_ bytes: Int, after milliseconds: UInt64, pressure: Int? = nil) {
            rate.note(bytes, after: milliseconds * 1_000_000, pressure: pressure)
        }
        note(500, after: 1_000)
        note(100, after: 1_000)
        #expect(rate.bytesPerSecond == 500)
        // Less than a twentieth of a second says nothing yet.
        note(1_100, after: 40)
        rate.endPeriod()
        #expect(rate.bytesPerSecond == 500)
        note(0, after: 2_160)
        #expect(rate.bytesPerSecond == 500)
        rate.endPeriod()
        #expect(rate.bytesPerSecond == 500)
        // In this period nothing was measured.
        rate.endPeriod()
        rate.endPeriod()
        #expect(rate.bytesPerSecond == 500)
        note(10, after: 1_000)
        rate.endPeriod()
        #expect(rate.bytesPerSecond == 10)
        // While they were slowed down, clients showed less than they would write.
        note(40, after: 25)
        note(300, after: 1_000, pressure: 400)
        note(35, after: 25, pressure: 2_000)
        #expect(rate.bytesPerSecond == 1_500)
    }

    @Test("includes at least the history, even between snapshots")
    func history() throws {
        let measured = try Measured(history: 3_000_000)
        for number in 1...2_000 {
            try measured.turn({ $0.publish("key.\(number % 5)", Self.value(5_000, number)) }, largest: 5_000)
        }
        let segments = measured.disk.files.filter { $0.key.hasPrefix("segment-") }
        #expect(segments.values.reduce(0) { $0 + $1.bytes.count } >= 3_000_000)
    }

    // MARK: Small disks

    /// Writes five keys of 5 kB again and again. No write is refused.
    private func write(_ journal: TestJournal, _ count: Int) throws {
        let before = journal.news.count
        for number in 1...count {
            #expect(try journal.hasRoom(for: 5_010), "write \(number)")
            journal.publish("key.\(number % 5)", Self.value(5_000, number))
            try journal.endTurn()
            guard journal.isWritten, !journal.isFull else {
                return #expect(Bool(false), "full after \(number)")
            }
        }
        #expect(!journal.news.dropFirst(before).contains { if case .full(true) = $0 { true } else { false } })
    }

    @Test(
        "fits on a small disk, however long it goes on",
        arguments: [3_145_728, 1_000_000, 400_000],
        [0, JournalLimits.historyBytesDefault]
    )
    func small(capacity: Int, history: Int) throws {
        for isLazy in [false, true] {
            let disk = SimulatedDisk()
            disk.capacity = capacity
            let journal = try TestJournal(
                disk,
                options: JournalOptions(sync: .never, historyBytes: history),
                worker: isLazy ? Self.lazyWorker(disk) : nil
            )
            try write(journal, LongSuite.count(10_000, quick: 1_500))
            #expect(try TestJournal(disk.afterKill(), options: .plain).state == journal.state)
        }
    }

    @Test("shrinks at a start without room, and what a killed broker had reserved is given back")
    func restart() throws {
        let disk = SimulatedDisk()
        let journal = try TestJournal(disk, options: JournalOptions(sync: .never, historyBytes: 0))
        try write(journal, 200)
        let left = disk.afterKill()
        left.capacity = left.occupied
        let again = try TestJournal(left, options: JournalOptions(sync: .never, historyBytes: 0))
        #expect(again.state == journal.state)
        try write(again, 500)
    }

    @Test("shrinks when everything is deleted on a disk that was full")
    func deleted() throws {
        let disk = SimulatedDisk()
        disk.capacity = 2_000_000
        let journal = try TestJournal(disk, options: JournalOptions(sync: .never, historyBytes: 0))
        var number = 0
        while try journal.hasRoom(for: 5_010) {
            number += 1
            journal.publish("key.\(number)", Self.value(5_000, number))
            try journal.endTurn()
        }
        #expect(number > 80)
        for key in 1...number {
            journal.delete("key.\(key)")
            try journal.endTurn()
            try #require(journal.isWritten)
        }
        try journal.tick()
        try write(journal, 500)
        #expect(try TestJournal(disk.afterKill(), options: .plain).state == journal.state)
    }

    @Test("survives a stop at every operation of a small disk")
    func crashes() throws {
        var random = SeededRandom(seed: 17)
        var (operation, states) = (0, 0)
        while true {
            let disk = SimulatedDisk()
            (disk.capacity, disk.stopsAt) = (500_000, operation)
            var (told, written): (State, State) = ([:], [:])
            var journal: TestJournal?
            do {
                let options = JournalOptions(sync: .never, historyBytes: 0)
                journal = try TestJournal(disk, options: options, worker: Self.lazyWorker(disk))
                for number in 1...90 {
                    _ = try journal?.hasRoom(for: 10_010)
                    journal?.publish("key.\(number % 5)", Self.value(10_000, number))
                    written = journal?.state ?? [:]
                    try journal?.endTurn()
                    told = written
                }
            } catch {}
            let again = try TestJournal(disk.afterKill(), options: .plain)
            #expect(again.state == told || again.state == written, "killed at \(operation)")
            let left = disk.afterPowerCut { Int(random.next() % UInt64($0)) }
            #expect(throws: Never.self, "stopped at \(operation)") {
                _ = try TestJournal(left, options: .plain, boot: "boot-2", newEpoch: "e2")
            }
            states += 2
            if !disk.isStopped { break }
            operation += LongSuite.count(1, quick: 3)
        }
        LongSuite.print("\(states) states of a small disk")
    }
}
