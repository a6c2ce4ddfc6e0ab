// Changes of remote observables that are made before the first answer.

import Observables
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("changes before the first answer")
struct HeldChangeTests {
    struct Cart: Codable, Equatable { var items = 0; var note = "" }

    /// A broker with seven phones in the cart, and a bus whose observables have no answer yet.
    private final class Shop: Sendable {
        let broker: TestBroker
        let bus: Bus
        let faults = Log<Fault>()
        private let watching: Disposable

        init() async throws {
            broker = try await TestBroker()
            try await broker.connect().publish("cart", Cart(items: 7, note: "gift"))
            bus = try await broker.connect()
            watching = bus.onFault { [faults] in faults.add($0) }
        }

        /// Does something on the bus's thread, which reads no answer meanwhile.
        func unanswered<Result: Sendable>(
            _ body: @escaping @Sendable (Bus) -> Result
        ) async throws -> Result {
            let results = Log<Result>()
            let options = SubscribeOptions(initial: false)
            let observation = try await bus.subscribe("go", options: options) { [weak bus] _ in
                if let bus { results.add(body(bus)) }
            }
            try await bus.emit("go", 1)
            observation.dispose()
            return try #require(results.all.first)
        }

        /// The value on the bus, read by another client.
        func cart() async throws -> Cart? { try await broker.connect().get("cart", as: Cart.self) }
    }

    @Test("an assignment overwrites nothing: it is a fault that names ready(), and value stays the broker's")
    func assigned() async throws {
        let shop = try await Shop()
        let (bus, faults) = (shop.bus, shop.faults)
        let cart = try await shop.unanswered { bus in
            let cart = bus.observable("cart", default: Cart())
            cart.value.items += 5
            cart.value.note = "none"
            #expect(cart.value == Cart(items: 5, note: "none"))
            return cart
        }
        try await bus.sync()
        #expect(cart.value == Cart(items: 7, note: "gift"))
        #expect(try await shop.cart() == Cart(items: 7, note: "gift"))
        #expect(faults.count == 1)
        #expect(faults.all.first.map { "\($0)".contains("call ready() first") } == true)
        guard case .notReady(key: "cart", _)? = faults.all.first?.error else {
            throw NeverHappened(description: "\(faults.all)")
        }
    }

    @Test("update is applied to the value that arrives, in order, and so is modify")
    func updated() async throws {
        let shop = try await Shop()
        let (bus, faults) = (shop.bus, shop.faults)
        let heard = Log<Int>()
        let (cart, observation) = try await shop.unanswered { bus in
            let cart = bus.observable("cart", default: Cart())
            let observation = cart.observe(\.items) { heard.add($0.new) }
            cart.update { $0.items += 5 }
            cart.update { $0.items *= 2 }
            #expect(cart.value.items == 10)
            return (cart, observation)
        }
        try await cart.modify { $0.items += 1 }
        #expect(try await shop.cart() == Cart(items: 25, note: "gift"))
        #expect(heard.all == [7, 12, 24, 25])
        let fresh = bus.observable("cart", default: Cart())
        try await fresh.modify { $0.items += 1 }
        #expect(try await shop.cart() == Cart(items: 26, note: "gift"))
        #expect(faults.count == 0)
        observation.dispose()
    }

    @Test("a change that returns something needs the value at once, and counts as an assignment")
    func returning() async throws {
        let shop = try await Shop()
        let (bus, faults) = (shop.bus, shop.faults)
        let items = try await shop.unanswered { bus in
            let cart = bus.observable("cart", default: Cart())
            let items = cart.update { cart in
                cart.items += 1
                return cart.items
            }
            cart.update { $0.note += "!" }
            return items
        }
        #expect(items == 1)
        try await bus.sync()
        #expect(try await shop.cart() == Cart(items: 7, note: "gift!"))
        #expect(faults.count == 1)
    }

    @Test("if the key turns out to be absent, all changes are sent in order, with their causes")
    func absent() async throws {
        let shop = try await Shop()
        let (bus, faults) = (shop.bus, shop.faults)
        let heard = Log<Int>()
        let (count, observation) = try await shop.unanswered { bus in
            let count = bus.observable("count", default: 1)
            let observation = count.observe { heard.add($0.new) }
            count.value = 5
            Cause.$current.withValue(1) { count.update { $0 += 1 } }
            #expect(count.value == 6)
            return (count, observation)
        }
        try await bus.sync()
        #expect(heard.all == [5, 6])
        #expect(try await bus.entry("count")?.cause == 1)
        #expect(faults.count == 0)
        observation.dispose()
        withExtendedLifetime((shop, count)) {}
    }

    @Test("an observable that is released meanwhile still sends its changes, and so does finish")
    func released() async throws {
        let shop = try await Shop()
        let bus = shop.bus
        bus.observable("cart", default: Cart()).update { $0.items += 1 }
        #expect(await bus.finish(within: HangGuard.duration))
        #expect(try await shop.cart() == Cart(items: 8, note: "gift"))
    }

    @Test("a value that can't be decoded is left alone")
    func undecodable() async throws {
        let shop = try await Shop()
        let (bus, faults) = (shop.bus, shop.faults)
        let cart = try await shop.unanswered { bus in
            let cart = bus.observable("cart", default: 0)
            cart.update { $0 += 1 }
            cart.value = 3
            return cart
        }
        try await bus.sync()
        #expect(cart.value == 0)
        #expect(try await shop.cart() == Cart(items: 7, note: "gift"))
        #expect(faults.count == 2)
        guard case .notReady(key: "cart", _)? = faults.all.last?.error else {
            throw NeverHappened(description: "\(faults.all)")
        }
    }

    @Test("if no answer comes, the changes are given up, which is a fault")
    func unanswered() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.drain()
        }
        var options = Bus.Options.quick
        options.requestTimeout = .milliseconds(50)
        let bus = try await fake.connect(options: options)
        let faults = Log<Fault>()
        let watching = bus.onFault { faults.add($0) }
        let key = bus.observable("k", default: 0)
        key.value = 1
        try await eventually("it is told") { faults.count == 1 }
        #expect(key.value == 0)
        bus.close()
        watching.dispose()
    }

    @Test("as many changes wait as the limit allows, and one more is refused")
    func limit() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let faults = Log<Fault>()
        let watching = bus.onFault { faults.add($0) }
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        let count = bus.observable("count", default: 0)
        for _ in 0..<ClientLimits.heldChangesMax { count.update { $0 += 1 } }
        #expect(faults.count == 0)
        count.update { $0 += 1 }
        #expect(faults.count == 1)
        try await broker.start()
        try await bus.sync()
        #expect(try await bus.get("count", as: Int.self) == ClientLimits.heldChangesMax)
        watching.dispose()
    }
}
