import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("tracing what the bus does", .someAtATime)
struct TraceTests {
    private let test = TestHub()

    /// What a client that traces gets at the end of a turn.
    private func traces(_ tracer: SessionHandle) -> [String] {
        test.hub.tellTraces()
        return test.lines(of: tracer).filter { $0.contains(#""event":"trace""#) || $0.contains("lagged") }
    }

    @Test("nothing is noted while nobody traces, nor after the last who did")
    func free() {
        let (tracer, writer) = (test.client(), test.client())
        test.tell("publish a 1", from: writer)
        let before = test.hub.insight.tracing.endTurn() == nil
        #expect(before)
        test.tell("trace a", from: tracer)
        test.tell("publish a 1", from: writer)
        let isOnMeanwhile = test.hub.insight.tracing.isOn
        #expect(isOnMeanwhile)
        test.tell("unsubscribe 1", from: tracer)
        let (after, isOn) = (test.hub.insight.tracing.endTurn() == nil, test.hub.insight.tracing.isOn)
        #expect(after)
        #expect(!isOn)
    }

    @Test("a client that leaves within the turn is still named, a tracer that leaves is told nothing")
    func leaving() {
        let (tracer, other, observer, writer) = (test.client(), test.client(), test.client(), test.client())
        test.tell("trace a", from: tracer)
        test.tell("trace a", from: other)
        test.tell("subscribe a", from: observer)
        test.tell("publish a 1", from: writer)
        test.hub.leave(observer)
        test.hub.leave(other)
        let told = traces(tracer)
        #expect(told.count == 1)
        #expect(told.first?.contains(##"{"client":3,"name":"#3","sub":1,"outcome":"sent"}"##) == true)
    }

    @Test("for a tracer that doesn't read, no more waits than for others, and then it is told of a gap")
    func unread() {
        let (tracer, writer) = (test.client(), test.client())
        test.send("trace **", from: tracer)
        let key = String(repeating: "k", count: 200)
        let writes = Array(repeating: "emit \(key) 1", count: 64).joined(separator: "\n")
        for _ in 0..<200 {
            test.send(writes, from: writer)
            _ = test.read(writer)
        }
        let most = Limits.highWaterBytes + Limits.queueBytesMax + Limits.lineBytesMax
        #expect(Limits.highWaterBytes..<most ~= test.waitingBytes(tracer))
        #expect(test.read(tracer).contains { $0.contains(#""event":"lagged""#) })
    }

    @Test("what was written while a trace rested is never told, even if the rest ends in that turn")
    func restEnds() {
        let (tracer, other, writer) = (test.client(), test.client(), test.client())
        test.tell(#"{"op":"trace","key":"a","every":60000}"#, from: tracer)
        test.tell("publish a 1", from: writer)
        #expect(traces(tracer).count == 1)
        test.tell("trace a", from: other)
        test.tell("publish a 2", from: writer)
        test.passTime()
        test.tell("publish a 3", from: writer)
        let told = traces(tracer)
        #expect(told.count == 1)
        #expect(told.first?.contains(#""revision":3,"#) == true)
        #expect(test.hub.deadlines.count == 1)
        test.tell("unsubscribe 1", from: tracer)
        #expect(test.hub.deadlines.count == 0)
    }

    @Test("what a turn has no room for is told as a gap")
    func gap() {
        let (tracer, writer) = (test.client(), test.client())
        test.tell("trace **", from: tracer)
        var count = 0
        let key = String(repeating: "k", count: 256)
        while !test.hub.insight.tracing.isFull {
            test.take("publish \(key) 1", from: writer)
            count += 1
        }
        for _ in 0..<2 { test.take("publish \(key) 1", from: writer) }
        test.hub.sessions[tracer].isBehind = false
        test.hub.tellTraces()
        // Most of it waits, because it is more than is sent to a client at once.
        let isBehind = test.hub.sessions[tracer].isBehind
        #expect(isBehind)
        let lines = test.allLines(of: tracer)
        let dropped = lines.compactMap { number("dropped", in: $0) }.reduce(0, +)
        #expect(dropped >= 2)
        #expect(lines.count { $0.contains(#""event":"trace""#) } + dropped == count + 2)
    }

    /// Traces all keys so often that a turn has no room to tell all of them, and makes a write.
    private func overfill(_ tracer: SessionHandle, tracers: Int) {
        for sub in 0..<tracers { test.tell(#"{"op":"trace","key":"**","sub":\#(sub)}"#, from: tracer) }
        test.tell("publish k.\(String(repeating: "k", count: 250)) 1", from: tracer)
        if let traced = test.hub.insight.tracing.endTurn() { test.hub.tell(traced, until: .max) }
    }

    /// The `sub` and what it was told, of all lines for those who trace.
    private func told(_ tracer: SessionHandle) -> [(sub: Int, isGap: Bool)] {
        test.allLines(of: tracer).filter { $0.contains(#"{"event""#) }
            .map { (number("sub", in: $0) ?? -1, $0.contains("lagged")) }
    }

    @Test("very many gaps are told some in a turn, each once, also if their tracers end meanwhile")
    func manyGaps() {
        let tracer = test.client()
        let tracers = 4_000
        overfill(tracer, tracers: tracers)
        let withTrace = told(tracer)
        #expect(withTrace.count < tracers && !withTrace.contains { $0.isGap })
        var (gaps, turns) = ([Int](), 0)
        test.tell("unsubscribe \(tracers - 1)", from: tracer)
        while test.hub.requests.hasChores, turns < tracers {
            test.hub.goOnWithChores(until: test.hub.effort + 99)
            gaps += told(tracer).filter(\.isGap).map(\.sub)
            turns += 1
        }
        test.dropTurn()
        #expect(test.brokenInvariant() == nil)
        #expect(turns > 100)
        let others = Set(0..<(tracers - 1)).subtracting(withTrace.map(\.sub))
        #expect(gaps.count == others.count && Set(gaps) == others)
    }

    @Test("who doesn't read gaps is behind like anyone")
    func unreadGaps() {
        let tracer = test.client()
        overfill(tracer, tracers: 4_000)
        _ = told(tracer)
        let unread = [UInt8](repeating: 0x0A, count: Limits.highWaterBytes)
        test.hub.sessions[tracer].outbox.own.append(unread.span)
        test.hub.goOnWithChores()
        let isBehind = test.hub.sessions[tracer].isBehind
        #expect(isBehind)
    }

    @Test("who is told of a later write is told of the gap before that")
    func gapFirst() throws {
        let tracer = test.client()
        overfill(tracer, tracers: 4_000)
        let lastTold = try #require(told(tracer).map(\.sub).max())
        for sub in 0...lastTold { test.tell("unsubscribe \(sub)", from: tracer) }
        test.tell("publish k 1", from: tracer)
        test.hub.tellTraces()
        let lines = told(tracer).filter { $0.sub == lastTold + 1 }
        #expect(lines.map(\.isGap) == [true, false])
    }
}
