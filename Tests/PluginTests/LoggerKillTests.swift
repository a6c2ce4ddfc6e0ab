// A logger that is killed at any moment, and what its log then says.

import Foundation
import PlugboardClient
import Synchronization
import TestSupport
import Testing

@Suite("The logger, killed", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct LoggerKillTests {
    /// A line of the log that says what was written.
    private struct Entry: Hashable {
        let revision: Int
        let key: String
        let value: Int?
    }

    /// What was written, in order.
    private final class Written: Sendable {
        private let entries = Mutex<[Entry]>([])
        private let count = Mutex(0)
        var all: [Entry] { entries.withLock { $0 } }
        var emits: Int { count.withLock { $0 } }
        func add(_ revision: Int, _ writes: [(String, Int?)]) {
            entries.withLock { $0 += writes.map { Entry(revision: revision, key: $0, value: $1) } }
        }
        func addEmit() { count.withLock { $0 += 1 } }
    }

    /// The lines of a log, without what the logger says of itself.
    private func lines(_ path: String) throws -> [JSON] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { try JSON(String($0)) }
            .filter { $0["key"]?.string != "logger.health" }
    }

    /// One write of each kind in turn: of a key, of a batch, of a long value, a delete, or an emit.
    private func write(_ bus: Bus, _ number: Int, _ written: Written) async throws {
        switch number % 6 {
        case 0:
            let writes = (0..<3).map { ("batch.\($0)", number) }
            written.add(try await bus.batch(writes.map { try .publish($0, $1) }), writes)
        case 1:
            try await bus.emit("emitted", number)
            written.addEmit()
        case 2: written.add(try await bus.delete("batch.1"), [("batch.1", nil)])
        default:
            let key = "single.\(number % 5)"
            written.add(try await bus.publish(key, number), [(key, number)])
        }
    }

    @Test(
        "under 250 writes a second no update is missing and none is there twice, and missing emits are counted"
    )
    func kills() async throws {
        let shop = try await Shop(isKept: true)
        let log = shop.folder + "/log"
        var trial = KillTrial {
            try shop.start("logger", ["--file", log, "--max-bytes", "100000000"])
        }
        // The first one begins with an empty bus, so that each write has to be in the log.
        let first = try trial.start()
        try await eventually("it listens") {
            try FileManager.default.fileExists(atPath: log) && !lines(log).isEmpty
        }
        try await first.stop(SIGKILL)
        let written = Written()
        let last = try await trial.run(rate: 250) {
            try await !shop.bus.who("single.1").observers.isEmpty
        } _: { number in
            try await self.write(shop.bus, number, written)
        }
        written.add(try await shop.bus.publish("end", 0), [("end", 0)])
        try await eventually("the log has the last write") {
            try lines(log).contains { $0["key"] == .string("end") }
        }
        #expect(try await last.stop() == 0)
        try compare(try lines(log), written)
    }

    private func compare(_ log: [JSON], _ written: Written) throws {
        func words(_ word: String) -> [JSON] { log.filter { $0["event"]?.string == word } }
        let changes = log.filter { ["update", "delete"].contains($0["event"]?.string) }
        let entries = changes.map { line in
            Entry(
                revision: line["revision"]?.integer ?? -1,
                key: line["key"]?.string ?? "",
                value: line["value"]?.integer
            )
        }
        let expected = written.all
        #expect(Set(entries).count == entries.count, "twice")
        #expect(Set(entries) == Set(expected), "missing: \(Set(expected).subtracting(entries))")
        #expect(entries.map(\.revision) == entries.map(\.revision).sorted())
        #expect(words("gap").isEmpty)
        let resumed = words("resumed")
        #expect(resumed.count > 1)
        let missing = resumed.compactMap { $0["emits"]?.integer }
        #expect(missing.count == resumed.count)
        let emits = words("emit").compactMap { $0["value"]?.integer }
        #expect(Set(emits).count == emits.count)
        #expect(emits.count + missing.reduce(0, +) == written.emits)
        LongSuite.print(
            "logger: \(KillTrial.kills) kills, \(expected.count) updates and deletes in the log, none missing or "
                + "twice; \(emits.count) of \(written.emits) emits, \(resumed.count) lines count "
                + "\(missing.reduce(0, +)) that are missing"
        )
    }

    @Test("half a line of a killed logger is removed, and its event is there once; other text stays")
    func halfALine() async throws {
        let shop = try await Shop(isKept: true)
        let log = shop.folder + "/log"
        let plugin = try shop.start("logger", ["--file", log])
        try await eventually("it listens") {
            try FileManager.default.fileExists(atPath: log) && !lines(log).isEmpty
        }
        try await shop.publish("a", "1")
        try await shop.publish("b", "2")
        #expect(try await plugin.stop() == 0)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        let end = try #require(text.range(of: #""key":"b""#))
        try String(text[..<end.lowerBound]).write(toFile: log, atomically: true, encoding: .utf8)
        let next = try shop.start("logger", ["--file", log])
        try await eventually("it has caught up") {
            let text = try String(contentsOfFile: log, encoding: .utf8)
            return text.split(separator: "\n").last?.contains(#""event":"synced""#) == true
        }
        #expect(try await next.stop() == 0)
        let words = try lines(log).map { "\($0["event"]?.string ?? "") \($0["key"]?.string ?? "")" }
        #expect(words == ["synced ", "update a", "resumed ", "update b", "synced "])
        try Data((String(contentsOfFile: log, encoding: .utf8) + "half").utf8).write(
            to: URL(fileURLWithPath: log)
        )
        let third = try shop.start("logger", ["--file", log])
        try await eventually("it has caught up") {
            try String(contentsOfFile: log, encoding: .utf8).contains("half\n{\"time\"")
        }
        #expect(try await third.stop() == 0)
    }

    @Test("emits that came while it was dead are counted once, and those before its first start never")
    func missedEmits() async throws {
        let shop = try await Shop(isKept: true)
        let log = shop.folder + "/log"
        try await shop.emit("bell", "0")
        var counts: [Int?] = []
        for round in 0..<5 {
            let plugin = try shop.start("logger", ["--file", log])
            try await eventually("it has caught up") {
                try FileManager.default.fileExists(atPath: log)
                    && lines(log).filter { $0["event"]?.string == "synced" }.count == round + 1
            }
            try await shop.emit("bell", "1")
            if round == 1 { try await shop.publish("a", "1") }
            if round > 1 { try await shop.emit("bell", "2") }
            let heard = [1, 2, 4, 6, 8][round]
            try await eventually("it has heard them") {
                try lines(log).filter { $0["event"]?.string == "emit" }.count == heard
            }
            try await plugin.stop(SIGKILL)
            for _ in 0..<round { try await shop.emit("nobody", "3") }
            if round == 3 { try await shop.publish("a", "2") }
        }
        counts = try lines(log).filter { $0["event"]?.string == "resumed" }.map { $0["emits"]?.integer }
        #expect(counts == [0, 1, 2, 3])
    }

    @Test("it goes on behind a line in an older file, and says gap if the broker forgot what came after")
    func olderFileAndGap() async throws {
        let shop = try await Shop()
        let log = shop.folder + "/log"
        let plugin = try shop.start("logger", ["--file", log, "--verbose"])
        try await eventually("it listens") { plugin.output.contains("synced") }
        try await shop.publish("a", "1")
        #expect(try await plugin.stop() == 0)
        try FileManager.default.moveItem(atPath: log, toPath: log + ".1")
        try await shop.publish("a", "2")
        let next = try shop.start("logger", ["--file", log, "--verbose"])
        try await eventually("it goes on") { next.output.contains("update a 2") }
        #expect(next.output.contains("#2 resumed (0 emits are missing)"))
        #expect(!next.output.contains("update a 1"))
        // A broker without a journal begins with nothing.
        try await shop.restartBroker()
        try await eventually("it says so") {
            next.output.contains(" gap (updates may be missing, emits may be missing)")
        }
        try await shop.publish("a", "3")
        #expect(try await next.stop() == 0)
        let words = try lines(log).map { "\($0["event"]?.string ?? "") \($0["revision"]?.integer ?? -1)" }
        #expect(words == ["resumed 2", "update 4", "synced 5", "gap 5", "delete 0", "synced 0", "update 2"])
    }
}
