import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("plugins/README.md", .oneAtATime)
struct PluginsReadmeTests {
    private static let hasJQ = (SocketPath.variable("PATH") ?? "").split(separator: ":").contains {
        FileStatus.isRunnable(path: "\($0)/jq")
    }

    private let text: String

    init() throws {
        let tests = SocketPath.folder(of: #filePath)
        let root = SocketPath.folder(of: SocketPath.folder(of: tests))
        text = String(
            decoding: try InputFile.contents(path: root + "/plugins/README.md", limit: 1 << 20),
            as: UTF8.self
        )
    }

    /// The first block of code in a language.
    private func block(_ language: String) throws -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "```\(language)")) + 1
        let end = try #require(lines[start...].firstIndex(of: "```"))
        return lines[start..<end].joined(separator: "\n") + "\n"
    }

    @Test("its plugin greets when up runs it", .enabled(if: hasJQ))
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
    }

    @Test("it names every field and every variable")
    func complete() throws {
        let fields = ["name", "run", "arguments", "demo_arguments", "subscribes", "publishes", "description"]
        for word in fields + ["PLUGBOARD_SOCKET", "PLUGBOARD_NAME", "PLUGBOARD_PROGRAM"] {
            #expect(text.contains("`\(word)`"), "\(word)")
        }
        let manifest = try PluginManifest(parsing: Array(try block("json").utf8))
        #expect(manifest.name == "greeter")
    }

    @Test("the delays that it names are those of the code")
    func numbers() {
        #expect(text.contains("after \(Backoff.firstSeconds) s"))
        #expect(text.contains("up to \(Int(Backoff.mostSeconds)) s"))
        #expect(text.contains("once it has lived \(Int(Backoff.steadySeconds)) s"))
        #expect(Supervisor.pluginGraceSeconds == 2)
    }
}
