// What a repair saves of a damaged journal, and what it doesn't change.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("A repair", .computing)
struct JournalRepairTests {
    private static let options = JournalOptions(
        sync: .never, historyBytes: 1_000_000, segmentBytes: 300...300
    )

    /// A journal of six segments and its state.
    private static func segments() throws -> (SimulatedDisk, State) {
        let disk = SimulatedDisk()
        let journal = try TestJournal(disk, options: options)
        for number in 1...18 {
            if number == 12 {
                journal.delete("key.5")
            } else {
                journal.publish("key.\(number % 7)", "\(number)")
            }
            try journal.endTurn()
        }
        return (disk, journal.state)
    }

    private static func repaired(_ disk: SimulatedDisk) throws -> Repaired? {
        var repair = try JournalRepair(disk)
        return try repair.run(epoch: "repaired")
    }

    private func segment(_ number: Int) -> String { "segment-000000000\(number).jsonl" }

    @Test("changes nothing if nothing is damaged, nor if a crash tore the end")
    func whole() throws {
        let (disk, _) = try Self.segments()
        let last = try #require(disk.files.keys.filter { $0.hasPrefix("segment-") }.max())
        for cut in [0, 5] {
            disk.shorten(last, to: disk.text(last).utf8.count - cut)
            let before = disk.files.mapValues(\.bytes)
            #expect(try Self.repaired(disk) == nil)
            #expect(disk.files.mapValues(\.bytes) == before)
        }
    }

    @Test("reads again the segments that a damaged snapshot replaced", arguments: [true, false])
    func snapshot(hasOlder: Bool) throws {
        let (disk, state) = try Self.segments()
        // As an interrupted compaction leaves a journal, with older snapshots.
        let journal = try TestJournal(
            disk, options: JournalOptions(sync: .never, historyBytes: 1_000_000, slackBytes: 0)
        )
        _ = journal
        let snapshot = try #require(disk.files.keys.first { $0.hasPrefix("snapshot-") })
        #expect(try TestJournal(disk.afterKill(), options: Self.options).state == state)
        if hasOlder { disk.flip(snapshot, bit: 8 * 200) } else { disk.shorten(snapshot, to: 0) }
        #expect(throws: JournalError.self) { _ = try TestJournal(disk.afterKill(), options: Self.options) }
        let result = try #require(try Self.repaired(disk))
        #expect(result.keys == state.count && result.damageCount == 1 && result.missingSegments.isEmpty)
        #expect(result.kept.contains("damaged-" + snapshot))
        let again = try TestJournal(disk, newEpoch: "e2")
        #expect(again.state == state)
        #expect(again.recovered.isRepaired && again.epoch == "e2")
    }

    @Test(
        "takes the newest write of each key, though the names of files were swapped",
        arguments: [false, true])
    func swapped(lacksFirstLine: Bool) throws {
        let (whole, state) = try Self.segments()
        for (first, second) in (1...9).flatMap({ first in (1...9).map { (first, $0) } }) where first < second
        {
            let disk = whole.afterKill()
            if lacksFirstLine { disk.flip(segment(first), bit: 8) }
            try disk.rename(segment(first), to: "aside")
            try disk.rename(segment(second), to: segment(first))
            try disk.rename("aside", to: segment(second))
            _ = try Self.repaired(disk)
            #expect(try TestJournal(disk).state == state, "\(first) and \(second)")
        }
    }

    @Test("reads what comes after the snapshot, whatever the names of segments", arguments: [false, true])
    func named(isCopy: Bool) throws {
        let (disk, _) = try Self.segments()
        let options = JournalOptions(sync: .never, historyBytes: 1_000_000, slackBytes: 0)
        let journal = try TestJournal(disk, options: options)
        journal.publish("new", "1")
        journal.delete("key.1")
        try journal.endTurn()
        let names = disk.files.keys
        #expect(names.contains { $0.hasPrefix("snapshot-") })
        let newest = try #require(names.filter { $0.hasPrefix("segment-") }.max())
        if isCopy {
            // It has a key that was deleted before the snapshot.
            let old = try #require(names.filter { disk.text($0).contains(#""value":5,"#) }.min())
            let next = JournalFiles.segment(99)
            _ = try disk.create(next)
            disk.files[next]?.bytes = try #require(disk.files[old]).bytes
        } else {
            try disk.rename(segment(2), to: "aside")
            try disk.rename(newest, to: segment(2))
            try disk.rename("aside", to: newest)
        }
        let result = try #require(try Self.repaired(disk))
        #expect(result.missingSegments.isEmpty && result.damageCount == 0, "\(result)")
        #expect(try TestJournal(disk).state == journal.state)
    }

    @Test("leaves out a segment of another bus, and says so", arguments: [3, 9, 99] as [UInt64])
    func foreign(number: UInt64) throws {
        let ((disk, _), other, name) = (try Self.segments(), SimulatedDisk(), JournalFiles.segment(number))
        let journal = try TestJournal(other, options: Self.options, newEpoch: "other")
        for value in 1...9 { journal.publish("other.\(value)", "1") }
        try journal.endTurn()
        let isLost = disk.files[name] != nil
        if !isLost { _ = try disk.create(name) }
        disk.files[name]?.bytes = try #require(other.files[segment(1)]).bytes
        let result = try #require(try Self.repaired(disk))
        #expect(result.damages == ["\(name), line 1, byte 0: it is of another bus"])
        #expect(result.kept.contains("damaged-" + name))
        #expect(result.missingSegments == (isLost ? [number...number] : []))
        let keys = try TestJournal(disk).state.keys
        #expect(keys.count > 3 && keys.allSatisfy { $0.hasPrefix("key.") })
    }

    @Test(
        "reads on in the next epoch of the same bus, though what it follows is damaged",
        arguments: [false, true]
    )
    func epochs(isLastDamaged: Bool) throws {
        let (disk, _) = try Self.segments()
        let last = try #require(disk.files.keys.filter { $0.hasPrefix("segment-") }.max())
        let end = Array(disk.text(last).utf8).lastIndex(of: UInt8(ascii: "}")) ?? 0
        let next = try TestJournal(disk.afterKill(), options: Self.options, boot: "boot-2", newEpoch: "e2")
        for number in 1...9 {
            next.publish("next.\(number)", "1")
            try next.endTurn()
        }
        #expect(next.epoch == "e2")
        next.disk.flip(isLastDamaged ? last : segment(2), bit: 8 * (isLastDamaged ? end - 60 : 200))
        let result = try #require(try Self.repaired(next.disk))
        #expect(result.damageCount == 1 && result.missingSegments.isEmpty, "\(result.damages)")
        #expect(try TestJournal(next.disk).state.keys.count { $0.hasPrefix("next.") } == 9)
    }

    @Test("names a file that can't be opened, and reads the others")
    func locked() throws {
        let (disk, state) = try Self.segments()
        disk.locked = [segment(3)]
        let result = try #require(try Self.repaired(disk))
        #expect(result.damages.count == 1 && result.missingSegments.isEmpty)
        #expect(result.damages[0].hasPrefix("\(segment(3)), line 1, byte 0: it can't be opened: "))
        #expect(result.kept.contains("damaged-" + segment(3)))
        #expect(try TestJournal(disk).state.count >= state.count - 3)
    }

    @Test("has nothing to do if what can't be opened is old, and neither has a start")
    func lockedHistory() throws {
        let (disk, state) = try Self.segments()
        _ = try TestJournal(
            disk, options: JournalOptions(sync: .never, historyBytes: 1_000_000, slackBytes: 0))
        disk.locked = [segment(1)]
        #expect(try Self.repaired(disk) == nil)
        #expect(try TestJournal(disk, options: Self.options).state == state)
    }

    @Test("that was interrupted, wherever, is ended by the next one, which keeps all that was there")
    func interrupted() throws {
        let (disk, _) = try Self.segments()
        disk.flip(segment(3), bit: 8 * 200)
        let before = disk.files.mapValues(\.bytes).filter { $0.key.hasPrefix("segment-") }
        var stop = 0
        while true {
            let stopped = disk.afterKill()
            stopped.stopsAt = stop
            _ = try? Self.repaired(stopped)
            let left = stopped.afterKill()
            let result = try Self.repaired(left)
            #expect((result == nil) == !left.kinds.contains("rename"), "stopped at \(stop)")
            #expect(result.map { $0.keys == 6 } ?? true)
            for (name, bytes) in before { #expect(left.files["damaged-" + name]?.bytes == bytes) }
            #expect(throws: Never.self) { try TestJournal(left) }
            if !stopped.isStopped { break }
            stop += 1
        }
        #expect(stop > before.count)
    }

    @Test("names what is missing, however much that is")
    func missing() throws {
        let (disk, _) = try Self.segments()
        try disk.remove(segment(1))
        try disk.remove(segment(3))
        try disk.remove(segment(4))
        let last = try #require(disk.files.keys.filter { $0.hasPrefix("segment-") }.max())
        let number = JournalLimits.fileNumberMax / 2
        // Its first line would say that it has swapped its name.
        disk.flip(last, bit: 8)
        try disk.rename(last, to: "segment-\(number).jsonl")
        let result = try #require(try Self.repaired(disk))
        #expect(result.missingSegments.first == 1...1)
        #expect(result.missingSegments[1] == 3...4)
        #expect(result.missingSegments.last?.upperBound == number - 1)
        #expect(throws: Never.self) { try TestJournal(disk) }
    }

    @Test(
        "knows no file with a number that none gets, and neither does a start",
        arguments: ["segment", "snapshot"])
    func numbers(kind: String) throws {
        let disk = SimulatedDisk()
        for number in [JournalLimits.fileNumberMax + 1, .max] {
            _ = try disk.create("\(kind)-\(number).jsonl")
        }
        #expect(try Self.repaired(disk) == nil)
        #expect(throws: Never.self) { _ = try TestJournal(disk) }
    }

    @Test(
        "makes no journal that a start would refuse, and says which file is in the way",
        arguments: ["segment", "snapshot", "newest"]
    )
    func noNumber(kind: String) throws {
        let named = { (number: UInt64) in kind == "newest" ? "newest-\(number)" : "\(kind)-\(number).jsonl" }
        let most = JournalLimits.fileNumberMax / 2
        for number in [most + 1, JournalLimits.fileNumberMax] {
            let name = named(number)
            let (disk, _) = try Self.segments()
            _ = try disk.create(name)
            let before = disk.files.mapValues(\.bytes)
            #expect(throws: JournalError.noNumber(after: name)) { _ = try Self.repaired(disk) }
            #expect(disk.files.mapValues(\.bytes) == before)
        }
        let (disk, state) = try Self.segments()
        _ = try disk.create(named(most))
        #expect(try Self.repaired(disk)?.keys == state.count)
        #expect(try TestJournal(disk).state == state)
    }

    @Test("keeps what was made in this folder, though more files are of another bus", arguments: [1, 2])
    func madeHere(foreignCount: Int) throws {
        let folders = (try TemporaryFolder(), try TemporaryFolder())
        let (own, other) = (try DataFolder(path: folders.0.path), try DataFolder(path: folders.1.path))
        for _ in 1...2 { try Self.write("own", to: own) }
        for _ in 1...foreignCount { try Self.write("other", to: other) }
        try own.remove(JournalFiles.segment(1))
        for (number, name) in zip([1, 3] as [UInt64], try other.names().filter { $0.hasPrefix("segment-") }) {
            let bytes = try InputFile.contents(path: folders.1(name), limit: 1_000_000)
            _ = try own.create(JournalFiles.segment(number)).append(bytes.span)
        }
        var repair = try JournalRepair(own)
        let result = try #require(try repair.run(epoch: "repaired"))
        #expect(result.damages.count == foreignCount, "\(result.damages)")
        #expect(result.damages.allSatisfy { $0.hasSuffix("it is of another bus") })
        #expect(result.keys == 1)
    }

    /// Writes a key, as a broker does from its start to its end.
    private static func write(_ key: String, to store: any FileStore) throws {
        var records = RecordBuffer(clock: { 1 })
        let (recovered, writer, _) = try Journal.open(
            store,
            worker: ImmediateWorker(store),
            options: JournalOptions(sync: .interval),
            boot: "boot",
            newEpoch: { key },
            records: &records
        ) { _, _ in }
        var by = ByteBuffer()
        by.append(string: #","by":"me""#)
        let (name, value) = (Array(key.utf8), Array("1".utf8))
        let revision = recovered.revision + 1
        records.append(Commit(key: name.span, revision: revision, value: value.span, by: by.bytes))
        try writer.flush(&records, revision: revision)
        try writer.close(&records, revision: revision)
    }

    @Test("doesn't change the journal of a later program")
    func later() throws {
        let (disk, _) = try Self.segments()
        let file = try disk.create("segment-0000000050.jsonl")
        var text =
            #"{"event":"segment","version":2,"segment":50,"epoch":"e","revision":1,"previous":"0","boot":"""#
        let checksum = Checksum.extended(0, by: Array(text.utf8).span)
        let digits = String(checksum, radix: 16)
        text += #","crc":"\#(String(repeating: "0", count: 8 - digits.count) + digits)"}"# + "\n"
        _ = try file.append(Array(text.utf8).span)
        let before = disk.files.mapValues(\.bytes)
        #expect {
            _ = try Self.repaired(disk)
        } throws: { error in
            if case .unknownVersion? = error as? JournalError { true } else { false }
        }
        #expect(disk.files.mapValues(\.bytes) == before)
    }
}
