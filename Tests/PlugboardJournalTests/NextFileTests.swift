// The file of the next segment, which is laid out if segments fill fast.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("The next segment's file", .computing)
struct NextFileTests {
    private let disk = SimulatedDisk()
    private let time = SimulatedTime()
    private let next = "next.jsonl.unfinished"
    private static let options = JournalOptions(segmentBytes: 2_000, looseBytes: 100_000)

    private func journal(_ options: JournalOptions = options) throws -> TestJournal {
        try TestJournal(disk, options: options, time: TimeSource(time))
    }

    /// Writes until a segment ends. Half of it is full after this time.
    private func fillSegment(
        _ journal: TestJournal,
        on disk: SimulatedDisk? = nil,
        halfAfter nanoseconds: UInt64 = 0
    ) throws {
        let disk = disk ?? self.disk
        let before = Self.segments(disk)
        time.advance(nanoseconds: nanoseconds)
        for number in 0..<100 where Self.segments(disk) == before {
            journal.publish("key.\(number % 5)", "\"\(String(repeating: "x", count: number))\"")
            try journal.endTurn()
        }
    }

    private var segments: [String] { Self.segments(disk) }
    private static func segments(_ disk: SimulatedDisk) -> [String] {
        disk.files.keys.filter { $0.hasPrefix("segment-") }.sorted()
    }

    private var isLaidOut: Bool { disk.kinds.contains("lay out") }
    /// The bytes of the present segment.
    private var text: String { disk.text(segments.last ?? "") }

    @Test func `is laid out where a segment fills fast, and takes what follows`() throws {
        let journal = try journal()
        try fillSegment(journal)
        #expect(segments.count == 2)
        #expect(text.utf8.count == 2_000 && text.hasSuffix("\n\n\n"))
        try fillSegment(journal)
        try fillSegment(journal)
        #expect(disk.kinds.count { $0 == "lay out" } == 3)
        for ended in segments.dropLast() { #expect(!disk.text(ended).contains("\n\n")) }
        try journal.close()
        #expect(!text.contains("\n\n"))
        #expect(try TestJournal(disk.afterKill()).state == journal.state)
    }

    @Test func `is not laid out where half a segment takes longer than the limit`() throws {
        try fillSegment(try journal(), halfAfter: JournalLimits.fastHalfNanoseconds + 1)
        #expect(!isLaidOut)
    }

    @Test func `is laid out where it takes just as long`() throws {
        try fillSegment(try journal(), halfAfter: JournalLimits.fastHalfNanoseconds)
        #expect(isLaidOut)
    }

    @Test func `is not laid out where somebody waits for the disk`() throws {
        var always = Self.options
        always.sync = .always
        always.laidOutBytes = 0
        try fillSegment(try TestJournal(disk, options: always, time: TimeSource(time)))
        #expect(disk.kinds.contains("rename") && !isLaidOut)
        let other = SimulatedDisk()
        let durable = try TestJournal(other, options: Self.options, time: TimeSource(time))
        durable.publish("key", "1")
        try durable.endTurn()
        try durable.sync()
        for number in 0..<100 where other.files.count == 1 {
            durable.publish("key.\(number)", "\"\(String(repeating: "x", count: 100))\"")
            try durable.endTurn()
        }
        #expect(other.files.count == 2)
        #expect(!other.kinds.contains("lay out"))
    }

    @Test func `that finds no room is made when it is needed`() throws {
        let same = SimulatedDisk()
        try fillSegment(TestJournal(same, options: Self.options, time: TimeSource(time)), on: same)
        disk.refusals[try #require(same.kinds.firstIndex(of: "lay out"))] = ENOSPC
        let journal = try journal()
        try fillSegment(journal)
        #expect(segments.count == 2)
        #expect(disk.files[next] == nil)
        #expect(!text.contains("\n\n"))
        #expect(try TestJournal(disk.afterKill()).state == journal.state)
    }

    @Test func `is gone after a broker that ended, and after the start that follows a kill`() throws {
        let journal = try journal()
        while disk.files[next] == nil {
            journal.publish("key", "\"some text that fills it\"")
            try journal.endTurn()
        }
        let left = disk.afterKill()
        #expect(try TestJournal(left).state == journal.state)
        #expect(left.files[next] == nil)
        try journal.close()
        #expect(disk.files[next] == nil)
    }

    @Test func `is nothing that a crash tore where nothing was written to it`() throws {
        let journal = try journal()
        try fillSegment(journal)
        let written = text.utf8.count
        let left = disk.afterKill()
        left.files[segments.last ?? ""]?.bytes = Array(repeating: 0x0A, count: written)
        let again = try TestJournal(left, boot: "boot-2", newEpoch: "e2")
        #expect(again.state == journal.state)
        #expect(again.recovered.torn == nil)
        #expect(!left.files.keys.contains { $0.hasPrefix("torn-") })
    }

    @Test func `is put aside with what follows it where a crash left nothing but its room`() throws {
        let journal = try journal()
        try fillSegment(journal)
        let kept = journal.state
        try fillSegment(journal)
        #expect(segments.count == 3)
        let left = disk.afterKill()
        left.files[segments[1]]?.bytes = Array(repeating: 0x0A, count: 2_000)
        let again = try TestJournal(left, boot: "boot-2", newEpoch: "e2")
        #expect(again.recovered.torn?.place.offset == 0)
        #expect(left.files.keys.count { $0.hasPrefix("torn-") } == 2)
        #expect(again.state == kept)
        #expect(try TestJournal(left.afterKill(), boot: "boot-2").state == again.state)
    }

    @Test func `is kept aside without its room where a crash tore its last line`() throws {
        let journal = try journal()
        try fillSegment(journal)
        journal.publish("key", "1")
        try journal.endTurn()
        let left = disk.afterKill()
        let lines = text.split(separator: "\n").map(String.init)
        let kept = lines.dropLast().joined(separator: "\n") + "\n"
        let half = String((lines.last ?? "").dropLast(10))
        left.files[segments.last ?? ""]?.bytes = Array(
            (kept + half + String(repeating: "\n", count: 900)).utf8
        )
        let again = try TestJournal(left)
        #expect(again.recovered.torn?.place.offset == kept.utf8.count)
        let torn = left.files.keys.filter { $0.hasPrefix("torn-") }
        #expect(torn.map { left.text($0) } == [half + "\n"])
    }
}
