// A turn that has done enough: what clients still ask for waits for the next one, in its order, and filters
// are asked when there is time.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("a turn that has done enough", .computing)
struct TurnEndTests {
    private let test = BareHub()
    private let (writer, observer): (SessionHandle, SessionHandle)

    init() {
        (writer, observer) = (test.client(), test.client())
    }

    /// Lets the turn do so much more before it has done enough.
    private func allow(_ effort: UInt64) {
        test.hub.requests.beginPart(until: test.hub.effort + effort)
    }

    private func takeLeftOver() -> LeftOver? { test.hub.requests.group.leftOver.take() }

    private func publish(_ value: Int) -> String { #"{"op":"publish","key":"k","value":\#(value)}"# }

    private func isBehind() -> Bool { test.hub.sessions[observer].isBehind }

    @Test("leaves publishes, and all that is behind them, for the next", arguments: [0, 1, 2, 3])
    func publishes(allowed: Int) {
        test.send("subscribe k", from: observer)
        // Who observes the key is known from here on, so that finding them is no work.
        test.send("publish k 0", from: observer)
        _ = test.lines(of: observer)
        let lines = [
            publish(1), publish(2), publish(3), #"{"op":"get","key":"k"}"#, publish(4), "\"nonsense",
        ]
        allow(UInt64(allowed))
        test.sendTogether(lines, from: writer)
        let done = allowed + 1
        let told = test.lines(of: observer).filter { $0.contains("update") }
        guard done < 3 else {
            // A request that isn't a publish is executed even then: the loop asks before each line.
            #expect(told.count == 4)
            #expect(takeLeftOver() == nil)
            return
        }
        #expect(told.count == done)
        let start = lines[..<done].map(\.utf8.count).reduce(0, +) + done
        #expect(takeLeftOver() == LeftOver(start: start, number: UInt64(done + 1)))
        #expect(!test.lines(of: writer).contains { $0.contains(#""ok":"get""#) || $0.contains("error") })
    }

    @Test("owes observers with a filter, and tells them the newest that they asked for")
    func filters() {
        test.send(#"{"op":"subscribe","key":"k","where":{"":{">":2}}}"#, from: observer)
        test.send(#"{"op":"subscribe","key":"k"}"#, from: observer)
        test.endTurn()
        allow(0)
        for value in [1, 5, 3] { test.take("publish k \(value)", from: writer) }
        test.hub.settle(observer)
        let told = test.lines(of: observer)
        #expect(told.filter { $0.contains(#""sub":1"#) }.map { $0.contains(#""value":3"#) } == [true])
        #expect(told.contains { $0.contains(#""sub":2"#) && $0.contains(#""value":3"#) })
        test.endTurn()
        let isBehind = isBehind()
        #expect(!isBehind)
        #expect(test.brokenInvariant() == nil)
    }

    @Test("tells nothing of what was folded into a value that isn't asked for")
    func folded() {
        test.send(#"{"op":"subscribe","key":"k","where":{"":{">":2}}}"#, from: observer)
        test.endTurn()
        allow(0)
        for value in [1, 5, 1] { test.take("publish k \(value)", from: writer) }
        test.hub.settle(observer)
        #expect(test.lines(of: observer).isEmpty)
    }

    @Test(
        "tells those at once who are told all, or acknowledge",
        arguments: [#""delivery":"all""#, #""ack":true"#]
    )
    func atOnce(option: String) {
        test.send(#"{"op":"subscribe","key":"k","where":{"":{">":2}},\#(option)}"#, from: observer)
        test.endTurn()
        allow(0)
        for value in [1, 5, 6] { test.take("publish k \(value)", from: writer) }
        let told = test.lines(of: observer).filter { $0.contains("update") }
        #expect(told.count == 2)
    }
}
