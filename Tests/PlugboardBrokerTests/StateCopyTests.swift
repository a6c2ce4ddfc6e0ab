// A snapshot that is made of the values in memory, some of them in each turn, while clients write on.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker
@testable import PlugboardJournal

@Suite("A snapshot of the state", .computing)
struct StateCopyTests {
    private let test = TestHub()
    private let disk = SimulatedDisk()
    private let client: SessionHandle

    init() throws {
        // A large disk, on which nobody waits for a snapshot.
        disk.capacity = 1 << 34
        let options = JournalOptions(
            sync: .never,
            historyBytes: 0,
            segmentBytes: 50_000...50_000,
            leewayBytes: 5_000_000...5_000_000,
            slackBytes: -2_500_000
        )
        try test.keepJournal(on: disk, options)
        client = test.client()
    }

    private var snapshots: [String] { disk.files.keys.filter { $0.hasPrefix("snapshot-") }.sorted() }

    /// Each key with its revision and value, as a snapshot would have it now.
    private func state() -> Set<String> {
        var all: Set<String> = []
        CarriedValues(.system).forEach(in: test.hub.keyspace, test.hub.deadlines) { commit in
            all.insert(
                "\(String(commit.key)) \(commit.revision) \(String(commit.value)) \(commit.expires > 0)")
        }
        return all
    }

    /// The same of a snapshot's lines.
    private func read(_ name: String) throws -> [String] {
        let text = String(decoding: disk.files[name]?.bytes ?? [], as: UTF8.self)
        return try text.split(separator: "\n").compactMap { line in
            guard line.hasPrefix(#"{"event":"update""#) else { return nil }
            let node = try JSONNode(Array(line.utf8))
            let (key, revision) = (node["key"]?.string ?? "", node["revision"]?.text ?? "")
            return "\(key) \(revision) \(node["value"]?.text ?? "") \(node["expires"] != nil)"
        }
    }

    /// One random change of one of the keys.
    private func change(_ random: inout SeededRandom) {
        let key = "k\(random.below(1_300))"
        switch random.below(8) {
        case 0, 1: test.tell("delete \(key)", from: client)
        case 2: test.tell(#"{"op":"publish","key":"\#(key)","value":2,"ttl":100000}"#, from: client)
        case 3:
            let more = #"{"op":"publish","key":"new\#(random.below(50))","value":3}"#
            test.tell(#"{"op":"batch","writes":[{"op":"delete","key":"\#(key)"},\#(more)]}"#, from: client)
        default: test.tell("publish \(key) \(random.below(1_000))", from: client)
        }
    }

    @Test("has what was there when it began, whatever is written meanwhile", arguments: 1...12)
    func moment(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for number in 0..<1_000 { test.tell("publish k\(number) 1", from: client) }
        let kept = test.hub.durability.journal
        let journal = try #require(kept)
        for _ in 0..<6 {
            // The file ends with a turn.
            while !journal.hasEndedSegment
                || !journal.isCompactionWorthwhile(test.hub.durability.records.liveBytes)
            {
                try endTurn(&random)
            }
            let expected = state()
            let before = snapshots
            _ = test.hub.beginSnapshot()
            let isCopying = test.hub.durability.isCopying
            #expect(isCopying)
            while test.hub.durability.isCopying {
                for _ in 0..<random.below(120) { change(&random) }
                test.dropTurn()
                test.hub.goOnWithSnapshot(effort: 0)
            }
            try endTurn(&random)
            let name = try #require(snapshots.last)
            #expect(before.last != name)
            let values = try read(name)
            #expect(values.count == expected.count)
            #expect(Set(values) == expected)
        }
    }

    /// Writes 40 values of 100,000 bytes, until a snapshot is begun. Returns what it should have.
    private func writeLong() throws -> Set<String> {
        for number in 0..<200 {
            let before = state()
            let value = String(repeating: "x", count: 100_000)
            test.tell("publish long\(number % 40) \"\(value)\"", from: client)
            if test.hub.durability.isCopying { return before }
            try test.hub.keepRecords()
            _ = test.hub.beginSnapshot()
            if test.hub.durability.isCopying { return state() }
            test.dropTurn()
        }
        throw NeverHappened(description: "no snapshot was begun")
    }

    @Test("has a value that is overwritten meanwhile at once, so that only a piece of it is in memory")
    func overwritten() throws {
        _ = try writeLong()
        for number in 0..<40 { test.tell("publish long\(number) 1", from: client) }
        let isCopying = test.hub.durability.isCopying
        #expect(isCopying)
        let file = disk.files.first { $0.key.hasSuffix(JournalFiles.unfinished("")) }
        #expect(try #require(file).value.bytes.count > 3_800_000)
    }

    @Test("of long values takes many turns, and waits while the disk doesn't take it")
    func slices() throws {
        var random = SeededRandom(seed: 1)
        let expected = try writeLong()
        var turns = 0
        while test.hub.durability.isCopying {
            test.hub.goOnWithSnapshot(effort: 0)
            turns += 1
        }
        #expect(turns >= 3)
        try endTurn(&random)
        let name = try #require(snapshots.last)
        #expect(Set(try read(name)) == expected)
        let file = SnapshotFile(try disk.create("held"))
        file.noteWaiting(JournalLimits.snapshotWaitingBytesMax + 1)
        let held = StateSnapshot(
            FileHeader(kind: .snapshot, segment: 1, epoch: "e", revision: 1), file, when: 1, write: { _ in })
        let isHeldUp = held.isHeldUp
        #expect(isHeldUp)
        file.append([1])
        let isFree = !held.isHeldUp
        #expect(isFree)
    }

    private func endTurn(_ random: inout SeededRandom) throws {
        for _ in 0..<5 { change(&random) }
        try test.keepTurn()
    }
}
