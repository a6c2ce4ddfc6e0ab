// How many calls may wait for plugins, and how many plugins there may be. What else plugins on demand do is in
// `protocol/transcripts/plugins.txt`.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("plugins on demand", .computing)
struct DemandTests {
    private let hub = TestHub()
    private let up: Int

    init() {
        hub.obey(supervisor: 7)
        up = hub.client(process: 7)
    }

    private func report(_ name: String, _ more: String = "") -> String {
        let value = #"{"name":"\#(name)"\#(more)}"#
        let key = "$broker.plugins.\(name)"
        return #"{"op":"publish","id":1,"key":"\#(key)","value":\#(value),"while":"connected"}"#
    }

    @Test("16 MiB of calls wait for plugins, and one more is refused")
    func bounds() {
        hub.send(report("lamp", #","state":"idle","start":"demand","may":{"serve":["lamp.set"]}"#), from: up)
        let other = hub.client()
        let value = "\"" + String(repeating: "x", count: 1_000_000) + "\""
        let call = #"{"op":"call","id":1,"key":"lamp.set","timeout":60000,"value":\#(value)}"#
        for _ in 0..<16 { hub.send(call, from: other) }
        #expect(hub.read(other).isEmpty)
        hub.send(call, from: other)
        #expect(hub.read(other).first?.contains(#""error":"limit""#) == true)
    }

    @Test("1,024 plugins may be, however many there have been")
    func places() {
        for number in 0...Supervision.pluginsMax {
            hub.send(report("p\(number)"), from: up)
            #expect(hub.read(up).last?.contains(#""ok":"publish""#) == true)
            hub.send("delete $broker.plugins.p\(number)", from: up)
        }
    }
}
