import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Presence", .someAtATime, .serialized)
struct PresenceTests {
    @Test("half a close is not the end while there is a subscription")
    func halfClosed() throws {
        let broker = try TestBroker()
        let reader = try broker.client()
        let writer = try broker.client()
        _ = try writer.ask("publish a 1")
        try writer.send("subscribe a")
        for _ in 0..<3 { _ = try writer.line() }
        writer.halfClose()
        _ = try reader.ask("publish b 1")
        #expect(try reader.ask("get a").hasSuffix(#","live":true}"#))
    }

    @Test("a client that is dismissed is gone at once, whatever still waits for it")
    func dismissed() throws {
        let broker = try TestBroker()
        let (writer, reader) = (try broker.client(), try broker.client())
        _ = try writer.ask("publish a 1")
        let tooLong = [UInt8](repeating: UInt8(ascii: "x"), count: Limits.lineBytesMax + 1) + [0x0A]
        for _ in 0...64 { try writer.send(bytes: tooLong) }
        for _ in 0...64 { _ = try writer.line() }
        #expect(try writer.line().hasPrefix(#"{"event":"bye","reason":"too_long""#))
        #expect(try reader.ask("get a").hasSuffix(#","live":false}"#))
    }

    @Test("however often a client is renamed, its presence is one and is freed once")
    func renaming() {
        var keyspace = Keyspace(time: .system)
        var session = Session(client: 7, slot: 0)
        let first = session.author(&keyspace)
        keyspace.authors.retain(first)
        for name in ["ada", "bob"] { session.rename(Array(name.utf8).span, &keyspace) }
        let second = session.author(&keyspace)
        #expect(first != second)
        let presence = keyspace.authors[first].presence
        #expect(presence === keyspace.authors[second].presence)
        #expect(presence.client == 7)
        #expect(presence.isLive)
        session.endPresence(keyspace)
        #expect(!presence.isLive)
        keyspace.authors.release(first)
        let client = keyspace.authors[second].client
        #expect(client == 7)
    }
}
