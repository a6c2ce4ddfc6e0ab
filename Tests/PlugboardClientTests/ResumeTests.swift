// Subscriptions that continue where the connection broke.

import TestSupport
import Testing

@testable import PlugboardClient

@Suite("resuming", .someAtATime)
struct ResumeTests {
    private static let greeting = FakeBroker.greeting(features: #""since""#)

    private static func update(_ key: String, _ revision: Int) -> String {
        #"{"event":"update","sub":1,"key":"\#(key)","revision":\#(revision),"value":\#(revision)}"#
    }

    private static func synced(_ revision: Int) -> String {
        #"{"event":"synced","sub":1,"revision":\#(revision)}"#
    }

    @Test("after a restart with the same journal nothing is told twice and nothing is missed")
    func restart() async throws {
        let broker = try await TestBroker(isKept: true)
        let bus = try await broker.connect()
        let heard = Log<Event>()
        for key in ["k.a", "k.b", "k.c"] { try await bus.publish(key, 1) }
        let observation = try await bus.subscribe("k.*") { heard.add($0) }
        let observable = bus.observable("k.a", default: 0)
        try await observable.ready()
        let changes = Log<Int>()
        let watching = observable.observe { changes.add($0.new) }
        // A value bound to the connection ends with the broker. The next broker announces that.
        try await bus.publish("k.here", 1, while: .connected)
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        try await broker.start()
        try await eventually("it is back") { bus.state.isConnected }
        #expect(observable.value == 1)
        try await bus.publish("k.b", 2)
        #expect(
            heard.all.map { "\($0.kind) \($0.key) \($0.isInitial)" } == [
                "update k.a true", "update k.b true", "update k.c true", "synced  false",
                "update k.here false", "delete k.here false", "synced  false", "update k.b false",
            ]
        )
        #expect(changes.count == 0)
        watching.dispose()
        observation.dispose()
    }

    /// What holds an event back when the connection breaks.
    enum Hold: CaseIterable { case phase, pause, every }

    @Test(
        "an event that was held when the connection broke comes afterwards, though sync had told its revision",
        arguments: Hold.allCases,
        [true, false]
    )
    func held(_ hold: Hold, hasInitial: Bool) async throws {
        let broker = try await TestBroker()
        let (bus, other) = (try await broker.connect(), try await broker.connect())
        // It never acknowledges, because nobody reads it.
        let silent = SubscribeOptions(initial: false, phase: 1, acknowledges: true)
        let stranger = try await other.subscribe("late", options: silent)
        let heard = Log<Event>()
        let options = SubscribeOptions(initial: hasInitial, every: hold == .every ? .seconds(86_400) : nil)
        let observing = try await bus.subscribe("*", options: options) { heard.add($0) }
        for number in 1...4 { try await other.publish("k\(number)", number) }
        try await other.publish("n", 5)
        try await eventually("the fifth comes") { heard.all.last?.revision == 5 }
        let number = try #require(bus.greeting?.client)
        if hold == .pause {
            let reply = try broker.ask(#"{"op":"pause","sub":1,"client":\#(number)}"#)
            #expect(reply.hasPrefix(#"{"ok":"pause""#), "\(reply)")
        }
        try await other.publish(hold == .phase ? "late" : "n", 6)
        #expect(try await bus.sync() == 6)
        try await other.disconnect(client: number)
        try await eventually("the sixth comes") {
            heard.all.contains { $0.revision == 6 && $0.kind == .update }
        }
        try await other.publish("z", 7)
        try await eventually("the seventh comes") { heard.all.last?.revision == 7 }
        #expect(heard.all.filter { $0.kind == .update }.map(\.revision) == Array(1...7))
        #expect(heard.all.allSatisfy { !$0.isInitial })
        _ = stranger
        observing.dispose()
    }

    @Test("it names what it knows, and of an interrupted batch it gets the rest")
    func cutBatch() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(Self.greeting)
            try peer.answerSubscribe(snapshot: ["a", "b", "c"])
            try peer.send(Self.synced(2))
            try peer.send(Self.update("a", 3))
        } _: { peer in
            try peer.send(Self.greeting)
            try peer.answerResuming(since: 2, epoch: "e1")
            try peer.send(Self.update("a", 3))
            try peer.send(Self.update("b", 3))
            try peer.send(#"{"event":"delete","sub":1,"key":"unheard.of","revision":4}"#)
            try peer.send(#"{"event":"delete","sub":1,"key":"c","revision":5}"#)
            try peer.send(Self.synced(5))
            try peer.send(Self.update("a", 6))
            try peer.drain()
        }
        let bus = try await fake.connect()
        let heard = Log<String>()
        let observation = try await bus.subscribe("*") { heard.add("\($0.kind) \($0.key) \($0.revision)") }
        try await eventually("the last is told") { heard.all.last == "update a 6" }
        #expect(
            heard.all == [
                "update a 1", "update b 1", "update c 1", "synced  2", "update a 3",
                "update b 3", "delete c 5", "synced  5", "update a 6",
            ]
        )
        observation.dispose()
    }

    @Test("updates that were told before don't count as skipped")
    func skipped() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(Self.greeting)
            try peer.answerSubscribe(snapshot: ["a"])
            try peer.send(Self.synced(2))
            try peer.send(Self.update("a", 3))
        } _: { peer in
            try peer.send(Self.greeting)
            try peer.answerResuming(since: 2, epoch: "e1")
            try peer.send(#"{"event":"update","sub":1,"key":"b","revision":5,"value":0,"skipped":1}"#)
            try peer.send(#"{"event":"update","sub":1,"key":"a","revision":6,"value":0,"skipped":2}"#)
            try peer.send(#"{"event":"update","sub":1,"key":"a","revision":9,"value":0,"skipped":2}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        let heard = Log<String>()
        let observation = try await bus.subscribe("*") { heard.add("\($0.key) \($0.revision) \($0.skipped)") }
        try await eventually("the last is told") { heard.all.last == "a 9 2" }
        #expect(heard.all.suffix(4) == ["a 3 0", "b 5 1", "a 6 1", "a 9 2"])
        observation.dispose()
    }

    @Test("a snapshot that was cut short doesn't lose what was known before")
    func cutSnapshot() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(Self.greeting)
            try peer.answerSubscribe(snapshot: ["a", "b"])
            try peer.send(Self.synced(2))
        } _: { peer in
            try peer.send(FakeBroker.greeting(epoch: "e2", features: #""since""#))
            try peer.answerSubscribe(snapshot: ["a"])
        } _: { peer in
            try peer.send(Self.greeting)
            try peer.answerResuming(since: 2, epoch: "e1")
            try peer.send(Self.synced(2))
            try peer.drain()
        }
        let bus = try await fake.connect()
        let heard = Log<String>()
        let observation = try await bus.subscribe("*") { heard.add("\($0.kind) \($0.key)") }
        try await eventually("it went on") { heard.all.filter { $0 == "synced " }.count == 2 }
        #expect(heard.all == ["update a", "update b", "synced ", "update a", "synced "])
        observation.dispose()
    }

    @Test("without the current values it continues from the broker's answer")
    func withoutInitial() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(Self.greeting)
            try peer.answerSubscribe(snapshot: [])
        } _: { peer in
            try peer.send(Self.greeting)
            try peer.answerResuming(since: 2, epoch: "e1")
            try peer.send(Self.update("a", 3))
            try peer.drain()
        }
        let bus = try await fake.connect()
        let heard = Log<String>()
        let options = SubscribeOptions(initial: false)
        let observation = try await bus.subscribe("*", options: options) {
            heard.add("\($0.key) \($0.revision)")
        }
        try await eventually("it is told what it missed") { heard.all == ["a 3"] }
        observation.dispose()
    }
}

extension Peer {
    /// Accepts a subscription, which must be number 1 and ask for exactly this.
    func answerResuming(since revision: Int, epoch: String) throws {
        guard let line = try line(), line.hasSuffix(#","since":\#(revision),"epoch":"\#(epoch)"}"#) else {
            throw NeverHappened(description: "it doesn't ask to go on at \(revision)")
        }
        let id = line.requestID ?? -1
        try send(#"{"ok":"subscribe","id":\#(id),"sub":1,"revision":\#(revision),"resumed":true}"#)
    }
}
