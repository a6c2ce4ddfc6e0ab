// Room that is laid out after the end of a segment, if writes wait for the disk one by one.
// It consists of empty lines, which the next records replace.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("Laid-out room", .computing)
struct LaidOutRoomTests {
    private let disk = SimulatedDisk()
    private let name = "segment-0000000001.jsonl"
    private let options = JournalOptions(sync: .always, laidOutBytes: 2_000)

    /// A journal in use with a few records, each brought to disk.
    private func written() throws -> TestJournal {
        let journal = try TestJournal(disk, options: options)
        for number in 1...5 {
            journal.publish("key.\(number % 2)", "\(number)")
            try journal.endTurn()
        }
        return journal
    }

    @Test func `after a kill it is the end of the journal, and nothing else`() throws {
        let journal = try written()
        #expect(disk.text(name).hasSuffix("\n\n\n"))
        #expect(disk.text(name).split(separator: "\n").count == 6)
        let left = disk.afterKill()
        var damages = 0
        try Journal.forEachLine(left) { record, _, _ in if record == nil { damages += 1 } }
        #expect(damages == 0)
        var repair = try JournalRepair(left.afterKill())
        #expect(try repair.run(epoch: "e2") == nil)
        let again = try TestJournal(left, options: options)
        #expect(again.state == journal.state)
        #expect(again.recovered.torn == nil)
        #expect(again.epoch == "e1")
        try again.close()
        #expect(try TestJournal(left.afterKill(), options: options).state == journal.state)
    }

    @Test func `it lasts for many writes, and is gone when the broker ends`() throws {
        let journal = try written()
        #expect(disk.kinds.count { $0 == "lay out" } == 1)
        for number in 1...20 {
            journal.publish("key", "\(number)")
            try journal.endTurn()
        }
        let times = disk.kinds.count { $0 == "lay out" }
        #expect(times > 1)
        #expect(times < 5)
        try journal.close()
        #expect(!disk.text(name).contains("\n\n"))
        #expect(try TestJournal(disk.afterKill(), options: options).state == journal.state)
    }

    @Test func `it is not laid out where writes are large, or nobody waits`() throws {
        let journal = try TestJournal(disk, options: options)
        for _ in 1...5 {
            journal.publish("key", "\"\(String(repeating: "x", count: 500))\"")
            try journal.endTurn()
        }
        #expect(disk.kinds.count { $0 == "lay out" } <= 1)
        let other = SimulatedDisk()
        let lazy = try TestJournal(other, options: JournalOptions(sync: .interval))
        lazy.publish("key", "1")
        try lazy.endTurn()
        try lazy.tick()
        #expect(!other.kinds.contains("lay out"))
    }

    @Test func `a byte that changes in it costs nothing`() throws {
        let journal = try written()
        let count = disk.text(name).utf8.count
        for byte in [count - 1, count - 100, count - 900] {
            let left = disk.afterKill()
            left.flip(name, bit: byte * 8 + 4)
            let again = try TestJournal(left, options: options)
            #expect(again.state == journal.state)
            #expect(again.recovered.torn != nil)
        }
    }

    @Test func `a record that is half in it was never written`() throws {
        let journal = try written()
        let before = journal.state
        journal.publish("key.0", "\"half\"")
        disk.stopsAt = disk.operations + 1
        #expect(throws: JournalError.self) { try journal.endTurn() }
        let left = disk.afterPowerCut { count in count - 1 }
        let again = try TestJournal(left, options: options, boot: "boot-2", newEpoch: "e2")
        #expect(again.state == before)
        #expect(again.recovered.torn != nil)
        #expect(again.epoch == "e2")
    }
}
