import Foundation
import PlugboardClient
import TestSupport
import Testing

// The phones are in ../shared, beside the package. If that is missing, the suite says that
// it is skipped.
@Suite(
    "The whole shop",
    .someAtATime,
    .serialized,
    .timeLimit(.minutes(20)),
    .enabled(if: PhoneCatalogue.isPresent, "../shared/data/amazon_cellphones.ndjson is not there")
)
struct ShopTests {
    /// The values of a pattern's keys. Foundation reads them if a test needs parts.
    private func values(_ shop: Shop, _ pattern: String) async throws -> [String: JSON] {
        var values: [String: JSON] = [:]
        for try await event in try await shop.bus.subscribe(pattern) {
            if event.kind == .synced { break }
            values[event.key] = event.value
        }
        return values
    }

    private func members(_ json: JSON?) throws -> [String: Any] {
        let json = try #require(json)
        return try #require(try JSONSerialization.jsonObject(with: Data(json.bytes)) as? [String: Any])
    }

    @Test("all phones are published, with every price and every review right")
    func catalogue() async throws {
        let all = try await PhoneShop.open()
        #expect(try await all.tracker.end() == 0)
        #expect(all.tracker.errors == "")
        let phones = try PhoneCatalogue.phones()
        #expect(Set(phones.map(\.sku)).count == 792)
        #expect(phones.filter { $0.cents == nil }.count == 215)
        #expect(try await all.shop.bus.keys("catalog.*").count == 792)
        let catalogue = try await values(all.shop, "catalog.*")
        let reviews = try await values(all.shop, "reviews.*")
        #expect(catalogue.count == 792 && reviews.count == 792)
        for phone in phones {
            let product = catalogue["catalog.\(phone.sku)"]
            // The price's text: no binary number is involved.
            #expect(product?["price"]?.text == phone.cents.map(PhoneCatalogue.text) ?? "null", "\(phone)")
            #expect(try members(product)["title"] as? String == phone.title)
            let review = try members(reviews["reviews.\(phone.sku)"])
            #expect((review["rating"] as? NSNumber)?.doubleValue == phone.rating, "\(phone)")
            #expect((review["count"] as? NSNumber)?.intValue == phone.count, "\(phone)")
        }
    }

    @Test("everything for sale goes into the cart, the total is exact, and the log has every event")
    func session() async throws {
        let all = try await PhoneShop.open()
        #expect(try await all.tracker.end() == 0)
        let phones = try PhoneCatalogue.phones()
        try await reject(all.shop, phones)
        try await fill(all, phones)
        try await lookAtReviews(all.shop, phones)
        try await all.shop.emit(PhoneShop.lastKey, "null")
        try await compareLog(all)
    }

    /// Asks for products that can't be bought, and expects an answer to each, in order.
    private func reject(_ shop: Shop, _ phones: [Phone]) async throws {
        let unavailable = phones.filter { $0.cents == nil }.map(\.sku)
        let unknown = ["B000000000", "no-such-phone"]
        var answers = try await shop.bus.subscribe("cart.rejected").makeAsyncIterator()
        for sku in unavailable + unknown {
            try shop.bus.pipeline.emit("cart.add", JSON(#"{"sku":"\#(sku)"}"#))
        }
        var texts: [String] = []
        while texts.count < unavailable.count + unknown.count, let answer = try await answers.next() {
            if answer.kind == .emit, let value = answer.value { texts.append(value.text) }
        }
        #expect(
            texts == unavailable.map { #"{"sku":"\#($0)","reason":"not_for_sale"}"# }
                + unknown.map { #"{"sku":"\#($0)","reason":"unknown_product"}"# }
        )
        #expect(try await shop.text("cart.items") == "[]")
    }

    /// Adds everything for sale, every fifth phone twice, and expects the exact total. First it
    /// goes fifty phones at a time, because every command publishes the whole cart again: that
    /// takes long without optimization, and what waits for the logger meanwhile has a limit. Then
    /// it puts all into one cart.
    private func fill(_ all: PhoneShop, _ phones: [Phone]) async throws {
        let shop = all.shop
        let orders = Order.all(of: phones)
        var lines: [JSON] = []
        for start in stride(from: 0, to: orders.count, by: 50) {
            let part = Array(orders[start..<min(start + 50, orders.count)])
            for command in part.flatMap(\.commands) { try shop.bus.pipeline.emit("cart.add", JSON(command)) }
            try await shop.waitFor("cart.summary", Order.summary(part))
            lines += try #require(try await shop.bus.entry("cart.items")?.value.elements)
            try await shop.emit("cart.clear", "{}")
            try await shop.waitFor("cart.summary", #"{"items":0,"total":0.00}"#)
            // Plugins write only when they are asked to, so this is the last line for now.
            try await eventually("the log keeps up") {
                try all.logEnd().contains(#"{"items":0,"total":0.00}"#)
            }
        }
        #expect(lines.map { $0["sku"]?.string } == orders.map(\.sku))
        #expect(lines.map { $0["quantity"]?.integer } == orders.map(\.quantity))
        try await shop.bus.publish("cart.items", JSON.array(lines))
        try await shop.waitFor("cart.summary", Order.summary(orders))
        let last = try #require(orders.last)
        try await shop.emit("cart.add", #"{"sku":"\#(last.sku)"}"#)
        try await shop.waitFor("cart.summary", Order.summary(orders + [Order(last.sku, last.cents, [1])]))
    }

    /// The banner works among the others: two new reviews, seen on the phone's screen.
    private func lookAtReviews(_ shop: Shop, _ phones: [Phone]) async throws {
        let phone = try #require(phones.last)
        // The feed gave no news, because it was the first to mention every product.
        #expect(try await shop.bus.keys("indicator.*").isEmpty)
        let count = phone.count + 2
        try await shop.publish("reviews.\(phone.sku)", #"{"rating":4.5,"count":\#(count)}"#)
        try await shop.waitFor("indicator.\(phone.sku)", #"{"new":2}"#)
        try await shop.publish("screen", #"{"name":"detail","sku":"\#(phone.sku)"}"#)
        let text = "2 new reviews, now \(count), rated 4.5"
        try await shop.waitFor("banner", #"{"sku":"\#(phone.sku)","text":"\#(text)"}"#)
        try await shop.publish("screen", #"{"name":"list"}"#)
        try await shop.waitFor("banner", nil)
        #expect(try await shop.bus.keys("indicator.*").isEmpty)
    }

    /// Compares the log with what the test itself got: the same events in the same order.
    private func compareLog(_ all: PhoneShop) async throws {
        let heard = try await all.events.value
        try await eventually("the log has the last event") { try all.logEnd().contains(PhoneShop.lastKey) }
        #expect(try await all.logger.stop() == 0)
        let logged = try all.logged().filter { !$0.contains(#""event":"synced""#) }
        #expect(logged.count == heard.count)
        #expect(heard.count > 792 * 2 + 693 * 3, "each product, review, command, cart and summary")
        for (line, event) in zip(logged, heard) {
            // After the time stamp: {"time":"2026-07-01T12:30:00.120Z",
            let isSame = line.dropFirst(35).hasPrefix(words(of: event))
            #expect(isSame, "#\(event.revision) \(event.key) is logged as \(line.prefix(200))")
            if !isSame { break }
        }
    }

    /// A line of the log, from the event to its value.
    private func words(of event: Event) -> String {
        let value = event.value.map { #","value":\#($0.text)"# } ?? ""
        return #""event":"\#(event.kind)","key":"\#(event.key)","revision":\#(event.revision)\#(value)"#
    }
}

/// A phone that is bought, at once or in several steps.
private struct Order {
    let sku: String
    let cents: Int
    let quantities: [Int]

    var quantity: Int { quantities.reduce(0, +) }

    init(_ sku: String, _ cents: Int, _ quantities: [Int]) {
        self.sku = sku
        self.cents = cents
        self.quantities = quantities
    }

    /// Every phone with a price: one to four pieces, and every fifth phone again.
    static func all(of phones: [Phone]) -> [Order] {
        let offers = phones.compactMap { phone in phone.cents.map { (sku: phone.sku, cents: $0) } }
        return offers.enumerated().map { index, offer in
            Order(offer.sku, offer.cents, [index % 4 + 1] + (index % 5 == 0 ? [3] : []))
        }
    }

    /// What `cart.summary` must be, in whole cents until it is written.
    static func summary(_ orders: [Order]) -> String {
        let items = orders.reduce(0) { $0 + $1.quantity }
        let cents = orders.reduce(0) { $0 + $1.cents * $1.quantity }
        return #"{"items":\#(items),"total":\#(PhoneCatalogue.text(cents: cents))}"#
    }

    /// The values of `cart.add`. A single piece needs no quantity.
    var commands: [String] {
        quantities.map { quantity in
            quantity == 1 ? #"{"sku":"\#(sku)"}"# : #"{"sku":"\#(sku)","quantity":\#(quantity)}"#
        }
    }
}
