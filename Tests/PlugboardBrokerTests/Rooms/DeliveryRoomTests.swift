// The room of what is sent, with sessions and without a hub.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("The room of what is sent", .computing)
struct DeliveryRoomTests {
    private struct Rooms: ~Copyable {
        var delivery = Delivery()
        var sessions = SessionTable()
        let session: SessionHandle

        init() {
            session = sessions.insert(Session(client: 1, slot: 0))
        }

        mutating func append(_ text: String, at revision: UInt64 = 1) {
            var line = ByteBuffer()
            line.append(Array(text.utf8).span)
            delivery.append(line, to: session, at: revision, &sessions)
        }

        var own: String { String(sessions[session].outbox.own.bytes) }
    }

    @Test("lists a client once, however often it is sent something, and not when it has left")
    func dirty() {
        var rooms = Rooms()
        rooms.append("a\n")
        rooms.append("b\n")
        let (count, own) = (rooms.delivery.heard.count + rooms.delivery.dirty.count, rooms.own)
        #expect(count == 1 && own == "a\nb\n")
        let session = rooms.session
        rooms.delivery.strike(session, &rooms.sessions)
        let isListed = !rooms.delivery.isDone || rooms.sessions[session].isTouched
        #expect(!isListed)
    }

    @Test("puts a line off for a client that is behind, until it has what it is owed")
    func putOff() {
        var rooms = Rooms()
        rooms.sessions[rooms.session].isBehind = true
        rooms.append("reply\n", at: 9)
        let (own, isHeld) = (rooms.own, rooms.sessions[rooms.session].isHeld)
        let until = rooms.sessions[rooms.session].catchup?.deferredUntil
        #expect(own == "" && isHeld && until == 9)
    }

    @Test("puts off just the reply that was being written when its client is behind")
    func putOffReply() {
        var rooms = Rooms()
        let session = rooms.session
        rooms.append("before\n")
        rooms.sessions[session].isBehind = true
        rooms.delivery.begin(session)
        rooms.delivery.openReply(to: session, &rooms.sessions)
        rooms.sessions[session].outbox.own.append("reply\n")
        rooms.delivery.end(session, at: 3, &rooms.sessions)
        let own = rooms.own
        let deferred = rooms.sessions[session].catchup.map { String($0.deferred.bytes) }
        #expect(own == "before\n" && deferred == "reply\n")
    }

    @Test("dismisses a client once, and says why")
    func dismissed() {
        var rooms = Rooms()
        let session = rooms.session
        rooms.delivery.setAside(session, .slow, &rooms.sessions)
        rooms.delivery.setAside(session, .quota, &rooms.sessions)
        let (count, farewell) = (rooms.delivery.dismissed.count, rooms.sessions[session].farewell)
        #expect(count == 1 && farewell == .slow)
    }
}
