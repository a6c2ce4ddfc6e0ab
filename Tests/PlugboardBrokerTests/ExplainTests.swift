import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("what a write would do", .oneAtATime)
struct ExplainTests {
    private func outcomes(_ reply: String?) -> [Substring] {
        (reply ?? "").split(separator: #""outcome":""#).dropFirst().map { $0.prefix { $0 != "\"" } }
    }

    @Test("nothing is written, told or remembered")
    func nothing() {
        let test = BareHub()
        let client = test.client()
        test.send("subscribe **", from: client)
        let lines = test.send("explain publish a 1", from: client)
        #expect(lines.count == 1)
        let (keys, revision, count) = (test.hub.observables.count, test.hub.revision, test.hub.history.count)
        #expect(keys == 0)
        #expect(revision == 0)
        #expect(count == 0)
    }

    @Test("an observer that is behind would be owed the newest value, or have an emit queued")
    func behind() {
        let test = TestHub()
        let (observer, writer) = (test.client(), test.client())
        test.send("subscribe a", from: observer)
        _ = test.read(observer)
        test.stopReading(observer)
        test.send("explain publish a 1", from: writer)
        #expect(outcomes(test.read(writer).last) == ["conflated"])
        test.send("explain emit a 1", from: writer)
        #expect(outcomes(test.read(writer).last) == ["sent"])
    }

    @Test("a patch that would grow too large would be refused, and the value stays")
    func patch() {
        let test = BareHub()
        let client = test.client()
        let half = String(repeating: "x", count: Limits.valueBytesMax / 2)
        test.send(#"publish a {"x":"\#(half)"}"#, from: client)
        let reply = test.send(#"explain patch a {"y":"\#(half)"}"#, from: client).first ?? ""
        #expect(reply.hasPrefix(#"{"ok":"explain","op":"patch","key":"a","refused":{"error":"limit","at":"#))
        let revision = test.hub.revision
        #expect(revision == 1)
    }

    @Test("a thousand observers are all named, of more so many")
    func many() {
        let test = BareHub()
        let client = test.client()
        for number in 0...Limits.listedObserversMax {
            let reply = test.send("explain delete k", from: client).first ?? ""
            if number == 0 { #expect(reply.contains("not_found")) }
            if number == 0 { test.send("publish k 1", from: client) }
            test.send(#"{"op":"subscribe","key":"k","sub":\#(number),"initial":false}"#, from: client)
            guard number >= Limits.listedObserversMax - 1 else { continue }
            let full = test.send("explain delete k", from: client).first ?? ""
            #expect(outcomes(full).count == Limits.listedObserversMax)
            #expect(full.contains(#"],"more":true"#) == (number == Limits.listedObserversMax))
        }
    }
}
