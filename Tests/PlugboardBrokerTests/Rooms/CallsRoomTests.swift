// The room of calls, with sessions and deadlines and without a hub.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("The room of calls", .computing)
struct CallsRoomTests {
    /// A room with a client that calls and one that serves.
    private final class Rooms {
        var calls = Calls()
        var sessions = SessionTable()
        var deadlines = Deadlines()
        let (caller, server): (SessionHandle, SessionHandle)

        init() {
            caller = sessions.insert(Session(client: 1, slot: 0))
            server = sessions.insert(Session(client: 2, slot: 1))
        }

        func serve(_ pattern: String) -> Bool { calls.serve(Array(pattern.utf8).span, server, &sessions) }

        func service(of key: String) -> Service? { calls.server(of: Array(key.utf8).span) }

        func call(_ key: String) -> PendingCall {
            let call = PendingCall(
                number: calls.nextNumber,
                id: Array("5".utf8).span,
                key: Array(key.utf8).span,
                timeout: 100,
                cause: .none,
                at: 1_000,
                from: caller,
                0,
                to: server
            )
            calls.insert(call, &sessions)
            call.deadline = deadlines.add(at: 2_000, .call(call.number))
            return call
        }

        func broken() -> BrokenInvariant? {
            var living = Living()
            living.sessions = [caller, server]
            do throws(BrokenInvariant) {
                try calls.checkInvariants(living, deadlines, sessions)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("the most specific pattern serves a key")
    func services() throws {
        let rooms = Rooms()
        #expect(rooms.serve("cart.**") && rooms.serve("cart.add") && rooms.serve("*.add"))
        #expect(rooms.service(of: "cart.add").map { String($0.pattern.span) } == "cart.add")
        #expect(rooms.service(of: "cart.drop").map { String($0.pattern.span) } == "cart.**")
        #expect(rooms.service(of: "shop.drop") == nil)
        let exact = try #require(rooms.service(of: "cart.add"))
        rooms.calls.end(exact, &rooms.sessions)
        #expect(rooms.service(of: "cart.add").map { String($0.pattern.span) } != "cart.add")
        #expect(rooms.broken() == nil)
    }

    @Test("the first in line takes over with the line behind it, and a line that lost somebody is noticed")
    func line() throws {
        let rooms = Rooms()
        #expect(rooms.serve("cart.add"))
        let first = try #require(rooms.service(of: "cart.add"))
        rooms.calls.wait(behind: first, rooms.caller, &rooms.sessions)
        #expect(rooms.broken() == nil)
        let next = rooms.calls.end(first, &rooms.sessions)
        #expect(next?.session == rooms.caller && next?.isSpare == false)
        #expect(rooms.service(of: "cart.add") === next && rooms.broken() == nil)
        rooms.calls.wait(behind: try #require(next), rooms.server, &rooms.sessions)
        next?.spares.removeAll()
        #expect(rooms.broken()?.sentence == "a service stands at its pattern or in its line")
    }

    @Test("both sides list a call until it ends, and counts say how it ended")
    func calls() throws {
        let rooms = Rooms()
        #expect(rooms.serve("cart.add"))
        let service = try #require(rooms.service(of: "cart.add"))
        let (first, second) = (rooms.call("cart.add"), rooms.call("cart.add"))
        for call in [first, second] { rooms.calls.noteSent(call, by: service) }
        #expect(rooms.calls.count == 2 && rooms.calls.find(second.number) === second)
        #expect(rooms.calls.wasAsked(2, first.number) && !rooms.calls.wasAsked(1, first.number))
        #expect(rooms.broken() == nil)
        rooms.calls.noteEnd(of: first, isAnswer: true, at: 4_000)
        rooms.calls.noteEnd(of: second, isAnswer: false, at: 4_000)
        for call in [first, second] { rooms.calls.remove(call, &rooms.sessions) }
        #expect(rooms.calls.count == 0 && rooms.sessions[rooms.caller].duties == nil)
        let counts = rooms.calls.takeCounts()
        #expect((counts.asked, counts.answered, counts.failed) == (2, 1, 1))
        #expect(service.counts.answered == 1 && rooms.broken() == nil)
    }

    @Test("a call that moves to another server is listed there alone")
    func moved() {
        let rooms = Rooms()
        let other = rooms.sessions.insert(Session(client: 3, slot: 2))
        let call = rooms.call("cart.add")
        rooms.calls.move(call, to: other, &rooms.sessions)
        #expect(rooms.sessions[rooms.server].duties == nil)
        #expect(rooms.sessions[other].duties?.toAnswer.first === call)
        let wasAsked = rooms.calls.wasAsked(3, call.number)
        #expect(wasAsked)
    }

    @Test("a call without a deadline is noticed")
    func endless() throws {
        let rooms = Rooms()
        let call = rooms.call("cart.add")
        rooms.deadlines.cancel(try #require(call.deadline))
        #expect(rooms.broken()?.sentence == "a call ends in time")
    }
}
