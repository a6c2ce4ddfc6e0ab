import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("tracing what the bus does", .someAtATime)
struct TraceTests {
    /// What a client that traces gets at the end of a turn.
    private func traces(_ test: BareHub, _ tracer: SessionHandle) -> [String] {
        test.hub.tellTraces()
        test.hub.tellGaps()
        return test.lines(of: tracer).filter { $0.contains(#""event":"trace""#) || $0.contains("lagged") }
    }

    @Test("nothing is noted while nobody traces, nor after the last who did")
    func free() {
        let test = BareHub()
        let (tracer, writer) = (test.client(), test.client())
        test.send("publish a 1", from: writer)
        let before = test.hub.insight.tracing.isEmpty
        #expect(before)
        test.send("trace a", from: tracer)
        test.send("publish a 1", from: writer)
        let during = test.hub.insight.tracing.isEmpty
        #expect(!during)
        test.send("unsubscribe 1", from: tracer)
        let (after, isOn) = (test.hub.insight.tracing.isEmpty, test.hub.insight.tracing.isOn)
        #expect(after)
        #expect(!isOn)
    }

    @Test("a trace that is traced causes none, and a tracer's own writes are traced like any")
    func ownLines() {
        let test = BareHub()
        let tracer = test.client()
        test.send("trace **", from: tracer)
        test.send("publish a 1", from: tracer)
        #expect(traces(test, tracer).count == 1)
        #expect(traces(test, tracer).isEmpty)
    }

    @Test("a client that leaves within the turn is still named, a tracer that leaves is told nothing")
    func leaving() {
        let test = BareHub()
        let (tracer, other, observer, writer) = (test.client(), test.client(), test.client(), test.client())
        test.send("trace a", from: tracer)
        test.send("trace a", from: other)
        test.send("subscribe a", from: observer)
        test.send("publish a 1", from: writer)
        test.hub.leave(observer)
        test.hub.leave(other)
        let told = traces(test, tracer)
        #expect(told.count == 1)
        #expect(told.first?.contains(##"{"client":3,"name":"#3","sub":1,"outcome":"sent"}"##) == true)
    }

    @Test("an observer that is behind is owed: conflated, or queued for an emit")
    func behind() {
        let test = BareHub()
        let (tracer, observer, writer) = (test.client(), test.client(), test.client())
        test.send("trace a", from: tracer)
        test.send("subscribe a", from: observer)
        test.hub.sessions[observer].isBehind = true
        test.send("publish a 1", from: writer)
        test.send("emit a 1", from: writer)
        let told = traces(test, tracer)
        #expect(told.first?.contains(#""outcome":"conflated"}]}"#) == true)
        #expect(told.last?.contains(#""outcome":"queued"}]}"#) == true)
    }

    @Test("a thousand observers are all named, of more so many")
    func many() {
        let test = BareHub()
        let (tracer, observer, writer) = (test.client(), test.client(), test.client())
        test.send("trace a", from: tracer)
        let requests = (0...Limits.listedObserversMax).map { number in
            #"{"op":"subscribe","key":"a","sub":\#(number),"initial":false}"#
        }
        for (requests, hasMore) in [(requests.dropLast(), false), (requests.suffix(1), true)] {
            test.sendTogether(Array(requests), from: observer)
            _ = test.lines(of: observer)
            test.send("publish a 1", from: writer)
            let told = traces(test, tracer).first ?? ""
            #expect(told.split(separator: "outcome").count == Limits.listedObserversMax + 1)
            #expect(told.hasSuffix(#"],"more":true}"#) == hasMore)
        }
    }

    @Test("for a tracer that doesn't read, no more waits than for others, and then it is told of a gap")
    func unread() {
        let hub = TestHub()
        let (tracer, writer) = (hub.client(), hub.client())
        hub.send("trace **", from: tracer)
        let key = String(repeating: "k", count: 200)
        let writes = Array(repeating: "emit \(key) 1", count: 64).joined(separator: "\n")
        for _ in 0..<200 {
            hub.send(writes, from: writer)
            _ = hub.read(writer)
        }
        let most = Limits.highWaterBytes + Limits.queueBytesMax + Limits.lineBytesMax
        #expect(Limits.highWaterBytes..<most ~= hub.waitingBytes(tracer))
        #expect(hub.read(tracer).contains { $0.contains(#""event":"lagged""#) })
    }

    @Test("what was written while a trace rested is never told, even if the rest ends in that turn")
    func restEnds() {
        let test = BareHub()
        let (tracer, other, writer) = (test.client(), test.client(), test.client())
        test.send(#"{"op":"trace","key":"a","every":60000}"#, from: tracer)
        test.send("publish a 1", from: writer)
        #expect(traces(test, tracer).count == 1)
        test.send("trace a", from: other)
        test.send("publish a 2", from: writer)
        passTime(test)
        test.send("publish a 3", from: writer)
        let told = traces(test, tracer)
        #expect(told.count == 1)
        #expect(told.first?.contains(#""revision":3,"#) == true)
        let resting = test.hub.deadlines.count
        #expect(resting == 1)
        test.send("unsubscribe 1", from: tracer)
        let left = test.hub.deadlines.count
        #expect(left == 0)
    }

    /// Lets the next deadline come.
    private func passTime(_ test: BareHub) {
        let next = test.hub.deadlines.next ?? 0
        test.hub.expire(now: next)
    }

    @Test("what a turn has no room for is told as a gap")
    func gap() {
        let test = BareHub()
        let (tracer, writer) = (test.client(), test.client())
        test.send("trace **", from: tracer)
        var count = 0
        let key = String(repeating: "k", count: 256)
        while test.hub.insight.tracing.count == count {
            test.take("publish \(key) 1", from: writer)
            count += 1
        }
        test.take("publish \(key) 1", from: writer)
        test.hub.sessions[tracer].isBehind = false
        test.hub.tellTraces()
        test.hub.tellGaps()
        // Most of it waits, because it is more than is sent to a client at once.
        let isBehind = test.hub.sessions[tracer].isBehind
        #expect(isBehind)
        var lines = test.lines(of: tracer)
        while test.hub.sessions[tracer].isBehind {
            test.hub.settle(tracer)
            lines += test.lines(of: tracer)
        }
        let dropped = lines.compactMap { number("dropped", in: $0) }.reduce(0, +)
        #expect(dropped >= 2)
        #expect(lines.count { $0.contains(#""event":"trace""#) } + dropped == count + 1)
    }

    /// Traces all keys so often that a turn has no room to tell all of them, and makes a write.
    private func overfill(_ test: BareHub, _ tracer: SessionHandle, tracers: Int) {
        for sub in 0..<tracers { test.send(#"{"op":"trace","key":"**","sub":\#(sub)}"#, from: tracer) }
        test.send("publish k.\(String(repeating: "k", count: 250)) 1", from: tracer)
        test.hub.tellTraces()
    }

    /// The `sub` and what it was told, of all lines for those who trace.
    private func told(_ test: BareHub, _ tracer: SessionHandle) -> [(sub: Int, isGap: Bool)] {
        var lines = test.lines(of: tracer)
        while test.hub.sessions[tracer].isBehind {
            test.hub.settle(tracer)
            lines += test.lines(of: tracer)
        }
        return lines.filter { $0.contains(#"{"event""#) }
            .map { (number("sub", in: $0) ?? -1, $0.contains("lagged")) }
    }

    @Test("very many gaps are told some in a turn, each once, also if their tracers end meanwhile")
    func manyGaps() {
        let test = BareHub()
        let tracer = test.client()
        let tracers = 4_000
        overfill(test, tracer, tracers: tracers)
        let withTrace = told(test, tracer)
        #expect(withTrace.count < tracers && !withTrace.contains { $0.isGap })
        var (gaps, turns) = ([Int](), 0)
        test.send("unsubscribe \(tracers - 1)", from: tracer)
        while test.hub.insight.tracing.hasGaps, turns < tracers {
            test.hub.tellGaps(until: test.hub.effort + 99)
            gaps += told(test, tracer).filter(\.isGap).map(\.sub)
            turns += 1
        }
        test.endTurn()
        #expect(test.brokenInvariant() == nil)
        #expect(turns > 100)
        let others = Set(0..<(tracers - 1)).subtracting(withTrace.map(\.sub))
        #expect(gaps.count == others.count && Set(gaps) == others)
    }

    @Test("who is told of a later write is told of the gap before that")
    func gapFirst() throws {
        let test = BareHub()
        let tracer = test.client()
        overfill(test, tracer, tracers: 4_000)
        let lastTold = try #require(told(test, tracer).map(\.sub).max())
        for sub in 0...lastTold { test.send("unsubscribe \(sub)", from: tracer) }
        test.send("publish k 1", from: tracer)
        test.hub.tellTraces()
        let lines = told(test, tracer).filter { $0.sub == lastTold + 1 }
        #expect(lines.map(\.isGap) == [true, false])
    }

    @Test("a running broker tells how long each observer waited")
    func running() throws {
        let broker = try TestBroker()
        let (tracer, observer, writer) = (try broker.client(), try broker.client(), try broker.client())
        _ = try tracer.ask("trace k")
        _ = try observer.ask(#"{"op":"subscribe","key":"k","initial":false}"#)
        for revision in 1...20 {
            _ = try writer.ask("publish k 1")
            _ = try observer.line()
            let trace = try tracer.line()
            #expect(number("revision", in: trace) == revision)
            #expect((number("microseconds", in: trace) ?? .max) < 10_000_000)
        }
    }
}
