import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("ending another client's connection", .computing)
struct DisconnectTests {
    private let hub = TestHub()

    @Test("a client of another user only by root; a client that isn't there by nobody")
    func users() {
        let (own, root, guest) = (hub.client(), hub.client(user: 0), hub.client(user: 33))
        #expect(hub.code("disconnect 3", from: own) == "forbidden")
        #expect(hub.code("disconnect 99", from: own) == "not_found")
        #expect(hub.code("disconnect 1", from: guest) == "forbidden")
        hub.send("subscribe **", from: own)
        #expect(hub.code(#"{"op":"pause","sub":1,"client":1}"#, from: guest) == "forbidden")
        #expect(hub.isOpen(own) && hub.isOpen(guest))
        #expect(hub.code("disconnect 3", from: root) == "ok")
        #expect(!hub.isOpen(guest))
    }

    @Test("under a policy it takes the right to control all keys, and who lacks it learns nothing")
    func policy() throws {
        try hub.follow(
            #"{"rules":[{"allow":{"everything":["**"]}},{"user":33,"allow":{"control":["cart.**"]}}]}"#
        )
        let (own, guest) = (hub.client(), hub.client(user: 33))
        #expect(hub.code("disconnect 1", from: guest) == "forbidden")
        #expect(hub.code("disconnect 99", from: guest) == "forbidden")
        #expect(hub.isOpen(own))
        try hub.follow(
            #"{"rules":[{"allow":{"everything":["**"]},"deny":{"control":["x"]}},"#
                + #"{"user":33,"allow":{"control":["**"]}}]}"#
        )
        #expect(hub.code("disconnect 2", from: own) == "forbidden")
        #expect(hub.code("disconnect 99", from: guest) == "not_found")
        #expect(hub.code("disconnect 1", from: guest) == "ok")
        #expect(!hub.isOpen(own) && hub.isOpen(guest))
    }

    @Test("a client that is to be closed for two reasons is closed once, for the first")
    func once() {
        let bare = BareHub()
        let client = bare.client()
        for reason in [CloseReason.slow, .quota] { bare.hub.setAside(client, reason) }
        let (count, closeReason) = (bare.hub.delivery.dismissed.count, bare.hub.sessions[client].closeReason)
        #expect(count == 1 && closeReason == .slow)
    }
}
