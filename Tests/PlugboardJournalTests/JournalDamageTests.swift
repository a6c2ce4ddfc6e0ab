// Bytes that change by themselves, and files that end too early, never give a wrong value.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite(.computing) struct JournalDamageTests {
    /// A journal of 100 records in one segment, closed in order, and all its states.
    private static func hundred() throws -> (SimulatedDisk, [State]) {
        let disk = SimulatedDisk()
        let journal = try TestJournal(disk, options: .plain)
        var states: [State] = [[:]]
        for number in 1...100 {
            if number % 9 == 0 {
                journal.delete("key.\((number - 1) % 10)")
            } else if number % 13 == 0 {
                journal.batch([("key.1", "\(number)"), ("key.2", "[\(number)]")])
            } else {
                journal.publish("key.\(number % 10)", "\(number)")
            }
            states.append(journal.state)
            try journal.endTurn()
        }
        try journal.close()
        return (disk, states)
    }

    private let name = "segment-0000000001.jsonl"

    @Test func `any changed bit is found, and nothing that was safe is missing`() throws {
        let (disk, states) = try Self.hundred()
        let count = disk.text(name).utf8.count
        var refused = 0
        // One bit of each byte is changed, or every bit in the long suite.
        let bits = LongSuite.isOn ? Array(0..<(count * 8)) : (0..<count).map { $0 * 8 + $0 % 8 }
        for bit in bits {
            let copy = disk.afterKill()
            copy.flip(name, bit: bit)
            do {
                let again = try TestJournal(copy, options: .plain)
                // Only the last line, which says that the broker ended in order, may be missing.
                #expect(again.state == states.last, "bit \(bit)")
            } catch is JournalError {
                refused += 1
            }
        }
        #expect(refused > bits.count * 9 / 10)
        LongSuite.print("\(bits.count) bits of a journal of 100 records flipped, \(refused) refused to start")
    }

    @Test func `damage in the middle refuses to start and names the place`() throws {
        let (disk, _) = try Self.hundred()
        disk.flip(name, bit: 8 * 4_000)
        let place = try damage { _ = try TestJournal(disk, options: .plain) }
        #expect(place?.file == name)
        #expect(3_501...4_000 ~= place?.offset ?? 0)
    }

    @Test func `zeros before other lines are damage, unless the machine has stopped since`() throws {
        let (disk, states) = try Self.hundred()
        try disk.rename("closed-0000000001", to: "newest-0000000001")
        let closing = disk.text(name).split(separator: "\n").last?.utf8.count ?? 0
        disk.shorten(name, to: disk.text(name).utf8.count - closing - 1)
        _ = try TestJournal(disk.afterKill(), options: .plain)
        for later in [false, true] {
            let left = disk.afterKill()
            if later { _ = try TestJournal(left, options: .plain) }
            let count = left.text(name).utf8.count
            let from = later ? count - 60 : count / 2
            for byte in from..<from + 60 { left.blank(name, byte: byte) }
            #expect(try damage { _ = try TestJournal(left.afterKill(), options: .plain) }?.file == name)
            let again = try TestJournal(left.afterKill(), options: .plain, boot: "boot-2", newEpoch: "e2")
            #expect(again.recovered.torn != nil && states.contains(again.state))
        }
    }

    @Test func `a cut at every byte of the last three records costs those alone`() throws {
        let (disk, states) = try Self.hundred()
        try disk.rename("closed-0000000001", to: "newest-0000000001")
        let text = disk.text(name)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        let lastThree = lines.suffix(4).reduce(0) { $0 + $1.utf8.count + 1 }
        let count = text.utf8.count
        for length in (count - lastThree)..<count {
            let copy = disk.afterKill()
            copy.shorten(name, to: length)
            let again = try TestJournal(copy, options: .plain)
            let whole = copy.afterKill().text(name).utf8.count { $0 == 0x0A } - 1
            #expect(again.state == states[min(100, whole)], "\(length) bytes")
            if again.recovered.torn != nil {
                #expect(copy.files.keys.contains { $0.hasPrefix("torn-") })
            }
        }
        LongSuite.print("a cut at each of the \(lastThree) bytes of the last three records and of the end")
    }

    @Test func `a torn end is cut off on a full disk, too, though it can't be kept there`() throws {
        let disk = SimulatedDisk()
        let journal = try TestJournal(disk, options: .plain)
        for number in 1...20 { journal.publish("key.\(number % 5)", "\(number)") }
        try journal.endTurn()
        let before = journal.state
        journal.publish("key", String(repeating: "1", count: 5_000))
        try journal.endTurn()
        let left = disk.afterKill()
        left.shorten(name, to: left.text(name).utf8.count - 3)
        left.capacity = left.occupied
        let again = try TestJournal(left, options: .plain)
        #expect(again.state == before)
        let torn = try #require(again.recovered.torn)
        #expect(torn.keptAs == nil)
        #expect(!left.files.keys.contains { $0.hasPrefix("torn-") })
    }
}
