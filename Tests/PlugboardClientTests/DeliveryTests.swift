// How a subscription gets its events: folded, held, in phases. The library acknowledges
// them.

import Observables
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("delivery", .someAtATime)
struct DeliveryTests {
    /// The revisions and skip counts of the live updates that a loop reads, up to a revision.
    private func read(_ subscription: Subscription, upTo revision: Int) async throws -> [String] {
        var told: [String] = []
        for try await event in subscription where event.kind == .update {
            told.append("\(event.value?.text ?? "-") \(event.skipped)")
            if event.revision >= revision { break }
        }
        return told
    }

    @Test("a paused subscription is owed its updates; step sends one, resume the rest")
    func pausing() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let subscription = try await bus.subscribe("*", options: SubscribeOptions(initial: false))
        #expect(try await subscription.pause() == 0)
        for number in 1...3 { try await bus.publish("a", number) }
        let last = try await bus.publish("b", 9)
        #expect(try await subscription.step() == 2)
        #expect(try await read(subscription, upTo: 3) == ["3 2"])
        #expect(try await subscription.resume() == 1)
        #expect(try await read(subscription, upTo: last) == ["9 0"])
        let error = await #expect(throws: BusError.self) { try await subscription.step() }
        #expect(error?.isConflict == true)
        subscription.cancel()
        let gone = await #expect(throws: BusError.self) { try await subscription.pause() }
        #expect(gone?.code == .unknownSub)
    }

    @Test("under .all a paused subscription gets each update")
    func all() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let options = SubscribeOptions(initial: false, delivery: .all)
        let subscription = try await bus.subscribe("*", options: options)
        try await subscription.pause()
        var last = 0
        for number in 1...3 { last = try await bus.publish("a", number) }
        try await subscription.resume()
        #expect(try await read(subscription, upTo: last) == ["1 0", "2 0", "3 0"])
    }

    @Test("every folds the updates within its time, and the last one arrives")
    func every() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let options = SubscribeOptions(initial: false, every: .microseconds(299_500))
        let subscription = try await bus.subscribe("n", options: options)
        let body = ObjectWriter.subscribe(["n"], sub: 1, options)
        #expect(String(decoding: body.bytes, as: UTF8.self).hasSuffix(#","every":300}"#))
        var last = 0
        for number in 1...20 { last = try await bus.publish("n", number) }
        let told = try await read(subscription, upTo: last)
        #expect(told.first == "1 0")
        #expect(told.last?.hasPrefix("20 ") == true)
        let skipped = told.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        #expect(skipped.reduce(0, +) + told.count == 20)
    }

    @Test("the broker refuses a phase out of range and a time that is too long")
    func refused() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        for options in [SubscribeOptions(phase: 10), SubscribeOptions(every: .seconds(86_401))] {
            let error = await #expect(throws: BusError.self) {
                try await bus.subscribe("k", options: options)
            }
            #expect(error?.code == .limit)
        }
    }

    /// Observes `k` in a later phase. Returns the events there.
    private func later(_ bus: Bus) async throws -> (Log<Event>, Disposable) {
        let heard = Log<Event>()
        let options = SubscribeOptions(initial: false, phase: 7)
        return (heard, try await bus.subscribe("k", options: options) { heard.add($0) })
    }

    @Test("a later phase gets its event when the callback of the earlier one has returned")
    func callbackAcknowledges() async throws {
        let broker = try await TestBroker()
        let (first, second) = (try await broker.connect("first"), try await broker.connect("second"))
        let order = Log<String>()
        let options = SubscribeOptions(initial: false, phase: 1, acknowledges: true)
        let early = try await first.subscribe("k", options: options) { order.add("first \($0.revision)") }
        let late = try await second.subscribe("k", options: SubscribeOptions(initial: false)) {
            order.add("second \($0.revision)\($0.unacknowledged)")
        }
        for number in 1...3 {
            try await second.publish("k", number)
            try await eventually("\(number)") { order.count == 2 * number }
        }
        #expect(order.all == (1...3).flatMap { ["first \($0)", "second \($0)[]"] })
        early.dispose()
        late.dispose()
    }

    @Test("a loop acknowledges when it asks for the next event, not before")
    func loopAcknowledges() async throws {
        let broker = try await TestBroker()
        let (first, second) = (try await broker.connect("slow"), try await broker.connect("second"))
        let options = SubscribeOptions(initial: false, phase: 1, acknowledges: true)
        let subscription = try await first.subscribe("k", options: options)
        let (heard, observation) = try await later(second)
        var events = subscription.makeAsyncIterator()
        try await second.publish("k", 1)
        _ = try await events.next()
        // The loop hasn't asked for the next event, so nothing is acknowledged. The later phase waits
        // until the broker gives up.
        try await eventually("the later phase is told") { heard.count == 1 }
        #expect(heard.all.first?.unacknowledged == ["slow"])
        let reading = Task { [events] in
            var events = events
            while try await events.next() != nil {}
        }
        try await second.publish("k", 2)
        try await eventually("the later phase is told") { heard.count == 2 }
        #expect(heard.all.last?.unacknowledged == [])
        subscription.cancel()
        try await reading.value
        observation.dispose()
    }

    @Test("a gap is an event that says what was dropped; an initial one says whether its writer is live")
    func unusualLines() async throws {
        let broker = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            let id = try peer.expect("subscribe")
            try peer.send(#"{"ok":"subscribe","id":\#(id),"sub":1,"revision":4}"#)
            try peer.send(
                #"{"event":"update","sub":1,"key":"k","revision":4,"value":1,"by":"x","initial":true,"live":false}"#
            )
            try peer.send(#"{"event":"lagged","sub":1,"dropped":123,"first":813,"last":950}"#)
            try peer.drain()
        }
        let bus = try await broker.connect()
        var events = try await bus.subscribe("k").makeAsyncIterator()
        #expect(try await events.next()?.isWriterLive == false)
        let lagged = try #require(try await events.next())
        #expect(lagged.kind == .lagged)
        #expect(lagged.revision == 950)
        #expect(lagged.gap == Event.Gap(dropped: 123, first: 813, last: 950))
        bus.close()
    }

    @Test("an entry says whether its writer's connection is open")
    func live() async throws {
        let broker = try await TestBroker()
        let (writer, reader) = (try await broker.connect(), try await broker.connect())
        try await writer.publish("k", 1)
        #expect(try await reader.entry("k")?.isWriterLive == true)
        writer.close()
        try await eventually("the writer is gone") {
            try broker.ask("get k").contains(#""live":false"#)
        }
        #expect(try await reader.entry("k")?.isWriterLive == false)
    }
}
