import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("plugboard dashboard", .someAtATime)
struct DashboardCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var file: String { folder.socket + ".dashboard" }

    /// The port and the token of an address.
    private func parts(_ address: String) throws -> (port: UInt16, token: String) {
        let match = address.wholeMatch(of: /http:\/\/127\.0\.0\.1:([0-9]+)\/#([0-9a-f]{32})\n/)
        guard let match, let port = UInt16(match.1) else {
            throw NeverHappened(description: "an address: \(address)")
        }
        return (port, String(match.2))
    }

    /// The first line that the server answers.
    private func status(_ port: UInt16, _ path: String, _ headers: String = "") throws -> String {
        let peer = LinePeer(try LoopbackSocket.connect(port: port))
        try peer.send(
            "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(headers)Connection: close\r\n\r\n"
        )
        return try peer.text()
    }

    @Test("up starts it when its address is asked for; only its user can read the file that has it")
    func onDemand() throws {
        try folder.write(
            "plugins/dashboard/plugin.json",
            InputFile.contents(path: Self.source + "/plugin.json", limit: 65_536)
        )
        let up = try Run(["up", "--plugins", "plugins", "--memory", "--socket", folder.socket], in: folder)
        try eventually("up greets") { up.messages.contains("Plugboard is up") }
        #expect(up.messages.contains(" dashboard --socket "))
        #expect(FileStatus(path: file).kind == .missing)
        let first = try plugboard("dashboard", in: folder)
        let (port, token) = try parts(first.output)
        #expect(TemporaryFolder.mode(file) == 0o600)
        #expect(try status(port, "/").hasPrefix("HTTP/1.1 200"))
        #expect(try status(port, "/events").hasPrefix("HTTP/1.1 403"))
        #expect(try status(port, "/events", "Authorization: Bearer \(token)\r\n").hasPrefix("HTTP/1.1 200"))
        #expect(try plugboard("dashboard", "--no-browser", in: folder).output == first.output)
        let log = try plugboard("plugin", "log", "dashboard", in: folder)
        #expect(log.output == "serving; plugboard dashboard prints the address\n")
        #expect(!(up.output + up.messages + log.messages).contains(token))
        up.signal(SIGINT)
        #expect(try up.finished().end == .exited(0))
        #expect(FileStatus(path: file).kind == .missing)
    }

    @Test("if somebody has stopped up's plugin, it says so, and how to start it")
    func stopped() throws {
        try folder.write(
            "plugins/dashboard/plugin.json",
            InputFile.contents(path: Self.source + "/plugin.json", limit: 65_536)
        )
        let up = try Run(["up", "--plugins", "plugins", "--memory", "--socket", folder.socket], in: folder)
        try eventually("up greets") { up.messages.contains("Plugboard is up") }
        _ = try plugboard("dashboard", in: folder)
        #expect(try plugboard("plugins", "stop", "dashboard", in: folder).end == .exited(0))
        let refused = try plugboard("dashboard", "--socket", folder.socket, in: folder)
        #expect(refused.end == .exited(1) && refused.output.isEmpty)
        #expect(refused.messages.hasPrefix("plugboard dashboard: the plugin dashboard is stopped\n"))
        let hint = try #require(
            refused.messages.split(separator: "\n").last { $0.contains("plugins start dashboard") }
        )
        #expect(hint.hasSuffix(" plugins start dashboard --socket \(folder.socket)"), "\(refused.messages)")
        #expect(try plugboard("plugins", "start", "dashboard", in: folder).end == .exited(0))
        _ = try parts(try plugboard("dashboard", in: folder).output)
        up.signal(SIGINT)
        _ = try up.finished()
    }

    @Test("without up it becomes the plugin, until it is stopped")
    func alone() throws {
        let broker = try startBroker(in: folder, "--memory")
        let page = try Run(["dashboard"], in: folder)
        try eventually("it prints the address") { page.output.contains("\n") }
        let (port, _) = try parts(page.output)
        #expect(try status(port, "/").hasPrefix("HTTP/1.1 200"))
        #expect(try plugboard("dashboard", in: folder).output == page.output)
        page.signal(SIGTERM)
        #expect(try page.finished().end == .exited(0))
        #expect(FileStatus(path: file).kind == .missing)
        _ = broker
    }

    /// What a desktop's program for opening pages was started with, by `plugboard dashboard` at a terminal.
    private func opened(_ arguments: [String] = [], display: String = ":0") throws -> String? {
        try folder.script("bin/xdg-open", #"printf '%s\n' "$@" >"\#(folder("opened"))""#)
        SystemCalls.remove(folder("opened"))
        let terminal = try TestTerminal()
        let path = "\(folder("bin")):/usr/bin:/bin"
        let command = try Run(
            ["dashboard"] + arguments,
            in: folder,
            environment: ["PATH": path, "DISPLAY": display, "WAYLAND_DISPLAY": ""],
            terminal: terminal.path
        )
        try eventually("it prints the address") { terminal.shown().contains("/#") }
        if arguments.isEmpty, !display.isEmpty {
            try eventually("the page is opened") { folder.text("opened").hasSuffix("\n") }
        }
        // It ends, or is the dashboard itself.
        if !folder.exists("page") { command.signal(SIGTERM) }
        #expect(try command.finished().end == .exited(0))
        return folder.exists("opened") ? folder.text("opened") : nil
    }

    @Test("at a desktop's terminal it opens a page that leads to the address")
    func browser() throws {
        let broker = try startBroker(in: folder, "--memory")
        let signpost = file + ".html"
        #expect(try opened() == "\(signpost)\n")
        #expect(FileStatus(path: signpost).kind == .missing)
        let page = try Run(["dashboard"], in: folder)
        try eventually("it prints the address") { page.output.contains("\n") }
        try folder.write("page", "is there")
        #expect(try opened() == "\(signpost)\n")
        #expect(TemporaryFolder.mode(signpost) == 0o600)
        let text = String(decoding: try InputFile.contents(path: signpost, limit: 4_096), as: UTF8.self)
        #expect(text.contains("content=\"0;url=\(page.output.dropLast())\""))
        #expect(try opened(["--no-browser"]) == nil)
        #expect(try opened(display: "") == nil)
        page.signal(SIGTERM)
        #expect(try page.finished().end == .exited(0))
        #expect(FileStatus(path: signpost).kind == .missing)
        _ = broker
    }

    @Test("what a killed dashboard has left, or a second one, never becomes the address that is printed")
    func killed() throws {
        let broker = try startBroker(in: folder, "--memory")
        let first = try Run(["dashboard"], in: folder)
        try eventually("it prints the address") { first.output.contains("\n") }
        first.signal(SIGKILL)
        _ = try first.finished()
        #expect(FileStatus(path: file).kind == .file)
        let second = try Run(["dashboard"], in: folder)
        try eventually("it prints another address") { second.output.contains("\n") }
        #expect(second.output != first.output)
        let arguments = ["--socket", folder.socket]
        let third = try Run(program: Products.folder + "/dashboard", arguments, in: folder)
        try eventually("it prints its own address") { third.output.contains("\n") }
        try eventually("and says that it isn't the first") { third.messages.contains("another dashboard") }
        #expect(try plugboard("dashboard", in: folder).output == second.output)
        try folder.write("s.dashboard", #"{"address":"http://127.0.0.1:1/#0"}"#)
        #expect(try plugboard("dashboard", in: folder).output == second.output)
        third.signal(SIGTERM)
        #expect(try third.finished().end == .exited(0))
        #expect(FileStatus(path: file).kind == .file)
        second.signal(SIGTERM)
        #expect(try second.finished().end == .exited(0))
        #expect(FileStatus(path: file).kind == .missing)
        #expect(FileStatus(path: file + ".html").kind == .missing)
        _ = broker
    }

    @Test("at a Unix socket it listens for this user only, and opens no port")
    func tunnel() throws {
        let broker = try startBroker(in: folder, "--memory")
        let path = folder("page.sock")
        let arguments = ["--socket", folder.socket, "--listen", "unix:\(path)"]
        let page = try Run(program: Products.folder + "/dashboard", arguments, in: folder)
        try eventually("it prints the address") { page.output.contains("\n") }
        #expect(page.output.hasPrefix("http://localhost:PORT/#"))
        #expect(TemporaryFolder.mode(path) == 0o600)
        let peer = try LinePeer(path: path)
        try peer.send("GET / HTTP/1.1\r\nHost: localhost:9000\r\n\r\n")
        #expect(try peer.text().hasPrefix("HTTP/1.1 200"))
        page.signal(SIGTERM)
        #expect(try page.finished().end == .exited(0))
        #expect(FileStatus(path: path).kind == .missing)
        let wrong = try Run(
            program: Products.folder + "/dashboard", ["--listen", "tcp:1"] + arguments.prefix(2), in: folder
        )
        #expect(try wrong.finished().end == .exited(64))
        _ = broker
    }

    @Test("a plugin can be given the right to hold other observers; otherwise it can't")
    func controls() throws {
        for (right, code) in [(#","controls":["**"]"#, "ok"), ("", "error")] {
            let home = try TemporaryFolder()
            try home.write(
                "plugins/holder/plugin.json",
                #"{"name":"holder","run":"run","subscribes":["**"]\#(right)}"#
            )
            try home.script(
                "plugins/holder/run",
                #"echo '{"op":"pause","id":1,"sub":1,"client":'$(cat ../../client)'}' >&$PLUGBOARD_FD; while read -r line <&$PLUGBOARD_FD; do echo "$line"; done"#
            )
            try home.write("client", "0")
            let up = try Run(["up", "--plugins", "plugins", "--memory", "--socket", home.socket], in: home)
            try eventually("up greets") { up.messages.contains("Plugboard is up") }
            let watcher = try LinePeer(path: home.socket)
            let greeting = try watcher.text()
            let number = try #require(greeting.firstMatch(of: /"client":([0-9]+)/)).1
            try watcher.send("subscribe lamp\n")
            while try !watcher.text().contains("synced") {}
            try home.write("client", String(number))
            _ = try plugboard("plugin", "restart", "holder", in: home)
            try eventually("the broker answers") {
                try plugboard("plugin", "log", "holder", in: home).output.contains(
                    #"{"\#(code)":"\#(code == "ok" ? "pause" : "")"#
                )
            }
        }
    }

    private static let source = SwiftProgram.package + "/plugins/dashboard"
}
