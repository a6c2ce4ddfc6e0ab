// The price indicator, the cart and the review tracker, each killed at any moment while the others, and
// people, go on.

import Foundation
import PlugboardClient
import Synchronization
import TestSupport
import Testing

@Suite("The shop's plugins, killed", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct ShopKillTests {
    private func observes(_ shop: Shop, _ key: String, _ name: String) async throws -> Bool {
        try await shop.bus.who(key).observers.contains { $0.name == name }
    }

    // The price indicator.

    /// A cart and its summary, as an observer of a later phase sees them.
    private struct Till {
        var cart: JSON?
        var summary: JSON?

        mutating func take(_ events: [Event]) {
            for event in events {
                if event.key == "cart.items" { cart = event.value }
                if event.key == "cart.summary" { summary = event.value }
            }
        }

        /// A summary that isn't the cart's.
        var mistake: String? {
            guard let summary else { return nil }
            let quantity = cart?.elements?.reduce(0) { $0 + ($1["quantity"]?.integer ?? 0) } ?? 0
            return summary == Self.summary(quantity) ? nil : "\(summary) for \(cart?.text ?? "no cart")"
        }

        static func cart(_ quantity: Int) throws -> JSON {
            try JSON(#"[{"sku":"a","title":"A","price":0.10,"quantity":\#(quantity)}]"#)
        }

        static func summary(_ quantity: Int) -> JSON {
            let cents = quantity * 10
            let digits = String(cents % 100)
            let decimals = digits.count < 2 ? "0" + digits : digits
            return .object([
                "items": .integer(quantity), "total": (try? JSON("\(cents / 100).\(decimals)")) ?? .null,
            ])
        }
    }

    @Test("a summary always fits its cart, and there is none while nobody keeps it")
    func priceIndicator() async throws {
        let shop = try await Shop()
        let mistakes = Mutex<[String]>([])
        let states = Atomic(0)
        // With folded updates, a summary might come before its cart, which waits.
        let options = SubscribeOptions(delivery: .all)
        let watched = try await shop.bus.subscribe(["cart.items", "cart.summary"], options: options)
        async let watching: Void = {
            var till = Till()
            try await watched.forEachGroup { events in
                till.take(events)
                states.add(1, ordering: .relaxed)
                if let mistake = till.mistake { mistakes.withLock { $0.append(mistake) } }
            }
        }()
        let newest = Mutex(0)
        var trial = KillTrial { try shop.start("price-indicator") }
        let last = try await trial.run(rate: 250) {
            try await observes(shop, "cart.items", "price-indicator")
        } _: { number in
            if number % 10 == 9 { try await shop.bus.delete("cart.items") }
            try await shop.bus.publish("cart.items", Till.cart(number + 1))
            newest.withLock { $0 = number + 1 }
        }
        try await shop.waitFor("cart.summary", Till.summary(newest.withLock { $0 }).text)
        try await last.stop(SIGKILL)
        try await shop.waitFor("cart.summary", nil)
        watched.cancel()
        try await watching
        #expect(mistakes.withLock { $0 } == [])
        LongSuite.print(
            "price-indicator: \(KillTrial.kills) kills, \(states.load(ordering: .relaxed)) states, none wrong"
        )
    }

    // The cart.

    /// What was asked of the cart for one product, and how it was answered.
    private struct Asked {
        var answered = 0
        /// The server went before it answered, so nobody knows.
        var unknown = 0
        var emitted = 0
    }

    private actor Customer {
        private(set) var asked: [String: Asked] = [:]

        /// Adds one piece by a call.
        func call(_ bus: Bus, _ sku: String) async throws {
            do {
                let _: JSON = try await bus.call("cart.add", ["sku": sku])
                asked[sku, default: Asked()].answered += 1
            } catch let error as BusError where error.code == .noProvider {
                // Nothing was done.
            } catch let error as BusError where error.code == .providerGone {
                asked[sku, default: Asked()].unknown += 1
            }
        }

        func emit(_ bus: Bus, _ sku: String) async throws {
            asked[sku, default: Asked()].emitted += 1
            try await bus.emit("cart.add", ["sku": sku])
        }
    }

    @Test("every command that was answered is in the cart, none is there twice, and the cart never goes back")
    func cart() async throws {
        let shop = try await Shop()
        for sku in 0..<6 { try await shop.publish("catalog.p\(sku)", #"{"title":"P","price":1}"#) }
        let customer = Customer()
        let sizes = Mutex<[Int]>([])
        let watching = try await shop.bus.subscribe("cart.items", options: SubscribeOptions(delivery: .all)) {
            let quantity = $0.value?.elements?.reduce(0) { $0 + ($1["quantity"]?.integer ?? 0) }
            if let quantity { sizes.withLock { $0.append(quantity) } }
        }
        var trial = KillTrial { try shop.start("cart") }
        let last = try await trial.run(rate: 250) {
            guard try await shop.bus.who("cart.clear").server != nil else { return false }
            return try await observes(shop, "cart.add", "cart")
        } _: { number in
            if number % 3 == 0 {
                try await customer.emit(shop.bus, "p\(number % 2)")
            } else {
                try await customer.call(shop.bus, "p\(2 + number % 4)")
            }
        }
        let answer: JSON = try await shop.bus.call("cart.add", ["sku": "p0"])
        let asked = await customer.asked
        let lines = try #require(try await shop.bus.entry("cart.items")?.value.elements)
        #expect(answer["lines"]?.integer == lines.count)
        for (sku, of) in asked {
            let quantity = lines.first { $0["sku"] == .string(sku) }?["quantity"]?.integer ?? 0
            let most = of.answered + of.unknown + of.emitted + (sku == "p0" ? 1 : 0)
            #expect(quantity >= of.answered && quantity <= most, "\(sku): \(quantity), \(of)")
        }
        let all = sizes.withLock { $0 }
        #expect(all == all.sorted())
        let answered = asked.values.reduce(0) { $0 + $1.answered }
        #expect(answered > 0)
        #expect(try await last.stop() == 0)
        LongSuite.print(
            "cart: \(KillTrial.kills) kills, \(answered) answered calls, none lost; "
                + "\(asked.values.reduce(0) { $0 + $1.unknown }) calls whose server went"
        )
        watching.dispose()
    }

    // The review tracker.

    @Test("every line of the file is published once, in order, and no count goes back")
    func tracker() async throws {
        let shop = try await Shop()
        let lines = KillTrial.kills * 120
        let path = shop.folder + "/feed.ndjson"
        var text = ""
        for number in 1...lines {
            let product = number <= 20 ? #""title":"P","price":1,"# : ""
            text += number % 50 == 7 ? "no JSON\n" : ""
            text += #"{"sku":"p\#(number % 20)",\#(product)"rating":4,"count":\#(number)}"# + "\n"
        }
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let counts = Mutex<[Int]>([])
        let watching = try await shop.bus.subscribe("reviews.*", options: SubscribeOptions(delivery: .all)) {
            event in
            guard let count = event.value?["count"]?.integer else { return }
            counts.withLock { $0.append(count) }
        }
        let arguments = ["--file", path, "--rate", "2000"]
        var trial = KillTrial { try shop.start("review-tracker", arguments) }
        let begun = Mutex(0)
        let last = try await trial.run(rate: 100) {
            // It goes on, unless all is published.
            let before = begun.withLock { $0 }
            let now = counts.withLock { $0.count }
            begun.withLock { $0 = now }
            return now > before || now == lines
        } _: { number in
            // Others write meanwhile.
            try await shop.bus.publish("screen", number)
        }
        #expect(try await last.end() == 0)
        try await shop.bus.sync()
        #expect(counts.withLock { $0 } == Array(1...lines))
        #expect(try await shop.bus.keys("catalog.*").count == 20)
        #expect(try await shop.bus.keys("progress.*").isEmpty, "it is at its end")
        LongSuite.print("review-tracker: \(KillTrial.kills) kills, \(lines) lines, each published once")
        watching.dispose()
    }

    @Test("a tracker begins anew with a file that was replaced; invented reviews go on counting")
    func trackerBeginsAnew() async throws {
        let shop = try await Shop()
        let path = shop.folder + "/feed.ndjson"
        func write(_ counts: [Int]) throws {
            let lines = counts.map { #"{"sku":"a","rating":4,"count":\#($0)}"# + "\n" }
            try Data(lines.joined().utf8).write(to: URL(fileURLWithPath: path))
        }
        try write([1, 2])
        let arguments = ["--file", path, "--then-every", "0.02"]
        let first = try shop.start("review-tracker", arguments)
        try await eventually("it invents") {
            try await shop.bus.entry("reviews.a")?.value["count"]?.integer ?? 0 >= 4
        }
        #expect(try await first.stop() == 0)
        let count = try #require(try await shop.bus.entry("reviews.a")?.value["count"]?.integer)
        let second = try shop.start("review-tracker", arguments)
        try await eventually("it goes on") {
            let now = try await shop.bus.entry("reviews.a")?.value["count"]?.integer ?? 0
            #expect(now >= count)
            return now > count
        }
        #expect(second.output.contains("goes on after line 2"))
        #expect(try await second.stop() == 0)
        try write([7, 8])
        let third = try shop.start("review-tracker", ["--file", path])
        #expect(try await third.end() == 0)
        #expect(!third.output.contains("goes on after"))
        #expect(try await shop.text("reviews.a") == #"{"rating":4,"count":8}"#)
    }
}
