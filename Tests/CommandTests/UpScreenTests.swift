import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("up on a person's screen", .someAtATime)
struct UpScreenTests {
    private let shop: Shop
    private static let long = String(repeating: "x", count: 200)

    init() throws {
        shop = try Shop()
    }

    #if os(Linux)
        /// The lines that a terminal of 40 columns shows, without colours.
        private func shown(_ terminal: TestTerminal) -> [String] {
            Paint.without(terminal.shown()).split(separator: "\n").map(String.init)
        }

        @Test("a line that is wider than the terminal is cut, and plugin log has all of it")
        func cut() throws {
            try shop.add("one", "printf 'sho\\trt\\n'; echo a \(Self.long); exec sleep 1000")
            let terminal = try TestTerminal(columns: 40)
            let up = try shop.up(terminal: terminal.path)
            let row = "one    | a " + String(repeating: "x", count: 28) + "…"
            try eventually("both lines are there") { shown(terminal).contains(row) }
            #expect(shown(terminal).contains("one    | sho    rt") && DisplayWidth.of(row) == 40)
            let log = try plugboard("plugin", "log", "one", in: shop.folder)
            #expect(log.lines == ["sho\trt", "a \(Self.long)"])
            _ = up
        }

        @Test("--verbose shows all of it")
        func whole() throws {
            try shop.add("one", "echo \(Self.long); exec sleep 1000")
            let terminal = try TestTerminal(columns: 40)
            let up = try shop.up("--verbose", terminal: terminal.path)
            try eventually("it is there") { shown(terminal).contains("one    | \(Self.long)") }
            _ = up
        }

        @Test("the demo's words continue in the next row")
        func narration() throws {
            try shop.folder.write("plugins/demo.txt", "# A customer looks at the list. Reviews come in.\n")
            let terminal = try TestTerminal(columns: 40)
            let up = try shop.up("--demo", terminal: terminal.path)
            try eventually("it is told") { shown(terminal).contains { $0.hasPrefix("demo   | Reviews") } }
            let told = shown(terminal).filter { $0.hasPrefix("demo   | ") && !$0.contains("is over") }
            #expect(told == ["demo   | # A customer looks at the list.", "demo   | Reviews come in."])
            _ = up
        }

        @Test("the address of the page is a line of its own in the demo, and is never cut")
        func address() throws {
            let rights = #","subscribes":["**"],"serves":["dashboard.open"],"start":"demand""#
            try shop.add("dashboard", "exec \(Products.folder)/dashboard", json: rights)
            try shop.folder.write("plugins/demo.txt", "# A first step.\n")
            let terminal = try TestTerminal(columns: 40)
            let up = try shop.up("--demo", terminal: terminal.path)
            let line = /demo +\| http:\/\/127\.0\.0\.1:\d+\/#\w{32}/
            try eventually("it is told") { shown(terminal).contains { $0.wholeMatch(of: line) != nil } }
            _ = up
        }
    #endif

    @Test("a plugin is told whether it should be verbose")
    func verbose() throws {
        try shop.add("one", #"echo "it is ${PLUGBOARD_VERBOSE-unset}"; exec sleep 1000"#)
        for (arguments, word) in [([String](), "unset"), (["--verbose"], "1")] {
            let up = try Run(["up"] + arguments, in: shop.folder)
            try eventually("it speaks") { up.output == "one    | it is \(word)\n" }
            up.signal(SIGTERM)
            #expect(try up.finished().end == .exited(0))
        }
    }

    @Test("the demo is no plugin: it isn't listed and can't be started")
    func demo() throws {
        try shop.add("one", "exec sleep 1000")
        try shop.folder.write("plugins/demo.txt", "# A first step.\n")
        let up = try shop.up("--demo")
        try eventually("it is over") { up.messages.contains("demo   | is over") }
        let listed = try plugboard("plugins", in: shop.folder).lines.dropFirst()
        #expect(listed.count == 1 && listed.first?.hasPrefix("one ") == true)
        #expect(try plugboard("plugin", "start", "demo", in: shop.folder).messages.contains("not_found"))
        #expect(try plugboard("keys", "$broker.plugins.*", in: shop.folder).lines.count == 1)
    }
}

@Suite("up gives plugins a folder for their files", .someAtATime)
struct UpStateTests {
    private let shop: Shop

    init() throws {
        shop = try Shop()
        try shop.add("one", #"ls "$PLUGBOARD_STATE"; echo x > "$PLUGBOARD_STATE/mine"; exec sleep 1000"#)
    }

    private var folders: [String] {
        ((try? Folder.names(in: shop.folder.path + "/state/plugboard")) ?? []).filter {
            $0.hasSuffix(".plugins") || $0.hasSuffix(".passing")
        }
    }

    /// The files after the plugin has written and `up` has ended.
    private func run(
        _ arguments: String..., killed: Bool = false
    ) throws -> (during: [String], after: [String]) {
        let up = try Run(["up"] + arguments, in: shop.folder)
        func files() -> [String] {
            folders.flatMap { folder in
                ((try? Folder.names(in: shop.folder.path + "/state/plugboard/\(folder)")) ?? []).map {
                    "\(folder.split(separator: ".").last ?? "")/\($0)"
                }
            }
        }
        try eventually("it writes") { !files().isEmpty && up.messages.contains("up.") }
        let during = files()
        up.signal(killed ? SIGKILL : SIGTERM)
        _ = try up.finished()
        return (during, files())
    }

    @Test("which stays if the bus is kept")
    func kept() throws {
        #expect(try run() == (["plugins/mine"], ["plugins/mine"]))
    }

    @Test("which goes with up if the bus isn't kept, as in a demo", arguments: ["--demo", "--memory"])
    func passing(option: String) throws {
        #expect(try run(option) == (["passing/mine"], []))
        #expect(folders.isEmpty)
    }

    @Test("which nobody else may write to, or up ends with the reason")
    func open() throws {
        let path = shop.folder("mine.plugins")
        try Folder.make(path)
        #expect(SystemCalls.setMode(path, 0o777))
        let up = try plugboard("up", "--state", shop.folder("mine"), in: shop.folder)
        #expect(up.end == .exited(1))
        let reason = "other users may write to the folder \(path)"
        #expect(up.messages.contains("the plugins have no folder for their files: \(reason)"))
        #expect(try Folder.names(in: path) == [] && !shop.folder.exists("s"))
    }

    @Test("which no other user has made, or linked to", .enabled(if: Accounts.ownUser == 0))
    func foreign() throws {
        let path = shop.folder("mine.plugins")
        try Folder.make(path)
        #expect(SystemCalls.giveAway(path, to: Stranger.user, group: Stranger.user))
        let words = ["up", "--state", shop.folder("mine")]
        #expect(try Run(words, in: shop.folder).finished().end == .exited(1))
        Folder.remove(path)
        try Folder.make(shop.folder("precious"))
        try FileCopy.link(at: path, to: "precious")
        #expect(SystemCalls.giveAway(path, to: Stranger.user, group: Stranger.user))
        #expect(try Run(words, in: shop.folder).finished().end == .exited(1))
        #expect(try Folder.names(in: shop.folder("precious")) == [])
        // A link of this user is fine.
        Folder.remove(path)
        try FileCopy.link(at: path, to: "precious")
        let up = try shop.up("--state", shop.folder("mine"))
        try eventually("it writes") { shop.folder.exists("precious/mine") }
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
    }

    #if os(Linux)
        @Test("which the next demo removes if up was killed")
        func killed() throws {
            #expect(try run("--demo", killed: true) == (["passing/mine"], ["passing/mine"]))
            try eventually("the broker has ended") { !shop.folder.exists("s") }
            let up = try shop.up("--demo")
            try eventually("it speaks or writes") {
                folders.count == 1 && shop.folder.exists("state/plugboard/\(folders[0])/mine")
            }
            #expect(!up.output.contains("mine"))
        }
    #endif

    @Test("and the shop's logger writes there")
    func logger() throws {
        let tests = SocketPath.folder(of: #filePath)
        let plugins = SocketPath.folder(of: SocketPath.folder(of: tests)) + "/plugins"
        let up = try shop.up("--demo", "--plugins", plugins, "logger")
        try eventually("it writes") {
            folders.count == 1 && !shop.folder.text("state/plugboard/\(folders[0])/logger.log").isEmpty
        }
        #expect(!shop.folder.exists("s.log"))
        // This must not fill the screen.
        _ = try plugboard("publish", "a", "1", in: shop.folder)
        try eventually("it is logged") {
            shop.folder.text("state/plugboard/\(folders[0])/logger.log").contains(#""key":"a""#)
        }
        let logger = up.output.split(separator: "\n").filter { $0.hasPrefix("logger | ") }
        #expect(logger.count == 1 && logger[0].contains("writing to "))
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
        #expect(folders.isEmpty)
    }
}
