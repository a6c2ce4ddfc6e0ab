import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("the nearest keys to one that isn't there", .computing)
struct NearestKeysTests {
    @Test("only the first 16 misses of a turn are searched for")
    func perTurn() {
        let test = BareHub()
        let client = test.client()
        test.send("publish lamp 1", from: client)
        let replies = (0..<17).map { _ in test.send("get lam", from: client).first ?? "" }
        #expect(replies.map { $0.contains("did you mean") } == Array(repeating: true, count: 16) + [false])
        test.endTurn()
        let next = test.send("get lam", from: client).first ?? ""
        #expect(next.contains("did you mean"))
    }

    @Test("a search leaps over what lies below its neighbours")
    func leaps() {
        let test = BareHub()
        let client = test.client()
        for group in 0..<20 {
            for number in 0..<500 { test.send("publish data.g\(group).n\(number) 1", from: client) }
        }
        test.send("publish data.gxxx.n7 1", from: client)
        let reply = test.send("get data.gxxy.n7", from: client).first ?? ""
        #expect(reply.contains("data.gxxx.n7"))
    }
}
