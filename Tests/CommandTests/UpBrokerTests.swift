import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("up keeps its broker alive", .someAtATime)
final class UpBrokerTests: ShopSuite {
    /// The broker's process, which the broker itself tells.
    private func broker() throws -> Int32 {
        let stats = try plugboard("get", "$broker.stats", in: shop.folder).output
        let pid = try JSONObject(parsing: Array(stats.utf8)[...])["pid"]?.integer
        return try #require(pid.flatMap(Int32.init(exactly:)))
    }

    @Test("a broker that dies is started again, with its values; plugins go on, known and limited as before")
    func restarts() throws {
        try shop.add(
            "plain",
            #"""
            echo $$ > pids
            while :; do [ -e go ] && "$PLUGBOARD_PROGRAM" publish theirs 1 2> refused && break; sleep 0.05; done
            "$PLUGBOARD_PROGRAM" publish mine 1
            exec sleep 1000
            """#,
            json: #","publishes":["mine"]"#
        )
        let up = try shop.up()
        let pids = try shop.pids("plain", count: 1)
        _ = try plugboard("publish", "kept", "41", in: shop.folder)
        let first = try broker()
        kill(first, SIGKILL)
        try eventually("it says so") {
            up.messages.contains("broker | was ended by SIGKILL; starting it again in 0.1 s\n")
                && up.messages.contains("broker | it serves again\n")
        }
        #expect(try plugboard("get", "kept", in: shop.folder).output == "41\n")
        #expect(try broker() != first)
        try eventually("the plugin is told of again") {
            try plugboard("get", "$broker.plugins.plain", in: shop.folder).output.contains(
                #""pid":\#(pids[0]),"#
            )
        }
        try shop.folder.write("plugins/plain/go", "")
        try eventually("it is limited") { shop.text("plain", "refused").contains("forbidden") }
        #expect(Processes.isAlive(pids[0]) && up.isRunning)
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
        try shop.expectGone(pids)
        #expect(!shop.folder.exists("s"))
    }

    @Test("up that loses its connection makes another one at once, so its calls find somebody again")
    func connectsAtOnce() throws {
        try shop.add("one", "exec sleep 1000")
        let up = try shop.up("--memory")
        let person = try BrokerConnection(path: shop.folder.socket)
        try person.expectGreeting()
        // However slow this machine is now and then, the fastest time says whether up waits.
        var fastest = UInt64.max
        for _ in 0..<10 {
            try eventually("up is there, and for longer than it would wait") {
                usleep(100_000)
                return try person.plugins() != nil
            }
            let own = try #require(person.clients().first { $0["name"]?.string == "up" }?["client"]?.integer)
            _ = try person.accepted(ObjectWriter(op: "disconnect").adding("client", own))
            let start = MonotonicClock.nanoseconds()
            try eventually("up is there again") { try person.plugins() != nil }
            fastest = min(fastest, MonotonicClock.nanoseconds() - start)
        }
        #expect(fastest < 50_000_000)
        _ = up
    }

    @Test("a broker that finds a mistake in the command line ends up with its status, 64; otherwise it is 1")
    func status() throws {
        let both = try plugboard("up", "--memory", "--state", "x", in: shop.folder)
        #expect(both.end == .exited(64) && both.messages.contains("--memory keeps nothing"))
        try shop.folder.write("file", "")
        #expect(try plugboard("up", "--socket", "t", "--state", "file", in: shop.folder).end == .exited(1))
    }

    @Test("a broker that dies again and again ends up with status 1")
    func lost() throws {
        try shop.add("plain", "echo $$ > pids; exec sleep 1000")
        let up = try shop.up()
        let pids = try shop.pids("plain", count: 1)
        var killed: Set<Int32> = []
        try eventually("up gives up") {
            for child in Processes.children(of: up.pid)
            where !pids.contains(child) && Processes.isAlive(child) {
                kill(child, SIGKILL)
                killed.insert(child)
            }
            return !up.isRunning
        }
        #expect(killed.count == RestartPolicy.startsMax)
        let finished = try up.finished()
        #expect(finished.end == .exited(1))
        #expect(finished.messages.contains("broker | was ended by SIGKILL: the bus is gone; stopping\n"))
        #expect(finished.messages.hasSuffix("plugboard up: the broker was lost\n"))
        try shop.expectGone(pids)
        #expect(!shop.folder.exists("s"))
    }

    @Test("a signal while the broker waits for its restart stops everything with status 0")
    func stoppedMeanwhile() throws {
        try shop.add("plain", "echo $$ > pids; exec sleep 1000")
        let up = try shop.up()
        let pids = try shop.pids("plain", count: 1)
        kill(try broker(), SIGKILL)
        try eventually("it says so") { up.messages.contains("starting it again") }
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
        try shop.expectGone(pids)
        #expect(!shop.folder.exists("s"))
    }
}
