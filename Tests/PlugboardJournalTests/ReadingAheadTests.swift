// A journal that another thread reads is recovered as one that the same thread reads.

import PlugboardJournal
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite(.someAtATime) struct ReadingAheadTests {
    /// Far more than may wait to be taken.
    private static let writes = 30_000
    private let disk = SimulatedDisk()

    /// What a recovery passed on, and what it found.
    private struct Outcome: Equatable {
        var records: [String] = []
        var revision: UInt64 = 0
        var torn: String?

        init(_ recover: (RecordTaker) throws -> Recovered) rethrows {
            var records: [String] = []
            let found = try recover { record, line in records.append("\(record.revision) \(String(line))") }
            self.records = records
            (revision, torn) = (found.revision, found.torn?.keptAs)
        }
    }

    private func write() throws {
        let journal = try TestJournal(disk, options: JournalOptions(sync: .never, slackBytes: 1 << 30))
        let value = "\"\(String(repeating: "x", count: 150))\""
        for number in 1...Self.writes { journal.publish("key.\(number % 1_000)", value) }
        try journal.endTurn()
    }

    private func direct(_ disk: SimulatedDisk) throws -> Outcome {
        try Outcome { try Journal.check(disk, $0) }
    }

    private func ahead(_ disk: SimulatedDisk) throws -> Outcome {
        try Outcome { try ReadingAhead().run(disk, boot: "", $0) }
    }

    @Test func `every record comes, in order`() throws {
        try write()
        let outcome = try ahead(disk.afterKill())
        #expect(outcome.records.count == Self.writes)
        #expect(try outcome == direct(disk.afterKill()))
    }

    @Test func `an empty folder has no record`() throws {
        #expect(try ahead(disk).records.isEmpty)
    }

    @Test func `a torn end is cut off`() throws {
        try write()
        let (name, text) = ("segment-0000000001.jsonl", disk.text("segment-0000000001.jsonl"))
        disk.shorten(name, to: text.utf8.count - 10)
        let outcome = try ahead(disk)
        #expect(outcome.records.count == Self.writes - 1)
        #expect(outcome.torn != nil)
        #expect(try direct(disk.afterKill()).torn == nil)
    }

    @Test func `damage ends it with its error`() throws {
        try write()
        disk.flip("segment-0000000001.jsonl", bit: 1_000_000)
        #expect(throws: JournalError.self) { try ahead(disk) }
    }
}
