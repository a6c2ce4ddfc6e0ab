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
            session = sessions.insert(Session(client: 1, slot: 0))
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

        /// How many observers a key's list has.
        func listed(_ key: ObservableHandle) -> Int {
            Self.listed(key, matching)
        }

        private static func listed(_ key: ObservableHandle, _ matching: borrowing Matching) -> Int {
            matching.reach.observers(of: key).count
        }
    }

    @Test("long lists have a bound: the oldest go, and are made anew when they are asked for")
    func longLists() {
        let rooms = Rooms()
        let observers = 4_096
        for _ in 0..<observers { _ = rooms.subscribe("**") }
        let fitting = LongLists.observersMax / observers
        let keys = (0...fitting).map { rooms.keyspace.findOrInsert(Array("k\($0)".utf8).span) }
        func rebuild(_ key: ObservableHandle) {
            rooms.matching.rebuildObservers(of: key, rooms.keyspace, rooms.sessions)
        }
        for key in keys.dropLast() { rebuild(key) }
        #expect(rooms.matching.longLists.observerCount == LongLists.observersMax)
        #expect(keys.dropLast().allSatisfy { rooms.listed($0) == observers })
        rebuild(keys[fitting])
        #expect(rooms.matching.longLists.observerCount == LongLists.observersMax)
        #expect(rooms.listed(keys[0]) == 0)
        #expect(rooms.matching.reach.generation(of: keys[0]) == 0)
        #expect(rooms.listed(keys[1]) == observers)
        #expect(rooms.listed(keys[fitting]) == observers)
        rebuild(keys[0])
        #expect(rooms.listed(keys[0]) == observers)
        #expect(rooms.listed(keys[1]) == 0)
        // Somebody came: they are all out of date, and go when memory is given back.
        _ = rooms.subscribe("a.**")
        while !rooms.matching.shrink(visits: 100, rooms.keyspace) {}
        #expect(rooms.matching.longLists.observerCount == 0)
        #expect(keys.allSatisfy { rooms.listed($0) == 0 })
    }

    @Test(
        "a key that nobody observes is known as such until somebody comes, and only for the present patterns")
    func unobserved() {
        let rooms = Rooms()
        let key = rooms.keyspace.findOrInsert(StaticString("a.b").bytes)
        func isUnobserved() -> Bool { rooms.matching.isUnobserved(key) }
        func rebuild() {
            rooms.matching.rebuildObservers(of: key, rooms.keyspace, rooms.sessions)
        }
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
        rooms.matching.rebuildObservers(of: old, rooms.keyspace, rooms.sessions)
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
        while !rooms.matching.shrink(visits: 100, rooms.keyspace) {}
        #expect(
            rooms.keyspace.observableCount == 2 && stays.allSatisfy { rooms.matching.reach.owedBy($0) == 1 }
        )
        #expect(keys.reduce(0) { $0 + rooms.matching.reach.owedBy($1) } == 2)
    }
}
