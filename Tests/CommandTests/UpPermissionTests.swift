import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("up gives each plugin its connection", .someAtATime)
final class UpPermissionTests: ShopSuite {
    /// What the broker says about its clients with this name.
    private func clients(_ name: String) throws -> [BrokerLine] {
        let person = try BrokerConnection(path: shop.folder.socket)
        try person.expectGreeting()
        _ = try person.accepted(ObjectWriter(op: "subscribe").adding("key", string: "$broker.clients.*"))
        var found: [BrokerLine] = []
        while true {
            let line = try person.nextLine()
            if line.kind == .event("synced") { return found }
            if line["value"]?.object?["name"]?.string == name { found.append(line) }
        }
    }

    @Test("already open, with its name and the rights in plugin.json; everything else is forbidden")
    func inherited() throws {
        try shop.add(
            "one",
            """
            echo 'publish lamp 1' >&$PLUGBOARD_FD
            echo 'publish door 1' >&$PLUGBOARD_FD
            echo 'hello two' >&$PLUGBOARD_FD
            head -4 <&$PLUGBOARD_FD
            """,
            json: #","publishes":["lamp"]"#
        )
        let up = try shop.up()
        try eventually("it is done") { up.messages.contains("is done") }
        let lines = up.output.split(separator: "\n").map { String($0.dropFirst("one    | ".count)) }
        try #require(lines.count == 4)
        #expect(lines[0].hasPrefix(#"{"event":"hello""#) && lines[0].contains(#","name":"one","#))
        #expect(lines[1].hasPrefix(#"{"ok":"publish""#))
        #expect(lines[2].hasPrefix(#"{"error":"forbidden""#) && lines[2].contains("plugin.json"))
        #expect(lines[3].hasPrefix(#"{"error":"forbidden""#))
        let got = try plugboard("get", "lamp", "--json", in: shop.folder)
        #expect(got.output.contains(#""by":"one""#))
    }

    @Test("and the plugin's own commands have its name and its limits, too")
    func commands() throws {
        try shop.add(
            "one",
            #"""
            "$PLUGBOARD_PROGRAM" publish lamp 1 | cat
            "$PLUGBOARD_PROGRAM" publish door 1
            (sh -c '"$PLUGBOARD_PROGRAM" publish lamp 2 --name two') && echo no
            exit 0
            """#,
            json: #","publishes":["lamp"]"#
        )
        let up = try shop.up()
        try eventually("it is done") { up.messages.contains("is done") }
        try eventually("it is told") { up.output.contains("does not let this client publish \"door\"") }
        try eventually("it is told") {
            up.output.contains("can't call itself \"two\"") && !up.output.contains("| no\n")
        }
        #expect(try plugboard("get", "lamp", "--json", in: shop.folder).output.contains(#""by":"one""#))
    }

    @Test("so that no other client can have its name, whether it runs or not")
    func forged() throws {
        try shop.add("one", "echo $$ > pids; exec sleep 1000")
        let up = try shop.up()
        let pid = try shop.pids("one", count: 1)[0]
        for _ in 0..<2 {
            let forged = try plugboard("publish", "a", "1", "--name", "one", in: shop.folder)
            #expect(forged.end == .exited(1))
            #expect(forged.messages.contains("forbidden: \"one\" is the name of a plugin"))
            _ = try plugboard("plugin", "stop", "one", in: shop.folder)
        }
        try shop.expectGone([pid])
        #expect(try plugboard("publish", "a", "1", "--name", "up", in: shop.folder).end == .exited(1))
        #expect(try plugboard("publish", "a", "1", "--name", "ada", in: shop.folder).end == .exited(0))
        _ = up
    }

    @Test("which the client library uses: a plugin of the shop has only this connection")
    func library() throws {
        let tests = SocketPath.folder(of: #filePath)
        let plugins = SocketPath.folder(of: SocketPath.folder(of: tests)) + "/plugins"
        let up = try shop.up("--plugins", plugins, "cart")
        try eventually("the cart is there") {
            try plugboard("get", "cart.items", in: shop.folder).output == "[]\n"
        }
        let found = try clients("cart")
        #expect(found.count == 1)
        let pid = found.first?["value"]?.object?["pid"]?.integer.flatMap { Int32(exactly: $0) }
        #expect(pid.map { Processes.children(of: up.pid).contains($0) } == true)
    }

    @Test("for the plugin's own process: each program that a script starts makes a connection of its own")
    func programs() throws {
        try shop.add(
            "pair",
            """
            cd "\(Products.folder)"
            ./price-indicator & echo $! > "$OLDPWD/first"
            ./cart &
            wait $!
            """,
            json: #","subscribes":["**"],"publishes":["**"],"serves":["**"]"#
        )
        let up = try shop.up("--memory")
        // It ends what the script has started, too.
        defer {
            up.signal(SIGTERM)
            _ = try? up.finished()
        }
        try eventually("both work") {
            try plugboard("emit", "cart.add", #"{"sku":"brick-2"}"#, in: shop.folder).end == .exited(0)
                && plugboard("get", "cart.summary", in: shop.folder).end == .exited(0)
        }
        #expect(try clients("pair").count == 2)
        #expect(!up.output.contains("no broker"), "\(up.output)")
    }

    @Test("which isn't a client before it says something, so a program that opens its own is one client")
    func silent() throws {
        try shop.add(
            "one",
            """
            fd=$PLUGBOARD_FD; unset PLUGBOARD_FD
            "$PLUGBOARD_PROGRAM" subscribe x &
            until [ -e go ]; do sleep 0.02; done
            echo sync >&$fd
            wait
            """,
            json: #","subscribes":["x"]"#
        )
        let up = try shop.up("--memory")
        func count() throws -> UInt64? {
            let stats = try plugboard("get", "$broker.stats", in: shop.folder)
            return try JSONObject(parsing: Array(stats.output.utf8)[...])["clients"]?.integer
        }
        try eventually("it observes") {
            try plugboard("who", "x", in: shop.folder).output.contains("one")
        }
        #expect(try clients("one").count == 1 && count() == 3)
        try shop.folder.write("plugins/one/go", "")
        try eventually("it has said something") { try clients("one").count == 2 && count() == 4 }
        _ = up
    }

    @Test(
        "and which ends with the plugin's process, although another one still holds it",
        .enabled(if: FileStatus.isRunnable(path: "/usr/bin/setsid")),
        arguments: [
            // What is bound to the connection, what serves, and what observes.
            #"echo '{"op":"publish","id":1,"key":"lamp","value":1,"while":"connected"}' >&$PLUGBOARD_FD"#,
            "echo 'serve lamp.set' >&$PLUGBOARD_FD", "echo 'subscribe lamp' >&$PLUGBOARD_FD",
        ]
    )
    func outlived(_ line: String) throws {
        let rights = #","publishes":["lamp","kept"],"serves":["lamp.set"],"subscribes":["lamp"]"#
        try shop.add(
            "one",
            """
            \(line)
            head -2 <&$PLUGBOARD_FD
            setsid sh -c 'echo $$ > pids; exec sleep 1000' &
            until [ -e go ]; do sleep 0.02; done
            echo 'publish kept 1' >&$PLUGBOARD_FD
            """,
            json: rights
        )
        let up = try shop.up("--memory")
        let sleeper = try shop.pids("one", count: 1)[0]
        defer { kill(sleeper, SIGKILL) }
        try eventually("it is a client") { try clients("one").count == 1 }
        try shop.folder.write("plugins/one/go", "")
        try eventually("it is done") { up.messages.contains("is done") }
        try eventually("it is no client any more") { try clients("one").isEmpty }
        #expect(Processes.isAlive(sleeper))
        #expect(try plugboard("get", "lamp", in: shop.folder).end == .exited(1))
        #expect(try plugboard("get", "kept", in: shop.folder).output == "1\n")
    }

    @Test("and when the broker is replaced, plugins go on as before: known, bound and serving")
    func begunAnew() throws {
        let tests = SocketPath.folder(of: #filePath)
        let plugins = SocketPath.folder(of: SocketPath.folder(of: tests)) + "/plugins"
        let up = try shop.up("--memory", "--plugins", plugins, "cart")
        let folder = shop.folder
        func serves() throws -> Bool {
            try plugboard("call", "cart.clear", in: folder).output == #"{"lines":0}"# + "\n"
        }
        func pid() throws -> UInt64? {
            let state = try plugboard("get", "$broker.plugins.cart", in: folder)
            return try JSONObject(parsing: Array(state.output.utf8)[...])["pid"]?.integer
        }
        try eventually("the cart serves") { try serves() }
        let before = try #require(try pid())
        #expect(try plugboard("restart", in: folder).end == .exited(0))
        try eventually("up tells of it again") {
            try plugboard("get", "$broker.plugins.cart", in: folder).end == .exited(0)
        }
        #expect(try pid() == before && up.isRunning)
        try eventually("it serves again") { try serves() }
        let forged = try plugboard("publish", "a", "1", "--name", "cart", in: folder)
        #expect(forged.end == .exited(1) && forged.messages.contains("is the name of a plugin"))
        #expect(try plugboard("plugin", "restart", "cart", in: folder).end == .exited(0))
        #expect(try pid() != before)
    }

    @Test("even between the broker's replacement and the moment at which up has told it of them")
    func alwaysLimited() throws {
        try shop.add(
            "one",
            """
            try() { while :; do "$PLUGBOARD_PROGRAM" publish "$1" 1 >>said 2>&1; done; }
            try door & try door & try lamp
            """,
            json: #","publishes":["lamp"]"#
        )
        let up = try shop.up("--memory")
        for _ in 0..<5 {
            try eventually("it tries") { shop.text("one", "said").contains("forbidden") }
            #expect(try plugboard("restart", in: shop.folder).end == .exited(0))
        }
        #expect(try plugboard("publish", "a", "1", "--name", "one", in: shop.folder).end == .exited(1))
        try eventually("what it may publish is its own") {
            try plugboard("get", "lamp", "--json", in: shop.folder).output.contains(#""by":"one""#)
        }
        #expect(try plugboard("why", "door", in: shop.folder).messages.contains("not_found"))
        #expect(up.isRunning)
    }

    @Test("and up connects again if its own connection is lost: its plugins are known as before")
    func reconnects() throws {
        let broker = try startBroker(in: shop.folder, "--memory", "--supervised")
        let path = shop.folder.socket
        let child = SupervisedProcess(
            name: "it",
            terms: ProcessSpec(
                start: ChildStart(program: "/no/such", output: .piped),
                permission: Array(#"{"publish":[]}"#.utf8)
            )
        )
        let desk = try SupervisorClient { try BusLink(path: path) }
        desk.tell(child)
        func isKnown() throws -> Bool {
            _ = desk.turn()
            return try plugboard("get", "$broker.plugins.it", in: shop.folder).end == .exited(0)
        }
        try eventually("it is known") { try isKnown() }
        broker.signal(SIGTERM)
        _ = try broker.finished()
        try eventually("the loss is seen") {
            _ = desk.turn()
            return desk.isGone
        }
        #expect(!desk.connectAgain())
        let next = try startBroker(in: shop.folder, "--memory", "--supervised")
        #expect(desk.connectAgain())
        desk.tell(child)
        try eventually("it is known again") { try isKnown() }
        _ = next
    }
}
