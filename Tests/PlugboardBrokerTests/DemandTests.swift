// Plugins that start on demand, as the broker sees them: who needs them, and when.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("plugins on demand", .computing)
struct DemandTests {
    private let hub = TestHub()
    private let up: Int
    private let other: Int

    init() {
        hub.obey(supervisor: 7)
        up = hub.client(process: 7)
        other = hub.client()
        tell(#""state":"idle""#)
    }

    /// Sends what the supervisor says about the plugin. Returns what the supervisor gets.
    @discardableResult
    private func tell(_ members: String) -> [String] {
        let value =
            #"{"name":"lamp","start":"demand","idle":5,"#
            + #""may":{"publish":["lamp.**"],"serve":["lamp.set"]},\#(members)}"#
        hub.send(
            #"{"op":"publish","key":"$broker.plugins.lamp","value":\#(value),"while":"connected"}"#,
            from: up
        )
        return demands()
    }

    private func demands() -> [String] {
        hub.read(up).filter { $0.contains(#""event":"demand""#) }
    }

    private let wanted = [#"{"event":"demand","plugin":"lamp","wanted":true}"#]
    private let unwanted = [#"{"event":"demand","plugin":"lamp","wanted":false}"#]

    @Test("the first observer of what it publishes makes it wanted, further ones don't matter")
    func observers() {
        hub.send("subscribe lamp.hall\nsubscribe lamp.*", from: other)
        #expect(demands() == wanted)
        hub.send("subscribe other.*\nunsubscribe 1", from: other)
        #expect(demands().isEmpty)
        hub.send("unsubscribe 2", from: other)
        hub.expireAll(after: 4_000)
        #expect(demands().isEmpty)
        hub.expireAll(after: 6_000)
        #expect(demands() == unwanted)
        hub.send("subscribe lamp.*", from: other)
        #expect(demands() == wanted)
    }

    @Test("who observes everything, something else, or only traces wants nothing")
    func nobody() {
        for line in ["subscribe **", "subscribe *.hall", "subscribe door.*", "trace lamp.**", "get lamp.a"] {
            hub.send(line, from: other)
        }
        hub.send("subscribe lamp.**", from: up)
        #expect(demands().isEmpty)
    }

    @Test("its own subscriptions don't count; those of a client that leaves don't any more")
    func whose() {
        let second = hub.client()
        hub.send("subscribe lamp.a", from: second)
        #expect(demands() == wanted)
        tell(#""state":"running","pid":1200"#)
        let lamp = hub.client(process: 1200)
        hub.send("subscribe lamp.set", from: lamp)
        hub.leave(second)
        hub.expireAll(after: 6_000)
        #expect(demands() == unwanted)
    }

    @Test("an observer that is back in time keeps it; the time begins anew after it")
    func back() {
        hub.send("subscribe lamp.a", from: other)
        #expect(demands() == wanted)
        tell(#""state":"running","pid":1200"#)
        hub.send("unsubscribe 1", from: other)
        hub.expireAll(after: 3_000)
        hub.send("subscribe lamp.a", from: other)
        hub.expireAll(after: 7_000)
        #expect(demands().isEmpty)
        hub.send("unsubscribe 1", from: other)
        hub.expireAll(after: 11_000)
        #expect(demands().isEmpty)
        hub.expireAll(after: 13_000)
        #expect(demands() == unwanted)
    }

    @Test("a call of what it serves waits for it, and is answered by it")
    func calls() {
        hub.send(#"{"op":"call","id":1,"key":"lamp.set","value":"on","timeout":60000}"#, from: other)
        #expect(hub.read(other).isEmpty)
        #expect(demands() == wanted)
        tell(#""state":"running","pid":1200"#)
        let lamp = hub.client(process: 1200)
        hub.send("serve lamp.set", from: lamp)
        let asked = hub.read(lamp)
        let call = #""key":"lamp.set","revision":2,"value":"on""#
        #expect(asked.count == 2 && asked[1].contains(call), "\(asked)")
        hub.send("return 1 \"done\"", from: lamp)
        let answer = #""id":1,"key":"lamp.set","value":"done","by":"lamp""#
        #expect(hub.read(other).first?.contains(answer) == true)
        hub.send(#"{"op":"call","id":2,"key":"lamp.set"}"#, from: other)
        #expect(hub.read(lamp).contains { $0.contains(#""event":"call""#) })
        // The plugin hasn't answered yet, so it isn't idle.
        hub.send(#"{"op":"call","id":3,"key":"lamp.set","timeout":60000}"#, from: other)
        hub.expireAll(after: 20_000)
        #expect(demands().isEmpty)
        hub.send("return 3 1", from: lamp)
        hub.expireAll(after: 40_000)
        #expect(demands() == unwanted)
        #expect(!hub.hasDuties(up) && !hub.hasDuties(other))
    }

    @Test("a call whose time is over, or whose caller leaves, wants it no more")
    func givenUp() {
        hub.send(#"{"op":"call","id":1,"key":"lamp.set","timeout":1000}"#, from: other)
        #expect(demands() == wanted)
        hub.expireAll(after: 2_000)
        #expect(hub.read(other).first?.contains(#""error":"timeout","id":1"#) == true)
        let second = hub.client()
        hub.send(#"{"op":"call","id":1,"key":"lamp.set","timeout":60000}"#, from: second)
        hub.leave(second)
        hub.expireAll(after: 12_000)
        #expect(demands() == unwanted)
        #expect(!hub.hasDuties(up))
    }

    @Test("one that is broken or stopped by hand isn't waited for")
    func broken() {
        hub.send(#"{"op":"call","id":1,"key":"lamp.set","timeout":60000}"#, from: other)
        _ = demands()
        tell(#""state":"broken""#)
        #expect(hub.read(other).first?.contains(#""error":"no_provider","id":1"#) == true)
        hub.send(#"{"op":"call","id":2,"key":"lamp.set"}"#, from: other)
        #expect(hub.read(other).first?.contains(#""error":"no_provider","id":2"#) == true)
        tell(#""state":"stopped""#)
        hub.send("call lamp.set", from: other)
        #expect(hub.read(other).first?.contains("no_provider") == true)
    }

    @Test("one that was started by hand, and one that ended while it is wanted, are told of as well")
    func byHand() {
        #expect(tell(#""state":"running","pid":1200"#).isEmpty)
        hub.expireAll(after: 6_000)
        #expect(demands() == unwanted)
        hub.send("subscribe lamp.a", from: other)
        #expect(demands() == wanted)
        tell(#""state":"running","pid":1300"#)
        #expect(tell(#""state":"idle""#) == wanted)
    }

    @Test("16 MiB of calls wait for plugins, and one more is refused")
    func bounds() {
        let value = "\"" + String(repeating: "x", count: 1_000_000) + "\""
        let call = #"{"op":"call","id":1,"key":"lamp.set","timeout":60000,"value":\#(value)}"#
        for _ in 0..<16 { hub.send(call, from: other) }
        #expect(hub.read(other).isEmpty)
        hub.send(call, from: other)
        #expect(hub.read(other).first?.contains(#""error":"limit""#) == true)
    }

    @Test("without a supervisor that is there nobody is waited for")
    func alone() {
        hub.leave(up)
        hub.send("call lamp.set", from: other)
        #expect(hub.read(other).first?.contains("no_provider") == true)
    }
}
