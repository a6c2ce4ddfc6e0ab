import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("ending another client's connection", .computing)
struct DisconnectTests {
    private let hub = TestHub()

    private func code(_ line: String, from client: Int) -> String {
        hub.send(line, from: client)
        let reply = hub.read(client).last ?? ""
        return reply.hasPrefix(#"{"ok""#)
            ? "ok" : String(reply.split(separator: "\"").dropFirst(3).first ?? "")
    }

    @Test("all that it left is done before the reply, and the same turn tells it nothing more")
    func legacy() {
        let (guarding, other) = (hub.client(), hub.client())
        hub.send("subscribe **", from: guarding)
        hub.send(
            #"{"op":"publish","key":"a","value":1,"while":"connected"}"# + "\nserve s\nwill publish b 2",
            from: other
        )
        hub.send("subscribe **", from: other)
        _ = hub.read(guarding)
        _ = hub.read(other)
        hub.send("disconnect 2\npublish c 3", from: guarding)
        let lines = hub.read(guarding)
        #expect(lines[0].contains(#""key":"b""#) && lines[0].contains(#""reason":"will""#))
        #expect(lines[1].contains(#""event":"delete""#) && lines[1].contains(#""reason":"disconnected""#))
        #expect(lines[2] == #"{"ok":"disconnect","client":2,"revision":3}"#)
        #expect(!hub.isOpen(other) && !hub.hasDuties(other))
        #expect(hub.read(other).allSatisfy { !$0.contains(#""key":"c""#) })
        #expect(code("disconnect 2", from: guarding) == "not_found")
    }

    @Test("a client of another user only by root; a client that isn't there by nobody")
    func users() {
        let (own, root, guest) = (hub.client(), hub.client(user: 0), hub.client(user: 33))
        #expect(code("disconnect 3", from: own) == "forbidden")
        #expect(code("disconnect 99", from: own) == "not_found")
        #expect(code("disconnect 1", from: guest) == "forbidden")
        #expect(hub.isOpen(own) && hub.isOpen(guest))
        #expect(code("disconnect 3", from: root) == "ok")
        #expect(!hub.isOpen(guest))
    }

    @Test("under a policy it takes the right to control all keys, and who lacks it learns nothing")
    func policy() throws {
        try hub.follow(
            #"{"rules":[{"allow":{"everything":["**"]}},{"user":33,"allow":{"control":["cart.**"]}}]}"#
        )
        let (own, guest) = (hub.client(), hub.client(user: 33))
        #expect(code("disconnect 1", from: guest) == "forbidden")
        #expect(code("disconnect 99", from: guest) == "forbidden")
        #expect(hub.isOpen(own))
        try hub.follow(
            #"{"rules":[{"allow":{"everything":["**"]},"deny":{"control":["x"]}},"#
                + #"{"user":33,"allow":{"control":["**"]}}]}"#
        )
        #expect(code("disconnect 2", from: own) == "forbidden")
        #expect(code("disconnect 99", from: guest) == "not_found")
        #expect(code("disconnect 1", from: guest) == "ok")
        #expect(!hub.isOpen(own) && hub.isOpen(guest))
    }

    @Test("one's own connection, as if it had vanished")
    func own() {
        let (observer, client) = (hub.client(), hub.client())
        hub.send("subscribe **", from: observer)
        hub.send("hello till\nwill publish gone 1", from: client)
        hub.send("disconnect 2", from: client)
        #expect(
            hub.read(client).suffix(2) == [
                #"{"ok":"disconnect","client":2,"revision":1}"#,
                #"{"event":"bye","reason":"disconnected","message":"client 2 \"till\" has ended this connection"}"#,
            ]
        )
        #expect(hub.read(observer).last?.contains(#""key":"gone""#) == true)
    }
}
