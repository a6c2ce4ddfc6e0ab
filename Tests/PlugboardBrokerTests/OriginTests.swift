// The origin of a write: kept as spelled, told wherever the writer is named, and forgotten with what has it.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Who wrote it first", .computing)
struct OriginTests {
    private func publish(_ key: String, _ origin: String) -> String {
        #"{"op":"publish","key":"\#(key)","value":1,"origin":"\#(origin)"}"#
    }

    @Test("one origin of many keys is kept once, and forgotten with the last of them")
    func shared() {
        let test = BareHub()
        let (client, other) = (test.client(), test.client())
        for number in 0..<100 { test.send(publish("k\(number)", "cart@hostB"), from: client) }
        #expect(test.hub.keyspace.authors.elsewhere.count == 1)
        test.send(publish("k0", "cart@hostB"), from: other)
        test.send(publish("k1", "till@hostB"), from: client)
        test.endTurn()
        #expect(test.hub.keyspace.authors.elsewhere.count == 3)
        #expect(throws: Never.self) { try test.hub.checkInvariants() }
        for number in 0..<100 { test.send("publish k\(number) 2", from: client) }
        // The history remembers them for two generations of writes.
        for _ in 0..<4 {
            for _ in 0..<History.writesMax { test.take("publish k 3", from: client) }
            test.endTurn()
        }
        #expect(test.hub.keyspace.authors.elsewhere.count == 0)
        #expect(throws: Never.self) { try test.hub.checkInvariants() }
    }

    @Test("an emit that nobody hears, and a delete, leave nothing behind that isn't remembered")
    func unheard() {
        let test = BareHub()
        let client = test.client()
        test.send(#"{"op":"emit","key":"bell","value":1,"origin":"x"}"#, from: client)
        #expect(test.hub.keyspace.authors.elsewhere.count == 0)
        test.send("publish a 1", from: client)
        test.send(#"{"op":"delete","key":"a","origin":"x"}"#, from: client)
        #expect(test.send("why a", from: client)[0].contains(##""by":"#1","origin":"x","when""##))
        test.endTurn()
        #expect(throws: Never.self) { try test.hub.checkInvariants() }
    }
}
