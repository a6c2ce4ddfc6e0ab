import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("why a key is as it is", .computing)
struct WhyTests {
    private let test = TestHub()

    /// The keys of a chain with their operations, newest first, and what ends the chain.
    private func chain(_ reply: String?) -> String {
        guard let reply, let start = reply.range(of: #""chain":["#) else { return reply ?? "" }
        let steps = reply[start.upperBound...].split(separator: "{").filter { $0.hasPrefix("\"key\"") }
        let names = steps.map { step in
            let key = step.dropFirst(7).prefix { $0 != "\"" }
            guard let operation = step.range(of: #""op":""#) else { return "\(key)?" }
            return "\(key):\(step[operation.upperBound...].prefix { $0 != "\"" })"
        }
        let end = reply.hasSuffix("]}") ? "" : reply.split(separator: "]").last ?? ""
        return names.joined(separator: " ") + end
    }

    private func why(_ key: String, _ client: SessionHandle) -> String {
        chain(test.tell("why \(key)", from: client).first)
    }

    @Test("what is older than the history is said to be cut off, at its very edge, or is forgotten")
    func truncated() {
        let client = test.client()
        test.tell("publish root 1", from: client)
        test.tell(#"{"op":"publish","key":"effect","value":1,"cause":1}"#, from: client)
        for line in ["publish k 1", "delete k"] { test.tell(line, from: client) }
        for _ in 4..<History.writesMax { test.tell("publish x 1", from: client) }
        test.dropTurn()
        #expect(why("effect", client) == "effect:publish root:publish")
        test.tell("publish x 1", from: client)
        #expect(why("effect", client) == #"effect:publish,"truncated":true}"#)
        #expect(why("root", client) == #"root?,"truncated":true}"#)
        for _ in 0..<2 { test.tell("publish x 1", from: client) }
        #expect(why("effect", client) == #"effect?,"truncated":true}"#)
        #expect(why("x", client) == "x:publish" && why("k", client) == "k:delete")
        test.tell("publish x 1", from: client)
        #expect(why("k", client).contains("not_found"))
    }
}

@Suite("who has to do with a key", .someAtATime)
struct WhoTests {
    /// Subscriptions of a key, each by its number.
    private func subscriptions(_ subs: some Sequence<Int>) -> String {
        subs.map { #"{"op":"subscribe","key":"k","sub":\#($0),"initial":false}"# }.joined(separator: "\n")
    }

    @Test(
        "a thousand observers are all named, of more so many",
        arguments: ["who k", "explain delete k", "trace k"]
    )
    func many(request: String) {
        let hub = TestHub()
        let (observer, asker, writer) = (hub.client(), hub.client(), hub.client())
        hub.send("publish k 0", from: writer)
        for (subs, hasMore) in [(1...Limits.listedObserversMax, false), (0...0, true)] {
            hub.send(subscriptions(subs), from: observer)
            _ = hub.read(observer)
            if !request.hasPrefix("trace") || !hasMore { hub.send(request, from: asker) }
            hub.send("publish k 1", from: writer)
            let told = hub.read(asker).last { $0.contains("observers") } ?? ""
            #expect(told.ranges(of: #""client":1,"name""#).count == Limits.listedObserversMax)
            #expect(told.contains(#"],"more":true"#) == hasMore)
        }
    }
}
