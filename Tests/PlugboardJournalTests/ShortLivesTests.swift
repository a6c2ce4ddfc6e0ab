// Brokers that end again and again before they have made a snapshot.

import PlugboardJournal
import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite(.computing) struct ShortLivesTests {
    /// Lives with a few writes each. A kill ends each of them before it has done any work that nobody waits for.
    private func live(_ lives: Int, writes: Int, options: JournalOptions) throws -> (SimulatedDisk, State) {
        var disk = SimulatedDisk()
        var state: State = [:]
        for life in 1...lives {
            let journal = try TestJournal(disk, options: options, worker: LateWorker(disk))
            #expect(journal.state == state)
            for write in 0..<writes { journal.publish("key.\((life + write) % 5)", "\(life)") }
            try journal.endTurn()
            state = journal.state
            disk = disk.afterKill()
        }
        return (disk, state)
    }

    @Test func `files do not become ever more`() throws {
        let (disk, state) = try live(300, writes: 1, options: .plain)
        let segments = disk.files.keys.filter { $0.hasPrefix("segment-") }
        let most = JournalLimits.overdueFactor * JournalLimits.looseSegmentsMax + 2
        #expect(segments.count <= most + JournalLimits.historySegmentsMax)
        #expect(disk.files.keys.count { $0.hasPrefix("snapshot-") } == 1)
        #expect(try TestJournal(disk, options: .plain).state == state)
    }

    @Test func `bytes do not become ever more`() throws {
        let (disk, state) = try live(60, writes: 40, options: .small)
        #expect(disk.used < 40_000)
        #expect(try TestJournal(disk).state == state)
    }

    @Test func `a snapshot is made at the start of a life, not only after its first second`() throws {
        let options = JournalOptions(sync: .never, historyBytes: 0, segmentBytes: 500...500, slackBytes: 900)
        let (disk, _) = try live(1, writes: 20, options: options)
        #expect(try JournalFiles(names: disk.names()).snapshots.isEmpty)
        _ = try TestJournal(disk, options: options)
        #expect(try !JournalFiles(names: disk.names()).snapshots.isEmpty)
    }

    @Test func `of the ends that crashes tore the newest are kept`() throws {
        var disk = SimulatedDisk()
        for life in 1...40 {
            let journal = try TestJournal(disk, boot: "boot-\(life)")
            for _ in 1...8 {
                journal.publish("key", String(repeating: "1", count: 100))
                try journal.endTurn()
            }
            disk = disk.afterKill()
            let last = try #require(disk.files.keys.filter { $0.hasPrefix("segment-") }.max())
            disk.shorten(last, to: disk.text(last).utf8.count - 3)
            #expect(life > 0)
        }
        let torn = disk.files.keys.filter { $0.hasPrefix("torn-") }
        #expect(torn.count > 0 && torn.count <= JournalLimits.tornFilesMax + 1)
    }

    /// Nine segments of 1,000 bytes that a snapshot replaces, and the present one.
    private func index() throws -> SegmentIndex {
        var recovered = Recovered(files: JournalFiles(names: []))
        recovered.revision = 100
        var index = try SegmentIndex(SimulatedDisk(), epoch: "e1", after: recovered)
        for number in UInt64(2)...10 {
            index.end(bytes: 1_000)
            index.begin(number, after: number * 100)
        }
        #expect(index.looseBytes == 9_000 && index.looseSegments == 9)
        index.snapshot = 9
        #expect(index.looseBytes == 0 && index.looseSegments == 0 && index.heldBytes == 9_000)
        return index
    }

    @Test func `segments stay while somebody reads them, up to a limit`() throws {
        var index = try index()
        #expect(index.segment(after: 99) == nil)
        #expect(index.segment(after: 100) == 1 && index.segment(after: 199) == 1)
        #expect(index.segment(after: 200) == 2 && index.segment(after: 5_000) == 10)
        #expect(index.bytesToKeep(2_000) == 2_000)
        index.pin(4)
        #expect(index.bytesToKeep(2_000) == 6_000)
        var other = index
        #expect(index.forgetOld(keeping: 6_000).map(\.number) == [1, 2, 3])
        #expect(index.heldBytes == 6_000)
        #expect(index.segment(after: 350) == nil && index.segment(after: 400) == 4)
        other.unpin(4)
        #expect(other.bytesToKeep(2_000) == 2_000)
    }

    @Test(
        "at least the wanted part of the history stays", arguments: [(0, 10), (1, 9), (1_000, 9), (1_001, 8)]
    )
    func history(bytes: Int, first: UInt64) throws {
        var index = try index()
        #expect(index.forgetOld(keeping: bytes).map(\.number) == Array(1..<first))
    }

    @Test func `what no snapshot replaces stays, and nobody reads across a gap or another epoch`() throws {
        var index = try index()
        index.snapshot = 4
        #expect(index.forgetOld(keeping: 0).map(\.number) == [1, 2, 3, 4])
        index.end(bytes: 10)
        index.begin(12, after: 1_200)
        #expect(index.segment(after: 1_199) == nil && index.segment(after: 1_200) == 12)
    }
}
