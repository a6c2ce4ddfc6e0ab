// Connections that break, and what holds afterwards.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("reconnecting", .someAtATime)
struct ReconnectTests {
    @Test("after a restart the bus is back with its name and its subscriptions, and says so")
    func restart() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect("keeper")
        let states = Log<ConnectionState>()
        let watching = bus.onStateChange(initial: true) { states.add($0) }
        let heard = Log<Event>()
        let observation = try await bus.subscribe("k") { heard.add($0) }
        try await bus.publish("k", 1)
        try await broker.stop()
        try await eventually("it notices") { states.count >= 2 }
        try await broker.start()
        try await eventually("it is back") { states.count >= 3 }
        let other = try await broker.connect("other")
        try await other.publish("k", 2)
        #expect(try await bus.publish("k2", 3) == 2)
        #expect(try await other.entry("k2")?.by == "keeper")
        try await bus.sync()
        #expect(
            heard.all.map { "\($0.kind) \($0.value?.text ?? "-")" } == [
                "synced -", "update 1", "delete -", "synced -", "update 2",
            ]
        )
        guard case .connected(let first) = states.all[0], case .disconnected(let reason) = states.all[1],
            case .reconnected(let second, epochChanged: true) = states.all[2]
        else { throw NeverHappened(description: "\(states.all)") }
        #expect(first.epoch != second.epoch)
        #expect("\(reason)".contains("bye"))
        watching.dispose()
        observation.dispose()
    }

    @Test("requests under way fail when the connection breaks, and are not sent again")
    func underWay() async throws {
        let again = Log<String>()
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.expect("publish")
        } _: { peer in
            try peer.send(FakeBroker.greeting())
            while let line = try peer.line() {
                again.add(line)
                if line.contains("sync") { try peer.send(#"{"ok":"sync","id":\#(again.id),"revision":1}"#) }
            }
        }
        let bus = try await fake.connect()
        let error = await #expect(throws: BusError.self) { try await bus.publish("k", 1) }
        guard case .disconnected? = error else {
            throw NeverHappened(description: "\(String(describing: error)) is not disconnected")
        }
        try await bus.sync()
        #expect(again.all.count == 1)
        #expect(again.all.first?.contains("sync") == true)
    }

    @Test("the same epoch is reported as unchanged, and a broken connection without a bye has a reason")
    func sameEpoch() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting(epoch: "one"))
            // Closes as soon as somebody subscribes.
            _ = try peer.line()
        } _: { peer in
            try peer.send(FakeBroker.greeting(epoch: "one"))
            try peer.drain()
        }
        let bus = try await fake.connect()
        let states = bus.states
        try bus.pipeline.publish("k", 1)
        for await state in states {
            if case .disconnected(let error) = state { #expect("\(error)".contains("closed")) }
            if case .reconnected(_, let epochChanged) = state {
                #expect(!epochChanged)
                break
            }
        }
    }

    @Test("requests made meanwhile wait for the connection, pipelined ones fail at once")
    func meanwhile() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        #expect(throws: BusError.self) { try bus.pipeline.publish("k", 1) }
        await #expect(throws: BusError.timedOut(operation: "publish")) {
            try await bus.publish("k", 1, timeout: .milliseconds(30))
        }
        let writes = Task {
            for number in 1...5 { try await bus.publish("k", number) }
            return try await bus.get("k", as: Int.self)
        }
        try await eventually("a request waits") { bus.link.state.withLock { $0.parkedBytes > 0 } }
        try await broker.start()
        #expect(try await writes.value == 5)
        #expect(bus.link.state.withLock { $0.parkedBytes == 0 && $0.parked.isEmpty })
    }

    @Test("a barrier reports once that pipelined writes may be lost")
    func lostWrites() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try bus.pipeline.publish("k", 1)
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        try await broker.start()
        let error = await #expect(throws: BusError.self) { try await bus.sync() }
        guard case .disconnected? = error else {
            throw NeverHappened(description: "\(String(describing: error)) is not disconnected")
        }
        try await bus.sync()
    }

    @Test("a broker that takes long to send the values before its answers isn't given up")
    func longSetup() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            for _ in 1...2 { try peer.answerSubscribe(snapshot: []) }
        } _: { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: [])
            // Longer than the client waits for a broker that is silent.
            for number in 1...30 {
                Pause.sleep(seconds: 0.05)
                try peer.send(#"{"event":"update","sub":1,"key":"k","revision":\#(number),"value":1}"#)
            }
            try peer.answerSubscribe(snapshot: [])
            try peer.drain()
        }
        var options = Bus.Options.quick
        options.connectTimeout = .seconds(1)
        let bus = try await fake.connect(options: options)
        let states = Log<ConnectionState>()
        let watching = bus.onStateChange { states.add($0) }
        let first = try await bus.subscribe("k") { _ in }
        let second = try await bus.subscribe("other") { _ in }
        try await eventually("it is back, or was given up") { states.count == 2 }
        #expect(bus.state.isConnected)
        for handle in [first, second, watching] { handle.dispose() }
    }

    @Test("a subscription that notices deletes reports those that it missed, before synced")
    func noticedDeletes() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        for key in ["k.a", "k.b", "k.c"] { try await bus.publish(key, 1) }
        let heard = Log<String>()
        let observation = try await bus.subscribe("k.*", options: SubscribeOptions(values: false)) {
            heard.add("\($0.kind) \($0.key) \($0.isInitial)")
        }
        try await bus.delete("k.c")
        try await bus.publish("k.d", 1)
        let before = heard.count
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        try await broker.start()
        let other = try await broker.connect()
        try await other.publish("k.b", 1)
        try await eventually("it is back") { bus.state.isConnected }
        try await bus.sync()
        // It is a race whether k.b existed when the bus came back. Both outcomes end alike.
        let news = Set(heard.all[before...])
        #expect(news.isSuperset(of: ["delete k.a true", "delete k.d true", "synced  false"]))
        #expect(!news.contains("delete k.c true"))
        observation.dispose()
    }

    @Test("a snapshot that was cut short doesn't hide a delete")
    func cutShort() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: ["a", "b"])
            try peer.send(#"{"event":"synced","sub":1,"revision":2}"#)
        } _: { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: ["a", "b"])
        } _: { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: ["a"])
            try peer.send(#"{"event":"synced","sub":1,"revision":3}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        let heard = Log<Event>()
        let observation = try await bus.subscribe("*") { heard.add($0) }
        try await eventually("two snapshots end") { heard.all.filter { $0.kind == .synced }.count == 2 }
        #expect(heard.all.filter { $0.kind == .delete }.map(\.key) == ["b"])
        observation.dispose()
    }

    @Test("writes and deletes during a snapshot are neither missed nor remembered wrongly")
    func duringSnapshot() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: ["a", "b"])
            try peer.send(#"{"event":"update","sub":1,"key":"c","revision":3,"value":1}"#)
            try peer.send(#"{"event":"delete","sub":1,"key":"b","revision":4}"#)
            try peer.send(#"{"event":"synced","sub":1,"revision":4}"#)
        } _: { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: ["a", "c"])
            try peer.send(#"{"event":"synced","sub":1,"revision":4}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        let heard = Log<String>()
        let observation = try await bus.subscribe("*") { heard.add("\($0.kind) \($0.key)") }
        try await eventually("two snapshots end") { heard.all.filter { $0 == "synced " }.count == 2 }
        #expect(
            heard.all == [
                "update a", "update b", "update c", "delete b", "synced ", "update a", "update c", "synced ",
            ]
        )
        observation.dispose()
    }

    @Test("a value that matched before the connection broke, and doesn't come after it, has left")
    func noticedLeave() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("k.a", ["price": 5])
        try await bus.publish("k.b", ["price": 5])
        let heard = Log<String>()
        let options = SubscribeOptions(where: [Part("/price") < 10])
        let observation = try await bus.subscribe("k.*", options: options) {
            heard.add("\($0.kind) \($0.key) \($0.isInitial)")
        }
        try await bus.publish("k.b", ["price": 50])
        let before = heard.count
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        try await broker.start()
        try await eventually("it is back") { bus.state.isConnected }
        try await bus.sync()
        #expect(heard.all[before...] == ["leave k.a true", "synced  false"])
        observation.dispose()
    }

    @Test(
        "parts that went while the connection was down are reported as gone, also if the key is written meanwhile",
        arguments: [true, false])
    func noticedParts(isInitial: Bool) async throws {
        let parts: @Sendable (String, Bool) -> String = { fields, isInitial in
            let initial = isInitial ? #","initial":true"# : ""
            return #"{"event":"update","sub":1,"key":"k","revision":1,"fields":\#(fields)\#(initial)}"#
        }
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: [])
            try peer.send(parts(#"{"/price":1,"/stock":2}"#, true))
            try peer.send(#"{"event":"synced","sub":1,"revision":1}"#)
        } _: { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: [])
            try peer.send(parts(#"{"/price":3}"#, isInitial))
            try peer.send(parts(#"{"/price":4}"#, false))
            try peer.send(#"{"event":"synced","sub":1,"revision":1}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        let heard = Log<Event>()
        let options = SubscribeOptions(fields: ["/price", "/stock"])
        let observation = try await bus.subscribe("*", options: options) { heard.add($0) }
        try await eventually("two snapshots end") { heard.all.filter { $0.kind == .synced }.count == 2 }
        #expect(heard.all.filter { $0.kind == .update }.map(\.gone) == [[], ["/stock"], []])
        observation.dispose()
    }

    @Test("a subscription that doesn't notice deletes remembers no keys")
    func unnoticed() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("k", 1)
        let heard = Log<String>()
        let options = SubscribeOptions(noticesDeletes: false)
        #expect(KeyMemory(options) == nil)
        let observation = try await bus.subscribe("*", options: options) { heard.add("\($0.kind)") }
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        try await broker.start()
        try await eventually("it is back") { bus.state.isConnected }
        try await bus.sync()
        #expect(heard.all == ["update", "synced", "synced"])
        observation.dispose()
    }

    @Test("a subscription that a new broker refuses ends with its reason")
    func refusedAgain() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: [])
        } _: { peer in
            try peer.send(FakeBroker.greeting())
            let id = try peer.expect("subscribe")
            try peer.send(#"{"error":"forbidden","id":\#(id),"message":"not any more"}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        let subscription = try await bus.subscribe("*")
        let error = await #expect(throws: BusError.self) { for try await _ in subscription {} }
        #expect(error?.code == .forbidden)
        try await eventually("it is back all the same") { bus.state.isConnected }
    }

    @Test("without reconnecting the bus closes with the reason")
    func noReconnect() async throws {
        let broker = try await TestBroker()
        var options = Bus.Options.quick
        options.reconnects = false
        let bus = try await broker.connect(options: options)
        let subscription = try await bus.subscribe("k", options: SubscribeOptions(initial: false))
        try await broker.stop()
        await bus.waitUntilStopped()
        guard case .closed(.disconnected?) = bus.state else {
            throw NeverHappened(description: "\(bus.state)")
        }
        let error = await #expect(throws: BusError.self) { for try await _ in subscription {} }
        #expect(error.map { "\($0)".contains("bye") } == true)
        await #expect(throws: BusError.closed) { try await bus.sync() }
    }

    @Test("pauses double up to the maximum, with some chance")
    func backoff() {
        let even = Backoff(initial: .milliseconds(100), maximum: .seconds(3), jitter: 0)
        #expect(
            (0..<8).map { even.pause($0) / 1_000_000 } == [100, 200, 400, 800, 1_600, 3_000, 3_000, 3_000]
        )
        #expect(even.pause(1_000_000) == 3_000_000_000)
        let uneven = Backoff(initial: .milliseconds(100), maximum: .seconds(3), jitter: 0.5)
        let pauses = (0..<100).map { _ in uneven.pause(0) }
        #expect(pauses.allSatisfy { (50_000_000...100_000_000).contains($0) })
        #expect(Set(pauses).count > 1)
    }
}

extension Peer {
    /// Accepts the next subscription, which must be number 1, and sends values of its keys.
    func answerSubscribe(snapshot keys: [String]) throws {
        let id = try expect("subscribe")
        try send(#"{"ok":"subscribe","id":\#(id),"sub":1,"revision":2}"#)
        for key in keys {
            try send(#"{"event":"update","sub":1,"key":"\#(key)","revision":1,"value":1,"initial":true}"#)
        }
    }
}

extension Log<String> {
    /// The id of the newest line.
    var id: Int { all.last?.requestID ?? -1 }
}
