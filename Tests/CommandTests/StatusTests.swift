import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("Without a broker", .someAtATime)
struct NoBrokerTests {
    @Test("every command that needs one ends with 69, and names the path it tried and how to start one")
    func nobody() throws {
        let folder = try TemporaryFolder()
        let commands = [
            ["publish", "a", "1"], ["emit", "a", "1"], ["patch", "a", "1"], ["delete", "a"], ["get", "a"],
            ["get", "*"], ["keys"], ["subscribe", "**"], ["batch"], ["publish", "--from", "-"],
        ]
        for words in commands {
            let finished = try Run(words + ["--socket", folder.socket], in: folder).finished()
            #expect(finished.end == .exited(69), "\(words)")
            #expect(finished.messages.contains("no broker at \(folder.socket)"), "\(words)")
            #expect(finished.messages.contains("broker --socket \(folder.socket)\n"), "\(words)")
            #expect(finished.output.isEmpty, "\(words)")
        }
    }

    @Test("the hint, pasted into a shell, starts a broker there")
    func hintWorks() throws {
        let folder = try TemporaryFolder()
        let refused = try plugboard("keys", "--socket", folder.socket, in: folder)
        let line = try #require(refused.messages.split(separator: "\n").last?.split(separator: "alone:").last)
        let broker = try Run(program: "/bin/sh", ["-c", "exec \(line)"], in: folder)
        try eventually("the broker listens") { try plugboard("keys", in: folder).end == .exited(0) }
        broker.signal(SIGTERM)
        #expect(try broker.finished().end == .exited(0))
    }

    @Test("the path is --socket, or else PLUGBOARD_SOCKET, or else in the user's runtime folder")
    func paths() throws {
        let folder = try TemporaryFolder()
        func tried(_ words: [String], _ environment: [String: String]) throws -> String {
            try Run(["keys"] + words, in: folder, environment: environment).finished().messages
        }
        let both = try tried(["--socket", "/tmp/nowhere/x"], ["PLUGBOARD_SOCKET": "/tmp/nowhere/y"])
        #expect(both.contains("no broker at /tmp/nowhere/x "))
        #expect(
            try tried([], ["PLUGBOARD_SOCKET": "/tmp/nowhere/y"]).contains("no broker at /tmp/nowhere/y ")
        )
        let runtime = try tried([], ["PLUGBOARD_SOCKET": "", "XDG_RUNTIME_DIR": "/tmp/nowhere"])
        #expect(runtime.contains("no broker at /tmp/nowhere/plugboard/bus.sock "))
    }

    @Test("a path that is too long for a socket is refused with the limit")
    func tooLong() throws {
        let folder = try TemporaryFolder()
        let path = "/tmp/" + String(repeating: "x", count: 200)
        for command in ["keys", "broker"] {
            let finished = try plugboard(command, "--socket", path, in: folder)
            #expect(
                finished.messages.contains("a Unix socket takes at most \(SocketPath.bytesMax)"), "\(command)"
            )
            #expect(finished.end != .exited(0))
        }
    }

    @Test("a silent listener is given up after --timeout, with status 69")
    func silent() throws {
        let folder = try TemporaryFolder()
        let listener = try UnixSocket.listen(path: folder.socket)
        let finished = try plugboard("keys", "--timeout", "0.05", in: folder)
        #expect(finished.end == .exited(69))
        #expect(
            finished.messages.contains("no answer from the broker at \(folder.socket) within 0.05 seconds")
        )
        _ = consume listener
    }

    @Test("a listener that is no broker is reported, with status 69")
    func stranger() throws {
        let folder = try TemporaryFolder()
        for greeting in ["SSH-2.0-x\r\n", "{\"hello\":1}\n", "{\"event\":\"hello\",\"protocol\":99}\n"] {
            let listener = try UnixSocket.listen(path: folder.socket)
            let run = try Run(["keys"], in: folder)
            var accepted: [Int32] = []
            try eventually("a connection") {
                switch try UnixSocket.accept(listener.raw) {
                case .connection(let peer):
                    accepted.append(peer.release())
                    return true
                default: return false
                }
            }
            defer { for fd in accepted { DescriptorCalls.close(fd) } }
            let bytes = Array(greeting.utf8)
            _ = DescriptorCalls.send(accepted[0], bytes.span)
            let finished = try run.finished()
            #expect(finished.end == .exited(69))
            let isOther = greeting.contains("99")
            #expect(
                finished.messages.contains(
                    isOther ? "speaks protocol 99, this is 1" : "is not a Plugboard broker"
                )
            )
            SystemCalls.remove(folder.socket)
        }
    }
}

@Suite("broker", .someAtATime)
final class BrokerCommandTests: FolderSuite {
    @Test(
        "at the start it prints the socket and a line to try, on standard error",
        arguments: PollerKind.allCases
    )
    func greeting(poller: PollerKind) throws {
        let broker = try Run(["broker", "--socket", folder.socket, "--poller", poller.rawValue], in: folder)
        try eventually("it tells") { broker.messages.split(separator: "\n").count == 2 }
        try eventually("it is told") { broker.messages.contains("listening on \(folder.socket)") }
        try eventually("it is told") { broker.messages.contains("nc -U \(folder.socket)") }
        #expect(try plugboard("publish", "a", "1", in: folder).output == "revision 1\n")
        broker.signal(SIGTERM)
        #expect(try broker.finished().output.isEmpty)
    }

    @Test("it says that it listens when it has read its journal, and doesn't if it can't")
    func greetingComesLast() throws {
        let words = ["broker", "--socket", folder.socket, "--state", folder.path + "/state"]
        try folder.write("state", "no folder")
        let refused = try Run(words, in: folder).finished()
        #expect(refused.end == .exited(1) || refused.end == .exited(74))
        #expect(!refused.messages.contains("listening on"))
        SystemCalls.remove(folder.path + "/state")
        let first = try Run(words, in: folder)
        try eventually("it tells") { first.messages.contains("listening on") }
        #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
        first.signal(SIGTERM)
        _ = try first.finished()
        let second = try Run(words, in: folder)
        try eventually("it tells") { second.messages.contains("try: ") }
        let lines = second.messages.split(separator: "\n")
        #expect(lines[0].contains("the journal holds 1 key up") && lines[1].contains("listening on"))
        second.signal(SIGTERM)
        _ = try second.finished()
        let name = "segment-0000000002.jsonl"
        SystemCalls.remove(folder.path + "/state/" + name)
        let third = try Run(words, in: folder).finished()
        #expect(third.end == .exited(1))
        #expect(third.messages.contains("the journal is damaged: \(name) is missing"))
        #expect(!third.messages.contains("listening on"))
    }

    @Test("SIGTERM and SIGINT end it with status 0, and no socket is left", arguments: [SIGTERM, SIGINT])
    func signals(number: Int32) throws {
        let broker = try startBroker(in: folder)
        #expect(folder.exists("s"))
        broker.signal(number)
        #expect(try broker.finished().end == .exited(0))
        #expect(!folder.exists("s"))
    }

    @Test("SIGHUP changes nothing if there is nothing to read again, and it says so")
    func nothingToRead() throws {
        let broker = try startBroker(in: folder)
        broker.signal(SIGHUP)
        let told = "it goes on as it was: there is no --policy"
        try eventually("it says so") { broker.messages.contains(told) }
        #expect(try plugboard("keys", in: folder).end == .exited(0))
        broker.signal(SIGTERM)
        #expect(try broker.finished().end == .exited(0))
    }

    @Test("SIGHUP is ignored if it was ignored before, as nohup does")
    func noHangup() throws {
        let script = #"trap '' HUP; exec "$0" broker --ready --socket "$1""#
        let broker = try Run(
            program: "/bin/sh", ["-c", script, Products.plugboard, folder.socket], in: folder
        )
        try eventually("the broker listens") { broker.output == "ready\n" }
        broker.signal(SIGHUP)
        for _ in 0..<5 { #expect(try plugboard("keys", in: folder).end == .exited(0)) }
        broker.signal(SIGTERM)
        #expect(try broker.finished().end == .exited(0))
    }

    @Test("a path from the option or the variable may be in a folder that is open to others")
    func openFolder() throws {
        SystemCalls.setMode(folder.path, 0o755)
        for words in [["broker", "--ready"], ["broker", "--ready", "--socket", folder.socket]] {
            let broker = try Run(words, in: folder)
            try eventually("the broker listens") { broker.output == "ready\n" || !broker.isRunning }
            #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
            broker.signal(SIGTERM)
            #expect(try broker.finished().end == .exited(0))
        }
    }

    @Test("the user's own folder must be closed to others")
    func ownPlace() throws {
        try folder.write("plugboard/x", "")
        SystemCalls.setMode(folder.path + "/plugboard", 0o755)
        let environment = ["PLUGBOARD_SOCKET": "", "XDG_RUNTIME_DIR": folder.path]
        let refused = try Run(["broker"], in: folder, environment: environment).finished()
        #expect(refused.end == .exited(1))
        #expect(refused.messages.contains("\(folder.path)/plugboard is open to other users"))
        SystemCalls.setMode(folder.path + "/plugboard", 0o700)
        let broker = try Run(["broker", "--ready"], in: folder, environment: environment)
        try eventually("the broker listens") { broker.output == "ready\n" }
    }

    @Test("a second broker on the path ends with 1 and a clear message, and the first is undisturbed")
    func second() throws {
        let first = try startBroker(in: folder)
        _ = try plugboard("publish", "a", "1", in: folder)
        let second = try plugboard("broker", "--socket", folder.socket, in: folder)
        #expect(second.end == .exited(1))
        #expect(second.messages.contains("another broker is running at \(folder.socket)"))
        #expect(try plugboard("get", "a", in: folder).output == "1\n")
        #expect(first.isRunning)
    }

    @Test("a socket that a killed broker left is replaced")
    func stale() throws {
        let first = try startBroker(in: folder)
        first.signal(SIGKILL)
        _ = try first.finished()
        #expect(folder.exists("s"))
        let second = try startBroker(in: folder)
        #expect(try plugboard("publish", "a", "1", in: folder).output == "revision 1\n")
        _ = second
    }

    @Test("a mistake on standard input is no usage error, and gets the same hints")
    func input() throws {
        let broker = try startBroker(in: folder)
        for (value, hint) in [
            ("True", "did you mean true?"), ("a b", "a text is in quotes"), ("[1", "] is missing"),
        ] {
            let piped = try plugboard("publish", "a", "-", in: folder, input: value + "\n")
            #expect(piped.end == .exited(1))
            #expect(piped.messages.contains("standard input is not JSON") && piped.messages.contains(hint))
        }
        _ = broker
    }

    @Test("something at the path that is no socket is left alone")
    func otherFile() throws {
        try folder.write("s", "precious")
        let broker = try plugboard("broker", "--socket", folder.socket, in: folder)
        #expect(broker.end == .exited(1))
        try eventually("it is told") { broker.messages.contains("a file that is no socket") }
        #expect(folder.text("s") == "precious")
    }

    // The smaller part of Foundation is loaded, because this program is built together with the plugins.
    @Test(
        "it doesn't load all of Foundation, which would slow its start",
        .enabled(if: FileStatus(path: "/proc/self/maps").kind == .file)
    )
    func noFoundation() throws {
        let broker = try startBroker(in: folder)
        let maps = try InputFile.contents(path: "/proc/\(broker.pid)/maps", limit: 1 << 24)
        let text = String(decoding: maps, as: UTF8.self)
        #expect(text.contains("libswiftCore"))
        #expect(!text.contains("libFoundation.so"))
        #expect(!text.contains("ICU"))
    }
}
