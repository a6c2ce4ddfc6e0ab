// A segment of a journal with any content, such as a broken disk or a person with an editor may leave.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport

@testable import PlugboardJournal

enum JournalFuzz {
    private static let segment = "segment-0000000001.jsonl"
    private static let snapshot = "snapshot-0000000001.jsonl"

    /// The first byte says whether the lines get valid checksums, so that the code after that
    /// check is reached, and whether they are a snapshot.
    static func run(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let rest = Array(bytes.dropFirst())
        let text = first & 1 == 1 ? sealed(rest) : rest
        let disk = SimulatedDisk()
        write(text, as: first & 2 == 2 ? snapshot : segment, to: disk)
        for line in rest.lines { read(line.span) }
        repair(disk.afterKill())
        let seen = try? values(disk.afterKill())
        // What can be checked can also be opened, and gives the same result.
        guard let seen, let opened = try? open(disk) else { return }
        hold(opened == seen, "opened, it has other values")
        hold((try? values(disk)) == seen, "opened twice, it has other values")
    }

    private static func repair(_ disk: SimulatedDisk) {
        var repair = try? JournalRepair(disk)
        guard let repaired = try? repair?.run(epoch: "e") else { return }
        let seen = try? values(disk.afterKill())
        hold(seen?.count == repaired.keys, "what was repaired can't be read")
    }

    private static func read(_ line: Span<UInt8>) {
        guard let record = RecordLine(line) else { return }
        hold(record.key.bytes(of: line).count <= line.count, "a key longer than its line")
        _ = record.forEachWrite(of: line) { write, event in
            hold(write.value.bytes(of: event).count <= event.count, "a value longer than its line")
            hold(event.count <= line.count, "a write longer than its line")
        }
    }

    private static func values(_ disk: SimulatedDisk) throws -> [[UInt8]: [UInt8]] {
        var state: [[UInt8]: [UInt8]] = [:]
        _ = try Journal.check(disk) { record, line in take(record, line, &state) }
        return state
    }

    private static func open(_ disk: SimulatedDisk) throws -> [[UInt8]: [UInt8]] {
        var state: [[UInt8]: [UInt8]] = [:]
        var records = RecordBuffer(clock: { 1 })
        let (recovered, writer, _) = try Journal.open(
            disk,
            worker: ImmediateWorker(disk),
            options: JournalOptions(sync: .never),
            boot: "b",
            newEpoch: { "e" },
            records: &records
        ) { record, line in take(record, line, &state) }
        try writer.close(&records, revision: recovered.revision)
        return state
    }

    private static func take(_ record: RecordLine, _ line: Span<UInt8>, _ state: inout [[UInt8]: [UInt8]]) {
        let key = Array(record.key.bytes(of: line))
        state[key] = record.kind == .update ? Array(record.value.bytes(of: line)) : nil
    }

    private static func write(_ text: [UInt8], as name: String, to disk: SimulatedDisk) {
        guard let file = try? disk.create(name) else { return }
        _ = try? file.append(text.span)
        try? file.sync()
        try? disk.syncNames()
    }

    /// Each line with the checksum that continues the line before it.
    private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        var chain: UInt32 = 0
        for line in bytes.lines.dropLast() {
            var body = line
            if body.last == UInt8(ascii: "}") { body.removeLast() }
            chain = Checksum.extended(chain, by: body.span)
            let digits = String(chain, radix: 16)
            let padded = String(repeating: "0", count: 8 - digits.count) + digits
            text += body + Array(#","crc":"\#(padded)"}"#.utf8) + [0x0A]
        }
        return text
    }
}
