// Calls to a plugin that isn't running wait for it, however the plugin is started.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("calls that wait for a plugin", .computing)
struct HeldCallTests {
    private let hub = TestHub()
    private let up: Int
    private let other: Int

    init() {
        hub.obey(supervisor: 7)
        up = hub.client(process: 7)
        other = hub.client()
    }

    /// Sends what the supervisor says about a plugin.
    private func tell(_ state: String, pid: Int? = nil, serves: String = #""lamp.set""#) {
        let process = pid.map { #","pid":\#($0)"# } ?? ""
        let value =
            #"{"name":"lamp","state":"\#(state)"\#(process),"may":{"publish":["lamp"],"serve":[\#(serves)]}}"#
        hub.send(
            #"{"op":"publish","key":"$broker.plugins.lamp","value":\#(value),"while":"connected"}"#,
            from: up
        )
        _ = hub.read(up)
    }

    private func call(_ key: String = "lamp.set", timeout: Int = 60_000) -> [String] {
        hub.send(#"{"op":"call","id":1,"key":"\#(key)","timeout":\#(timeout)}"#, from: other)
        return hub.read(other)
    }

    private func serve(from process: Int32) -> Int {
        let lamp = hub.client(process: process)
        hub.send(#"{"op":"serve","key":"lamp.set"}"#, from: lamp)
        return lamp
    }

    @Test(
        "it runs and doesn't serve yet, is being stopped for another start, or waits for one after a crash",
        arguments: ["running", "stopping", "waiting", "idle"]
    )
    func held(state: String) {
        tell(state, pid: state == "running" ? 1200 : nil)
        #expect(call().isEmpty)
        tell("running", pid: 1300)
        let lamp = serve(from: 1300)
        let asked = hub.read(lamp).filter { $0.contains(#""event":"call""#) }
        #expect(asked.count == 1)
        hub.send(#"return 1 "on""#, from: lamp)
        #expect(hub.read(other).first?.contains(#""ok":"call","id":1,"key":"lamp.set","value":"on""#) == true)
        #expect(!hub.hasDuties(up) && !hub.hasDuties(other))
    }

    @Test("its revision and the time that is left are those of when it is sent")
    func sentLater() {
        tell("running", pid: 1200)
        #expect(call(timeout: 10_000).isEmpty)
        hub.send("publish meanwhile 1", from: other)
        let revision = hub.revision
        hub.expireAll(after: 4_000)
        let asked = hub.read(serve(from: 1200)).filter { $0.contains(#""event":"call""#) }
        let number = other + 1
        #expect(
            asked == [
                ##"{"event":"call","call":"1","key":"lamp.set","revision":\##(revision),"by":"#\##(number)","timeout":6000}"##
            ]
        )
    }

    @Test("through a restart: the old process's service ends, the new one is asked, in order")
    func restart() {
        tell("running", pid: 1200)
        let old = serve(from: 1200)
        tell("stopping", pid: 1200)
        hub.leave(old)
        #expect(call().isEmpty)
        #expect(call().isEmpty)
        tell("running", pid: 1300)
        let asked = hub.read(serve(from: 1300)).filter { $0.contains(#""event":"call""#) }
        #expect(asked.count == 2 && asked[0].contains(#""call":"1""#) && asked[1].contains(#""call":"2""#))
    }

    @Test(
        "where it won't serve any more they are refused, those that wait and those that come",
        arguments: ["broken", "ended", "stopped"]
    )
    func refused(state: String) {
        tell("running", pid: 1200)
        #expect(call().isEmpty)
        tell(state)
        #expect(hub.read(other).first?.contains(#""error":"no_provider","id":1"#) == true)
        #expect(call().first?.contains("no_provider") == true)
    }

    @Test("where its declaration doesn't list that any more they are refused")
    func declaredAnew() {
        tell("running", pid: 1200)
        #expect(call().isEmpty)
        tell("running", pid: 1200, serves: #""lamp.dim""#)
        #expect(hub.read(other).first?.contains("may not any more") == true)
        #expect(call().first?.contains("no_provider") == true)
        #expect(call("lamp.dim").isEmpty)
    }

    @Test("a call of what no plugin lists, and the plugin's own, isn't held")
    func notHeld() {
        tell("running", pid: 1200)
        #expect(call("lamp.sett").first?.contains("no_provider") == true)
        let lamp = hub.client(process: 1200)
        hub.send("call lamp.set", from: lamp)
        #expect(hub.read(lamp).last?.contains(#""error":"#) == true)
    }

    @Test("one that isn't served in time is told which plugin it waited for")
    func timeout() {
        tell("running", pid: 1200)
        #expect(call(timeout: 1_000).isEmpty)
        hub.expireAll(after: 2_000)
        let reply = hub.read(other).first ?? ""
        #expect(reply.contains(#""error":"timeout","id":1"#))
        #expect(reply.contains(#"the plugin \"lamp\" didn't serve it within 1000 ms"#))
        #expect(!hub.hasDuties(up))
    }

    @Test("one that is there on demand goes before one that would serve everything")
    func onDemandFirst() {
        tell("running", pid: 1200, serves: #""**""#)
        let bell =
            #"{"name":"bell","state":"idle","start":"demand","may":{"publish":["bell"],"serve":["bell.ring"]}}"#
        hub.send(
            #"{"op":"publish","key":"$broker.plugins.bell","value":\#(bell),"while":"connected"}"#,
            from: up
        )
        _ = hub.read(up)
        #expect(call("bell.ring").isEmpty)
        #expect(hub.read(up).contains { $0.contains(#""plugin":"bell","wanted":true"#) })
    }

    @Test("a plugin whose key is deleted is no more: nobody waits for it, and its name is free")
    func removed() {
        tell("stopping", pid: 1200)
        #expect(call().isEmpty)
        hub.send(#"{"op":"delete","id":1,"key":"$broker.plugins.lamp"}"#, from: other)
        #expect(hub.read(other).last?.contains("forbidden") == true)
        hub.send(#"{"op":"delete","id":1,"key":"$broker.plugins.lamp"}"#, from: up)
        #expect(hub.read(up).last?.contains(#"{"ok":"delete""#) == true)
        #expect(hub.read(other).contains { $0.contains("no_provider") })
        #expect(call().first?.contains("no_provider") == true)
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
