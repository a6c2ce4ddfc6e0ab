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

@Suite("What a user's patterns may cost", .computing)
struct PatternStepsTests {
    private let hub = TestHub()

    /// All patterns of so many tokens that are each `a` or `*`, in requests.
    private func wildcards(_ tokens: Int, _ request: String = #""op":"subscribe","initial":false"#)
        -> [String]
    {
        let patterns = (0..<1 << tokens).map { number in
            "\"" + (0..<tokens).map { number >> $0 & 1 == 1 ? "*" : "a" }.joined(separator: ".") + "\""
        }
        return stride(from: 0, to: patterns.count, by: Limits.patternsMax).map { start in
            let some = patterns[start..<min(patterns.count, start + Limits.patternsMax)]
            return "{\(request),\"keys\":[" + some.joined(separator: ",") + "]}"
        }
    }

    private func isRefused(_ line: String, from client: SessionHandle) -> Bool {
        let answer = hub.ask(line, from: client)
        return answer.contains(#""error":"limit""#) && answer.contains("\(Limits.patternStepsMax) steps")
    }

    @Test("is as much as the limit, and not one step more; nothing is left of what was refused")
    func limit() {
        let client = hub.client()
        // 2^10 - 1 steps, without that of the one key among them: two are left.
        for line in wildcards(9) { #expect(!isRefused(line, from: client)) }
        #expect(!isRefused("subscribe a.**", from: client))
        #expect(!isRefused("subscribe *.**", from: client))
        #expect(isRefused("subscribe a.a.**", from: client))
        #expect(isRefused(#"{"op":"subscribe","sub":"x","keys":["b.c","*.*.**"]}"#, from: client))
        #expect(hub.patternSteps == Limits.patternStepsMax)
        #expect(hub.ask("unsubscribe x", from: client).contains("unknown_sub"))
        // Patterns with tokens of their own cost nothing beside those.
        #expect(!isRefused("subscribe b.*", from: client))
        #expect(!isRefused("subscribe b.c.*.d.**", from: client))
    }

    @Test("is given back by who unsubscribes, and by who leaves")
    func back() {
        let (one, other) = (hub.client(), hub.client())
        for line in wildcards(9) { #expect(!isRefused(line, from: one)) }
        #expect(!isRefused("subscribe a.**", from: other))
        #expect(!isRefused("subscribe *.**", from: other))
        #expect(isRefused("subscribe a.a.**", from: other))
        #expect(hub.ask("unsubscribe 1", from: other).contains(#""ok":"unsubscribe""#))
        #expect(!isRefused("subscribe a.a.**", from: other))
        hub.leave(one)
        #expect(hub.patternSteps == 6)
        hub.leave(other)
        #expect(hub.patternSteps == 0)
    }

    @Test("is not what those of other users cost")
    func users() throws {
        let all = #""allow":{"everything":["**"]}"#
        try hub.follow(#"{"rules":[{"user":1,\#(all)},{"user":2,\#(all)}]}"#)
        let (one, other) = (hub.client(user: 1), hub.client(user: 2))
        for line in wildcards(9) { #expect(!isRefused(line, from: one)) }
        for line in wildcards(9) { #expect(!isRefused(line, from: other)) }
        #expect(!isRefused("subscribe a.**\nsubscribe *.**", from: one))
        #expect(isRefused("subscribe *.*.**", from: one))
        #expect(!isRefused("subscribe *.**", from: other))
        #expect(hub.ask("publish a.a.a.a.a.a.a.a.a 1", from: one).contains("revision"))
        #expect(hub.read(other).count == wildcards(9).count + 1)
    }

    @Test("has the same limit for what is traced; nothing is left of what was refused")
    func traces() {
        let (client, other) = (hub.client(), hub.client())
        for line in wildcards(9, #""op":"trace""#) { #expect(!isRefused(line, from: client)) }
        // 2^10 - 1 steps: one is left.
        #expect(!isRefused("trace a.**", from: other))
        #expect(isRefused("trace *.**", from: other))
        #expect(isRefused(#"{"op":"trace","sub":"x","keys":["b.c","*.*.**"]}"#, from: client))
        #expect(hub.ask("unsubscribe x", from: client).contains("unknown_sub"))
        // Those of observers count by themselves.
        #expect(!isRefused("subscribe a.a.**", from: client))
        hub.leave(client)
        #expect(!isRefused("trace *.**", from: other))
    }

    @Test("has the same limit for what is served")
    func services() {
        let client = hub.client()
        var refused = 0
        for number in 0..<1 << 9 {
            let pattern = (0..<9).map { number >> $0 & 1 == 1 ? "*" : "a" }.joined(separator: ".")
            if isRefused("serve \(pattern)", from: client) { refused += 1 }
        }
        #expect(refused == 0)
        #expect(!isRefused("serve a.**", from: client))
        #expect(isRefused("serve *.**", from: client))
        #expect(hub.ask("unserve a.**", from: client).contains(#""ok":"unserve""#))
        #expect(!isRefused("serve *.**", from: client))
    }
}
