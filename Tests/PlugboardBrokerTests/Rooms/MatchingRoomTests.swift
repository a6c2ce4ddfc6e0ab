// The room of subscriptions, with the rooms that its verbs are handed and without a hub.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("The room of subscriptions", .computing)
struct MatchingRoomTests {
    private final class Rooms {
        var keyspace = Keyspace(time: .system)
        var matching = Matching()
        var sessions = SessionTable()
        let session: SessionHandle

        init() {
            session = sessions.insert(Session(client: 1))
        }

        func subscribe(_ patterns: String..., phase: UInt8 = 0) -> SubscriptionHandle {
            var options = RequestOptions()
            options.phase = phase
            let subscription = matching.add(StaticString("1").bytes, of: session, options, nil)
            for pattern in patterns {
                matching.attach(subscription, of: 1, to: Array(pattern.utf8).span, &keyspace)
            }
            return subscription
        }

        /// Brings a key's list of observers up to date.
        func find(_ key: ObservableHandle) { matching.refreshObservers(of: key, keyspace, sessions) }

        /// How many observers a key's list has.
        func listed(_ key: ObservableHandle) -> Int {
            Self.listed(key, matching)
        }

        private static func listed(_ key: ObservableHandle, _ matching: borrowing Matching) -> Int {
            matching.reach.observers(of: key).count
        }
    }

    @Test(
        "keys that nobody names and that match the same patterns share a list; a key that is named has its own"
    )
    func sharedLists() {
        let rooms = Rooms()
        let all = (0..<100).map { _ in rooms.subscribe("**") }
        let some = rooms.subscribe("b.*", "b.**")
        let keys = ["a.1", "a.2", "b.1", "b.2", "b.2.x"].map {
            rooms.keyspace.findOrInsert(Array($0.utf8).span)
        }
        for key in keys { rooms.matching.reach.retain(key) }
        func count() -> Int {
            for key in keys { rooms.find(key) }
            return rooms.matching.reach.listedCount
        }
        // Those of `a`, of `b` with `*`, of `b` with `**` alone.
        #expect(count() == 100 + 101 + 101)
        #expect(keys.map(rooms.listed) == [100, 100, 101, 101, 101])
        let naming = rooms.subscribe("a.2")
        #expect(count() == 302 + 100)
        #expect(keys.map(rooms.listed) == [100, 101, 101, 101, 101])
        rooms.matching.detach(naming, of: 1, &rooms.keyspace)
        #expect(count() == 302)
        rooms.matching.detach(some, of: 1, &rooms.keyspace)
        #expect(count() == 100)
        for subscription in all { rooms.matching.detach(subscription, of: 1, &rooms.keyspace) }
        #expect(count() == 0 && keys.allSatisfy { rooms.listed($0) == 0 })
    }

    @Test("long lists have a bound: beyond it, a turn is the last one for which they are kept")
    func longLists() {
        let rooms = Rooms()
        let observers = 4_096
        for _ in 0..<observers { _ = rooms.subscribe("**") }
        let fitting = Reach.listedMax / observers
        let keys = (0...fitting).map { rooms.keyspace.findOrInsert(Array("k\($0)".utf8).span) }
        for key in keys { _ = rooms.matching.reach.name(key, by: rooms.subscribe()) }
        for key in keys.dropLast() { rooms.find(key) }
        rooms.matching.reach.endTurn()
        // Who names a key isn't counted.
        #expect(rooms.matching.reach.listedCount == Reach.listedMax)
        #expect(keys.dropLast().allSatisfy { rooms.listed($0) == observers + 1 })
        rooms.find(keys[fitting])
        #expect(rooms.matching.reach.listedCount == Reach.listedMax + observers)
        #expect(rooms.listed(keys[0]) == observers + 1)
        rooms.matching.reach.endTurn()
        #expect(rooms.matching.reach.listedCount == 0 && keys.allSatisfy { rooms.listed($0) == 0 })
        rooms.find(keys[0])
        #expect(rooms.listed(keys[0]) == observers + 1)
        while !rooms.matching.shrink(visits: 100) {}
        #expect(rooms.matching.reach.listedCount == observers && rooms.listed(keys[0]) == observers + 1)
    }

    @Test(
        "a key that nobody observes is known as such until somebody comes, and only for the present patterns")
    func unobserved() {
        let rooms = Rooms()
        let key = rooms.keyspace.findOrInsert(StaticString("a.b").bytes)
        func isUnobserved() -> Bool { rooms.matching.isUnobserved(key) }
        func rebuild() { rooms.find(key) }
        #expect(!isUnobserved())
        rebuild()
        #expect(isUnobserved())
        let named = rooms.subscribe("a.b")
        #expect(!isUnobserved())
        rebuild()
        #expect(!isUnobserved() && rooms.listed(key) == 1)
        rooms.matching.reach.retain(key)
        rooms.matching.detach(named, of: 1, &rooms.keyspace)
        rebuild()
        #expect(isUnobserved())
        _ = rooms.subscribe("a.*")
        #expect(!isUnobserved())
    }

    @Test("a slot that another key gets has nothing of the audience of the key before")
    func reused() {
        let rooms = Rooms()
        _ = rooms.subscribe("old.*")
        let old = rooms.keyspace.findOrInsert(StaticString("old.key").bytes)
        rooms.find(old)
        #expect(rooms.listed(old) == 1)
        rooms.matching.reach.retain(old)
        rooms.matching.forget(old, &rooms.keyspace)
        #expect(rooms.keyspace.observableCount == 1)
        rooms.matching.reach.release(old)
        rooms.matching.forget(old, &rooms.keyspace)
        #expect(rooms.keyspace.observableCount == 0)
        let new = rooms.keyspace.findOrInsert(StaticString("new.key").bytes)
        #expect(new.slot == old.slot && rooms.listed(new) == 0 && rooms.matching.reach.owedBy(new) == 0)
        let isUnobserved = rooms.matching.isUnobserved(new)
        #expect(!isUnobserved)
    }

    @Test("the memory of keys that are gone is given back, also from between what is left")
    func memory() {
        let rooms = Rooms()
        let keys = (0..<3 * Reach.blockEntries).map { rooms.keyspace.findOrInsert(Array("k\($0)".utf8).span) }
        for key in keys { rooms.matching.reach.retain(key) }
        let stays = [keys[5], keys[2 * Reach.blockEntries + 5]]
        for key in keys where !stays.contains(key) {
            rooms.matching.reach.release(key)
            rooms.matching.forget(key, &rooms.keyspace)
        }
        while !rooms.matching.shrink(visits: 100) {}
        #expect(
            rooms.keyspace.observableCount == 2 && stays.allSatisfy { rooms.matching.reach.owedBy($0) == 1 }
        )
        #expect(keys.reduce(0) { $0 + rooms.matching.reach.owedBy($1) } == 2)
    }
}
