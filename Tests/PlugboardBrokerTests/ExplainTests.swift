import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("what a write would do", .computing)
struct ExplainTests {
    @Test("of those whom it waits for so many are named, and one more is not", arguments: [0, 1])
    func manyAwaited(excess: Int) {
        let test = TestHub()
        let (price, logger, writer) = (test.client(), test.client(), test.client())
        for sub in 1...(Limits.awaitedObserversMax + excess) {
            test.send(#"{"op":"subscribe","key":"a","sub":\#(sub),"phase":1,"ack":true}"#, from: price)
        }
        test.send("subscribe a", from: logger)
        test.send("explain publish a 1", from: writer)
        let awaits = test.read(writer).last?.split(separator: #""awaits":"#).last ?? ""
        #expect(awaits.split(separator: #""client":1,"#).count - 1 == Limits.awaitedObserversMax)
        #expect(awaits.contains(#"],"more":true}}"#) == (excess > 0))
    }

    @Test("a patch that would grow too large would be refused, and the value stays")
    func patch() {
        let test = BareHub()
        let client = test.client()
        let half = String(repeating: "x", count: Limits.valueBytesMax / 2)
        test.send(#"publish a {"x":"\#(half)"}"#, from: client)
        let reply = test.send(#"explain patch a {"y":"\#(half)"}"#, from: client).first ?? ""
        #expect(reply.hasPrefix(#"{"ok":"explain","op":"patch","key":"a","refused":{"error":"limit","at":"#))
        #expect(test.hub.revision == 1)
    }
}
