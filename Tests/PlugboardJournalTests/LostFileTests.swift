// A lost file of the journal, whichever it is, is noticed or not needed.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("A lost file")
struct LostFileTests {
    private let disk = SimulatedDisk()

    private func segment(_ number: Int) -> String { "segment-000000000\(number).jsonl" }

    /// A journal with some segments, whose broker was killed or has ended.
    private func written(_ count: Int = 18, isClosed: Bool) throws -> TestJournal {
        let options = JournalOptions(sync: .never, segmentBytes: 300...300)
        let journal = try TestJournal(disk, options: options)
        for number in 1...count {
            journal.publish("key.\(number % 7)", "\(number)")
            try journal.endTurn()
        }
        if isClosed { try journal.close() }
        return journal
    }

    private var newest: String { disk.files.keys.filter { $0.hasPrefix("segment-") }.max() ?? "" }
    private var signs: [String] {
        disk.files.keys.filter { $0.hasPrefix("newest-") || $0.hasPrefix("closed-") }
    }

    @Test("is named, even if it is the newest or the only one", arguments: [true, false], [1, 18])
    func newest(isClosed: Bool, count: Int) throws {
        _ = try written(count, isClosed: isClosed)
        let name = newest
        #expect((name == segment(1)) == (count == 1))
        try disk.remove(name)
        #expect(throws: JournalError.missing(file: name)) { _ = try TestJournal(disk) }
        #expect(throws: JournalError.missing(file: name)) { _ = try Journal.check(disk) { _, _ in } }
        #expect("\(JournalError.missing(file: name))" == "the journal is damaged: \(name) is missing")
    }

    @Test("is named, and so are two whose names were swapped")
    func middle() throws {
        _ = try written(isClosed: false)
        let (left, swapped) = (disk.afterKill(), disk.afterKill())
        try left.remove(segment(3))
        #expect(throws: JournalError.missing(file: segment(3))) { _ = try TestJournal(left) }
        try swapped.rename(segment(2), to: "aside")
        try swapped.rename(segment(3), to: segment(2))
        try swapped.rename("aside", to: segment(3))
        #expect(try damage { _ = try TestJournal(swapped) }?.file == segment(2))
    }

    @Test("is missed, too, if another journal's file is in its place, even if nothing says what was on disk")
    func foreign() throws {
        _ = try written(isClosed: false)
        let other = SimulatedDisk()
        let options = JournalOptions(sync: .never, segmentBytes: 300...300)
        let journal = try TestJournal(other, options: options, newEpoch: "e9")
        journal.publish("key.1", "1")
        try journal.endTurn()
        try disk.remove(segment(1))
        try disk.create(segment(1)).appendAll(Array(other.text(segment(1)).utf8).span)
        #expect(try damage { _ = try TestJournal(disk.afterKill(), boot: "boot-2", newEpoch: "e2") } != nil)
    }

    @Test("is named, even if all are lost")
    func all() throws {
        _ = try written(isClosed: true)
        let name = newest
        for file in disk.files.keys where file.hasPrefix("segment-") { try disk.remove(file) }
        #expect(throws: JournalError.missing(file: name)) { _ = try TestJournal(disk) }
    }

    @Test("at the beginning is described by the next file, because nothing says what it was")
    func first() throws {
        _ = try written(isClosed: true)
        try disk.remove(segment(1))
        #expect(throws: JournalError.missing(file: "what comes before \(segment(2))")) {
            _ = try TestJournal(disk)
        }
    }

    @Test("is listed by a repair, which continues with the rest in a new epoch", arguments: [1, 18])
    func repair(count: Int) throws {
        _ = try written(count, isClosed: true)
        let number = UInt64(newest.filter(\.isNumber)) ?? 0
        try disk.remove(newest)
        var repair = try JournalRepair(disk)
        let result = try #require(try repair.run(epoch: "repaired"))
        #expect(result.missingSegments == [number...number])
        let again = try TestJournal(disk, newEpoch: "e2")
        #expect(again.epoch == "e2" && again.recovered.isRepaired)
        #expect((again.state.count == 0) == (count == 1))
        let segments = disk.files.keys.filter { $0.hasPrefix("segment-") }
        #expect(segments.allSatisfy { UInt64($0.filter(\.isNumber)) ?? 0 > number })
    }

    @Test("may exist, but short or empty, after an orderly end")
    func short() throws {
        let journal = try written(isClosed: true)
        let name = newest
        let count = disk.text(name).utf8.count
        let lines = disk.text(name).split(separator: "\n").map { $0.utf8.count + 1 }
        for length in [0, 10, lines[0], count - (lines.last ?? 0), count - 1] {
            let left = disk.afterKill()
            left.shorten(name, to: length)
            #expect(try damage { _ = try TestJournal(left) }?.file == name)
        }
        #expect(try TestJournal(disk).state == journal.state)
    }

    @Test("may exist, but empty, if the machine hasn't stopped since", arguments: [1, 18])
    func empty(count: Int) throws {
        _ = try written(count, isClosed: false)
        let name = newest
        #expect((name == segment(1)) == (count == 1))
        disk.shorten(name, to: 0)
        #expect(try damage { _ = try TestJournal(disk.afterKill()) }?.file == name)
        // A machine that stopped may have lost what wasn't on disk.
        let again = try TestJournal(disk.afterKill(), boot: "boot-2", newEpoch: "e2")
        #expect(again.epoch == "e2")
    }

    @Test("may be the signpost, because a journal of an earlier program has none")
    func signpost() throws {
        var journal = try written(isClosed: true)
        #expect(signs == ["closed-\(newest.filter(\.isNumber))"])
        for _ in 1...2 {
            for sign in signs { try disk.remove(sign) }
            let again = try TestJournal(disk)
            #expect(again.state == journal.state && again.epoch == "e1")
            #expect(signs.count == 1 && signs[0].hasPrefix("newest-\(newest.filter(\.isNumber))-"))
            try again.close()
            journal = again
        }
    }

    @Test("may be the signpost of a broker that runs, which makes it anew with its next file")
    func presentSignpost() throws {
        let options = JournalOptions(sync: .never, segmentBytes: 300...300)
        let journal = try TestJournal(disk, options: options)
        let before = newest
        for sign in signs { try disk.remove(sign) }
        for number in 1...18 where newest == before {
            journal.publish("key", "\(number)")
            try journal.endTurn()
        }
        #expect(newest != before)
        #expect(signs.count == 1 && signs[0].hasPrefix("newest-\(newest.filter(\.isNumber))-"))
    }

    @Test("is not missed if a copy has brought older signposts, which are removed")
    func copied() throws {
        let journal = try written(isClosed: true)
        _ = try disk.create("newest-0000000001")
        _ = try disk.create("closed-0000000002")
        let again = try TestJournal(disk)
        #expect(again.state == journal.state)
        #expect(signs.count == 1 && signs[0].hasPrefix("newest-\(newest.filter(\.isNumber))-"))
    }

    @Test("is none with a name that no broker writes")
    func numbers() throws {
        let disk = SimulatedDisk()
        let names = [
            "newest-\(JournalLimits.fileNumberMax + 1)", "newest-\(UInt64.max)",
            "newest-0", "newest-7", "newest-00000000007", "newest-", "closed-x", "newest-0000000007-",
            "newest-0000000007-x", "newest-0000000007-0a", "newest-0000000007-1-1",
        ]
        for name in names {
            _ = try disk.create(name)
        }
        #expect(throws: Never.self) { _ = try TestJournal(disk) }
    }
}

extension JournalCrashTests {
    /// The states that a kill or a stop at every operation leaves. In each of them, every file is
    /// lost once.
    @Test(.timeLimit(.minutes(20)), arguments: Manner.all, [false, true])
    func `a file that is lost after a crash is missed, or wasn't needed`(manner: Manner, isKill: Bool) throws
    {
        var random = SeededRandom(seed: 13)
        var (lost, missed) = (0, 0)
        let recoveries = Recoveries()
        for (number, stop) in PlayedSessions.stopped(manner).enumerated() {
            let (disk, promised, choice) = (stop.disk, stop.promised, number % 5)
            let left =
                isKill ? disk.afterKill() : disk.afterPowerCut { Self.choose(choice, $0, &random) }
            for name in left.files.keys {
                let copy = left.afterKill()
                try copy.remove(name)
                lost += 1
                do {
                    let state = try recoveries.outcome(of: copy, boot: isKill ? "boot-1" : "boot-2").found
                        .get().state
                    let found = promised.states.lastIndex { $0 == state } ?? -1
                    #expect(
                        found >= (isKill ? promised.told : promised.safe), "\(name), stopped at \(number)"
                    )
                } catch is JournalError {
                    missed += 1
                }
            }
        }
        #expect(missed > lost / 10)
        LongSuite.print("\(lost) files lost after a crash, \(missed) of them missed, synced \(manner)")
    }
}
