import PlugboardMemory
import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

/// Bytes that aren't UTF-8 are kept in paths and variables, and refused everywhere else.
@Suite("bytes that are not UTF-8", .someAtATime)
final class OtherBytesTests: FolderSuite {
    /// `caf\xe9`, as Latin-1 has it.
    private static let name = SystemText.text([0x63, 0x61, 0x66, 0xE9])

    @Test("in a value, a key or an option are refused with status 64, and nothing is written")
    func refused() throws {
        let broker = try startBroker(in: folder)
        let name = Self.name
        let lines = [
            ["publish", "--text", "t", name], ["publish", "t", "\"\(name)\""], ["publish", name, "1"],
            ["publish", "t", "1", "--name", name], ["publish", "t", "1", "--name=\(name)"], ["add", name],
            ["emit", "t", "1", name], ["patch", "t", "{\"\(name)\":1}"], ["delete", name], ["get", name],
            ["subscribe", name], ["wait", "t", "--for", name], ["call", "t", "\"\(name)\""],
            ["keys", name], ["who", name], ["why", name], ["dump", name], ["serve", name, "--", "cat"],
            ["plugin", "start", name], ["publish", "--\(name)", "1"], ["broker", name], ["journal", name],
        ]
        for words in lines {
            let finished = try Run(words, in: folder).finished()
            #expect(finished.end == .exited(64), "\(words[0]): \(finished.messages)")
            #expect(finished.messages.contains("caf\\xe9"), "\(words[0]): \(finished.messages)")
        }
        let named = try run("publish", "t", "1", environment: ["PLUGBOARD_NAME": name])
        #expect(named.end == .exited(64))
        #expect(named.messages.contains("PLUGBOARD_NAME is not UTF-8: $'caf\\xe9'"))
        #expect(try run("publish", "--text", "t", "-", input: "").end == .exited(0))
        #expect(try run("keys").lines == ["t"])
        #expect(broker.isRunning)
    }

    @Test("are told from the characters that stand for them: those are text like any other")
    func lastCharacters() throws {
        let broker = try startBroker(in: folder)
        defer { withExtendedLifetime(broker) {} }
        // The first one that stands for a byte, the one before it, and the last one.
        for character in ["\u{10FF7F}", "\u{10FF80}", "\u{10FFFF}"] {
            let (key, written) = ("k.\(character)", SystemText.text(Array("k.\(character)".utf8)))
            let name = SystemText.text(Array("n\(character)".utf8))
            #expect(try run("publish", written, "\"\(written)\"", "--name", name).end == .exited(0))
            #expect(try run("get", written).output == "\"\(key)\"\n")
            #expect(try run("keys", written).output == key + "\n")
            #expect(try run("get", written, "--json").output.contains(#""by":"n\#(character)""#))
            let named = try run("publish", "t", "1", environment: ["PLUGBOARD_NAME": name])
            #expect(named.end == .exited(0), "\(named.messages)")
        }
    }

    @Test("in messages, the characters that stand for them are shown as they were written")
    func messages() throws {
        let broker = try startBroker(in: folder)
        defer { withExtendedLifetime(broker) {} }
        for character in ["\u{10FF7F}", "\u{10FF80}", "\u{10FFFF}"] {
            let written = SystemText.text(Array("k\(character)".utf8))
            for (words, told) in [
                (["get", written], "\"k\(character)\" has no value"),
                (["get", written, "*"], "\"k\(character)\" has no value"),
                (["get", written + ".."], "\"k\(character)..\" is not a key"),
                (["subscribe", written + "*"], "\"k\(character)*\" is no pattern"),
                (["call", written], "\"k\(character)\""),
                (["publish", written, "two", "words"], "publish 'k\(character)' '\"two words\"'"),
                (["get", "a", "--timeout", written], "it was \"k\(character)\""),
                (["add", "t", written], "it was \"k\(character)\""),
                (["get", "t", "--field", written], "\"k\(character)\""),
                (["load", "/none/\(written)"], "/none/k\(character)"),
            ] {
                let messages = try Run(words, in: folder).finished().messages
                #expect(messages.contains(told), "\(words[0]): \(messages)")
            }
        }
    }

    @Test("in the names of files are kept")
    func files() throws {
        let broker = try startBroker(in: folder)
        defer { withExtendedLifetime(broker) {} }
        let file = try folder.write("\(Self.name).ndjson", #"{"key":"a","value":1}"# + "\n")
        #expect(try run("load", file).output == "wrote 1 value in 1 write, revision 1\n")
        #expect(try run("publish", "--from", file).output == "published 1 value, revision 2\n")
        #expect(try run("metrics", "--into", "\(folder.path)/m\(Self.name)").end == .exited(0))
        #expect(folder.exists("m\(Self.name)"))
        let missing = try run("load", "\(Self.name).missing")
        #expect(missing.messages.contains("read caf\\xe9.missing: No such file"))
        let policy = try folder.write(Self.name, #"{"rules":[]}"#)
        #expect(try run("policy", "check", policy).end == .exited(0))
    }

    @Test("in the path of a socket, and in HOME, are kept")
    func places() throws {
        let home = "\(folder.path)/\(Self.name)"
        try Folder.make(home)
        let socket = "\(home)/bus"
        let broker = try Run(
            ["broker", "--ready", "--socket", socket],
            in: folder,
            environment: ["HOME": home, "XDG_STATE_HOME": ""]
        )
        try eventually("the broker listens") { broker.output == "ready\n" }
        #expect(try run("publish", "a", "1", environment: ["PLUGBOARD_SOCKET": socket]).end == .exited(0))
        #expect(try run("get", "a", "--socket", socket).output == "1\n")
        let status = try run("status", "--socket", socket)
        #expect(status.lines[1] == "  socket   \(folder.path)/caf\\xe9/bus")
        #expect(status.lines[3].hasPrefix("  journal  \(folder.path)/caf\\xe9/.local/state/"))
        let json = try JSONObject(
            parsing: Array(run("status", "--json", "--socket", socket).output.utf8)[...])
        #expect(json["socket"]?.string == "\(folder.path)/caf\\xe9/bus")
        #expect(json["journal"]?.string?.hasPrefix("\(folder.path)/caf\\xe9/.local/state/") == true)
        #expect(try run("top", "--once", "--socket", socket).lines[0].hasSuffix("/caf\\xe9/bus"))
        broker.signal(SIGTERM)
        _ = try broker.finished()
        let up = try Run(["up", "--memory", "--socket", socket], in: folder)
        try eventually("up greets") { up.messages.contains("stop     Ctrl-C") }
        #expect(up.messages.contains("  socket   \(folder.path)/caf\\xe9/bus\n"))
        up.signal(SIGTERM)
        _ = try up.finished()
        #expect(try Folder.names(in: "\(home)/.local/state/plugboard").count == 1)
        #expect(try folder.names().filter { $0.hasPrefix("caf") } == [Self.name])
        let absent = try run("get", "a", "--socket", socket)
        #expect(absent.end == .exited(69))
        #expect(absent.messages.contains("/caf\\xe9/bus"))
        #expect(absent.messages.contains("up --socket $'"))
    }

    /// The bytes of a variable, as `od` prints them.
    private static let shownVariable = #"printf %s "$OTHER" | od -An -tx1 | tr -d ' \n'"#

    @Test("in variables come to plugins and to the commands of serve as they are")
    func variables() throws {
        let shop = try Shop()
        try shop.add("one", Self.shownVariable + " >other")
        // The character that stands for such a byte elsewhere stays itself.
        let other = Self.name + "=\u{301}" + SystemText.text([0xF4, 0x8F, 0xBF, 0xA9])
        let up = try Run(["up"], in: shop.folder, environment: ["OTHER": other])
        try eventually("the plugin is done") { up.messages.contains("is done") || !up.isRunning }
        #expect(shop.text("one", "other") == "636166e93dcc81f48fbfa9")
        up.signal(SIGTERM)
        _ = try up.finished()
        let broker = try startBroker(in: folder)
        defer { withExtendedLifetime(broker) {} }
        let server = try Run(
            [
                "serve", "s", "--raw", "--", "/bin/sh", "-c",
                Self.shownVariable + #"; printf %s "$1" | od -An -tx1"#, "sh", Self.name,
            ],
            in: folder,
            environment: ["OTHER": Self.name]
        )
        try eventually("it serves") { try run("who", "s", "--json").output.contains(#""server":{"#) }
        #expect(try run("call", "s", "--raw").output == "636166e9 63 61 66 e9\n")
        server.signal(SIGTERM)
    }

    @Test("are refused by a plugin where it takes a text, and kept where it takes a path")
    func plugins() throws {
        let broker = try startBroker(in: folder)
        defer { withExtendedLifetime(broker) {} }
        let logger = "\(Products.folder)/logger"
        let refused = try Run(program: logger, ["--name", Self.name], in: folder).finished()
        #expect(refused.end == .exited(64))
        #expect(refused.messages.contains("an argument is not UTF-8: $'caf\\xe9'"))
        let file = "\(folder.path)/\(Self.name).log"
        let running = try Run(program: logger, ["--file", file], in: folder)
        try eventually("it logs") { folder.exists("\(Self.name).log") || !running.isRunning }
        #expect(running.isRunning)
        running.signal(SIGTERM)
    }
}
