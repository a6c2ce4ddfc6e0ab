// What was written comes back: values, writers and revisions, and the files that have them.

import PlugboardJournal
import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite(.computing) struct JournalTests {
    private let disk = SimulatedDisk()

    @Test func `what was written is there again`() throws {
        let journal = try TestJournal(disk)
        journal.publish("cart.total", "42.50", by: "price-indicator")
        journal.publish("cart.items", #"["a","b"]"#)
        journal.publish("cart.total", "43")
        journal.delete("cart.items")
        journal.batch([("a", "1"), ("b", #"{"x":[1,2,{}]}"#), ("cart.total", nil)])
        try journal.endTurn()
        try journal.close()
        let again = try TestJournal(disk.afterKill())
        #expect(again.state == journal.state)
        #expect(again.revision == 5)
        #expect(again.epoch == "e1")
        #expect(again.recovered.isClosed)
    }

    @Test func `records are lines that a person can read`() throws {
        let journal = try TestJournal(disk, options: .plain)
        journal.publish("cart.total", "42.50", by: "price-indicator")
        journal.batch([("a", "1"), ("b", nil)])
        try journal.endTurn()
        let lines = disk.text("segment-0000000001.jsonl").split(separator: "\n")
        #expect(
            lines[0].hasPrefix(
                #"{"event":"segment","version":1,"segment":1,"epoch":"e1","revision":0,"previous":"0","boot":"boot-1","when":1763730300123,"crc":""#
            )
        )
        #expect(
            lines[1].hasPrefix(
                #"{"event":"update","key":"cart.total","revision":1,"value":42.50,"by":"price-indicator","when":1763730300623,"crc":""#
            )
        )
        #expect(
            lines[2].hasPrefix(
                #"{"event":"batch","revision":2,"events":[{"event":"update","key":"a","revision":2,"value":1,"by":"me"},{"event":"delete","key":"b","revision":2,"by":"me"}],"when":1763730301123,"crc":""#
            )
        )
    }

    @Test func `a killed program loses nothing that was written`() throws {
        let journal = try TestJournal(disk)
        for number in 1...50 { journal.publish("key.\(number % 7)", "\(number)") }
        try journal.endTurn()
        journal.publish("never", "told")
        let again = try TestJournal(disk.afterKill())
        #expect(again.state["never"] == nil)
        #expect(again.revision == 50)
        #expect(again.epoch == "e1")
        #expect(again.state.count == 7)
    }

    @Test func `segments are put together and old ones removed`() throws {
        let journal = try TestJournal(disk)
        for number in 1...200 {
            journal.publish("key.\(number % 5)", "\(number)")
            if number % 11 == 0 { journal.delete("key.0") }
            try journal.endTurn()
        }
        let names = disk.files.keys
        #expect(names.count { $0.hasPrefix("snapshot-") } == 1)
        #expect(disk.used < 4_000)
        #expect(try TestJournal(disk.afterKill()).state == journal.state)
    }

    @Test func `a snapshot says the same as the segments that it replaces`() throws {
        let journal = try TestJournal(disk)
        for number in 1...200 {
            journal.publish("key.\(number % 5)", #"{"number":\#(number)}"#, by: "writer \(number % 3)")
            if number % 11 == 0 { journal.delete("key.0") }
            try journal.endTurn()
        }
        #expect(disk.files.keys.contains { $0.hasPrefix("snapshot-") })
        let again = try TestJournal(disk.afterKill())
        #expect(again.state == journal.state)
        #expect(again.revision == journal.revision)
        #expect(again.epoch == "e1")
        var repair = try JournalRepair(disk.afterKill())
        #expect(try repair.run(epoch: "e2") == nil)
    }

    /// Writes several segments, of which snapshots are made.
    private func play(_ disk: SimulatedDisk) throws -> TestJournal {
        let journal = try TestJournal(disk)
        for number in 1...300 {
            journal.publish("key.\(number % 5)", "\(number)")
            try journal.endTurn()
        }
        return journal
    }

    @Test func `names that can't be brought to disk end the journal, whoever wanted it`() throws {
        _ = try play(disk)
        let operations = disk.kinds.indices.filter { disk.kinds[$0] == "sync names" }
        #expect(operations.count > 10)
        for number in operations {
            let other = SimulatedDisk()
            other.refusals[number] = EIO
            let error = JournalError.failed(SystemError(code: EIO, operation: "sync names"))
            #expect(throws: error, "operation \(number)") { try play(other) }
        }
    }

    @Test func `a file that can't be removed now doesn't keep later ones, nor another snapshot`() throws {
        _ = try play(disk)
        for number in disk.kinds.indices where disk.kinds[number] == "remove" {
            let other = SimulatedDisk()
            other.refusals[number] = EIO
            let journal = try play(other)
            for case .compactionFailed(let message) in journal.news {
                Issue.record("operation \(number): \(message)")
            }
            let left = other.files.keys.count { $0.hasPrefix("segment-") }
            #expect(left <= disk.files.keys.count { $0.hasPrefix("segment-") } + 1, "operation \(number)")
            #expect(try TestJournal(other.afterKill()).state == journal.state)
        }
    }

    @Test func `a snapshot that was given too few values is told, and replaces nothing`() throws {
        let journal = try TestJournal(disk)
        journal.missingKeys = 1
        for number in 1...200 {
            journal.publish("key.\(number % 5)", "\(number)")
            try journal.endTurn()
        }
        #expect(journal.news.contains { if case .compactionFailed = $0 { true } else { false } })
        #expect(!disk.files.keys.contains { $0.hasPrefix("snapshot-") })
        #expect(try TestJournal(disk.afterKill()).state == journal.state)
    }

    @Test func `files that a snapshot has replaced are not brought to disk any more`() throws {
        var options = JournalOptions.small
        (options.sync, options.historyBytes) = (.interval, 0)
        let journal = try TestJournal(disk, options: options)
        for number in 1...100 {
            journal.publish("key", "\(number)")
            try journal.endTurn()
        }
        let segments = disk.files.keys.count { $0.hasPrefix("segment-") }
        let before = disk.kinds.count
        try journal.tick()
        let syncs = disk.kinds[before...].count { $0 == "sync" }
        #expect(syncs >= 1)
        #expect(syncs <= segments)
    }

    @Test func `no file is read again for a snapshot`() throws {
        let journal = try TestJournal(disk)
        let first = "segment-0000000001.jsonl"
        while disk.files[first]?.bytes.count ?? 0 < 300 {
            journal.publish("key", "1")
            try journal.endTurn()
        }
        disk.flip(first, bit: 8 * 250)
        for _ in 1...20 {
            journal.publish("key", "2")
            try journal.endTurn()
        }
        #expect(disk.files.keys.contains { $0.hasPrefix("snapshot-") })
        #expect(disk.files[first] == nil)
        #expect(try TestJournal(disk.afterKill()).state == journal.state)
    }

    @Test func `a value that an older broker kept without a time has that of its snapshot`() throws {
        let header = FileHeader(kind: .snapshot, segment: 1, epoch: "e", revision: 2, keys: 1)
        var lines = RecordBuffer(clock: { 5_999 })
        lines.begin(header)
        let body = Array(#"{"event":"update","key":"k","revision":2,"value":1,"by":"me""#.utf8)
        lines.append(body: body.span, when: 0)
        lines.append(own: header.end)
        try disk.create(JournalFiles.snapshot(1)).appendAll(lines.bytes)
        #expect(try TestJournal(disk).state == ["k": Held(value: "1", revision: 2, by: #""me""#, seconds: 5)])
    }

    @Test func `what a turn wrote before a write that is refused is on disk before anybody hears of it`()
        throws
    {
        disk.capacity = 1_200_000
        let journal = try TestJournal(disk, options: JournalOptions(sync: .always))
        journal.publish("a", "1")
        #expect(try !journal.hasRoom(for: 2_000_000))
        try journal.endTurn()
        // What wasn't synced is lost.
        let left = disk.afterPowerCut { min(1, $0 - 1) }
        #expect(try TestJournal(left, boot: "boot-2").state == journal.state)
    }

    @Test func `what was written is on disk after a broker that ended while the disk was full`() throws {
        disk.capacity = 1_200_000
        let journal = try TestJournal(disk, options: JournalOptions(sync: .interval))
        var kept: State = [:]
        for number in 0..<10_000 where journal.isWritten {
            kept = journal.state
            journal.publish("key.\(number)", "\"\(String(repeating: "x", count: 5_000))\"")
            try journal.endTurn()
        }
        #expect(!journal.isWritten)
        try journal.close()
        let left = disk.afterPowerCut { _ in 0 }
        #expect(try TestJournal(left, boot: "boot-2").state == kept)
    }

    @Test func `batches survive being put together`() throws {
        let journal = try TestJournal(disk)
        for number in 1...60 {
            journal.batch([
                ("a.\(number % 3)", "\(number)"), ("b.\(number % 4)", number % 5 == 0 ? nil : "[\(number)]"),
            ])
            try journal.endTurn()
        }
        #expect(disk.files.keys.contains { $0.hasPrefix("snapshot-") })
        #expect(try TestJournal(disk.afterKill()).state == journal.state)
    }

    @Test func `a machine that went down begins a new epoch, since something may be missing`() throws {
        let journal = try TestJournal(disk)
        journal.publish("a", "1")
        try journal.endTurn()
        let again = try TestJournal(disk.afterKill(), boot: "boot-2", newEpoch: "e2")
        #expect(again.recovered.mayLack)
        #expect(again.epoch == "e2")
        #expect(again.state == journal.state)
        try again.close()
        let third = try TestJournal(again.disk.afterKill(), boot: "boot-3", newEpoch: "e3")
        #expect(third.epoch == "e2")
    }

    @Test func `a full disk refuses, and takes what waited when there is room`() throws {
        disk.capacity = 2_500_000
        let journal = try TestJournal(disk, options: .plain)
        #expect(!journal.isFull)
        let long = "\"" + String(repeating: "x", count: 100_000) + "\""
        var written = 0
        while !journal.isFull {
            journal.publish("k.\(written)", long)
            try journal.endTurn()
            written += 1
        }
        #expect(disk.occupied <= disk.capacity && written > 10)
        #expect(journal.news.contains { if case .full(true) = $0 { true } else { false } })
        disk.capacity = 10_000_000
        try journal.tick()
        #expect(!journal.isFull)
        journal.publish("after", "1")
        try journal.endTurn()
        #expect(try TestJournal(disk.afterKill(), options: .plain).state == journal.state)
    }

    @Test func `a write that finds no room is told once, and again when there is room`() throws {
        disk.capacity = 1_500_000
        let journal = try TestJournal(disk, options: .plain)
        for _ in 0..<3 { #expect(try !journal.hasRoom(for: 1_000_000)) }
        #expect(try journal.hasRoom(for: 10_000))
        journal.publish("small", "1")
        try journal.endTurn()
        try journal.tick()
        #expect(journal.news.count == 1)
        disk.capacity = 10_000_000
        try journal.tick()
        #expect(journal.news.count == 2)
        #expect(try journal.hasRoom(for: 1_000_000))
        guard case .full(true) = journal.news[0], case .full(false) = journal.news[1] else {
            return #expect(Bool(false), "\(journal.news)")
        }
    }

    @Test func `a write that can never fit has no room made for it again and again`() throws {
        disk.capacity = 3_000_000
        let journal = try TestJournal(disk, options: JournalOptions(sync: .never, historyBytes: 0))
        #expect(try !journal.hasRoom(for: 5_000_000))
        for number in 1...30 {
            journal.publish("key", "\"\(number) \(String(repeating: "x", count: 70_000))\"")
            try journal.endTurn()
            try journal.tick()
        }
        let segments = disk.files.keys.filter { $0.hasPrefix("segment-") }
        #expect(segments.compactMap { Int($0.filter(\.isNumber)) }.max() ?? 0 < 15)
    }

    @Test func `a failed sync ends the journal`() throws {
        let journal = try TestJournal(disk)
        journal.publish("a", "1")
        try journal.endTurn()
        disk.refusals[disk.operations] = EIO
        #expect(throws: JournalError.failed(SystemError(code: EIO, operation: "sync"))) {
            try journal.sync()
        }
    }

    @Test func `a snapshot that can't be made is told, and everything stays`() throws {
        let journal = try TestJournal(disk)
        disk.capacity = 2_000
        for number in 1...10 {
            journal.publish("key.\(number)", "\(number)")
            try journal.endTurn()
        }
        #expect(journal.state.count == 10)
    }
}
