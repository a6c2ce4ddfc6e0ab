// The file of the next segment, and how long it is.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("The next segment's file", .computing)
struct NextFileTests {
    private let disk = SimulatedDisk()
    private let time = SimulatedTime()
    private let next = "next.jsonl.unfinished"
    private static let options = JournalOptions(segmentBytes: 2_000...2_000)

    private func journal(_ options: JournalOptions = options) throws -> TestJournal {
        try TestJournal(disk, options: options, time: TimeSource(time))
    }

    /// Writes until a segment ends, this long after it began.
    private func fillSegment(
        _ journal: TestJournal, on disk: SimulatedDisk? = nil, after nanoseconds: UInt64 = 0
    ) throws {
        let disk = disk ?? self.disk
        let before = Self.segments(disk)
        time.advance(nanoseconds: nanoseconds)
        for number in 0..<10_000 where Self.segments(disk) == before {
            journal.publish("key.\(number % 5)", "\"\(String(repeating: "x", count: number % 100))\"")
            try journal.endTurn()
        }
    }

    private var segments: [String] { Self.segments(disk) }
    private static func segments(_ disk: SimulatedDisk) -> [String] {
        disk.files.keys.filter { $0.hasPrefix("segment-") }.sorted()
    }

    /// The bytes of the present segment.
    private var text: String { disk.text(segments.last ?? "") }

    @Test func `has its room before it is needed, and nothing is written to it until then`() throws {
        let journal = try journal()
        try fillSegment(journal)
        #expect(segments.count == 2)
        #expect(!disk.kinds.contains("lay out") && !text.contains("\n\n"))
        // The first file's room, and the second one's.
        #expect(disk.kinds.count { $0 == "reserve" } == 2)
        try fillSegment(journal)
        try journal.close()
        #expect(try TestJournal(disk.afterKill()).state == journal.state)
    }

    @Test func `is twice as long after one that filled fast, and half as long after a slow one`() throws {
        disk.capacity = 1 << 40
        let options = JournalOptions(historyBytes: 1_000_000, segmentBytes: 2_000...10_000)
        let journal = try journal(options)
        let fast = JournalLimits.segmentFastNanoseconds
        let slow = JournalLimits.segmentSlowNanoseconds
        var ends: [Int] = []
        for nanoseconds in [0, fast, fast, fast, fast + 1, slow, slow + 1, slow + 1, slow + 1, slow + 1] {
            let before = segments.last ?? ""
            try fillSegment(journal, after: nanoseconds)
            ends.append(disk.text(before).utf8.count / 1_000)
        }
        // One that ended decides on the one after it.
        #expect(ends == [2, 4, 8, 10, 10, 10, 10, 5, 2, 2])
    }

    @Test func `is short where the journal may not take up more than its tight bound`() throws {
        let options = JournalOptions(historyBytes: 1_000_000, segmentBytes: 2_000...10_000)
        let journal = try journal(options)
        for _ in 0..<5 { try fillSegment(journal) }
        for ended in segments.dropLast() { #expect(disk.text(ended).utf8.count < 2_300) }
    }

    @Test func `that finds no room is made when it is needed`() throws {
        let same = SimulatedDisk()
        try fillSegment(TestJournal(same, options: Self.options, time: TimeSource(time)), on: same)
        disk.refusals[try #require(same.kinds.lastIndex(of: "reserve"))] = ENOSPC
        let journal = try journal()
        try fillSegment(journal)
        #expect(segments.count == 2)
        #expect(disk.files[next] == nil)
        #expect(try TestJournal(disk.afterKill()).state == journal.state)
    }

    @Test func `is made although one of its name is left that could not be removed`() throws {
        let journal = try journal()
        let left = try disk.create("segment-0000000002.jsonl")
        _ = try left.append([UInt8](repeating: 0x0A, count: 10).span)
        journal.publish("key", "\"\(String(repeating: "x", count: 3_000))\"")
        try journal.endTurn()
        #expect(text.hasPrefix(#"{"event":"segment""#))
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

    @Test func `is the one that is written, also if it was made late and the disk was full meanwhile`() throws
    {
        let maker = LateWorker(disk) { $0.kind == .preparations }
        let options = JournalOptions(sync: .never, segmentBytes: 2_000...2_000)
        let journal = try TestJournal(disk, options: options, worker: maker, time: TimeSource(time))
        func write(while isWanted: () -> Bool) throws {
            for number in 0..<10_000 where isWanted() {
                journal.publish("key.\(number % 5)", "\"\(String(repeating: "x", count: number % 100))\"")
                try journal.endTurn()
            }
        }
        try write { maker.isDone }
        disk.capacity = disk.occupied
        #expect(try !journal.hasRoom(for: 1_000_000))
        disk.capacity = 1 << 26
        try journal.tick()
        let before = segments.count
        try write { segments.count == before }
        for _ in 0..<3 {
            try write { maker.isDone && segments.count < before + 3 }
            maker.doNext()
            journal.publish("long", "\"\(String(repeating: "x", count: 3_000))\"")
            try journal.endTurn()
        }
        try write { segments.count < before + 6 }
        #expect(try TestJournal(disk.afterKill()).state == journal.state)
        maker.finish()
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
