import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

@Suite("The logger on the bus", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct LoggerPluginTests {
    /// A shop with a running logger, and the path of its file.
    private func open(_ arguments: [String] = []) async throws -> (Shop, TestProgram, String) {
        let shop = try await Shop()
        try await shop.publish("old", "1")
        let log = shop.folder + "/log"
        let plugin = try shop.start("logger", ["--file", log] + arguments)
        try await eventually("it listens") {
            guard FileManager.default.fileExists(atPath: log) else { return false }
            return try lines(log).contains { $0.contains(#""event":"synced""#) }
        }
        return (shop, plugin, log)
    }

    /// The lines of a log, without what the logger says of itself.
    private func lines(_ path: String) throws -> [String] {
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        return text.split(separator: "\n").map(String.init).filter { !$0.contains("logger.health") }
    }

    /// A line without its time, which must be valid, and without its epoch.
    private func withoutTime(_ line: String) throws -> String {
        let time = try Regex(#"^\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","#)
        #expect(line.contains(time))
        let epoch = try Regex(#","epoch":"[0-9a-f]{16}"\}$"#)
        return "{" + line.replacing(time, with: "").replacing(epoch, with: "}")
    }

    @Test(
        "while the disk is full it says so and keeps trying, and then nothing is missing",
        .enabled(if: hasFullDisk))
    func fullDisk() async throws {
        let shop = try await Shop()
        try await shop.publish("old", "1")
        let (link, real) = (shop.folder + "/log", shop.folder + "/real")
        try FileCopy.link(at: link, to: "/dev/full")
        let plugin = try shop.start("logger", ["--file", link])
        try await eventually("it says so") { plugin.errors.contains("can't be written: No space left") }
        try await eventually("its health says so, too") {
            let health = try await shop.bus.get("logger.health", as: JSON.self)
            return health?["state"]?.string == "degraded"
                && health?["message"]?.string?.contains("No space left") == true
        }
        try await shop.publish("new", "2")
        try await shop.emit("told", "3")
        #expect(plugin.isRunning)
        try FileCopy.remove(link)
        try FileCopy.link(at: link, to: real)
        plugin.signal(SIGHUP)
        try await eventually("all is there") {
            guard FileManager.default.fileExists(atPath: real) else { return false }
            return try lines(real).contains { $0.contains(#""event":"emit""#) }
        }
        let keys = try lines(real).compactMap { try JSON(bytes: Array($0.utf8))["key"]?.string }
        #expect(keys == ["old", "new", "told"])
        try await eventually("it is well") {
            try await shop.bus.get("logger.health", as: JSON.self)?["state"]?.string == "well"
        }
        #expect(try await plugin.stop() == 0)
        #expect(plugin.errors.split(separator: "\n").count { $0.contains("can't be written") } == 1)
    }

    @Test("while the disk is full it can be ended", .enabled(if: hasFullDisk))
    func endsWithFullDisk() async throws {
        let shop = try await Shop()
        for number in 0..<3_000 { try await shop.publish("many.\(number)", "1") }
        let plugin = try shop.start("logger", ["--file", "/dev/full"])
        try await eventually("it says so") { plugin.errors.contains("can't be written: No space left") }
        #expect(try await plugin.stop() != nil)
    }

    private static let hasFullDisk = FileManager.default.fileExists(atPath: "/dev/full")

    @Test("every event is one JSON line with its time, and with --verbose one line for people")
    func events() async throws {
        let (shop, plugin, log) = try await open(["--verbose"])
        try await shop.publish("a.b", #"{"price":1.50}"#)
        try await shop.emit("c", "[true]")
        try await shop.bus.delete("a.b")
        #expect(try await plugin.stop() == 0)
        let lines = try lines(log).map(withoutTime)
        #expect(
            lines == [
                #"{"event":"update","key":"old","revision":1,"value":1,"by":"test","initial":true}"#,
                #"{"event":"synced","revision":2}"#,
                #"{"event":"update","key":"a.b","revision":3,"value":{"price":1.50},"by":"test"}"#,
                #"{"event":"emit","key":"c","revision":3,"value":[true],"by":"test"}"#,
                #"{"event":"delete","key":"a.b","revision":4,"by":"test"}"#,
            ]
        )
        let shown = plugin.output.split(separator: "\n").filter { !$0.contains("logger.health") }
        #expect(shown.first == "writing to \(log)")
        #expect(
            shown.dropFirst().map { $0.drop { $0 != "#" } } == [
                "#1 initial update old 1 by test", "#2 synced", #"#3 update a.b {"price":1.50} by test"#,
                "#3 emit c [true] by test", "#4 delete a.b by test",
            ]
        )
    }

    @Test("as logrotate expects, it opens its file again at SIGHUP, loses nothing, and says how it is")
    func hangUp() async throws {
        let (shop, plugin, log) = try await open()
        #expect(try await shop.bus.entry("logger.health")?.value["state"]?.string == "well")
        for round in 1...3 {
            for number in 1...100 { try shop.bus.pipeline.emit("n", JSON.integer(100 * round + number)) }
            try FileManager.default.moveItem(atPath: log, toPath: "\(log)-\(round)")
            plugin.signal(SIGHUP)
            try await eventually("it is there again") { FileManager.default.fileExists(atPath: log) }
        }
        try FileManager.default.moveItem(atPath: log, toPath: "\(log)-4")
        try FileManager.default.createDirectory(atPath: log, withIntermediateDirectories: true)
        plugin.signal(SIGHUP)
        try await eventually("it says so") {
            try await shop.bus.entry("logger.health")?.value["state"]?.string == "degraded"
        }
        let health = try await shop.bus.entry("logger.health")?.value["message"]?.string
        #expect(health?.contains("\(log) can't be opened: Is a directory") == true)
        try await shop.emit("n", "500")
        #expect(try await plugin.stop() == 0)
        let values = try (1...4).flatMap { try lines("\(log)-\($0)") }.compactMap { line in
            let json = try JSON(line)
            return json["key"]?.string == "n" ? json["value"]?.integer : nil
        }
        #expect(values == Array(101...400) + [500])
    }

    @Test("without values it logs which keys change")
    func withoutValues() async throws {
        let (shop, plugin, log) = try await open(["--no-values"])
        try await shop.publish("a.b", #"{"card":"4111"}"#)
        try await shop.emit("c", "[true]")
        #expect(try await plugin.stop() == 0)
        #expect(
            try lines(log).map(withoutTime) == [
                #"{"event":"update","key":"old","revision":1,"by":"test","initial":true}"#,
                #"{"event":"synced","revision":2}"#,
                #"{"event":"update","key":"a.b","revision":3,"by":"test"}"#,
                #"{"event":"emit","key":"c","revision":3,"by":"test"}"#,
            ]
        )
        #expect(!plugin.output.contains("4111"))
    }

    @Test("rotation loses nothing: two thousand events are in many files, once each, in order")
    func rotation() async throws {
        let (shop, plugin, log) = try await open(["--max-bytes", "8192", "--keep", "1000"])
        for number in 1...2_000 { try shop.bus.pipeline.publish("n.\(number % 7)", JSON.integer(number)) }
        _ = try await shop.bus.sync()
        #expect(try await plugin.stop() == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: shop.folder)
        let numbers = names.filter { $0.hasPrefix("log.") }.compactMap { Int($0.dropFirst(4)) }.sorted(by: >)
        #expect(numbers.count > 10)
        #expect(numbers == Array(stride(from: numbers.count, through: 1, by: -1)))
        var values: [Int] = []
        for path in numbers.map({ "\(log).\($0)" }) + [log] {
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count <= 8_192)
            for line in try lines(path) {
                let json = try JSON(line)
                if json["key"]?.string?.hasPrefix("n.") == true { values += [json["value"]?.integer ?? -1] }
            }
        }
        #expect(values == Array(1...2_000))
        #expect(plugin.output == "writing to \(log)\n")
        #expect(plugin.errors.isEmpty)
    }

    @Test(
        "everything that the broker did before the end was requested is in the file", arguments: [1, 5_000])
    func stopping(_ count: Int) async throws {
        let (shop, plugin, log) = try await open()
        for number in 1...count { try shop.bus.pipeline.emit("n", JSON.integer(number)) }
        _ = try await shop.bus.sync()
        #expect(try await plugin.stop() == 0)
        let values = try lines(log).compactMap { line in
            let json = try JSON(line)
            return json["key"]?.string == "n" ? json["value"]?.integer : nil
        }
        #expect(values == Array(1...count))
    }

    @Test("characters that could control a terminal are shown as escapes, and are unchanged in the file")
    func controlCharacters() async throws {
        let (shop, plugin, log) = try await open(["--verbose"])
        let value = "[\"\u{9B}2J\u{7F}\u{202E}\",\"\\u001b[2J\"]"
        try await shop.publish("a", value)
        #expect(try await plugin.stop() == 0)
        let shown = #"update a ["\u009b2J\u007f\u202e","\u001b[2J"] by test"#
        #expect(plugin.output.contains(shown))
        let raw = plugin.output.unicodeScalars.filter {
            $0 != "\n" && ($0.value < 0x20 || (0x7F..<0xA0).contains($0.value) || $0.value == 0x202E)
        }
        #expect(raw.isEmpty)
        let line = try #require(try lines(log).last)
        #expect(try JSON(line)["value"]?.text == value)
    }

    @Test("after a new broker has taken over, it continues after a second synced line")
    func newBroker() async throws {
        let (shop, plugin, log) = try await open()
        try await shop.restartBroker()
        try await eventually("it listens again") {
            try lines(log).filter { $0.contains(#""event":"synced""#) }.count == 2
        }
        try await shop.publish("a", "2")
        #expect(try await plugin.stop() == 0)
        let line = try #require(try lines(log).last)
        #expect(try JSON(line)["value"]?.integer == 2)
    }

    @Test("if the file can't be written, it ends with a message and status 1")
    func notWritable() async throws {
        let shop = try await Shop()
        let plugin = try shop.start("logger", ["--file", shop.folder + "/no/log"])
        #expect(try await plugin.end() == 1)
        #expect(plugin.errors == "logger: \(shop.folder)/no/log can't be opened: No such file or directory\n")
    }

    @Test("it prints where it writes and nothing else, unless it is verbose")
    func quiet() async throws {
        let (shop, plugin, log) = try await open()
        try await shop.publish("a", "1")
        #expect(try await plugin.stop() == 0)
        #expect(plugin.output == "writing to \(log)\n")
    }

    @Test("without --file the log is in the folder for plugins' files, with the logger's name")
    func inStateFolder() async throws {
        let shop = try await Shop()
        let plugin = try TestProgram(
            "logger",
            ["--socket", shop.path, "--name", "diary"],
            in: shop.folder,
            environment: ["PLUGBOARD_STATE": shop.folder, "PLUGBOARD_VERBOSE": "1"],
            output: .files
        )
        try await shop.publish("a", "1")
        try await eventually("it writes, and is verbose") { plugin.output.contains("update a 1 by test") }
        #expect(plugin.output.hasPrefix("writing to \(shop.folder)/diary.log\n"))
        #expect(try await plugin.stop() == 0)
    }

    @Test("without that folder the log is beside the socket")
    func besideSocket() async throws {
        let shop = try await Shop()
        let plugin = try shop.start("logger")
        try await eventually("it writes") { FileManager.default.fileExists(atPath: shop.path + ".log") }
        #expect(try await plugin.stop() == 0)
    }

    @Test("its help is on standard output with status 0; a mistake is explained with status 64")
    func usage() async throws {
        let folder = NSTemporaryDirectory()
        let help = try TestProgram("logger", ["--help"], in: folder, output: .files)
        #expect(try await help.end() == 0)
        for option in ["--file PATH", "--max-bytes BYTES", "--keep N", "--no-values", "--verbose"] {
            #expect(help.output.contains(option))
        }
        #expect(help.errors.isEmpty)
        let mistakes = [
            (["--max-byte", "5"], "--max-bytes"), (["--max-bytes", "0"], "--max-bytes"),
            (["--keep"], "--keep needs"),
            (["log"], "takes no argument"),
        ]
        for (arguments, hint) in mistakes {
            let mistaken = try TestProgram("logger", arguments, in: folder, output: .files)
            #expect(try await mistaken.end() == 64)
            #expect(mistaken.errors.contains(hint))
            #expect(mistaken.output.isEmpty)
        }
    }
}
