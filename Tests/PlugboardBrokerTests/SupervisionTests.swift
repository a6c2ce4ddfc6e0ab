// Plugins of a supervisor. What the broker tells of them, and lets them do, is in `protocol/transcripts/plugins*.txt`.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("plugins of a supervisor", .computing)
struct SupervisionTests {
    private let hub = TestHub()
    private let up: Int

    init() {
        hub.obey(supervisor: 7)
        up = hub.client(process: 7)
    }

    /// The supervisor tells the state of a plugin.
    private func tell(_ state: String) {
        let (key, value) = ("$broker.plugins.cart", #"{"name":"cart","state":\#(state)}"#)
        hub.send(#"{"op":"publish","key":"\#(key)","value":\#(value),"while":"connected"}"#, from: up)
    }

    @Test("those of a process that has ended are left behind by it, and no others")
    func orphans() {
        tell(#""running","pid":1200"#)
        let leader = hub.client(process: 1200)
        _ = hub.client(process: 1234)
        _ = hub.client(process: 1300)
        tell(#""running","pid":1200"#)
        #expect(hub.orphans == [])
        tell(#""waiting""#)
        #expect(hub.orphans == [leader])
        tell(#""running","pid":1300"#)
        tell(#""stopped""#)
        #expect(hub.orphans.count == 2)
    }

    @Test("who has not read what another declaration hides is sent away, and who has stays")
    func unread() {
        tell(#""running","pid":1200,"may":{"subscribe":["shop.*"]}"#)
        let (cart, idle) = (hub.client(process: 1200), hub.client(process: 1200))
        for client in [cart, idle] { _ = hub.ask("subscribe **", from: client) }
        hub.stopReading(idle)
        hub.send("publish shop.a 1", from: hub.client())
        #expect(hub.read(cart).count == 1)
        tell(#""running","pid":1200,"may":{"subscribe":["till.*"]}"#)
        #expect(hub.isOpen(cart) && !hub.isOpen(idle))
    }
}
