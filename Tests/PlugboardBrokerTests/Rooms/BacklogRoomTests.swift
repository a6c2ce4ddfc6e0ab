// The machine of one reader, with keys and a session and without a hub.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("The machine of one reader", .computing)
struct BacklogRoomTests {
    private final class Rooms {
        var keyspace = Keyspace(time: .system)
        var matching = Matching()
        var sessions = SessionTable()
        var phases = Phases()
        let session: SessionHandle
        let key: ObservableHandle
        let backlog = Backlog()

        init() {
            session = sessions.insert(Session(client: 1, slot: 0))
            key = keyspace.findOrInsert(StaticString("a").bytes)
        }

        var state: String {
            "\(backlog.state(from: 5, of: sessions[session], phases, keyspace))".prefix { $0 != "(" } + ""
        }

        @discardableResult
        func owe(revision: UInt64, event: UInt64, isGated: Bool = false) -> OwedKeys.Place {
            matching.reach.retain(key)
            var owed = OwedKey(key, revision: revision, event: event)
            owed.isGated = isGated
            return backlog.keys.append(owed)
        }

        func broken() -> BrokenInvariant? {
            var living = Living()
            living.observables = [key]
            var owedBy: [ObservableHandle: Int] = [:]
            do throws(BrokenInvariant) {
                try backlog.checkInvariants(living, keyspace, &owedBy)
                try Invariants(of: "Reach").agree("owed", matching.reach.owedBy(key), owedBy[key] ?? 0)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("it is in the first of its states that applies")
    func states() {
        let rooms = Rooms()
        #expect(rooms.state == "nothing" && !rooms.backlog.isNeeded && rooms.backlog.isFree(1))
        rooms.owe(revision: 1, event: 1)
        #expect(rooms.state == "room" && !rooms.backlog.isFree(1))
        rooms.backlog.pause(isPlain: true)
        #expect(rooms.state == "pause")
        rooms.backlog.step(1)
        #expect(rooms.state == "room" && rooms.broken() == nil)
        rooms.backlog.resume()
        rooms.backlog.awaitReply()
        #expect(rooms.state == "reply" && rooms.backlog.isNeeded)
        rooms.backlog.answered()
        #expect(rooms.state == "room")
    }

    @Test("a key that waits at its gate holds back what comes after it")
    func phase() {
        let rooms = Rooms()
        rooms.owe(revision: 1, event: 1, isGated: true)
        #expect(rooms.state == "room")
        var deadlines = Deadlines()
        let barrier = AckBarrier(phase: 1, told: [], earlier: [])
        let ticket = deadlines.add(at: 9, .gate(rooms.key))
        let gate = Gate(barrier, revision: 1, until: 9, ticket)
        rooms.phases.close(rooms.key, gate, told: [], &rooms.matching)
        #expect(rooms.state == "phase")
        rooms.phases.open(rooms.key, &rooms.matching, &deadlines)
        #expect(rooms.state == "room" && rooms.broken() == nil)
    }

    @Test("what was told within the window waits for its end, and other keys don't")
    func window() {
        let rooms = Rooms()
        let other = rooms.keyspace.hash(StaticString("b").bytes)
        let hash = rooms.keyspace.hash(StaticString("a").bytes)
        var window = Window(milliseconds: 1)
        var deadlines = Deadlines()
        window.ticket = deadlines.add(at: 1_000_000, .window(.none))
        window.note(hash, at: 1)
        rooms.backlog.window = window
        #expect(rooms.backlog.isNeeded && !rooms.backlog.isFree(hash) && rooms.backlog.isFree(other))
        rooms.owe(revision: 1, event: 1)
        #expect(rooms.state == "window")
        rooms.backlog.window?.forget()
        #expect(rooms.state == "room")
    }

    @Test("`synced` follows once nothing that comes before it is owed")
    func synced() throws {
        let rooms = Rooms()
        rooms.backlog.begin(at: 7, owingSynced: true)
        rooms.matching.reach.retain(rooms.key)
        rooms.backlog.keys.insert([OwedKey(rooms.key, revision: 1, .nothing)])
        let before = "\(rooms.backlog.next)"
        let front = rooms.backlog.keys.front
        let place = try #require(front)
        rooms.backlog.takeBack(place, &rooms.matching, &rooms.keyspace)
        #expect(before.hasPrefix("key") && "\(rooms.backlog.next)" == "synced")
        #expect(rooms.backlog.nextRevision == 7)
        rooms.backlog.noteSynced()
        #expect(rooms.state == "nothing")
    }

    @Test("steps without a pause are noticed")
    func steps() {
        let rooms = Rooms()
        rooms.owe(revision: 1, event: 1)
        rooms.backlog.step(1)
        #expect(rooms.broken()?.sentence == "only what is paused is stepped")
    }
}
