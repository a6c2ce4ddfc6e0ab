import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("plugins and plugin", .someAtATime)
final class PluginCommandTests: ShopSuite {
    private func act(_ action: String, _ name: String) throws -> Finished {
        try plugboard("plugin", action, name, in: shop.folder)
    }

    /// The cells of a plugin's row. The last one may have several words.
    private func row(_ name: String) throws -> [String] {
        let listed = try plugboard("plugins", in: shop.folder)
        #expect(listed.end == .exited(0))
        let row = try #require(listed.lines.first { $0.hasPrefix("\(name) ") })
        return row.split(separator: " ", maxSplits: 5).map { String($0).trimmingSpaces() }
    }

    private func state(_ name: String) throws -> String {
        try plugboard("get", "$broker.plugins.\(name)", in: shop.folder).output
    }

    @Test("each plugin is listed with its state, pid, restarts and how it ended")
    func list() throws {
        try shop.add("steady", "echo $$ > pids; exec sleep 1000")
        try shop.add("once", "exit 0")
        try shop.add("crash", "echo oh no >&2; exit 3")
        let up = try shop.up()
        let pid = try shop.pids("steady", count: 1)[0]
        try eventually("told") {
            up.messages.contains("once   | is done")
                && up.messages.contains("crash  | exited with status 3; broken")
        }
        #expect(try row("NAME") == ["NAME", "STATE", "PID", "RESTARTS", "SINCE", "LAST END"])
        #expect(try row("steady").prefix(4) == ["steady", "running", "\(pid)", "0"])
        #expect(try row("once").prefix(4) == ["once", "ended", "-", "0"])
        let crash = try row("crash")
        #expect(crash.prefix(4) == ["crash", "broken", "-", "4"])
        #expect(crash.last == "exited with status 3")
        // A broken plugin doesn't affect the others.
        #expect(Processes.isAlive(pid))
        #expect(try state("crash").contains(#""output":["oh no","oh no","oh no","oh no","oh no"]"#))
        let json = try plugboard("plugins", "--json", in: shop.folder).output
        #expect(try JSONValue(parsing: Array(json.utf8)[...]).array?.count == 3)
        // The list is one line, and the output of many plugins could fill it.
        #expect(!json.contains("oh no"))
    }

    @Test("of a broken plugin's output, the state has the beginnings of the last lines")
    func longOutput() throws {
        try shop.add("crash", "for i in $(seq 20); do printf '%0999d\\n' $i; done; exit 3")
        let up = try shop.up()
        try eventually("told") { up.messages.contains("crash  | exited with status 3; broken") }
        let output = try JSONValue(parsing: Array(try state("crash").utf8)[...]).object?["output"]?.strings
        #expect(output == Array(repeating: String(repeating: "0", count: 399) + "…", count: 10))
    }

    @Test("a list that doesn't fit into a line is refused, and nobody takes it for a bus without up")
    func longList() throws {
        let patterns = (0..<3_000).map { "\"some.long.key\($0)\"" }.joined(separator: ",")
        for number in 0..<14 {
            let json = #","start":"never","publishes":[\#(patterns)]"#
            try shop.add("p\(number)", "exec sleep 1000", json: json)
        }
        let up = try shop.up()
        for command in [["plugins"], ["status"], ["metrics"], ["services"]] {
            let asked = try Run(command, in: shop.folder).finished()
            #expect(asked.end == .exited(1) && asked.output.isEmpty, "\(command): \(asked)")
            #expect(asked.messages.contains("limit: the answer has "), "\(command): \(asked)")
        }
        #expect(try act("log", "p3").end == .exited(0))
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
    }

    @Test("stop ends one plugin with all its children and leaves the others; start brings it back")
    func stopAndStart() throws {
        try shop.add("one", "echo $$ >> pids; sleep 1000 & echo $! >> pids; wait")
        try shop.add("two", "echo $$ > pids; exec sleep 1000")
        let up = try shop.up()
        let pids = try shop.pids("one", count: 2)
        let other = try shop.pids("two", count: 1)[0]
        #expect(try act("stop", "one").output == "one is stopped\n")
        try shop.expectGone(pids)
        #expect(Processes.isAlive(other))
        #expect(try state("one").contains(#""state":"stopped""#))
        #expect(try act("stop", "one").output == "one is stopped\n")
        let started = try act("start", "one")
        let again = try shop.pids("one", count: 4)[2]
        #expect(started.output == "one is running, pid \(again)\n")
        #expect(try act("start", "one").output == started.output)
        try eventually("it is told") { up.messages.contains("one    | stop, as #") }
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
        try shop.expectGone([again, other])
    }

    /// Ends the process first. It ignores SIGTERM, so it would outlive an `up` that is killed.
    private func end(_ up: Run) throws {
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
    }

    @Test("restart waits for the end, however long it takes; then there is a new process")
    func restart() throws {
        try shop.add("rock", "trap '' TERM; echo $$ >> pids; while :; do sleep 0.05; done")
        let up = try shop.up()
        let old = try shop.pids("rock", count: 1)[0]
        let restarted = try plugboard("plugin", "restart", "rock", "--name", "ada", in: shop.folder)
        let new = try shop.pids("rock", count: 2)[1]
        #expect(restarted.output == "rock is running, pid \(new)\n")
        #expect(!Processes.isAlive(old))
        #expect(try row("rock").prefix(4) == ["rock", "running", "\(new)", "1"])
        let why = try plugboard("why", "$broker.plugins.rock", in: shop.folder).lines
        #expect(why.first?.contains("publish by up  ") == true && why.count == 2, "\(why)")
        #expect(why.last?.hasPrefix("← plugins.restart") == true, "\(why)")
        #expect(why.last?.contains("call by ada  ") == true, "\(why)")
        try eventually("it is told") { up.messages.contains("rock   | restart, as ada asked\n") }
        try eventually("it is told") { up.messages.contains("rock   | didn't stop; killed\n") }
        try end(up)
    }

    @Test("a broken plugin starts by hand, and has all its tries again")
    func broken() throws {
        try shop.add("crash", "echo x >> runs; [ -e mended ] && exec sleep 1000; exit 1")
        let up = try shop.up()
        try eventually("it is broken") { up.messages.contains("broken after 5 starts in 10 s, until: ") }
        #expect(shop.text("crash", "runs").count == 10)
        try shop.folder.write("plugins/crash/mended", "")
        #expect(try act("start", "crash").output.hasPrefix("crash is running, pid "))
        #expect(try row("crash").prefix(2) == ["crash", "running"])
    }

    @Test("a plugin.json may ask for a start after every end, or after none")
    func rules() throws {
        try shop.add("again", "echo x >> runs; exit 0", json: #","restart":"always""#)
        try shop.add("never", "echo x >> runs; exit 1", json: #","restart":"never""#)
        let up = try shop.up()
        try eventually("both are told") {
            up.messages.contains("again  | is done; broken after 5 starts")
                && up.messages.contains("never  | exited with status 1\n")
        }
        #expect(shop.text("again", "runs").count == 10)
        #expect(shop.text("never", "runs").count == 2)
        #expect(try row("never").prefix(2) == ["never", "ended"])
    }

    @Test("log prints the last lines of output and errors, even after the plugin has ended")
    func log() throws {
        try shop.add("one", "echo out; echo err >&2; seq 1 300; exit 0")
        let up = try shop.up()
        try eventually("it is done") { up.messages.contains("one    | is done") }
        #expect(try act("log", "one").lines == (101...300).map { "\($0)" })
        let two = try plugboard("plugin", "log", "one", "--lines", "2", "--json", in: shop.folder)
        #expect(two.output == "[\"299\",\"300\"]\n")
        #expect(try plugboard("plugin", "stop", "one", "--lines", "2", in: shop.folder).end == .exited(64))
    }

    @Test("a missing plugin, an invalid name and a broker without up are reported")
    func refusals() throws {
        try shop.add("cart", "exec sleep 1000")
        let up = try shop.up()
        let unknown = try act("stop", "crat")
        #expect(unknown.end == .exited(1))
        #expect(unknown.messages.contains("not_found: up has no plugin \"crat\"; did you mean \"cart\"?"))
        let odd = try plugboard("call", "plugins.stop", "7", in: shop.folder)
        #expect(odd.messages.contains("bad_value: the value is a plugin's name, a string"))
        let action = try act("stpo", "cart")
        #expect(action.end == .exited(64))
        #expect(action.messages.contains("did you mean \"stop\"?"))
        up.signal(SIGTERM)
        _ = try up.finished()
        let broker = try startBroker(in: shop.folder, "--memory")
        let alone = try plugboard("plugins", in: shop.folder)
        #expect(alone.end == .exited(69))
        #expect(alone.messages.contains("plugboard up didn't start it"))
        _ = broker
    }

    @Test("256 calls may wait for a plugin to stop, and one more is refused")
    func waitingCalls() throws {
        try shop.add("rock", "trap '' TERM; echo $$ > pids; while :; do sleep 0.05; done")
        let up = try shop.up()
        _ = try shop.pids("rock", count: 1)
        let caller = try BrokerConnection(path: shop.folder.socket)
        try caller.expectGreeting()
        let line = Array("call plugins.stop \"rock\"\n".utf8)
        for _ in 0...SupervisorClient.waitingMax { try caller.send(line) }
        #expect(try caller.nextLine().kind == .error("limit"))
        for _ in 0..<SupervisorClient.waitingMax { #expect(try caller.nextLine().kind == .ok("call")) }
        try end(up)
    }

    @Test("the states leave the bus together with up")
    func states() throws {
        let broker = try startBroker(in: shop.folder, "--memory", "--supervised")
        let terms = ProcessSpec(start: ChildStart(program: "/no/such", output: .piped))
        let child = SupervisedProcess(name: "it", terms: terms)
        let path = shop.folder.socket
        var desk: SupervisorClient? = try SupervisorClient { try BusLink(path: path) }
        desk?.tell(child)
        try eventually("it is there") { try state("it").contains(#""state":"ended""#) }
        desk = nil
        try eventually("it is gone") { try state("it").isEmpty }
        _ = broker
    }

    @Test("a broker that doesn't read is given up after 4 MiB, and nobody waits for it")
    func link() throws {
        let lock = try SocketLock.acquire(for: shop.folder.socket)
        let listener = try UnixSocket.listen(path: shop.folder.socket)
        let link = try BusLink(path: shop.folder.socket)
        link.send([UInt8](repeating: 0x20, count: BusLink.outboxBytesMax))
        #expect(!link.isGone)
        #expect(link.interest == [.read, .write])
        // The system may have taken some of the first one.
        for _ in 0..<2 { link.send([UInt8](repeating: 0x20, count: BusLink.outboxBytesMax)) }
        #expect(link.isGone)
        _ = consume listener
        _ = consume lock
    }
}
