// Values of many keys in one loop: from its first value to each of its ends.

import Observables
import PlugboardPosix
import Synchronization
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("the values of keys in a loop", .someAtATime)
struct ValuesSequenceTests {
    @Test("the current values come first, then the changes; what can't be decoded is a fault")
    func values() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let faults = Log<Fault>()
        let observation = bus.onFault { faults.add($0) }
        try await bus.publish("reviews.a", 1)
        try await bus.publish("other", 2)
        var heard: [String] = []
        for try await (key, value) in bus.values("reviews.*", as: Int.self) {
            heard.append("\(key) \(value)")
            if value == 1 {
                try await bus.publish("reviews.b", "none")
                try await bus.delete("reviews.a")
                try await bus.publish("reviews.b", 3)
            } else {
                break
            }
        }
        #expect(heard == ["reviews.a 1", "reviews.b 3"])
        #expect(faults.all.map(\.key) == ["reviews.b"])
        observation.dispose()
    }

    @Test("the loop ends when the bus closes, and the next one throws")
    func closing() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("a", 1)
        var heard: [Int] = []
        for try await (_, value) in bus.values(["a", "b"], as: Int.self) {
            heard.append(value)
            bus.close()
        }
        #expect(heard == [1])
        await #expect(throws: BusError.closed) {
            for try await _ in bus.values("a", as: Int.self) {}
        }
    }

    @Test("a bad pattern is refused")
    func refused() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let error = await #expect(throws: BusError.self) {
            for try await _ in bus.values("a..b", as: Int.self) {}
        }
        #expect(error?.code == .badPattern)
    }

    @Test("a cancelled task ends the loop, before it begins, while it subscribes and while it waits")
    func cancelled() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        for pause in [0, 1, 10, 1_000] {
            let hasBegun = Flag()
            let task = Task {
                while pause == 0, !Task.isCancelled { await Task.yield() }
                hasBegun.raise()
                for try await _ in bus.values("a", as: Int.self) {}
            }
            for _ in 0..<pause { await Task.yield() }
            task.cancel()
            try await task.value
            #expect(hasBegun.isRaised)
        }
        // Nothing is left of them.
        try await eventually("the subscriptions end") { bus.link.state.withLock { $0.registrations.isEmpty } }
    }

    @Test("changes and pairs of remote values end with the bus, and with their task")
    func remoteEnds() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let (price, count) = (bus.observable("price", default: 0), bus.observable("count", default: 0))
        try await price.ready()
        try await count.ready()
        let hasBegun = Flag()
        let cancelled = Task {
            for await (_, _) in combineLatest(price, count) { hasBegun.raise() }
            for await _ in price.changes() {}
        }
        try await eventually("the loop runs") { hasBegun.isRaised }
        cancelled.cancel()
        await cancelled.value
        let changes = price.changes(\.description)
        var pairs: [String] = []
        for await (price, count) in combineLatest(price, count) {
            pairs.append("\(price) \(count)")
            if pairs.count == 1 { try await bus.publish("price", 5) } else { bus.close() }
        }
        #expect(pairs == ["0 0", "5 0"])
        var texts: [String] = []
        for await change in changes { texts.append(change.new) }
        #expect(texts == ["5"])
    }

    @Test("a remote observable's observers have options, and a trace")
    func options() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let total = bus.observable("total", default: 0)
        try await total.ready()
        let (heard, outcomes) = (Log<String>(), Log<[String]>())
        let control = ObserverControl()
        var bag = DisposeBag()
        total.observe(options: ObserverOptions(name: "late", phase: 9)) { heard.add("late \($0.new)") }
            .add(to: &bag)
        total.observe(options: ObserverOptions(name: "big"), where: { $0 > 1 }) { heard.add("big \($0.new)") }
            .add(to: &bag)
        total.observe(options: ObserverOptions(name: "held", control: control)) {
            heard.add("held \($0.new)")
        }
        .add(to: &bag)
        total.trace { outcomes.add($0.observers.map { "\($0.name) \($0.outcome)" }) }.add(to: &bag)
        control.pause()
        total.value = 1
        total.value = 2
        try await bus.sync()
        #expect(heard.all == ["late 1", "big 2", "late 2"])
        #expect(
            outcomes.all == [
                ["big filtered", "held paused", "late sent"], ["big sent", "held paused", "late sent"],
            ]
        )
        control.resume()
        #expect(heard.all.last == "held 2")
        var changes = total.changes(\.description).makeAsyncIterator()
        total.value = 30
        #expect(await changes.next() == Change(old: "2", new: "30"))
    }
}
