import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

/// A folder of plugins that are shell scripts, and an `up` for it.
struct Shop {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Adds a plugin. Its script runs in its folder.
    func add(_ name: String, _ script: String, json: String = "") throws {
        try folder.script("plugins/\(name)/run", script)
        try folder.write("plugins/\(name)/plugin.json", "{\"name\":\"\(name)\",\"run\":\"run\"\(json)}")
    }

    /// Starts `up` and waits until it says that it is up.
    func up(_ arguments: String..., terminal: String? = nil) throws -> Run {
        let run = try Run(["up"] + arguments, in: folder, terminal: terminal)
        if terminal == nil {
            try eventually("up is up") { run.messages.contains("Plugboard is up") || !run.isRunning }
        }
        return run
    }

    /// What a plugin's script wrote to a file in its folder.
    func text(_ plugin: String, _ file: String) -> String {
        folder.text("plugins/\(plugin)/\(file)")
    }

    /// The process numbers in a script's file `pids`, as soon as there are `count`.
    func pids(_ plugin: String, count: Int) throws -> [Int32] {
        try eventually("\(plugin) wrote \(count) pids") {
            text(plugin, "pids").split(separator: "\n").count >= count && text(plugin, "pids").hasSuffix("\n")
        }
        return text(plugin, "pids").split(separator: "\n").compactMap { Int32($0) }
    }

    func expectGone(_ pids: [Int32], _ location: SourceLocation = #_sourceLocation) throws {
        try eventually("\(pids) are gone", location) { !pids.contains(where: Processes.isAlive) }
    }
}

@Suite("up starts", .someAtATime)
final class UpStartTests: ShopSuite {
    @Test(
        "each plugin in its folder with its arguments, name, socket and this program, when the broker answers"
    )
    func environment() throws {
        try shop.add(
            "one",
            #"""
            "$PLUGBOARD_PROGRAM" publish "seen.$PLUGBOARD_NAME" '"yes"' || exit 7
            echo "$* in $(pwd)"; echo "$PLUGBOARD_SOCKET"
            """#,
            json: #","arguments":["-v","two words"],"publishes":["seen.*"]"#
        )
        let up = try shop.up()
        try eventually("it is done") { up.messages.contains("is done") }
        let root = try #require(ProgramPath.resolved(shop.folder.path))
        let lines = up.output.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasPrefix("one    | revision ") == true)
        #expect(
            lines.dropFirst() == [
                "one    | -v two words in \(root)/plugins/one", "one    | \(shop.folder.socket)",
            ]
        )
        let got = try plugboard("get", "seen.one", "--json", in: shop.folder)
        #expect(got.output.contains(#""value":"yes","by":"one""#))
    }

    @Test(
        "each plugin without ignored signals, although this program ignores one",
        .enabled(if: FileStatus(path: "/proc/self/status").kind == .file)
    )
    func freshSignals() throws {
        try shop.add("one", "exec grep SigIgn /proc/self/status")
        let up = try shop.up()
        try eventually("it is done") { up.messages.contains("is done") }
        let mask = try #require(
            up.output.split(separator: "\t").last.flatMap { UInt64($0.dropLast(), radix: 16) }
        )
        // 32 and 33 are the C library's own, which posix_spawn leaves alone.
        #expect(mask & ~(3 << 31) == 0)
    }

    @Test("and prints the socket and a line to try")
    func greeting() throws {
        try shop.add("quiet", "exec sleep 100")
        try shop.add("silent", "exec sleep 100")
        let up = try shop.up()
        try eventually("it is told") { up.messages.contains("Plugboard is up. Plugins: quiet, silent.") }
        try eventually("it is told") { up.messages.contains("nc -U \(shop.folder.socket) ") }
        try eventually("it is told") {
            up.messages.contains("subscribe '**' --socket \(shop.folder.socket)\n")
        }
        #expect(up.output.isEmpty)
    }

    @Test(
        "programs in other languages", .enabled(if: FileStatus.isRunnable(path: "/usr/bin/env") && hasPython)
    )
    func python() throws {
        try shop.folder.write(
            "plugins/snake/snake.py",
            """
            #!/usr/bin/env python3
            import json, os, socket
            bus = socket.socket(socket.AF_UNIX)
            bus.connect(os.environ["PLUGBOARD_SOCKET"])
            lines = bus.makefile("rw")
            hello = json.loads(lines.readline())
            lines.write(json.dumps({"op": "publish", "id": 1, "key": "snake", "value": [1, 2]}) + "\\n")
            lines.flush()
            print("published at", json.loads(lines.readline())["revision"], "of", hello["broker"], flush=True)
            bus.recv(1)
            """,
            mode: 0o700
        )
        let manifest = #"{"name":"snake","run":"snake.py","publishes":["snake"]}"#
        try shop.folder.write("plugins/snake/plugin.json", manifest)
        let up = try shop.up()
        try eventually("it published") {
            up.output.contains("snake  | published at ") && up.output.hasSuffix("\n")
        }
        try eventually("it is told") { up.output.contains(" of plugboard") }
        #expect(try plugboard("get", "snake", in: shop.folder).output == "[1, 2]\n")
    }

    @Test("only the plugins that are named")
    func selection() throws {
        for name in ["a", "b", "c"] { try shop.add(name, "echo here; exec sleep 100") }
        let up = try shop.up("c", "a")
        try eventually("both are there") { up.output.split(separator: "\n").count == 2 }
        #expect(Set(up.output.split(separator: "\n")) == ["a      | here", "c      | here"])
        let near = try plugboard("up", "d", in: shop.folder)
        #expect(near.end == .exited(64))
        #expect(near.messages.contains("there is no plugin \"d\""))
    }

    @Test("what can be started, and reports a broken plugin.json and a missing program by name and place")
    func broken() throws {
        try shop.add("good", "echo fine; exec sleep 100")
        try shop.folder.write(
            "plugins/half/plugin.json", "{\"name\":\"half\",\n\"run\":\"x\",\n\"colour\":1}"
        )
        try shop.folder.write("plugins/gone/plugin.json", #"{"name":"gone","run":"nowhere"}"#)
        let up = try shop.up()
        try eventually("the good one runs") { up.output == "good   | fine\n" }
        let root = try #require(ProgramPath.resolved(shop.folder.path)) + "/plugins"
        #expect(
            up.messages.contains("not started: \(root)/half/plugin.json:3:1: there is no field \"colour\"")
        )
        #expect(
            up.messages.contains("not started: \(root)/gone/plugin.json: there is no program \"nowhere\"")
        )
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
    }

    @Test("from --plugins, or else plugins of the current folder, or else plugins beside the executable")
    func places() throws {
        let home = try TemporaryFolder()
        let copy = try Run(program: "/bin/cp", [Products.plugboard, home.path + "/plugboard"], in: home)
            .finished()
        #expect(copy.end == .exited(0))
        try home.script("plugins/beside/run", "echo beside; exec sleep 100")
        try home.write("plugins/beside/plugin.json", #"{"name":"beside","run":"run"}"#)
        try home.script("other/given/run", "echo given; exec sleep 100")
        try home.write("other/given/plugin.json", #"{"name":"given","run":"run"}"#)

        func started(_ arguments: String...) throws -> String {
            let up = try Run(program: home.path + "/plugboard", ["up"] + arguments, in: shop.folder)
            try eventually("a plugin speaks") { up.output.contains("\n") }
            up.signal(SIGTERM)
            return try up.finished().output
        }
        #expect(try started() == "beside | beside\n")
        try shop.add("here", "echo here; exec sleep 100")
        #expect(try started() == "here   | here\n")
        #expect(try started("--plugins", home.path + "/other") == "given  | given\n")
        let missing = try plugboard("up", "--plugins", "no/such", in: shop.folder)
        #expect(missing.end == .exited(64))
        #expect(missing.messages.contains("--plugins no/such: there is no such folder"))
    }

    @Test("only the broker if there are no plugins, and says so")
    func none() throws {
        let up = try shop.up()
        try eventually("it is told") { up.messages.contains("No plugins: there is no folder plugins here") }
        #expect(try plugboard("publish", "a", "1", in: shop.folder).end == .exited(0))
        up.signal(SIGTERM)
        _ = try up.finished()
        try shop.add("one", "exec sleep 100")
        let one = try shop.up("--plugins", "plugins/one")
        let hint = "it is one itself (--plugins \(shop.folder.path)/plugins)"
        try eventually("it is told where to look") { one.messages.contains(hint) }
    }

    @Test("at a socket path that is relative to the current folder")
    func relativeSocket() throws {
        try shop.add("one", #"exec "$PLUGBOARD_PROGRAM" publish a 1"#, json: #","publishes":["a"]"#)
        let up = try shop.up("--socket", "bus")
        try eventually("it published") { up.output.hasPrefix("one    | revision ") }
        #expect(shop.folder.exists("bus"))
    }

    @Test("in a folder that is open to others, if a person names a socket there")
    func openFolder() throws {
        SystemCalls.setMode(shop.folder.path, 0o755)
        try shop.add("one", #"exec "$PLUGBOARD_PROGRAM" publish a 1"#, json: #","publishes":["a"]"#)
        let up = try shop.up("--socket", shop.folder.socket)
        try eventually("it published") { up.output.hasPrefix("one    | revision ") }
    }

    @Test("nothing if there is another broker, which is undisturbed; the status is 1")
    func secondBroker() throws {
        try shop.add("one", "echo started; exec sleep 100")
        let first = try startBroker(in: shop.folder)
        let up = try plugboard("up", in: shop.folder)
        #expect(up.end == .exited(1))
        #expect(up.messages == "plugboard up: another broker is running at \(shop.folder.socket)\n")
        #expect(up.output.isEmpty)
        #expect(try plugboard("publish", "a", "1", in: shop.folder).end == .exited(0))
        #expect(first.isRunning)
    }

    @Test("a demo with --demo: it plays the script, and plugins get their demo_arguments")
    func demo() throws {
        try shop.add(
            "one",
            "echo \"args: $*\"; exec sleep 100",
            json: #","arguments":["a"],"demo_arguments":["b","c"]"#
        )
        try shop.folder.write(
            "plugins/demo.txt",
            """
            # A first step.
            publish screen {"name":"list"}
            await screen
            pause 0.01
            emit cart.add nonsense
            {"op":"publish","key":"b","value":2}
            """
        )
        let up = try shop.up("--demo")
        // The broker refuses a line.
        try eventually("the demo is done") { up.messages.contains("demo   | exited with status 1\n") }
        try eventually("it is told") { up.output.contains("one    | args: a b c\n") }
        let demo = up.output.split(separator: "\n").filter { $0.hasPrefix("demo") }
        #expect(
            demo.prefix(3) == [
                "demo   | # A first step.", "demo   | > publish screen {\"name\":\"list\"}",
                "demo   | > emit cart.add nonsense",
            ]
        )
        #expect(demo[3].contains("bad_json"))
        #expect(try plugboard("get", "screen", "--json", in: shop.folder).output.contains(#""by":"demo""#))
        #expect(try plugboard("get", "b", in: shop.folder).output == "2\n")
        #expect(up.isRunning)
    }

    @Test("a demo whose key doesn't come goes on; a broken script is reported and not repeated")
    func demoFaults() throws {
        try shop.folder.write("plugins/demo.txt", "await never 0.05\n# on\n")
        let first = try shop.up("--demo")
        try eventually("the demo is over") { first.messages.contains("demo   | exited with status 1\n") }
        #expect(first.output == "demo   | never has no value after 0.05 seconds; going on\ndemo   | # on\n")
        first.signal(SIGTERM)
        _ = try first.finished()
        try shop.folder.write("plugins/demo.txt", "# a\npause soon")
        let second = try shop.up("--demo")
        try eventually("it is told") { second.messages.contains("demo   | exited with status 64\n") }
        #expect(second.output.contains("demo.txt:2: pause takes a number of seconds"))
    }

    @Test("the project's own demo: every line is accepted, and the cart's total is exact in the end")
    func ownDemo() throws {
        let tests = SocketPath.folder(of: #filePath)
        let plugins = SocketPath.folder(of: SocketPath.folder(of: tests)) + "/plugins"
        let up = try shop.up("--demo", "--plugins", plugins)
        try eventually("the demo is over") {
            up.messages.contains("is over; the bus stays up: nc -U \(shop.folder.socket)")
        }
        let demo = up.output.split(separator: "\n").filter { $0.hasPrefix("demo ") }
        #expect(demo.allSatisfy { $0.contains(" | # ") || $0.contains(" | > ") }, "\(demo)")
        try eventually("the total is there") {
            try plugboard("get", "cart.summary", in: shop.folder).output == "{\"items\":3,\"total\":599.85}\n"
        }
        #expect(!up.messages.contains("starting it again"))
        up.signal(SIGTERM)
        let finished = try up.finished()
        #expect(finished.end == .exited(0))
        #expect(!finished.messages.contains("killed"))
    }

    @Test("no demo without --demo")
    func noDemo() throws {
        try shop.add("one", "echo \"args: $*\"; exec sleep 100", json: #","demo_arguments":["b"]"#)
        try shop.folder.write("plugins/demo.txt", "# A first step.")
        let up = try shop.up()
        try eventually("it speaks") { up.output.hasSuffix("\n") }
        #expect(up.output == "one    | args: \n")
    }

    private static let hasPython = (SocketPath.variable("PATH") ?? "").split(separator: ":").contains {
        FileStatus.isRunnable(path: "\($0)/python3")
    }
}

@Suite("up shows", .someAtATime)
final class UpOutputTests: ShopSuite {
    @Test("lines of standard output and standard error, in their order, the names in one column")
    func columns() throws {
        try shop.add("long-name", "echo out; echo err >&2; printf half; exec sleep 100")
        try shop.add("x", "echo x; exec sleep 100")
        let up = try shop.up()
        try eventually("both spoke") { up.output.split(separator: "\n").count == 3 }
        #expect(
            Set(up.output.split(separator: "\n")) == ["long-name | out", "long-name | err", "x         | x"]
        )
        up.signal(SIGTERM)
        #expect(try up.finished().output.contains("long-name | half\n"))
    }

    @Test("every line of a flood, whatever the plugin's pace")
    func flood() throws {
        try shop.add("many", "seq 1 50000")
        let up = try shop.up()
        try eventually("it is done") { up.messages.contains("is done") }
        let lines = up.output.split(separator: "\n")
        #expect(lines.count == 50_000)
        #expect(lines.last == "many   | 50000")
    }

    @Test("a plugin's output without its control bytes")
    func controls() throws {
        try shop.add("rude", #"printf '\033]0;title\007\033[2J \033[31mred\033[0m\n'; exec sleep 100"#)
        let up = try shop.up()
        try eventually("it spoke") { up.output.hasSuffix("\n") }
        #expect(up.output == "rude   | \\u001b]0;title\\u0007\\u001b[2J red\n")
    }

    @Test("nothing more when its reader is gone, and then stops everything", .timeLimit(.minutes(20)))
    func readerGone() throws {
        try shop.add("chatty", "echo $$ > pids; while :; do echo line; sleep 0.05; done")
        let script = #""$0" up 2>messages | head -2"#
        let finished = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: shop.folder)
            .finished()
        #expect(finished.lines == ["chatty | line", "chatty | line"])
        try shop.expectGone(try shop.pids("chatty", count: 1))
        try eventually("the socket is gone") { !shop.folder.exists("s") }
    }

    @Test("without using the processor while a plugin has closed its output and lives on")
    func closedOutput() throws {
        try shop.add("mute", "exec >&- 2>&-; exec sleep 100")
        try shop.add("crash", "exit 1")
        let up = try shop.up()
        let before = Processes.ticks(up.pid)
        try eventually("a second has passed") { up.messages.contains("broken after 5 starts") }
        #expect(Processes.ticks(up.pid) - before < 20)
    }

    #if os(Linux)
        @Test("each name in a colour of its own on a terminal")
        func colours() throws {
            try shop.add("a", "echo one; exec sleep 100")
            try shop.add("b", "echo two; exec sleep 100")
            let terminal = try TestTerminal()
            let up = try shop.up(terminal: terminal.path)
            try eventually("both spoke") {
                terminal.shown().contains("one") && terminal.shown().contains("two")
            }
            #expect(terminal.shown().contains("\u{1B}[36ma     \u{1B}[0m \u{1B}[2m|\u{1B}[0m one\n"))
            #expect(terminal.shown().contains("\u{1B}[33mb     \u{1B}[0m \u{1B}[2m|\u{1B}[0m two\n"))
            _ = up
        }
    #endif
}
