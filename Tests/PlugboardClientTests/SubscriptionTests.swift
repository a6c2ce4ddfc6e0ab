// Subscriptions to a real broker: as a sequence and with a callback.

import Observables
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("subscriptions", .someAtATime)
struct SubscriptionTests {
    @Test("a sequence gives the snapshot, its end, then later events")
    func sequence() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect("me")
        try await bus.publish("reviews.a", 1)
        try await bus.publish("reviews.b", 2)
        try await bus.publish("other", 3)
        let subscription = try await bus.subscribe("reviews.**")
        try await bus.publish("reviews.c", 4)
        try await bus.emit("reviews.d", "hello")
        try await bus.delete("reviews.a")
        var told: [String] = []
        for try await event in subscription {
            told.append("\(event.kind) \(event.key) \(event.value?.text ?? "-") \(event.isInitial)")
            #expect(event.by == (event.kind == .synced ? nil : "me"))
            if event.kind == .delete { break }
        }
        #expect(
            told == [
                "update reviews.a 1 true", "update reviews.b 2 true", "synced  - false",
                "update reviews.c 4 false", #"emit reviews.d "hello" false"#, "delete reviews.a - false",
            ]
        )
    }

    @Test("options leave out the snapshot and the values, and add the old ones and the time")
    func options() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("k", 1)
        let heard = Log<Event>()
        let options = SubscribeOptions(initial: false, old: true, values: false, when: true)
        let observation = try await bus.subscribe("k", options: options) { heard.add($0) }
        try await bus.publish("k", 2)
        try await bus.sync()
        #expect(heard.all.count == 1)
        #expect(heard.all.first?.value == nil)
        #expect(heard.all.first?.old?.text == "1")
        let when = try #require(heard.all.first?.when)
        #expect(when.hasPrefix("20") && when.hasSuffix("Z"))
        #expect(try await bus.entry("k")?.when == when)
        observation.dispose()
    }

    @Test("a key that matches several patterns is told once")
    func patterns() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let heard = Log<String>()
        let observation = try await bus.subscribe(["a.*", "a.b", "c"]) { heard.add($0.key) }
        try await bus.publish("a.b", 1)
        try await bus.publish("c", 1)
        try await bus.publish("d", 1)
        #expect(heard.all == ["", "a.b", "c"])
        observation.dispose()
    }

    @Test("a bad pattern is refused with its code and leaves nothing")
    func badPattern() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let error = await #expect(throws: BusError.self) { try await bus.subscribe("a..b") }
        #expect(error?.code == .badPattern)
        #expect(bus.link.state.withLock { $0.registrations.isEmpty && $0.pending.isEmpty })
    }

    @Test("after dispose nothing more comes, and the broker sends nothing")
    func dispose() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let heard = Log<Event>()
        let observation = try await bus.subscribe("k", options: SubscribeOptions(initial: false)) {
            heard.add($0)
        }
        try await bus.publish("k", 1)
        observation.dispose()
        try await bus.publish("k", 2)
        #expect(heard.count == 1)
        #expect(bus.link.state.withLock { $0.registrations.isEmpty })
    }

    @Test("a sequence ends when its task is cancelled, and when the bus closes")
    func sequenceEnds() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let subscription = try await bus.subscribe("k")
        let reader = Task {
            for try await event in subscription where event.kind == .update {}
        }
        reader.cancel()
        try await reader.value
        let second = Task {
            for try await event in try await bus.subscribe("k") where event.kind == .update {}
        }
        try await eventually("two subscriptions") { bus.link.state.withLock { $0.registrations.count } == 2 }
        bus.close()
        try await second.value
    }

    @Test("a loop that reads too slowly is told so, after everything that it hasn't missed")
    func unreadFull() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let options = SubscribeOptions(initial: false, unreadBytesMax: 2_000)
        let subscription = try await bus.subscribe("n", options: options)
        for number in 0..<100 { try await bus.publish("n", number) }
        var heard: [Int] = []
        let error = await #expect(throws: BusError.self) {
            for try await event in subscription { heard.append(try event.decode(as: Int.self)) }
        }
        #expect(error == .unreadFull(limit: 2_000))
        #expect(heard == Array(0..<heard.count))
        #expect(!heard.isEmpty)
        #expect(bus.link.state.withLock { $0.registrations.isEmpty })
    }

    /// Events come to a bus that keeps only a few, and nobody reads them.
    private static let heldBack = SubscribeOptions(
        initial: false, delivery: .all, unreadBytesMax: 4_000, holdsBack: true
    )

    /// Waits until a loop is behind, or has ended because it is.
    private func behind(_ subscription: Subscription) async throws {
        let link = subscription.bus.link
        try await eventually("it is behind") { link.isHeldBack || link.registration(subscription.sub) == nil }
    }

    @Test("a loop that holds its bus back misses nothing, and the bus goes on when it has caught up")
    func holdsBack() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let subscription = try await bus.subscribe("n", options: Self.heldBack)
        let aside = Log<Int>()
        let observing = try await bus.subscribe(
            "n", options: SubscribeOptions(initial: false, delivery: .all)
        ) {
            aside.add($0.value?.integer ?? -1)
        }
        for number in 0..<2_000 { try writer.pipeline.emit("n", number) }
        try await writer.sync()
        try await behind(subscription)
        var heard: [Int] = []
        for try await event in subscription {
            heard.append(try event.decode(as: Int.self))
            if heard.count == 2_000 { break }
        }
        #expect(heard == Array(0..<2_000))
        #expect(!bus.link.isHeldBack)
        try await bus.sync()
        #expect(aside.all == heard)
        observing.dispose()
    }

    @Test("while a loop that is behind waits for a reply, or for room, the bus reads on")
    func readsOn() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        var options = Self.heldBack
        options.unreadBytesMax = 40_000
        let subscription = try await bus.subscribe("n", options: options)
        for number in 0..<150 { try writer.pipeline.emit("n", number) }
        try await writer.sync()
        try await behind(subscription)
        var heard = 0
        for try await event in subscription {
            #expect(try event.decode(as: Int.self) == heard)
            heard += 1
            if heard == 1 { try await bus.publish("seen", heard) }
            if heard == 150 { break }
        }
        #expect(try await writer.get("seen", as: Int.self) == 1)
    }

    @Test("a stop waits for a loop that holds its bus back, so that it gets everything")
    func stopsInStep() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let subscription = try await bus.subscribe("n", options: Self.heldBack)
        for number in 0..<1_000 { try writer.pipeline.emit("n", number) }
        try await writer.sync()
        try await behind(subscription)
        bus.link.stopInStep()
        var heard: [Int] = []
        for try await event in subscription { heard.append(try event.decode(as: Int.self)) }
        #expect(heard == Array(0..<1_000))
    }

    @Test("a loop that ends while it is behind holds nothing back any more")
    func endsBehind() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        var subscription: Subscription? = try await bus.subscribe("n", options: Self.heldBack)
        for number in 0..<1_000 { try writer.pipeline.emit("n", number) }
        try await writer.sync()
        try await behind(#require(subscription))
        subscription = nil
        #expect(!bus.link.isHeldBack)
        try await bus.sync()
    }
}
