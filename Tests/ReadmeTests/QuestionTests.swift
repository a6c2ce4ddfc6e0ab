// The page "Who told whom, and why": each problem is caused in a running shop, and found in
// `nc` and with the command as the page says.

import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

@Suite("README, its questions", .someAtATime)
struct QuestionTests {
    private let scratch: TemporaryFolder
    private let up: Running

    init() async throws {
        let scratch = try TemporaryFolder()
        let up = try Running("plugboard", ["up"], in: scratch)
        (self.scratch, self.up) = (scratch, up)
        try await eventually("up greets") { up.output.contains("Plugboard is up.") }
        try await Self.command(
            ["publish", "catalog.brick-2", #"{"title":"Brick 2","price":29.95}"#],
            in: scratch
        )
        // It is refused until the cart exists and knows the price.
        try await Self.until("a phone is in the cart", "call", "cart.add", #"{"sku":"brick-2"}"#, in: scratch)
        {
            _ in true
        }
        try await Self.until("the sum is done", "get", "cart.summary", in: scratch) {
            $0.contains("\"items\":1,")
        }
    }

    @Test("a paused observer is found and resumed")
    func paused() async throws {
        try await replay("Why does nothing arrive?") {
            let who = try await Self.command(["who", "cart.items"], in: scratch)
            let client = try #require(who.firstMatch(of: /price-indicator +client (\d+)/)?.1)
            try await Self.command(["pause", String(client)], in: scratch)
            try await Self.command(["emit", "cart.add", #"{"sku":"brick-2"}"#], in: scratch)
            // The logger, in a later phase, waits a second for the paused observer.
            try await Self.until("it is owed", "who", "cart.items", in: scratch) {
                $0.contains("1 owed") && !$0.contains("lagging")
            }
        }
        try await Self.until("the total follows", "get", "cart.summary", in: scratch) {
            $0.contains("\"items\":3,")
        }
    }

    @Test("the writer behind a wrong value is found")
    func wrongValue() async throws {
        try await replay("Who wrote this wrong value?") {
            try await Self.command(["publish", "cart.items", "[]", "--name", "import"], in: scratch)
            try await Self.until("the total is wrong", "get", "cart.summary", in: scratch) {
                $0.contains("\"items\":0,")
            }
        }
    }

    @Test("who called the program that wrote is found, for the command of the page")
    func called() async throws {
        let call = try #require(try Readme.blocks(below: "Who called?").first { $0.language == "sh" })
        try await replay("Who called?") {
            let answer = try await Self.shell(call.lines[0], in: scratch)
            #expect(answer.contains(#""sku":"brick-2""#), "\(answer)")
            let pieces = try #require(answer.firstMatch(of: /"quantity":(\d+)/)?.1)
            try await Self.until("the total follows", "get", "cart.summary", in: scratch) {
                $0.contains("\"items\":\(pieces),")
            }
        }
    }

    @Test("two programs that answer each other for ever are found")
    func loop() async throws {
        let heater = try await Self.answer(
            "room.temperature", with: "room.heating", by: "heater", in: scratch
        )
        let thermostat = try await Self.answer(
            "room.heating", with: "room.temperature", by: "thermostat", in: scratch
        )
        try await Self.command(["publish", "room.temperature", "0", "--name", "person"], in: scratch)
        try await Self.until("they are at rest", "get", "room.temperature", in: scratch) { $0 == "100\n" }
        try await replay("Who answers whom for ever?") {}
        heater.close()
        thermostat.close()
    }

    // MARK: - What happens meanwhile

    /// A program that writes one key whenever another key changes. It gives up after a while.
    private static func answer(
        _ observed: String, with written: String, by name: String, in scratch: TemporaryFolder
    ) async throws -> Bus {
        let bus = try await Bus.connect(name: name, path: scratch.busSocket)
        let changes = try await bus.subscribe(observed)
        Task {
            try await changes.forEach { event in
                guard event.kind == .update else { return }
                let number = try event.decode(as: Int.self)
                if number < 100 { try await bus.publish(written, number + 1) }
            }
        }
        return bus
    }

    /// Causes a problem and then does what a block of the section shows, for each of them.
    private func replay(_ heading: String, _ makeTrouble: () async throws -> Void) async throws {
        let blocks = try Readme.blocks(below: heading).filter { $0.language != "sh" }
        #expect(blocks.map(\.language) == ["plugboard", "console"])
        for block in blocks {
            try await makeTrouble()
            if block.language == "plugboard" {
                try await type(block)
            } else {
                try await run(block)
            }
        }
    }

    private func type(_ block: Readme.Block) async throws {
        let person = try Typist(socket: scratch.busSocket)
        _ = try await person.line()
        var clients = ClientNumbers()
        for line in block.lines {
            let text = String(line.dropFirst(2))
            if line.hasPrefix("> ") {
                try person.type(clients.translated(text))
            } else {
                let answer = try await person.line()
                #expect(Likeness.ofJSON(text, answer), "\(block.place): \(answer)")
                clients.learn(text, answer)
            }
        }
    }

    private func run(_ block: Readme.Block) async throws {
        var printed: [String] = []
        var clients = ClientNumbers()
        for line in block.lines {
            if line.hasPrefix("$ ") {
                #expect(printed == [], "\(block.place) shows less than was printed")
                let command = clients.translated(String(line.dropFirst(2)))
                printed = try await Self.shell(command, in: scratch).components(separatedBy: "\n").dropLast()
            } else {
                let actual = printed.isEmpty ? "" : printed.removeFirst()
                #expect(Likeness.ofText(line, actual), "\(block.place): \(actual)")
                clients.learn(line, actual)
            }
        }
        #expect(printed == [], "\(block.place) shows less than was printed")
    }

    /// Runs a line of the page with the built programs.
    private static func shell(_ line: String, in scratch: TemporaryFolder) async throws -> String {
        let program = ".build/release/plugboard "
        #expect(line.hasPrefix(program))
        let words = "\(Running.folder.path)/plugboard " + line.dropFirst(program.count)
        let run = try Running("/bin/sh", ["-c", words], in: scratch)
        #expect(try await run.status() == 0, "\(line)")
        return run.output
    }

    @discardableResult
    private static func command(_ words: [String], in scratch: TemporaryFolder) async throws -> String {
        let run = try Running("plugboard", words, in: scratch)
        let status = try await run.status()
        let output = run.output
        #expect(status == 0, "\(words): \(output)")
        return output
    }

    /// Asks until the answer is as expected.
    private static func until(
        _ what: String, _ words: String..., in scratch: TemporaryFolder, _ isSo: (String) -> Bool
    ) async throws {
        let end = ContinuousClock.now + HangGuard.duration
        while true {
            let run = try Running("plugboard", words, in: scratch)
            let status = try await run.status()
            if status == 0, isSo(run.output) { return }
            guard ContinuousClock.now < end else { throw Missing("\(what): \(run.output)") }
        }
    }
}
