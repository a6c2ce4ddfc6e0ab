import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("up keeps plugins alive and leaves nothing behind", .someAtATime)
final class UpLifeTests: ShopSuite {
    @Test("a plugin that crashes is started again, later each time; no zombie stays")
    func restarts() throws {
        try shop.add("crash", "echo x >> runs; exit 3")
        let up = try shop.up()
        try eventually("four runs") { shop.text("crash", "runs").split(separator: "\n").count >= 4 }
        // A random part adds up to a quarter.
        for delay in ["0.1", "0.2", "0.[45]"] {
            let told = try Regex("crash  \\| exited with status 3; starting it again in \(delay) s\n")
            try eventually("it is told") { up.messages.contains(told) }
        }
        try eventually("all were waited for") { Processes.zombies(of: up.pid).isEmpty }
        #expect(try plugboard("publish", "a", "1", in: shop.folder).end == .exited(0))
    }

    @Test("the signal that ended a plugin is named")
    func signalled() throws {
        try shop.add("crash", "kill -SEGV $$")
        let up = try shop.up()
        try eventually("it is told") {
            up.messages.contains("crash  | was ended by SIGSEGV; starting it again in 0.1 s")
        }
    }

    @Test("a script that can't run is reported and tried again, and the others run")
    func notRunnable() throws {
        try shop.folder.write("plugins/text/run", "no interpreter line\n", mode: 0o700)
        try shop.folder.write("plugins/text/plugin.json", #"{"name":"text","run":"run"}"#)
        try shop.add("good", "echo fine; exec sleep 100")
        let up = try shop.up()
        try eventually("told") {
            up.messages.contains("text   | exited with status 1; starting it again in 0.2 s")
        }
        try eventually("it is told") { up.output.contains("Exec format error") }
        try eventually("it is told") { up.output.contains("a script's first line is #!") }
        try eventually("it is told") { up.output.contains("good   | fine") }
    }

    @Test(
        "of a script whose interpreter is missing, the interpreter is named",
        arguments: [
            ("#!/bin/sh\r\necho 1\r\n", #"is "/bin/sh\r", because its lines end with CR LF)"#),
            ("#!/no/such/python3 -u\nprint(1)\n", #"(its interpreter is "/no/such/python3")"#),
            ("#! /etc/passwd/x\n", #"(its interpreter is "/etc/passwd/x"): Not a directory"#),
            ("#!/etc\n", #"(its interpreter is "/etc"): Permission denied"#),
        ]
    )
    func missingInterpreter(script: String, told: String) throws {
        try shop.folder.write("plugins/text/run", script, mode: 0o700)
        try shop.folder.write("plugins/text/plugin.json", #"{"name":"text","run":"run"}"#)
        let up = try shop.up()
        try eventually("it is told") { up.output.contains(told) }
    }

    /// Whether a test may make a process the first one of its kind.
    private static let hasNamespaces: Bool = {
        let unshare = "/usr/bin/unshare"
        guard FileStatus.isRunnable(path: unshare), let folder = try? TemporaryFolder() else { return false }
        let run = try? Run(program: unshare, ["-rpf", "--mount-proc", "true"], in: folder)
        return (try? run?.finished().end) == .exited(0)
    }()

    @Test(
        "as process 1 of a container it reaps what others have left",
        .enabled(if: hasNamespaces, "unshare -rpf doesn't work here")
    )
    func firstProcess() throws {
        try shop.add(
            "one",
            """
            for i in 1 2 3; do
                left=$(sh -c 'setsid sleep 0.1 > /dev/null & echo $!')
                while [ -e /proc/$left ]; do sleep 0.02; done
                echo reaped $i
            done
            """
        )
        let words = ["-rpf", "--mount-proc", "--kill-child", Products.folder + "/plugboard", "up"]
        let up = try Run(program: "/usr/bin/unshare", words, in: shop.folder)
        try eventually("it is done") { up.messages.contains("is done") }
        for number in 1...3 { #expect(up.output.contains("reaped \(number)\n")) }
        up.signal(SIGKILL)
    }

    @Test("a plugin that ends with status 0 is finished and not started again")
    func done() throws {
        try shop.add("once", "echo x >> runs")
        try shop.add("crash", "exit 1")
        let up = try shop.up()
        try eventually("time has passed") { up.messages.contains("crash  | exited with status 1; broken") }
        #expect(shop.text("once", "runs") == "x\n")
        try eventually("it is told") { up.messages.contains("once   | is done") }
    }

    @Test("children of a crashed plugin end with it")
    func leftovers() throws {
        try shop.add("parent", "sleep 1000 & echo $! >> pids; exit 1")
        let up = try shop.up()
        try shop.expectGone([try shop.pids("parent", count: 1)[0]])
        _ = up
    }

    @Test("a signal stops the plugins, then the broker; nothing is left", arguments: [SIGINT, SIGTERM])
    func stops(number: Int32) throws {
        try shop.add(
            "polite",
            #"""
            trap '"$PLUGBOARD_PROGRAM" publish bye 1 && echo goodbye; exit 0' TERM
            echo $$ > pids
            sleep 1000 & echo $! >> pids
            while :; do wait; done
            """#,
            json: #","publishes":["bye"]"#
        )
        try shop.add("plain", "echo $$ > pids; exec sleep 1000")
        let up = try shop.up()
        let pids = try shop.pids("polite", count: 2) + shop.pids("plain", count: 1)
        let children = Processes.children(of: up.pid)
        up.signal(number)
        let finished = try up.finished()
        #expect(finished.end == .exited(0))
        // The broker still answered while the plugins ended.
        #expect(finished.output.contains("polite | goodbye"))
        #expect(finished.messages.hasSuffix("stopped\n"))
        try shop.expectGone(pids + children)
        #expect(!shop.folder.exists("s"))
    }

    @Test("SIGHUP makes the broker read its policy again, and the plugins run on")
    func hangup() throws {
        try shop.add("plain", "echo $$ > pids; exec sleep 1000")
        try shop.folder.write("p.json", #"{"rules":[{"allow":{"everything":["a"]}}]}"#)
        let up = try shop.up("--policy", "p.json")
        let pid = try shop.pids("plain", count: 1)[0]
        #expect(try plugboard("publish", "b", "1", in: shop.folder).end == .exited(1))
        try shop.folder.write("p.json", #"{"rules":[{"allow":{"everything":["b"]}}]}"#)
        up.signal(SIGHUP)
        try eventually("the broker says so") { up.output.contains("the policy was loaded anew") }
        #expect(try plugboard("publish", "b", "1", in: shop.folder).end == .exited(0))
        #expect(Processes.isAlive(pid) && up.isRunning)
    }

    @Test("a plugin that ignores SIGTERM is killed after two seconds, with all its children")
    func stubborn() throws {
        try shop.add(
            "rock",
            "trap '' TERM; echo $$ > pids; sh -c \"trap '' TERM; while :; do sleep 1; done\" & echo $! >> pids; while :; do sleep 1; done"
        )
        let up = try shop.up()
        let pids = try shop.pids("rock", count: 2)
        let start = MonotonicClock.nanoseconds()
        up.signal(SIGTERM)
        let finished = try up.finished()
        #expect(MonotonicClock.nanoseconds() - start >= 1_900_000_000)
        #expect(finished.end == .exited(0))
        #expect(finished.messages.contains("rock   | didn't stop; killed"))
        try shop.expectGone(pids)
        #expect(!shop.folder.exists("s"))
    }

    @Test("what a plugin has started may end in order within two seconds, though the plugin itself has ended")
    func orderlyChildren() throws {
        // Its shell ends at once.
        let child = { (work: String) in "sh -c '\(work)' & echo $$ $! >> pids; wait" }
        let ready = "echo x >> ready; while :; do sleep 0.1; done"
        try shop.add("tidy", child(#"trap "sleep 0.3; echo x >> tidied; exit 0" TERM; "# + ready))
        try shop.add("rock", child(#"trap "" TERM; "# + ready))
        let up = try shop.up()
        for name in ["tidy", "rock"] {
            try eventually("\(name) is ready") { shop.text(name, "ready") == "x\n" }
        }
        var start = MonotonicClock.nanoseconds()
        let seconds = { Double(MonotonicClock.nanoseconds() - start) / 1e9 }
        #expect(try plugboard("plugins", "restart", "tidy", in: shop.folder).end == .exited(0))
        #expect(shop.text("tidy", "tidied") == "x\n")
        #expect(seconds() < 1.9, "nobody is waited for in vain")
        try eventually("it is ready again") { shop.text("tidy", "ready") == "x\nx\n" }
        start = MonotonicClock.nanoseconds()
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
        #expect(seconds() >= 1.9)
        #expect(shop.text("tidy", "tidied") == "x\nx\n")
        #expect(up.messages.contains("rock   | didn't stop; killed"))
        let pids = ["tidy", "rock"].flatMap { shop.text($0, "pids").split { $0 == " " || $0 == "\n" } }
        #expect(pids.count == 6)
        try shop.expectGone(pids.compactMap { Int32($0) })
    }

    @Test("a second signal ends the waiting, also for what a plugin has started")
    func impatientWithChildren() throws {
        let child = #"sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done'"#
        try shop.add("gone", "\(child) & echo $! > pids; wait")
        let up = try shop.up()
        let pids = try shop.pids("gone", count: 1)
        try eventually("it is ready") { up.output.contains("ready") }
        up.signal(SIGTERM)
        Pause.sleep(seconds: 0.6)
        let start = MonotonicClock.nanoseconds()
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
        #expect(MonotonicClock.nanoseconds() - start < 1_200_000_000)
        try shop.expectGone(pids)
    }

    @Test("a second signal ends the waiting")
    func impatient() throws {
        try shop.add("rock", "trap 'echo heard' TERM; echo $$ > pids; while :; do sleep 0.1; done")
        let up = try shop.up()
        let pids = try shop.pids("rock", count: 1)
        up.signal(SIGINT)
        try eventually("the plugin heard the first") { up.output.contains("heard") }
        let start = MonotonicClock.nanoseconds()
        try eventually("a later one is another wish") {
            up.signal(SIGINT)
            return !up.isRunning
        }
        // It doesn't use the two seconds that a plugin has to end.
        #expect(MonotonicClock.nanoseconds() - start < 1_900_000_000)
        let finished = try up.finished()
        #expect(finished.messages.contains("rock   | killed"))
        #expect(finished.end == .exited(0))
        try shop.expectGone(pids)
        #expect(!shop.folder.exists("s"))
    }

    @Test(
        "two signals at once count as one, as timeout sends them, and everything ends in order",
        .enabled(if: FileStatus.isRunnable(path: "/usr/bin/timeout"))
    )
    func signalledTwice() throws {
        try shop.add(
            "tidy", "trap 'sleep 0.2; echo tidied; exit 0' TERM; echo here; while :; do sleep 0.05; done"
        )
        for _ in 0..<2 {
            let up = try Run(program: "/usr/bin/timeout", ["3", Products.plugboard, "up"], in: shop.folder)
            let finished = try up.finished()
            #expect(finished.end == .exited(124))
            #expect(finished.output.hasSuffix("tidied\n"))
            #expect(finished.messages.hasSuffix("stopped\n") && !finished.messages.contains("killed"))
            #expect(!shop.folder.exists("s"))
        }
        let up = try shop.up()
        try eventually("it is there") { up.output.contains("here") }
        up.signal(SIGTERM)
        Pause.sleep(seconds: 0.05)
        up.signal(SIGTERM)
        let finished = try up.finished()
        #expect(finished.end == .exited(0) && finished.output.hasSuffix("tidied\n"))
        #expect(!finished.messages.contains("killed"))
    }

    @Test("a signal counts as a second one after half a second, not sooner")
    func wishes() {
        var wish = StopRequest()
        let half = UInt64(StopRequest.repeatedSeconds * 1e9)
        #expect(!wish.isThere)
        let others = [1_000, 1_000, 1_000 + half - 1, 1_000 + half].map { wish.take(at: $0) }
        #expect(wish.isThere)
        #expect(others == [false, false, false, true])
    }

    @Test("a plugin that waits for its restart is not started while up stops")
    func noRestart() throws {
        try shop.add("crash", "echo x >> runs; exit 1")
        // The plugin's lines keep the loop busy while `up` waits for its end.
        try shop.add("slow", "trap '' TERM; echo $$ > pids; while :; do echo tick; sleep 0.05; done")
        let up = try shop.up()
        _ = try shop.pids("slow", count: 1)
        try eventually("it crashed") { up.messages.contains("again in 0.2 s") }
        up.signal(SIGTERM)
        let runs = shop.text("crash", "runs")
        _ = try up.finished()
        #expect(shop.text("crash", "runs").count - runs.count <= 2)
    }

    @Test("if a broker without a journal is lost, everything stops with status 1 and a clear message")
    func brokerLost() throws {
        try shop.add("plain", "echo $$ > pids; exec sleep 1000")
        let up = try shop.up("--memory")
        let pids = try shop.pids("plain", count: 1)
        let broker = try #require(Processes.children(of: up.pid).first { !pids.contains($0) })
        kill(broker, SIGKILL)
        let finished = try up.finished()
        #expect(finished.end == .exited(1))
        #expect(finished.messages.contains("broker | was ended by SIGKILL: the bus is gone; stopping"))
        #expect(finished.messages.hasSuffix("plugboard up: the broker was lost\n"))
        try shop.expectGone(pids)
        #expect(!shop.folder.exists("s"))
    }

    @Test(
        "if up itself is killed, the kernel ends the plugins and the broker",
        .enabled(if: FileStatus(path: "/proc/self/stat").kind == .file)
    )
    func killed() throws {
        try shop.add("plain", "echo $$ > pids; exec sleep 1000")
        try shop.add("crash", "echo $$ >> pids; sleep 0.3; exit 1")
        let up = try shop.up()
        let pids = try shop.pids("plain", count: 1) + shop.pids("crash", count: 1)
        let children = Processes.children(of: up.pid)
        #expect(children.count >= 2)
        up.signal(SIGKILL)
        #expect(try up.finished().end == .signalled(SIGKILL))
        try shop.expectGone(pids + children)
        try eventually("the broker removed its socket") { !shop.folder.exists("s") }
    }

    @Test("a signal while the broker starts stops everything as well")
    func earlySignal() throws {
        try shop.add("plain", "echo $$ > pids; exec sleep 1000")
        let up = try Run(["up"], in: shop.folder)
        try eventually("its broker was started") { !Processes.children(of: up.pid).isEmpty || !up.isRunning }
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
        #expect(!shop.folder.exists("s"))
    }
}
