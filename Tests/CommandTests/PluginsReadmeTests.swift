import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("plugins/README.md", .someAtATime)
struct PluginsReadmeTests {
    private let text: String

    init() throws {
        let tests = SocketPath.folder(of: #filePath)
        let root = SocketPath.folder(of: SocketPath.folder(of: tests))
        text = String(
            decoding: try InputFile.contents(path: root + "/plugins/README.md", limit: 1 << 20), as: UTF8.self
        )
    }

    /// The first block of code in a language.
    private func block(_ language: String) throws -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "```\(language)")) + 1
        let end = try #require(lines[start...].firstIndex(of: "```"))
        return lines[start..<end].joined(separator: "\n") + "\n"
    }

    @Test("its plugin greets when up runs it")
    func greeter() throws {
        let shop = try Shop()
        try shop.folder.write("plugins/greeter/plugin.json", try block("json"))
        try shop.folder.write("plugins/greeter/greeter.sh", try block("sh"), mode: 0o700)
        let up = try shop.up()
        _ = try plugboard("publish", "people.ada", "1", in: shop.folder)
        try eventually("it greets") { up.output.contains("greeter | hello, ada\n") }
        try eventually("it publishes") {
            try plugboard("get", "greetings.ada", in: shop.folder).output == "\"hello\"\n"
        }
        // The commands of `up` would wait for another broker.
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
    }

    @Test("its session with a broken plugin goes as shown, except for numbers and times")
    func session() throws {
        let shop = try Shop()
        let script = """
            echo x >> runs
            [ $(wc -l < runs) -gt 5 ] && exec sleep 100
            [ $(wc -l < runs) -eq 5 ] && echo no such file: prices.json
            exit 1
            """
        try shop.add("cart", script, json: #","subscribes":["cart.add"],"publishes":["cart.items"]"#)
        let up = try shop.up()
        try eventually("it is broken") { up.messages.contains("cart   | exited with status 1; broken") }
        let person = try BrokerConnection(path: shop.folder.socket)
        try person.expectGreeting()
        for line in try block("plugboard").split(separator: "\n") {
            if line.hasPrefix("> ") {
                try person.send(Array("\(line.dropFirst(2))\n".utf8))
            } else {
                let answer = String(decoding: try person.nextLine().bytes, as: UTF8.self)
                #expect(masked(answer) == masked(String(line.dropFirst(2))))
            }
        }
    }

    private func masked(_ line: String) -> String {
        line.replacing(/"(revision|pid|cause)":\d+/) { "\"\($0.1)\":N" }
            .replacing(/"since":"[-0-9T:.]+Z"/, with: "\"since\":T")
    }

    @Test("it names every field and every variable")
    func complete() throws {
        let fields = [
            "name", "run", "arguments", "demo_arguments", "subscribes", "publishes", "calls", "serves",
            "description", "start", "idle", "restart",
        ]
        let variables = ["SOCKET", "FD", "NAME", "PROGRAM", "STATE", "VERBOSE"].map { "PLUGBOARD_\($0)" }
        for word in fields + variables {
            #expect(text.contains("`\(word)`"), "\(word)")
        }
        let manifest = try PluginManifest(parsing: Array(try block("json").utf8))
        #expect(manifest.name == "greeter")
    }

    @Test("the delays that it names are those of the code")
    func numbers() {
        #expect(text.contains("after \(RestartDelay.firstSeconds) s"))
        #expect(text.contains("up to \(Int(RestartDelay.mostSeconds)) s"))
        #expect(text.contains("has run for \(Int(RestartDelay.steadySeconds)) s"))
        #expect(text.contains("Up to a quarter is added at random") && RestartDelay.jitter == 0.25)
        let window = Int(RestartPolicy.windowSeconds)
        #expect(text.contains("after \(RestartPolicy.startsMax) starts within \(window) s"))
        #expect(text.contains("\(PluginLog.linesMax) at most"))
        #expect(text.contains("the last \(PluginStatus.outputLinesMax) lines of one that is broken"))
        #expect(Supervisor.pluginGraceSeconds == 2)
        for action in PluginAction.allCases { #expect(text.contains("`\(PluginKey.call(action))`")) }
        for rule in StartRule.allCases { #expect(text.contains("`\(rule.rawValue)`")) }
        #expect(text.contains("stopped; by default \(SupervisedProcess.idleSecondsDefault)"))
        for rule in RestartRule.allCases { #expect(text.contains("`\(rule.rawValue)`")) }
    }
}
