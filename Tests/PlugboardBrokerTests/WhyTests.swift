import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("why a key is as it is", .computing)
struct WhyTests {
    private let test = BareHub()

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

    private func why(_ key: String, _ client: SessionHandle, limit: Int? = nil) -> String {
        let limit = limit.map { #","limit":\#($0)"# } ?? ""
        return chain(test.send(#"{"op":"why","key":"\#(key)"\#(limit)}"#, from: client).first)
    }

    @Test("of what has the same revision, the chain follows the call that the writer serves")
    func callAmongOthers() {
        let (cart, lamp, caller) = (test.client(), test.client(), test.client())
        test.send("serve cart.*", from: cart)
        test.send("subscribe lamp.bell", from: cart)
        test.send("serve lamp.*", from: lamp)
        test.send("hello lamp", from: lamp)
        test.send("subscribe **", from: caller)
        test.send("publish base 1", from: caller)
        for line in ["call cart.add", "call lamp.set", "emit noise 1", "emit lamp.bell 1", "emit noise 2"] {
            test.send(line, from: caller)
        }
        test.send(#"{"op":"publish","key":"lit","value":1,"cause":1}"#, from: lamp)
        test.send(#"{"op":"publish","key":"items","value":1,"cause":1}"#, from: cart)
        #expect(why("lit", caller) == "lit:publish lamp.set:call")
        // It observes the emit, too, and that came later.
        #expect(why("items", caller) == "items:publish lamp.bell:emit")
        // A call is known to its server alone, and a write to who made it.
        let other = test.client()
        test.send("publish mine 1", from: other)
        let revision = test.hub.revision
        test.send("call cart.add", from: other)
        test.send(#"{"op":"publish","key":"next","value":1,"cause":\#(revision)}"#, from: other)
        #expect(why("next", caller) == "next:publish mine:publish")
        // The program that a server runs, or the server after a restart, has its name.
        let child = test.client()
        test.send("hello lamp", from: child)
        test.send(#"{"op":"publish","key":"dimmed","value":1,"cause":1}"#, from: child)
        #expect(why("dimmed", caller) == "dimmed:publish lamp.set:call")
    }

    @Test("two that call each other for ever are a loop of causes")
    func loopOfCalls() {
        let (left, right) = (test.client(), test.client())
        test.send("serve left", from: left)
        test.send("serve right", from: right)
        var revision: UInt64 = 0
        for _ in 0...Int(Warnings.returnsMin) {
            for (from, to) in [(left, "right"), (right, "left")] {
                test.send(
                    #"{"op":"publish","key":"\#(to).asked","value":1,"cause":\#(revision)}"#,
                    from: from
                )
                revision = test.hub.revision
                test.send(#"{"op":"call","key":"\#(to)","cause":\#(revision)}"#, from: from)
            }
        }
        let warnings = test.send("get $broker.warnings", from: left).first ?? ""
        #expect(warnings.contains(#""kind":"loop""#), "\(warnings)")
    }

    @Test("a chain as long as the limit is whole, one longer says that there is more")
    func limit() {
        let client = test.client()
        for number in 0..<101 {
            let cause = number > 0 ? #","cause":\#(number)"# : ""
            test.send(#"{"op":"publish","key":"k\#(number)","value":1\#(cause)}"#, from: client)
        }
        #expect(why("k2", client, limit: 3) == "k2:publish k1:publish k0:publish")
        #expect(why("k3", client, limit: 3) == #"k3:publish k2:publish k1:publish,"more":true}"#)
        #expect(why("k3", client, limit: 1) == #"k3:publish,"more":true}"#)
        #expect(!why("k99", client).contains("more"))
        #expect(why("k100", client).hasSuffix(#"k1:publish,"more":true}"#))
    }

    @Test("what is older than the history is said to be cut off, at its very edge")
    func truncated() {
        let client = test.client()
        test.send("publish root 1", from: client)
        test.send(#"{"op":"publish","key":"effect","value":1,"cause":1}"#, from: client)
        for _ in 2..<History.writesMax { test.send("publish x 1", from: client) }
        test.endTurn()
        #expect(why("effect", client) == "effect:publish root:publish")
        test.send("publish x 1", from: client)
        #expect(why("effect", client) == #"effect:publish,"truncated":true}"#)
        #expect(why("root", client) == #"root?,"truncated":true}"#)
        test.send("publish x 1", from: client)
        #expect(why("effect", client) == #"effect?,"truncated":true}"#)
        #expect(why("x", client) == "x:publish")
    }

    @Test("a key that was deleted long ago has no why any more")
    func forgotten() {
        let client = test.client()
        test.send("publish k 1", from: client)
        test.send("delete k", from: client)
        for _ in 1..<History.writesMax { test.send("publish x 1", from: client) }
        #expect(why("k", client) == "k:delete")
        test.send("publish x 1", from: client)
        #expect(why("k", client).contains("not_found"))
    }

    @Test("a loop of causes does not make the answer endless")
    func loop() {
        let client = test.client()
        for _ in 0..<20_000 {
            test.send(#"{"op":"publish","key":"k","value":1,"cause":\#(test.hub.revision)}"#, from: client)
        }
        let reply = why("k", client, limit: 10_000)
        #expect(reply.hasSuffix(#""more":true}"#))
        #expect(reply.split(separator: " ").count == 10_000)
    }
}
