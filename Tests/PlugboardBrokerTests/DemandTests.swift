// Plugins that start on demand, and calls that wait for a plugin, as the broker sees them: who needs them, and when.

import TestSupport
import Testing

@testable import PlugboardBroker

/// A supervisor that reports about the plugin `lamp`, and a client beside it.
private struct LampStage {
    let hub = TestHub()
    let up: Int
    let other: Int
    /// What else the supervisor says about the plugin.
    let more: String

    init(_ more: String = "") {
        self.more = more
        hub.obey(supervisor: 7)
        up = hub.client(process: 7)
        other = hub.client()
    }

    /// Sends what the supervisor says about the plugin. Returns what the supervisor is asked for.
    @discardableResult
    func tell(_ state: String, pid: Int? = nil, serves: String = #""lamp.set""#) -> [String] {
        let process = pid.map { #","pid":\#($0)"# } ?? ""
        let value =
            #"{"name":"lamp","state":"\#(state)"\#(process)\#(more),"#
            + #""may":{"publish":["lamp.**"],"serve":[\#(serves)]}}"#
        hub.send(
            #"{"op":"publish","key":"$broker.plugins.lamp","value":\#(value),"while":"connected"}"#,
            from: up
        )
        return demands()
    }

    func demands() -> [String] { hub.read(up).filter { $0.contains(#""event":"demand""#) } }

    /// Calls from the client beside it. Returns what that gets.
    func call(_ key: String = "lamp.set", timeout: Int = 60_000) -> [String] {
        hub.send(#"{"op":"call","id":1,"key":"\#(key)","timeout":\#(timeout)}"#, from: other)
        return hub.read(other)
    }

    /// The plugin's process comes and serves. Returns it, and the calls that it gets.
    func serve(from process: Int32) -> (lamp: Int, asked: [String]) {
        let lamp = hub.client(process: process)
        hub.send(#"{"op":"serve","key":"lamp.set"}"#, from: lamp)
        return (lamp, hub.read(lamp).filter { $0.contains(#""event":"call""#) })
    }
}

@Suite("plugins on demand", .computing)
struct DemandTests {
    private let stage = LampStage(#","start":"demand","idle":5"#)
    private var hub: TestHub { stage.hub }
    private var up: Int { stage.up }
    private var other: Int { stage.other }

    init() { stage.tell("idle") }

    private func demands() -> [String] { stage.demands() }

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
        stage.tell("running", pid: 1200)
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
        stage.tell("running", pid: 1200)
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
        stage.tell("running", pid: 1200)
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
        _ = (stage.call(), demands())
        stage.tell("broken")
        #expect(hub.read(other).first?.contains(#""error":"no_provider","id":1"#) == true)
        hub.send(#"{"op":"call","id":2,"key":"lamp.set"}"#, from: other)
        #expect(hub.read(other).first?.contains(#""error":"no_provider","id":2"#) == true)
        stage.tell("stopped")
        hub.send("call lamp.set", from: other)
        #expect(hub.read(other).first?.contains("no_provider") == true)
    }

    @Test("one that was started by hand, and one that ended while it is wanted, are told of as well")
    func byHand() {
        #expect(stage.tell("running", pid: 1200).isEmpty)
        hub.expireAll(after: 6_000)
        #expect(demands() == unwanted)
        hub.send("subscribe lamp.a", from: other)
        #expect(demands() == wanted)
        stage.tell("running", pid: 1300)
        #expect(stage.tell("idle") == wanted)
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

@Suite("calls that wait for a plugin", .computing)
struct HeldCallTests {
    private let stage = LampStage()
    private var hub: TestHub { stage.hub }
    private var up: Int { stage.up }
    private var other: Int { stage.other }

    @Test(
        "it runs and doesn't serve yet, is being stopped for another start, or waits for one after a crash",
        arguments: ["running", "stopping", "waiting", "idle"]
    )
    func held(state: String) {
        stage.tell(state, pid: state == "running" ? 1200 : nil)
        #expect(stage.call().isEmpty)
        stage.tell("running", pid: 1300)
        let (lamp, asked) = stage.serve(from: 1300)
        #expect(asked.count == 1)
        hub.send(#"return 1 "on""#, from: lamp)
        #expect(hub.read(other).first?.contains(#""ok":"call","id":1,"key":"lamp.set","value":"on""#) == true)
        #expect(!hub.hasDuties(up) && !hub.hasDuties(other))
    }

    @Test("its revision and the time that is left are those of when it is sent")
    func sentLater() {
        stage.tell("running", pid: 1200)
        #expect(stage.call(timeout: 10_000).isEmpty)
        hub.send("publish meanwhile 1", from: other)
        let revision = hub.revision
        hub.expireAll(after: 4_000)
        let asked = stage.serve(from: 1200).asked
        let number = other + 1
        #expect(
            asked == [
                ##"{"event":"call","call":"1","key":"lamp.set","revision":\##(revision),"by":"#\##(number)","timeout":6000}"##
            ]
        )
    }

    @Test("through a restart: the old process's service ends, the new one is asked, in order")
    func restart() {
        stage.tell("running", pid: 1200)
        let old = stage.serve(from: 1200).lamp
        stage.tell("stopping", pid: 1200)
        hub.leave(old)
        #expect(stage.call().isEmpty)
        #expect(stage.call().isEmpty)
        stage.tell("running", pid: 1300)
        let asked = stage.serve(from: 1300).asked
        #expect(asked.count == 2 && asked[0].contains(#""call":"1""#) && asked[1].contains(#""call":"2""#))
    }

    @Test(
        "where it won't serve any more they are refused, those that wait and those that come",
        arguments: ["broken", "ended", "stopped"]
    )
    func refused(state: String) {
        stage.tell("running", pid: 1200)
        #expect(stage.call().isEmpty)
        stage.tell(state)
        #expect(hub.read(other).first?.contains(#""error":"no_provider","id":1"#) == true)
        #expect(stage.call().first?.contains("no_provider") == true)
    }

    @Test("where its declaration doesn't list that any more they are refused")
    func declaredAnew() {
        stage.tell("running", pid: 1200)
        #expect(stage.call().isEmpty)
        stage.tell("running", pid: 1200, serves: #""lamp.dim""#)
        #expect(hub.read(other).first?.contains("may not any more") == true)
        #expect(stage.call().first?.contains("no_provider") == true)
        #expect(stage.call("lamp.dim").isEmpty)
    }

    @Test("a call of what no plugin lists, and the plugin's own, isn't held")
    func notHeld() {
        stage.tell("running", pid: 1200)
        #expect(stage.call("lamp.sett").first?.contains("no_provider") == true)
        let lamp = hub.client(process: 1200)
        hub.send("call lamp.set", from: lamp)
        #expect(hub.read(lamp).last?.contains(#""error":"#) == true)
    }

    @Test("one that isn't served in time is told which plugin it waited for")
    func timeout() {
        stage.tell("running", pid: 1200)
        #expect(stage.call(timeout: 1_000).isEmpty)
        hub.expireAll(after: 2_000)
        let reply = hub.read(other).first ?? ""
        #expect(reply.contains(#""error":"timeout","id":1"#))
        #expect(reply.contains(#"the plugin \"lamp\" didn't serve it within 1000 ms"#))
        #expect(!hub.hasDuties(up))
    }

    @Test("one that is there on demand goes before one that would serve everything")
    func onDemandFirst() {
        stage.tell("running", pid: 1200, serves: #""**""#)
        let bell =
            #"{"name":"bell","state":"idle","start":"demand","may":{"publish":["bell"],"serve":["bell.ring"]}}"#
        hub.send(
            #"{"op":"publish","key":"$broker.plugins.bell","value":\#(bell),"while":"connected"}"#,
            from: up
        )
        _ = hub.read(up)
        #expect(stage.call("bell.ring").isEmpty)
        #expect(hub.read(up).contains { $0.contains(#""plugin":"bell","wanted":true"#) })
    }

    @Test("a plugin whose key is deleted is no more: nobody waits for it, and its name is free")
    func removed() {
        stage.tell("stopping", pid: 1200)
        #expect(stage.call().isEmpty)
        hub.send(#"{"op":"delete","id":1,"key":"$broker.plugins.lamp"}"#, from: other)
        #expect(hub.read(other).last?.contains("forbidden") == true)
        hub.send(#"{"op":"delete","id":1,"key":"$broker.plugins.lamp"}"#, from: up)
        #expect(hub.read(up).last?.contains(#"{"ok":"delete""#) == true)
        #expect(hub.read(other).contains { $0.contains("no_provider") })
        #expect(stage.call().first?.contains("no_provider") == true)
        hub.send("hello lamp", from: other)
        #expect(hub.read(other).first?.contains(#""ok":"hello""#) == true)
    }

    @Test("1,024 plugins may be, however many there have been")
    func places() {
        for number in 0...Supervision.pluginsMax {
            let key = "$broker.plugins.p\(number)"
            hub.send(
                #"{"op":"publish","id":1,"key":"\#(key)","value":{"name":"p\#(number)"},"while":"connected"}"#,
                from: up
            )
            #expect(hub.read(up).last?.contains(#""ok":"publish""#) == true)
            hub.send("delete \(key)", from: up)
        }
    }
}
