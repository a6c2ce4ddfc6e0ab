// The room of unfinished requests, with keys and sessions and without a hub.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("The room of unfinished requests", .computing)
struct RequestsRoomTests {
    private final class Rooms {
        var requests = Requests()
        var keyspace = Keyspace(time: .system)
        var sessions = SessionTable()
        let session: SessionHandle

        init() { session = sessions.insert(Session(client: 1, slot: 0)) }

        func read(_ line: String) -> Requests.Reading { Self.read(Array(line.utf8), &requests) }

        private static func read(_ line: [UInt8], _ requests: inout Requests) -> Requests.Reading {
            requests.group.next.read(0..<line.count, of: line.span, 1, using: &requests.decoder)
        }

        /// Puts a search off.
        func putOff() {
            let (request, line) = (Request(), Array("keys".utf8))
            let asked = AskedRequest(request, line.span, from: session)
            requests.putOff(asked, .keys(KeySearch([], for: nil)), &sessions)
        }

        func broken() -> BrokenInvariant? {
            var living = Living()
            living.sessions = [session]
            var owedBy: [ObservableHandle: Int] = [:]
            do throws(BrokenInvariant) {
                try requests.checkInvariants(living, sessions, keyspace, &owedBy)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("a line is nothing, a publish, another plain request, or an unusual one")
    func lines() {
        let rooms = Rooms()
        #expect(rooms.read("# a comment") == .nothing && rooms.read("  ") == .nothing)
        #expect(rooms.read(#"{"op":"publish","key":"a","value":1}"#) == .publish)
        #expect(rooms.read(#"{"op":"get","key":"a"}"#) == .other)
        #expect(rooms.read(#"{"key":"a","op":"get"#) == .unusual)
    }

    @Test("publishes wait until they are taken, and what the turn leaves is read again")
    func group() {
        let rooms = Rooms()
        for _ in 0..<3 {
            #expect(rooms.read(#"{"op":"publish","key":"a","value":1}"#) == .publish)
            rooms.requests.group.countNext(from: rooms.session)
        }
        #expect(rooms.requests.group.count == 3)
        #expect(rooms.broken()?.sentence == "no publish waits to be made")
        var publishes = rooms.requests.group.takeOut()
        rooms.requests.leave(lineAt: publishes[1].line.start, number: publishes[1].number)
        rooms.requests.group.putBack(&publishes)
        let left = rooms.requests.takeLeftOver()
        #expect(left == LeftOver(start: 0, number: 1) && rooms.requests.takeLeftOver() == nil)
        #expect(rooms.broken() == nil)
    }

    @Test("a request that was put off goes with its client")
    func walks() {
        let rooms = Rooms()
        rooms.putOff()
        let areWaiting = rooms.requests.areWaiting
        #expect(areWaiting && rooms.sessions[rooms.session].isBusy && rooms.broken() == nil)
        rooms.requests.cancel(of: rooms.session)
        let areStillWaiting = rooms.requests.areWaiting
        #expect(!areStillWaiting)
        #expect(rooms.broken()?.sentence == "who is busy waits")
    }

    @Test("merges and sums are left in one place, and a refused one changes nothing")
    func merged() throws {
        let rooms = Rooms()
        let value = Array(#"{"a":1}"#.utf8)
        try rooms.requests.merge(Array(#"{"b":2}"#.utf8).span, atField: Span(), of: value.span)
        #expect(String(rooms.requests.merged.bytes) == #"{"a":1,"b":2}"#)
        try rooms.requests.add(StaticString("2").bytes, toField: Array("/a".utf8).span, of: value.span)
        let text = String(rooms.requests.merged.bytes)
        let merged = Array(text.utf8)
        let sum = String(rooms.requests.sum.bytes(of: merged.span))
        #expect(sum == "3" && text == #"{"a":3}"#)
        #expect(throws: Refusal.self) {
            try rooms.requests.add(StaticString("2").bytes, toField: Span(), of: value.span)
        }
    }
}
