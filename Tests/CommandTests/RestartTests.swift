import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

/// Time that stands still until a test moves it.
private final class TestClock {
    var now: UInt64 = 1_000_000_000_000
    var chance = 0.0

    func pass(seconds: Double) { now += UInt64(seconds * 1e9) }

    var clock: SupervisorClock {
        SupervisorClock(
            nanoseconds: { self.now }, wallMilliseconds: { self.now / 1_000_000 }, chance: { self.chance }
        )
    }
}

@Suite("Whether a child is started again")
struct RestartPolicyTests {
    private static let second: UInt64 = 1_000_000_000

    @Test(
        "the rule decides whether the child starts again after status 0 and after a failure",
        arguments: [
            (RestartRule.always, true, true), (.always, false, true), (.onFailure, true, false),
            (.onFailure, false, true), (.never, true, false), (.never, false, false),
        ]
    )
    func rules(rule: RestartRule, succeeded: Bool, again: Bool) {
        var policy = RestartPolicy(rule)
        policy.started(atNanoseconds: 0)
        let decision = policy.ended(succeeded: succeeded, atNanoseconds: Self.second, chance: 0)
        #expect(decision == (again ? .again(seconds: 0.1) : .finished))
    }

    @Test("delays double from 0.1 to 30 seconds, and begin again after 10 seconds of life")
    func delays() {
        var policy = RestartPolicy(.onFailure)
        var now: UInt64 = 0
        func crash(afterSeconds seconds: UInt64) -> RestartPolicy.Decision {
            policy.started(atNanoseconds: now)
            now += seconds * Self.second
            return policy.ended(succeeded: false, atNanoseconds: now, chance: 0)
        }
        let expected = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]
        for delay in expected { #expect(crash(afterSeconds: 9) == .again(seconds: delay)) }
        #expect(crash(afterSeconds: 10) == .again(seconds: 0.1))
        #expect(crash(afterSeconds: 9) == .again(seconds: 0.2))
    }

    @Test("chance adds up to a quarter to a delay", arguments: [(0.0, 0.1), (0.5, 0.1125), (1.0, 0.125)])
    func chance(chance: Double, delay: Double) {
        var backoff = RestartDelay()
        #expect(abs(backoff.delay(afterLivingSeconds: 0, chance: chance) - delay) < 1e-9)
    }

    @Test("the fifth crash within 10 seconds is the last; with 10 seconds between crashes it isn't")
    func breaker() {
        for (step, isLast) in [(Self.second * 2, true), (Self.second * 2 + 500_000_000, false)] {
            var policy = RestartPolicy(.onFailure)
            for start in 0..<4 {
                policy.started(atNanoseconds: UInt64(start) * step)
                let decision = policy.ended(succeeded: false, atNanoseconds: UInt64(start) * step, chance: 0)
                #expect(decision != .broken)
            }
            policy.started(atNanoseconds: 4 * step)
            let decision = policy.ended(succeeded: false, atNanoseconds: 4 * step, chance: 0)
            #expect((decision == .broken) == isLast)
        }
    }

    @Test("started by hand, it has all its tries again")
    func forgotten() {
        var policy = RestartPolicy(.onFailure)
        for _ in 0..<5 { policy.started(atNanoseconds: 0) }
        #expect(policy.ended(succeeded: false, atNanoseconds: 0, chance: 0) == .broken)
        policy.forget()
        policy.started(atNanoseconds: 0)
        #expect(policy.ended(succeeded: false, atNanoseconds: 0, chance: 0) == .again(seconds: 0.1))
    }
}

@Suite("A supervised child", .someAtATime)
struct SupervisedProcessTests {
    private let time = TestClock()

    private func process(_ script: String, _ rule: RestartRule = .onFailure) -> SupervisedProcess {
        SupervisedProcess(
            name: "it",
            terms: ProcessSpec(
                start: ChildStart(program: "/bin/sh", arguments: ["-c", script], output: .piped), rule: rule
            ),
            clock: time.clock
        )
    }

    private func news(of process: SupervisedProcess) throws -> SupervisedProcess.News {
        var news: SupervisedProcess.News?
        try eventually("it ended") {
            news = process.checkEnd()
            return news != nil
        }
        _ = process.close()
        return try #require(news)
    }

    @Test("it is due again after the delay, and broken after five starts")
    func broken() throws {
        let child = process("echo line; exit 3")
        for delay in [0.1, 0.2, 0.4, 0.8] {
            #expect(child.begin() == nil)
            #expect(child.pid != nil)
            #expect(try news(of: child) == .crashed("exited with status 3", again: delay))
            #expect(child.pid == nil)
            #expect(child.dueNanoseconds == time.now + UInt64(delay * 1e9))
            time.pass(seconds: delay)
        }
        #expect(child.begin() == nil)
        #expect(try news(of: child) == .broken("exited with status 3"))
        #expect(child.dueNanoseconds == nil)
        let report = String(decoding: PluginStatus.json(of: child), as: UTF8.self)
        #expect(
            report == #"""
                {"name":"it","state":"broken","restarts":4,"since":"1970-01-01T00:16:41.500Z","end":"exited with status 3","status":3,"output":["line","line","line","line","line"]}
                """#
        )
        #expect(child.begin(byHand: true) == nil)
        #expect(try news(of: child) == .crashed("exited with status 3", again: 0.1))
    }

    @Test("a program that can't be started counts as a crash")
    func missing() {
        let start = ChildStart(program: "/no/such", output: .piped)
        let child = SupervisedProcess(name: "it", terms: ProcessSpec(start: start), clock: time.clock)
        guard case .crashed(let reason, let delay) = child.begin() else {
            Issue.record("it began")
            return
        }
        #expect(reason.hasPrefix("can't be started: "))
        #expect(delay == 0.1)
        #expect(child.endText == reason)
        #expect(child.end == nil)
    }

    @Test("if its folder is gone, the reason says so")
    func missingFolder() {
        let start = ChildStart(program: "/bin/sh", folder: "/no/such", output: .piped)
        let child = SupervisedProcess(name: "it", terms: ProcessSpec(start: start), clock: time.clock)
        guard case .crashed(let reason, _) = child.begin() else {
            Issue.record("it began")
            return
        }
        #expect(reason.contains("/bin/sh (its folder /no/such is gone): "))
    }

    @Test("asked to stop, it has its time, then it is killed once and doesn't start again")
    func stopped() throws {
        let child = process("trap '' TERM; echo ready; while :; do sleep 0.01; done")
        #expect(child.begin() == nil)
        try eventually("it is ready") {
            _ = child.read()
            return child.log.lines == ["ready"]
        }
        child.stop(graceSeconds: 2)
        #expect(child.state == .stopping(killAtNanoseconds: time.now + 2_000_000_000))
        time.pass(seconds: 1)
        child.stop(graceSeconds: 2)
        #expect(child.dueNanoseconds == time.now + 1_000_000_000)
        #expect(child.checkEnd() == nil)
        #expect(child.kill())
        #expect(!child.kill())
        #expect(child.dueNanoseconds == nil)
        #expect(try news(of: child) == .stopped)
        #expect(child.end == .signalled(SIGKILL))
        #expect(!child.kill())
    }

    @Test("a child that waits for its next start is stopped at once")
    func waiting() throws {
        let child = process("exit 1")
        #expect(child.begin() == nil)
        _ = try news(of: child)
        child.stop(graceSeconds: 2)
        #expect(child.state == .stopped)
        #expect(child.dueNanoseconds == nil)
    }

    @Test("the last 200 lines and 65,536 bytes of its output are kept")
    func log() {
        var log = PluginLog()
        log.append((1...PluginLog.linesMax).map { "\($0)" })
        #expect(log.lines.first == "1")
        log.append(["more"])
        #expect(log.lines.first == "2")
        #expect(log.lines.count == PluginLog.linesMax)
        log.append([String(repeating: "x", count: PluginLog.bytesMax)])
        #expect(log.lines.count == 1)
        log.append([""])
        #expect(log.lines.count == 2)
        log.append(["y"])
        #expect(log.lines == ["", "y"])
    }

    @Test("a name becomes one token of a key, whatever the name")
    func keys() {
        #expect(PluginKey.state(of: "price-indicator") == "$broker.plugins.price-indicator")
        #expect(PluginKey.state(of: "a.b *\u{e9}") == "$broker.plugins.a%2Eb%20%2A%C3%A9")
        let longest = PluginKey.state(of: String(repeating: ".", count: Limits.nameBytesMax))
        #expect(Key.fault(Array(longest.utf8).span) == nil)
    }
}
