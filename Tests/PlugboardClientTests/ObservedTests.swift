// Values of the bus on the main actor, and for Swift's Observation.

import Observation
import PlugboardClient
import TestSupport
import Testing

@MainActor @Suite("observed values", .someAtATime)
struct ObservedTests {
    @Test("one has the default at first, then the broker's value and its revision, and is live")
    func arrives() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        // Nobody answers before this test goes on.
        try await broker.stop()
        let price = bus.observed("price", default: 1)
        #expect(price.value == 1 && !price.isLive && price.revision == 0)
        try await broker.start()
        try await broker.connect().publish("price", 7)
        try await until { price.isLive && price.value == 7 }
        #expect(price.revision == 1 && price.fault == nil)
    }

    @Test("setting it publishes, and it shows its own change at once")
    func sets() async throws {
        let broker = try await TestBroker()
        let (here, there) = (try await broker.connect(), try await broker.connect())
        let (mine, theirs) = (here.observed("price", default: 0), there.observed("price", default: 0))
        try await mine.remote.ready()
        try await theirs.remote.ready()
        mine.value = 5
        mine.value += 1
        #expect(mine.value == 6)
        try await until { theirs.value == 6 && theirs.revision == 2 }
        #expect(try await there.get("price", as: Int.self) == 6)
    }

    @Test("a value that can't be decoded is its fault, until the next one arrives")
    func fault() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let price = bus.observed("price", default: 0)
        try await price.remote.ready()
        try await bus.publish("price", "expensive")
        try await until { price.fault != nil }
        #expect(price.fault?.key == "price")
        try await bus.publish("price", 3)
        try await until { price.value == 3 }
        try await until { price.fault == nil }
    }

    @Test("it is live no longer when the broker is gone, and keeps its value")
    func gone() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("price", 3)
        let price = bus.observed("price", default: 0)
        try await until { price.isLive }
        try await broker.stop()
        try await until { !price.isLive }
        #expect(price.value == 3)
        try await broker.start()
        try await until { price.isLive }
    }

    @Test("Observation is told when it changes, and when a remote observable changes")
    func observation() async throws {
        let broker = try await TestBroker()
        let (here, there) = (try await broker.connect(), try await broker.connect())
        let (observed, remote) = (here.observed("price", default: 0), here.observable("price", default: 0))
        try await remote.ready()
        try await until { observed.isLive }
        let (first, second) = (Flag(), Flag())
        withObservationTracking {
            _ = observed.value
        } onChange: {
            first.raise()
        }
        withObservationTracking {
            _ = remote.value
        } onChange: {
            second.raise()
        }
        #expect(!first.isRaised && !second.isRaised)
        try await there.publish("price", 9)
        try await until { first.isRaised && second.isRaised }
        try await until { observed.value == 9 && remote.value == 9 }
    }

    @Test("a remote observable calls a closure on the main actor, and nothing but this import is needed")
    func mainActorClosure() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let remote = bus.observable("price", default: 0)
        try await remote.ready()
        let panel = Panel()
        let observation: Disposable = remote.observe(on: .mainActor) { panel.prices.append($0.new) }
        for price in 1...3 { remote.value = price }
        try await until { panel.prices.count == 3 }
        #expect(panel.prices == [1, 2, 3])
        observation.dispose()
    }

    /// Waits for a condition on the main actor.
    private func until(_ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + HangGuard.duration
        while !condition() {
            try #require(ContinuousClock.now < deadline, "it never came true")
            await Task.yield()
        }
    }
}

@MainActor private final class Panel {
    var prices: [Int] = []
}
