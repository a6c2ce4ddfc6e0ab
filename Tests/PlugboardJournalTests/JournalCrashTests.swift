// A crash after every single operation, with any part of what wasn't on disk, and a crash
// during the recovery from it. Nothing that was promised may be missing, and the state must
// be one that the bus was in.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite(.computing) struct JournalCrashTests {
    /// How a session is played.
    struct Manner: CustomStringConvertible {
        /// Now and then and at once; after each turn; or now and then, some turns later.
        enum Syncs: CaseIterable { case seldom, always, late }

        var syncs: Syncs
        /// With more of them, snapshots are made less often.
        var slackBytes = 900

        static let seldom = Manner(syncs: .seldom)
        static let always = Manner(syncs: .always)
        static let all = Syncs.allCases.flatMap { [Manner(syncs: $0), Manner(syncs: $0, slackBytes: 2_000)] }

        var description: String { "\(syncs), slack \(slackBytes)" }

        /// Makes files so small that there are many of them, with room laid out for a few turns at a
        /// time.
        var options: JournalOptions {
            JournalOptions(
                sync: syncs == .always ? .always : .never,
                historyBytes: 600,
                segmentBytes: 1_500...1_500,
                slackBytes: slackBytes,
                laidOutBytes: 1_000
            )
        }
    }

    /// What was promised when the machine stopped.
    struct Promised {
        /// The state after each commit, and how many commits the journal had counted by then.
        var states: [State] = [[:]]
        var marks: [JournalMark] = [0]
        /// How many commits were certainly on disk, and how many had been told.
        var safe = 0
        var told = 0

        /// Notes that the journal said that everything up to this mark is on disk.
        mutating func noteSynced(_ mark: JournalMark) {
            while safe + 1 < marks.count, marks[safe + 1] <= mark { safe += 1 }
        }
    }

    /// Plays a session until it ends or the disk stops.
    static func play(_ disk: SimulatedDisk, _ manner: Manner, turns: Int = 25) -> Promised {
        var promised = Promised()
        var opened: TestJournal?
        do {
            let late = manner.syncs == .late ? LateWorker(disk) : nil
            let clock = PlayedClock(disk)
            let journal = try TestJournal(
                disk, options: manner.options, worker: late, time: clock.source
            )
            opened = journal
            for turn in 1...turns {
                clock.pass()
                for write in 0...(turn % 3) { step(journal, turn * 3 + write, &promised) }
                try journal.endTurn()
                if journal.isWritten { promised.told = promised.states.count - 1 }
                if manner.syncs == .always { promised.safe = promised.told }
                // If the last syncs were quick, a few replies are synced for on the loop's own thread.
                if turn % 4 == 0 { try journal.sync(for: turn % 8 == 0 ? 1 : .max) }
                promised.noteSynced(journal.synced)
                if turn % 4 == 2 { late?.doNext() }
            }
            try journal.close()
            if journal.isWritten { promised.safe = promised.told }
        } catch {
            // The machine stopped, or the disk failed. The recovery must cope with what is left.
            if !disk.isStopped { opened?.fail() }
        }
        return promised
    }

    private static func step(_ journal: TestJournal, _ number: Int, _ promised: inout Promised) {
        switch number % 7 {
        case 3 where journal.state["key.1"] != nil: journal.delete("key.1")
        case 5: journal.batch([("key.\(number % 4)", "\(number)"), ("other", "[\(number)]")])
        default: journal.publish("key.\(number % 4)", "\(number)")
        }
        promised.states.append(journal.state)
        promised.marks.append(journal.mark)
    }

    /// Opens a disk and finds out which of the promised states it holds. Equal disks are opened only once.
    private static func check(
        _ disk: SimulatedDisk,
        _ recoveries: Recoveries,
        _ promised: Promised,
        least: Int,
        _ place: String,
        boot: String = "boot-2"
    ) {
        let found = recoveries.outcome(of: disk, boot: boot).found
        if let complaint = complaint(found, promised, least: least) {
            Issue.record("\(place): \(complaint)")
        }
    }

    /// What is wrong with a disk after it is opened; nil if nothing is.
    static func complaint(
        _ disk: SimulatedDisk, _ promised: Promised, least: Int, boot: String, newEpoch: String = "e2"
    ) -> String? {
        let found = Result {
            let again = try TestJournal(disk, boot: boot, newEpoch: newEpoch)
            return (state: again.state, epoch: again.epoch)
        }
        return complaint(found, promised, least: least)
    }

    /// What is wrong with the result of opening a disk; nil if nothing is.
    static func complaint(
        _ found: Result<(state: State, epoch: String), any Error>, _ promised: Promised, least: Int
    ) -> String? {
        do {
            let (state, epoch) = try found.get()
            let place = promised.states.lastIndex { $0 == state } ?? -1
            if place < least { return "\(state), promised \(least)" }
            // The epoch may stay only if no revision that was told is missing.
            return epoch == "e1" && place < promised.told ? "the epoch goes on without what was told" : nil
        } catch {
            return "\(error)"
        }
    }

    @Test("a sync that only pretends is found", arguments: ["segment-", "snapshot-", ""])
    func pretending(start: String) {
        var random = SeededRandom(seed: 5)
        var complaints = 0
        for stop in 0..<Self.operations(.always) {
            let disk = SimulatedDisk()
            disk.stopsAt = stop
            disk.pretends = { start.isEmpty ? $0.isEmpty : $0.hasPrefix(start) }
            let promised = Self.play(disk, .always)
            for choice in 0..<6 {
                let left = disk.afterPowerCut { count in Self.choose(choice, count, &random) }
                if Self.complaint(left, promised, least: promised.safe, boot: "boot-2") != nil {
                    complaints += 1
                }
            }
        }
        #expect(complaints > 0)
    }

    @Test func `an epoch that is used again is found`() {
        var random = SeededRandom(seed: 5)
        var complaints = 0
        for stop in PlayedSessions.stopped(.seldom) {
            let promised = stop.promised
            let left = stop.disk.afterPowerCut { count in Self.choose(0, count, &random) }
            if Self.complaint(left, promised, least: promised.safe, boot: "boot-2", newEpoch: "e1") != nil {
                complaints += 1
            }
        }
        #expect(complaints > 0)
    }

    /// If a journal says that it was closed, the recovery believes it, and anything that is missing is
    /// damage.
    @Test(arguments: Manner.all)
    func `the last line is written when all before it is on disk, and is brought there`(manner: Manner) {
        for turns in 1...25 {
            let disk = SimulatedDisk()
            var wasSafe: [Bool] = []
            disk.beforeWrite = { [unowned disk] bytes in
                if String(decoding: bytes, as: UTF8.self).contains(#""event":"closed""#) {
                    wasSafe.append(disk.isSafe)
                }
            }
            _ = Self.play(disk, manner, turns: turns)
            #expect(wasSafe == [true] && disk.isSafe, "after \(turns) turns")
        }
    }

    @Test(arguments: Manner.all)
    func `a program killed at any operation loses nothing that was told`(manner: Manner) {
        let recoveries = Recoveries()
        for (number, stop) in PlayedSessions.stopped(manner).enumerated() {
            let place = "killed at \(number)"
            Self.check(stop.disk, recoveries, stop.promised, least: stop.promised.told, place, boot: "boot-1")
        }
    }

    @Test(arguments: Manner.all, [false, true])
    func `a machine that stops after a broker was killed, or its disk failed, loses nothing that was safe`(
        manner: Manner, fails: Bool
    ) throws {
        var random = SeededRandom(seed: 9)
        let recoveries = Recoveries()
        let ends = fails ? PlayedSessions.failed(manner) : PlayedSessions.stopped(manner)
        for (number, stop) in ends.enumerated() {
            var promised = stop.promised
            // The recovery may have found records that nobody was told of. What is written now builds on
            // them.
            let again = stop.disk.afterKill()
            let journal = try TestJournal(again, options: manner.options)
            promised.states.append(journal.state)
            journal.publish("after", "\(number)")
            promised.states.append(journal.state)
            try journal.endTurn()
            try journal.sync()
            for choice in 0..<4 {
                let left = again.afterPowerCut { count in Self.choose(choice, count, &random) }
                let place = "\(fails ? "failed" : "killed") at \(number), then stopped, \(choice)"
                Self.check(left, recoveries, promised, least: promised.states.count - 1, place)
            }
        }
    }

    @Test func `who follows on a disk that has failed serves nobody before it has written all anew`() throws {
        let disk = SimulatedDisk()
        let journal = try TestJournal(disk, options: .plain)
        journal.publish("a", "1")
        try journal.endTurn()
        disk.nextChangeFails = EIO
        #expect(throws: JournalError.self) { try journal.sync() }
        journal.fail()
        let again = disk.afterKill()
        #expect(try TestJournal(again, options: .plain).state == journal.state)
        #expect(again.files["failed"] == nil)
        #expect(try TestJournal(again.afterPowerCut { _ in 0 }, boot: "boot-2").state == journal.state)
        // If the disk fails once more meanwhile, all is written by whoever comes next.
        var refused = 0
        for operation in 0..<again.operations {
            let other = disk.afterKill()
            other.refusals[operation] = EIO
            if (try? TestJournal(other, options: .plain)) == nil {
                refused += 1
                #expect(try TestJournal(other, options: .plain).state == journal.state)
            }
            let left = other.afterPowerCut { _ in 0 }
            #expect(try TestJournal(left, boot: "boot-2").state == journal.state, "operation \(operation)")
        }
        #expect(refused > 3)
    }

    @Test func `what a killed broker left is brought to disk though nobody writes`() throws {
        let disk = SimulatedDisk()
        let journal = try TestJournal(disk, options: .plain)
        journal.publish("a", "1")
        try journal.endTurn()
        let again = disk.afterKill()
        _ = try TestJournal(again, options: JournalOptions(sync: .interval))
        let left = try TestJournal(again.afterPowerCut { _ in 0 }, boot: "boot-2")
        #expect(left.state["a"]?.value == "1")
    }

    @Test(arguments: Manner.all, [false, true])
    func `an operation that fails, whichever it is, costs nothing that was told`(manner: Manner, torn: Bool) {
        var random = SeededRandom(seed: 11)
        let recoveries = Recoveries()
        var failed: [String: Int] = [:]
        for (number, end) in PlayedSessions.failed(manner, torn: torn).enumerated() {
            let (disk, promised) = (end.disk, end.promised)
            let kind = disk.kinds[number]
            failed[kind, default: 0] += 1
            let place = "\(kind) \(number) failed"
            Self.check(disk, recoveries, promised, least: promised.told, place, boot: "boot-1")
            for choice in 0..<4 {
                let left = disk.afterPowerCut { count in Self.choose(choice, count, &random) }
                Self.check(left, recoveries, promised, least: promised.safe, place)
            }
        }
        for kind in ["write", "sync", "rename", "sync names", "create", "remove", "list", "reserve"] {
            #expect(failed[kind, default: 0] > 0, "\(kind)")
        }
        #expect((failed["lay out", default: 0] > 0) == (manner.syncs == .always))
        if torn { return }
        let kinds = ["write", "sync", "sync names", "rename"].map { "\($0) \(failed[$0, default: 0])" }
        LongSuite.print(
            "each of \(failed.values.reduce(0, +)) operations failed once (\(kinds.joined(separator: ", "))…), writes also by half, synced \(manner)"
        )
    }

    @Test func `a disk that is full for one operation, whichever it is, costs nothing that was written`() {
        let recoveries = Recoveries()
        for number in 0..<Self.operations(.always) {
            let disk = SimulatedDisk()
            disk.refusals[number] = ENOSPC
            let promised = Self.play(disk, .always)
            let place = "\(disk.kinds[number]) \(number)"
            Self.check(disk, recoveries, promised, least: promised.told, place, boot: "boot-1")
        }
    }

    /// What survives, by `choice`: nothing lost, everything lost, halves, or random parts.
    static func choose(_ choice: Int, _ count: Int, _ random: inout SeededRandom) -> Int {
        switch choice {
        case 0: 0
        case 1: min(1, count - 1)
        case 2: count - 1
        default: Int(random.next() % UInt64(count))
        }
    }

    static func operations(_ manner: Manner) -> Int {
        let disk = SimulatedDisk()
        _ = play(disk, manner)
        return disk.operations
    }
}
