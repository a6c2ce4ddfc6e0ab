// How often a journal lists its folder. With a long history that takes longer than what it is for.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("Listing a journal's folder", .computing)
struct ListingTests {
    private let disk = SimulatedDisk()

    private var lists: Int { disk.kinds.count { $0 == "list" } }
    private func names(_ start: String) -> Set<String> { Set(disk.files.keys.filter { $0.hasPrefix(start) }) }

    /// Writes until so many more segments have begun. Returns how many snapshots were made meanwhile.
    private func fill(_ journal: TestJournal, segments count: Int) throws -> Int {
        var (segments, snapshots) = (names("segment-"), names("snapshot-"))
        let before = (segments.count, snapshots.count)
        while segments.count < before.0 + count {
            journal.publish("key", "\"\(String(repeating: "x", count: 100))\"")
            try journal.endTurn()
            segments.formUnion(names("segment-"))
            snapshots.formUnion(names("snapshot-"))
        }
        return snapshots.count - before.1
    }

    @Test func `happens once for a snapshot, and not for files that come and go`() throws {
        let options = JournalOptions(historyBytes: 20_000, segmentBytes: 2_000...2_000, slackBytes: 20_000)
        let journal = try TestJournal(disk, options: options)
        _ = try fill(journal, segments: 40)
        let before = lists
        let snapshots = try fill(journal, segments: 40)
        #expect(snapshots > 0 && snapshots < 20)
        #expect(lists - before == snapshots)
        // What a listing would have found is gone.
        #expect(names("segment-").count < 40)
        #expect(try TestJournal(disk.afterKill(), options: options).state == journal.state)
    }

    @Test func `isn't necessary to remove segments`() throws {
        for number in 2...4 as ClosedRange<UInt64> { _ = try disk.create(JournalFiles.segment(number)) }
        for number in 2...3 as ClosedRange<UInt64> {
            ImmediateWorker(disk).add(.trim(number, closing: nil, bytes: 0))
        }
        #expect(names("segment-") == [JournalFiles.segment(4)])
        #expect(lists == 0)
    }

    @Test func `isn't necessary to create a file instead of an old one`() throws {
        let old = try disk.create("name")
        _ = try old.append([1, 2, 3].span)
        _ = try disk.createAnew("name")
        #expect(disk.files["name"]?.bytes == [] && lists == 0)
        disk.capacity = 0
        #expect(throws: SystemError.self) { try disk.createAnew("other") }
    }
}
