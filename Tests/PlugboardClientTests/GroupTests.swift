// Events in groups.

import TestSupport
import Testing

@testable import PlugboardClient

@Suite("groups of events", .someAtATime)
struct GroupTests {
    /// The groups of a subscription, as texts, until `end` has come.
    private func groups(
        _ bus: Bus,
        _ options: SubscribeOptions = SubscribeOptions(initial: false),
        _ body: @Sendable (Int) async throws -> Void = { _ in }
    ) async throws -> [[String]] {
        let subscription = try await bus.subscribe("**", options: options)
        try await bus.publish("begun", true)
        var groups: [[String]] = []
        try await subscription.forEachGroup { events in
            groups.append(events.map { "\($0.key) \($0.revision)" })
            try await body(groups.count)
            if events.contains(where: { $0.key == "end" }) { subscription.cancel() }
        }
        return groups
    }

    @Test("what comes while a group is handled is the next group")
    func together() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let groups = try await groups(bus) { number in
            guard number == 1 else { return }
            for key in ["a", "b"] { try await writer.publish(key, 1) }
            try await writer.batch([.publish("c", 1), .publish("end", 1)])
        }
        #expect(groups == [["begun 1"], ["a 2", "b 3", "c 4", "end 4"]])
    }

    @Test("a batch is never split, even if its lines come in two pieces")
    func batchInPieces() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: [])
            _ = try peer.line()
            let update = #"{"event":"update","sub":1,"revision":5,"value":1,"key":"#
            try peer.send(update + #""a"}"#)
            // The library asks before it passes on a group.
            let id = try peer.expect("sync")
            try peer.send(update + #""b"}"#)
            try peer.send(#"{"ok":"sync","id":\#(id),"revision":5}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        let subscription = try await bus.subscribe("*", options: SubscribeOptions(initial: false))
        try bus.pipeline.publish("x", 1)
        try await subscription.forEachGroup { events in
            #expect(events.map(\.key) == ["a", "b"])
            subscription.cancel()
        }
    }

    @Test("what is told behind the answer belongs to the next group, however soon it is there")
    func behindTheAnswer() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: [])
            _ = try peer.line()
            func update(_ key: String, _ revision: Int) -> String {
                #"{"event":"update","sub":1,"revision":\#(revision),"value":1,"key":"\#(key)"}"#
            }
            try peer.send(update("a", 5))
            var id = try peer.expect("sync")
            let answer = #"{"ok":"sync","id":\#(id),"revision":5}"#
            // Many, so that the first of them are there before the program goes on.
            let behind = (6..<506).map { update("b", $0) }
            try peer.send(([answer] + behind).joined(separator: "\n"))
            id = try peer.expect("sync")
            try peer.send(#"{"ok":"sync","id":\#(id),"revision":505}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        let subscription = try await bus.subscribe("*", options: SubscribeOptions(initial: false))
        try bus.pipeline.publish("x", 1)
        var groups: [Int] = []
        try await subscription.forEachGroup { events in
            groups.append(events.count)
            if groups.count == 2 { subscription.cancel() }
        }
        #expect(groups == [1, 500])
    }

    @Test("writes name the last event of the group as their cause")
    func cause() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let subscription = try await bus.subscribe("k.*", options: SubscribeOptions(initial: false))
        try await bus.publish("k.a", 1)
        let last = try await bus.publish("k.b", 1)
        try await subscription.forEachGroup { events in
            #expect(events.count == 2)
            try await bus.publish("said", true)
            subscription.cancel()
        }
        #expect(try await bus.entry("said")?.cause == last)
    }

    @Test("observers of later phases get an event together with what the program writes because of it")
    func acknowledged() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let options = SubscribeOptions(initial: false, phase: 1, acknowledges: true)
        let own = try await bus.subscribe(["in", "out"], options: options)
        async let answering: Void = own.forEachGroup { events in
            for event in events where event.key == "in" {
                try await Task.sleep(for: .milliseconds(5))
                try await bus.publish("out", event.value)
            }
        }
        let late = try await writer.subscribe(
            ["in", "out"], options: SubscribeOptions(initial: false, delivery: .all)
        )
        async let writing: Void = {
            for number in 1...30 { try await writer.publish("in", number) }
        }()
        var states: [String: Int] = [:]
        var isLate = false
        try await late.forEachGroup { events in
            for event in events { states[event.key] = event.value?.integer }
            // On a busy machine, the phase's time of a second may be over. Then an event says so, and the
            // answers come later.
            if events.contains(where: { !$0.unacknowledged.isEmpty }) { isLate = true }
            #expect(states["in"] == states["out"] || isLate)
            if states["in"] == states["out"] { isLate = false }
            if states["out"] == 30 { late.cancel() }
        }
        try await writing
        own.cancel()
        try await answering
    }

    @Test("it ends when the bus closes, when its task is cancelled, and with what its body throws")
    func ends() async throws {
        struct Odd: Error {}
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("k", 1)
        await #expect(throws: Odd.self) { try await bus.subscribe("k").forEachGroup { _ in throw Odd() } }
        let begun = Flag()
        let subscription = try await bus.subscribe("k")
        let loop = Task { try await subscription.forEachGroup { _ in begun.raise() } }
        try await eventually("it runs") { begun.isRaised }
        loop.cancel()
        try await loop.value
        let other = try await bus.subscribe("k")
        try await other.forEachGroup { _ in bus.close() }
    }
}
