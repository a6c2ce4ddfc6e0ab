import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("ping", .someAtATime)
final class PingTests: BrokerSuite {
    @Test("each round trip is a line, and the last one has the quantiles")
    func lines() throws {
        let finished = try run("ping", "--count", "3", "--interval", "0.01")
        #expect(finished.end == .exited(0) && finished.lines.count == 4)
        #expect(finished.lines[1].contains(/^plugboard\.ping\.\d+  2  [0-9.,]+ (µs|ms|s)$/))
        #expect(finished.lines[3].contains(/^3 sent, 3 received; p50 .*s, p99 .*s, max .*s$/))
        let fast = try run("ping", "--count", "200", "--interval", "0", "--key", "my.key")
        #expect(fast.lines.count == 1 && fast.output.hasPrefix("200 sent, 200 received; "))
    }

    @Test("quantiles are ranks of the sorted times, and only the last times are kept")
    func quantiles() {
        var trips = RoundTrips()
        #expect(trips.summary == "0 sent, 0 received")
        for number in 1...100 {
            trips.begin()
            trips.end(nanoseconds: UInt64(number) * 1_000_000)
        }
        #expect(trips.summary == "100 sent, 100 received; p50 50 ms, p99 99 ms, max 100 ms")
        for _ in 0..<RoundTrips.keptMax {
            trips.begin()
            trips.end(nanoseconds: 2_000)
        }
        #expect(trips.summary.hasSuffix("; p50 2 µs, p99 2 µs, max 2 µs (of the last 100,000)"))
    }

    @Test("Ctrl-C ends it with the figures and status 0")
    func interrupted() throws {
        let pinger = try Run(["ping", "--interval", "60"], in: folder)
        try eventually("the first is back") { pinger.output.contains("\n") }
        pinger.signal(SIGINT)
        let finished = try pinger.finished()
        #expect(finished.end == .exited(0) && finished.lines.last?.hasPrefix("1 sent, 1 received; ") == true)
    }

    @Test("if the broker goes away or hangs, the figures so far come first, and the status is 69")
    func lost() throws {
        let pinger = try Run(["ping", "--interval", "60"], in: folder)
        try eventually("the first is back") { pinger.output.contains("\n") }
        broker.signal(SIGSTOP)
        let late = try Run(["ping", "--timeout", "0.1"], in: folder)
        #expect(try late.finished().end == .exited(69))
        broker.signal(SIGKILL)
        let finished = try pinger.finished()
        #expect(finished.end == .exited(69) && finished.messages.contains("went away"))
        #expect(finished.lines.last?.hasPrefix("1 sent, 1 received; ") == true)
    }

    @Test("a wrong key or count is a usage error, and a reserved key is refused")
    func mistakes() throws {
        #expect(try run("ping", "--key", "a.*").end == .exited(64))
        #expect(try run("ping", "--count", "0").end == .exited(64))
        let refused = try run("ping", "--key", "$broker.stats")
        #expect(refused.end == .exited(1) && refused.messages.contains("forbidden"))
    }
}
