// Values that end with a connection or after a time, announcements, wills, goodbyes.

import Observables
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("lifetimes", .someAtATime)
struct LifetimeTests {
    /// Everything that a bus gets, as `kind key value reason`.
    private func listen(_ bus: Bus) async throws -> (Log<String>, Disposable) {
        let heard = Log<String>()
        let observation = try await bus.subscribe("**", options: SubscribeOptions(initial: false)) { event in
            let words = [event.value?.text, event.reason?.rawValue].compactMap { $0 }
            heard.add((["\(event.kind)", event.key] + words).joined(separator: " "))
        }
        return (heard, observation)
    }

    @Test("a value that is bound to its writer's connection ends with it, and says why")
    func whileConnected() async throws {
        let broker = try await TestBroker()
        let (till, observer) = (try await broker.connect("till"), try await broker.connect())
        let (heard, observation) = try await listen(observer)
        try await till.publish("open", true, while: .connected)
        try await till.batch { try $0.publish("a", 1, while: .connected) }
        try till.pipeline.publish("b", 2, while: .connected)
        try await till.publish("stays", 3)
        till.close()
        try await eventually("three are gone") { heard.count == 7 }
        #expect(
            heard.all.suffix(3) == [
                "delete open disconnected", "delete a disconnected", "delete b disconnected",
            ]
        )
        #expect(try await observer.entry("stays")?.isWriterLive == false)
        #expect(try await observer.keys().map(\.isWriterLive) == [false])
        observation.dispose()
    }

    @Test("a value with a time to live expires; a part of a millisecond counts as a complete one")
    func ttl() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let (heard, observation) = try await listen(bus)
        try await bus.publish("hint", "paper is low", ttl: .microseconds(20_001))
        try await eventually("it expires") { heard.count == 2 }
        #expect(heard.all == [#"update hint "paper is low""#, "delete hint expired"])
        let body = ObjectWriter(try .publish("k", 1, while: .connected, ttl: .microseconds(20_001)))
        let text = String(decoding: body.bytes, as: UTF8.self)
        #expect(text == #"{"op":"publish","key":"k","value":1,"while":"connected","ttl":21}"#)
        let longest = Duration.milliseconds(9_007_199_254_740_991)
        for (time, milliseconds) in [(longest, 9_007_199_254_740_991), (.seconds(Int64.max), Int.max)] {
            let text = String(decoding: ObjectWriter(try .publish("k", 1, ttl: time)).bytes, as: UTF8.self)
            #expect(text.hasSuffix(#""ttl":\#(milliseconds)}"#), "\(text)")
        }
        try await bus.publish("k", 1, ttl: longest)
        let kept = try await bus.entry("k")?.ttl
        #expect(kept.map { longest - .seconds(3_600) < $0 && $0 <= longest } == true)
        let error = await #expect(throws: BusError.self) { try await bus.publish("k", 1, ttl: .zero) }
        #expect(error?.code != nil)
        observation.dispose()
    }

    @Test("the will is written when the connection ends without a goodbye")
    func will() async throws {
        let broker = try await TestBroker()
        let (till, observer) = (try await broker.connect("till"), try await broker.connect())
        let (heard, observation) = try await listen(observer)
        try await till.setWill(.publish("till.state", "lost"))
        try await till.setWill(.publish("till.state", "really lost"))
        till.close()
        try await eventually("the will is written") { heard.count == 1 }
        #expect(heard.all == [#"update till.state "really lost" will"#])
        #expect(try await observer.entry("till.state")?.reason == .will)
        observation.dispose()
    }

    @Test("finish says goodbye: no will, and values bound to the connection are gone")
    func goodbye() async throws {
        let broker = try await TestBroker()
        let (till, observer) = (try await broker.connect("till"), try await broker.connect())
        let (heard, observation) = try await listen(observer)
        let states = Log<ConnectionState>()
        let watching = till.onStateChange { states.add($0) }
        try await till.setWill(.publish("till.state", "lost"))
        try await till.publish("open", true, while: .connected)
        for number in 1...100 { try till.pipeline.publish("last", number) }
        #expect(await till.finish(within: HangGuard.duration))
        try await eventually("its connection is gone") {
            try broker.ask("keys $broker.clients.*").contains("clients.1\"") == false
        }
        try await observer.sync()
        #expect(!heard.all.contains { $0.hasPrefix("update till.state") })
        #expect(heard.all.last == "delete open disconnected")
        #expect(try await observer.get("last", as: Int.self) == 100)
        #expect(states.all == [.closed(nil)])
        observation.dispose()
        watching.dispose()
    }

    @Test("a will can be removed; an invalid one is refused and leaves the one before")
    func willTakenBack() async throws {
        let broker = try await TestBroker()
        let (first, second) = (try await broker.connect(), try await broker.connect())
        let observer = try await broker.connect()
        let (heard, observation) = try await listen(observer)
        try await first.setWill(.emit("first", 1))
        try await first.setWill(nil)
        try await second.setWill(.emit("second", 2))
        let errors = [
            await #expect(throws: BusError.self) {
                try await second.setWill(.publish("k", 1, while: .connected))
            },
            await #expect(throws: BusError.self) { try await second.setWill(.delete("a..b")) },
        ]
        #expect(errors[1]?.code == .badKey)
        first.close()
        second.close()
        try await eventually("the second's will is written") { heard.count == 1 }
        try await eventually("the first is gone") {
            try broker.ask("keys $broker.clients.*").contains("clients.1\"") == false
        }
        #expect(heard.all == ["emit second 2 will"])
        observation.dispose()
    }

    @Test("an announced value exists until the handle is disposed of, and on each new connection")
    func announcing() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect("till")
        let presence = try await bus.announce("tills.3", ["since": "09:00"])
        try await bus.setWill(.publish("till.state", "lost"))
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        try await broker.start()
        try await eventually("it is back") { bus.state.isConnected }
        let observer = try await broker.connect()
        let (heard, observation) = try await listen(observer)
        let entry = try #require(try await observer.entry("tills.3"))
        #expect(entry.value.text == #"{"since":"09:00"}"#)
        #expect(entry.isWriterLive && entry.by == "till" && entry.cause == nil)
        presence.dispose()
        try await bus.sync()
        #expect(try await observer.entry("tills.3") == nil)
        #expect(heard.all == ["delete tills.3"])
        bus.close()
        try await eventually("the will was left again") {
            heard.all.last == #"update till.state "lost" will"#
        }
        observation.dispose()
    }

    @Test("with a grace, an announced value outlives its program until the next one of that name is there")
    func grace() async throws {
        let broker = try await TestBroker()
        var options = Bus.Options.quick
        options.grace = .seconds(3_600)
        let observer = try await broker.connect("observer")
        let first = try await broker.connect("till", options: options)
        let announced = try await first.announce("till.open", true)
        await first.finish(saysGoodbye: false)
        try await eventually("it is gone") { try await observer.who("till.open").writer?.isLive == false }
        let kept = try #require(try await observer.entry("till.open")?.grace)
        let left = try #require(try await observer.who("till.open").writer?.grace)
        #expect(left > .seconds(3_000) && left <= kept && kept <= .seconds(3_600))
        #expect(try await observer.keys("till.*").first?.grace != nil)
        let second = try await broker.connect("till", options: options)
        // A goodbye ends what the first one left.
        await second.finish()
        #expect(try await observer.who("till.open").writer == nil)
        withExtendedLifetime(announced) {}
    }

    @Test("a handle deletes what it announced, but nothing that was written there since")
    func announcedOver() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let first = try await bus.announce("k", 1)
        let second = try await bus.announce("k", 2)
        first.dispose()
        try await bus.sync()
        #expect(try await bus.get("k", as: Int.self) == 2)
        try await bus.publish("k", 3)
        second.dispose()
        try await bus.sync()
        #expect(try await bus.get("k", as: Int.self) == 3)
        #expect(bus.link.state.withLock { $0.announcements.isEmpty })
        await #expect(throws: BusError.self) { try await bus.announce("$k", 1) }
        #expect(bus.link.state.withLock { $0.announcements.isEmpty })
    }

    @Test("if a returning broker refuses a client's announcements, that is a fault, and they are given up")
    func refusedAgain() async throws {
        let again = Log<String>()
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            for operation in ["publish", "will"] {
                let id = try peer.expect(operation)
                try peer.send(#"{"ok":"\#(operation)","id":\#(id),"revision":1}"#)
            }
        } _: { peer in
            try peer.send(FakeBroker.greeting())
            while let line = try peer.line() {
                again.add(line)
                try peer.send(#"{"error":"forbidden","id":\#(again.id),"message":"not any more"}"#)
            }
        }
        let bus = try await fake.connect()
        let faults = Log<Fault>()
        let watching = bus.onFault { faults.add($0) }
        let presence = try await bus.announce("here", true)
        try await bus.setWill(.emit("gone", true))
        try await eventually("both are refused") { faults.count == 2 }
        try await eventually("it is back all the same") { bus.state.isConnected }
        #expect(Set(faults.all.map(\.key)) == ["here", "gone"])
        #expect(bus.link.state.withLock { $0.announcements.isEmpty && $0.will == nil })
        presence.dispose()
        watching.dispose()
        bus.close()
        #expect(again.count == 2)
    }
}
