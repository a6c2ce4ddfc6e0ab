// How things end: a bus, what was made from it, and a program.

import Observables
import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("closing", .someAtATime)
struct ClosingTests {
    @Test("close ends requests, sequences, callbacks, observables and states")
    func closeEndsAll() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: [])
            while try peer.line() != nil {}
        }
        let bus = try await fake.connect()
        let sequence = try await bus.subscribe("*")
        let observable = bus.observable("k", default: 0)
        let values = observable.values
        let states = bus.states
        let request = Task { try await bus.publish("k", 1) }
        let waiting = Task { await bus.waitUntilStopped() }
        try await eventually("the request is under way") { bus.link.state.withLock { $0.pending.count } >= 2 }
        bus.close()
        await #expect(throws: BusError.closed) { try await request.value }
        await waiting.value
        for try await _ in sequence {}
        for await _ in values {}
        var last: ConnectionState?
        for await state in states { last = state }
        #expect(last == .closed(nil))
        await #expect(throws: BusError.closed) { try await bus.publish("k", 1) }
        #expect(throws: BusError.closed) { try bus.pipeline.publish("k", 1) }
        await #expect(throws: BusError.closed) { _ = try await bus.subscribe("k") }
        await #expect(throws: BusError.closed) { try await bus.observable("k", default: 0).ready() }
        try await eventually("the broker sees it go") { fake.hasEnded.isRaised }
        bus.close()
    }

    @Test("a callback's subscription is told once that the bus has closed")
    func onEnd() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let ends = Log<BusError?>()
        let observation = try await bus.subscribe("k", onEnd: { ends.add($0) }, { _ in })
        bus.close()
        bus.close()
        #expect(ends.all == [nil])
        observation.dispose()
    }

    @Test("a released bus releases its link, its thread and its connection")
    func release() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: [])
            try peer.drain()
        }
        weak var link: Link?
        weak var observed: RemoteObservable<Int>?
        do {
            let bus = try await fake.connect()
            link = bus.link
            let observation = try await bus.subscribe("*") { _ in }
            let observable = bus.observable("k", default: 0)
            observed = observable
            let inner = observable.observe { _ in }
            observation.dispose()
            inner.dispose()
        }
        #expect(observed == nil)
        try await eventually("the broker sees it go") { fake.hasEnded.isRaised }
        try await eventually("the thread lets go") { link == nil }
    }

    @Test("what was made from a bus keeps it alive")
    func keptAlive() async throws {
        let broker = try await TestBroker()
        func made() async throws -> (Subscription, RemoteObservable<Int>) {
            let bus = try await broker.connect()
            return (try await bus.subscribe("k"), bus.observable("k", default: 0))
        }
        let (sequence, observable) = try await made()
        observable.value = 4
        for try await event in sequence where event.kind == .update {
            #expect(try event.decode(as: Int.self) == 4)
            break
        }
    }

    @Test("stop ends subscriptions after what waits; the last writes arrive, then finish closes")
    func finish() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let sequence = try await bus.subscribe("k")
        try await bus.publish("k", 1)
        bus.stop()
        var heard = 0
        for try await event in sequence where event.kind == .update { heard += 1 }
        #expect(heard == 1)
        await #expect(throws: BusError.closed) { _ = try await bus.subscribe("k") }
        for number in 1...1_000 { try bus.pipeline.publish("last", number) }
        #expect(await bus.finish(within: HangGuard.duration))
        #expect(bus.state == .closed(nil))
        let other = try await broker.connect()
        #expect(try await other.get("last", as: Int.self) == 1_000)
    }

    @Test("finish says when it could not bring everything to the broker")
    func finishWithoutBroker() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        #expect(await bus.finish() == false)
    }

    @Test("a bus can be closed from its own callbacks")
    func closeInside() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let observation = try await bus.subscribe("k") { event in
            if event.kind == .update { bus.close() }
        }
        _ = try? await bus.publish("k", 1)
        await bus.waitUntilStopped()
        #expect(bus.state == .closed(nil))
        observation.dispose()
    }

    @Test("a callback can subscribe, observe, write and dispose")
    func callbackDoesAll() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let inner = Log<RemoteObservable<Int>>()
        let observation = try await bus.subscribe("go", options: SubscribeOptions(initial: false)) { event in
            let observable = bus.observable("inner", default: 0)
            observable.value = 8
            inner.add(observable)
            bus.observable("short", default: 0).value = 1
        }
        try await bus.publish("go", true)
        try await bus.sync()
        let observable = try #require(inner.all.first)
        #expect(try await observable.ready() == 8)
        #expect(try await bus.get("inner", as: Int.self) == 8)
        #expect(try await bus.get("short", as: Int.self) == 1)
        observation.dispose()
    }

    @Test("a stop at a signal waits for a broker as long as that sends, and misses nothing before the answer")
    func stopWhileMuchComes() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: [])
            let first = try peer.expect("sync")
            // Longer than a broker that doesn't answer may delay a stop.
            for revision in 1...6 {
                Pause.sleep(seconds: 0.3)
                let number = #""revision":\#(revision),"value":\#(revision)"#
                try peer.send(#"{"event":"update","sub":1,"key":"k",\#(number)}"#)
            }
            try peer.send(#"{"ok":"sync","id":\#(first)}"#)
            while let line = try peer.line() {
                guard let id = line.requestID else { continue }
                try peer.send(#"{"ok":"sync","id":\#(id)}"#)
            }
        }
        let bus = try await fake.connect()
        let events = try await bus.subscribe("k")
        bus.link.stopInStep()
        var revisions: [Int] = []
        for try await event in events where event.kind == .update { revisions.append(event.revision) }
        #expect(revisions == Array(1...6))
        bus.close()
    }
}
