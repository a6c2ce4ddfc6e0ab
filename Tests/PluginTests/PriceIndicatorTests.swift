import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

@testable import PriceIndicatorPlugin

@Suite("The summary of a cart", .someAtATime)
struct SummaryTests {
    private func summary(_ text: String) throws -> String? {
        try Summary(JSON(text))?.json.text
    }

    private func line(_ price: String, _ quantity: String) -> String {
        #"{"sku":"a","title":"A","price":\#(price),"quantity":\#(quantity)}"#
    }

    @Test("the number of pieces, and their price with two decimals")
    func shape() throws {
        #expect(
            try summary("[\(line("49.95", "2")),\(line("29.95", "1"))]") == #"{"items":3,"total":129.85}"#
        )
        #expect(try summary("[]") == #"{"items":0,"total":0.00}"#)
    }

    @Test("ten thousand pieces at 0.10 are 1000.00")
    func tenThousand() throws {
        #expect(try summary("[\(line("0.10", "10000"))]") == #"{"items":10000,"total":1000.00}"#)
    }

    @Test("ten thousand lines at 0.10 are 1000.00, although binary floating point would drift")
    func tenThousandLines() throws {
        let lines = Array(repeating: line("0.10", "1"), count: 10_000).joined(separator: ",")
        #expect(try summary("[\(lines)]") == #"{"items":10000,"total":1000.00}"#)
    }

    @Test("prices with more decimals are added exactly and rounded once, at the end")
    func moreDecimals() throws {
        #expect(try summary("[\(line("0.005", "3"))]") == #"{"items":3,"total":0.02}"#)
        #expect(try summary("[\(line("0.004", "1")),\(line("0.004", "1"))]") == #"{"items":2,"total":0.01}"#)
    }

    @Test("the largest cart that the cart plugin allows is added up exactly")
    func largest() throws {
        let lines = Array(repeating: line("999999999999.99", "1000000"), count: 1_000).joined(separator: ",")
        #expect(try summary("[\(lines)]") == #"{"items":1000000000,"total":999999999999990000000.00}"#)
    }

    @Test(
        "a value that isn't a cart, or is too large, has no summary",
        arguments: [
            "{}", "null", "5", "[1]", "[{}]", #"[{"price":1}]"#, #"[{"quantity":1}]"#,
            #"[{"price":"1.00","quantity":1}]"#, #"[{"price":1,"quantity":1.5}]"#,
            #"[{"price":1,"quantity":-1}]"#,
            #"[{"price":1e25,"quantity":9223372036854775807}]"#,
            #"[{"price":0,"quantity":9223372036854775807},{"price":0,"quantity":1}]"#,
        ]
    )
    func none(_ text: String) throws {
        #expect(try Summary(JSON(text)) == nil)
    }

    @Test("of the next cart only the changed lines are read, wherever they are")
    func changes() throws {
        var sum = CartSum()
        func add(_ prices: [String], reads count: Int) throws {
            let cart = try JSON("[\(prices.map { line($0, "2") }.joined(separator: ","))]")
            let before = sum.linesRead
            #expect(sum.summary(of: cart) == Summary(cart), "\(cart)")
            #expect(sum.linesRead - before == count, "\(cart)")
        }
        try add(["1", "2", "3", "4"], reads: 4)
        try add(["1", "2", "3", "4"], reads: 0)
        try add(["1", "2.5", "3", "4"], reads: 1)
        try add(["1", "3", "4"], reads: 0)
        try add(["1", "3", "4", "4"], reads: 1)
        try add(["4", "4"], reads: 0)
        try add(["5", "4", "4"], reads: 1)
        try add([], reads: 0)
        try add(["1", "1", "1"], reads: 3)
        try add(["1"], reads: 0)
        try add(["1", "1"], reads: 1)
        // A cart that can't be added up is forgotten, but the one before isn't.
        #expect(try sum.summary(of: JSON("[{}]")) == nil)
        try add(["1", "1"], reads: 0)
    }

    @Test("people read one item, or two items")
    func text() throws {
        #expect(try Summary(JSON("[\(line("1", "1"))]"))?.text == "1 item, total 1.00")
        #expect(try Summary(JSON("[\(line("1", "2"))]"))?.text == "2 items, total 2.00")
    }
}

@Suite("The price indicator on the bus", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct PriceIndicatorPluginTests {
    private static let cart =
        #"[{"sku":"a","title":"A","price":49.95,"quantity":2},{"sku":"b","title":"B","price":29.95,"quantity":1}]"#

    @Test("the summary follows the cart, names its cause, and is printed on one line each")
    func following() async throws {
        let shop = try await Shop()
        try await shop.publish("cart.items", Self.cart)
        let plugin = try shop.start("price-indicator")
        try await shop.waitFor("cart.summary", #"{"items":3,"total":129.85}"#)
        let revision = try await shop.bus.publish(
            "cart.items",
            JSON(#"[{"sku":"a","title":"A","price":0.10,"quantity":10000}]"#)
        )
        try await shop.waitFor("cart.summary", #"{"items":10000,"total":1000.00}"#)
        let entry = try #require(try await shop.bus.entry("cart.summary"))
        #expect(entry.cause == revision)
        #expect(entry.by == "price-indicator")
        #expect(try await plugin.stop() == 0)
        #expect(plugin.output == "3 items, total 129.85\n10000 items, total 1000.00\n")
    }

    @Test("an observer of a cart already finds its price")
    func phases() async throws {
        let shop = try await Shop()
        try await shop.publish("cart.items", "[]")
        let plugin = try shop.start("price-indicator")
        try await shop.waitFor("cart.summary", #"{"items":0,"total":0.00}"#)
        let carts = try await shop.bus.subscribe("cart.items", options: .init(initial: false))
        var events = carts.makeAsyncIterator()
        for quantity in 1...20 {
            let cart = #"[{"sku":"a","title":"A","price":1,"quantity":\#(quantity)}]"#
            try await shop.publish("cart.items", cart)
            let event = try #require(try await events.next())
            #expect(event.unacknowledged == [])
            #expect(try await shop.text("cart.summary") == #"{"items":\#(quantity),"total":\#(quantity).00}"#)
        }
        withExtendedLifetime(plugin) {}
    }

    @Test("without the indicator there is no summary that nobody updates")
    func gone() async throws {
        let shop = try await Shop()
        try await shop.publish("cart.items", Self.cart)
        let plugin = try shop.start("price-indicator")
        try await shop.waitFor("cart.summary", #"{"items":3,"total":129.85}"#)
        let summaries = try await shop.bus.subscribe("cart.summary", options: .init(initial: false))
        #expect(try await plugin.stop(SIGKILL) != 0)
        var events = summaries.makeAsyncIterator()
        let event = try #require(try await events.next())
        #expect(event.kind == .delete && event.reason == .disconnected)
        try shop.start("price-indicator")
        try await shop.waitFor("cart.summary", #"{"items":3,"total":129.85}"#)
    }

    @Test("without a cart there is no summary, and no old one either")
    func withoutCart() async throws {
        let shop = try await Shop()
        try await shop.publish("cart.summary", #"{"items":9,"total":9.99}"#)
        try shop.start("price-indicator")
        try await shop.waitFor("cart.summary", nil)
        try await shop.publish("cart.items", Self.cart)
        try await shop.waitFor("cart.summary", #"{"items":3,"total":129.85}"#)
        try await shop.bus.delete("cart.items")
        try await shop.waitFor("cart.summary", nil)
    }

    @Test("a cart that can't be added up has no summary, and the next one has")
    func unreadable() async throws {
        let shop = try await Shop()
        try await shop.publish("cart.items", Self.cart)
        let plugin = try shop.start("price-indicator")
        try await shop.waitFor("cart.summary", #"{"items":3,"total":129.85}"#)
        try await shop.publish("cart.items", #"[{"price":"free"}]"#)
        try await shop.waitFor("cart.summary", nil)
        try await eventually("it says so") { plugin.errors.contains("cart.items by test is not a cart") }
        try await shop.publish("cart.items", "[]")
        try await shop.waitFor("cart.summary", #"{"items":0,"total":0.00}"#)
    }

    @Test("on a terminal the total is one line that is redrawn in place")
    func terminal() async throws {
        let terminal = try TestTerminal(columns: nil)
        let shop = try await Shop()
        try await shop.publish("cart.items", "[]")
        let plugin = try shop.start("price-indicator", output: .terminal(terminal.path))
        try await shop.waitFor("cart.summary", #"{"items":0,"total":0.00}"#)
        try await shop.publish("cart.items", Self.cart)
        try await shop.waitFor("cart.summary", #"{"items":3,"total":129.85}"#)
        #expect(try await plugin.stop() == 0)
        let shown = terminal.written()
        #expect(shown == "\r\u{1B}[K0 items, total 0.00\r\u{1B}[K3 items, total 129.85\r\n")
    }

    @Test("after a new broker has taken over, there is no summary until there is a cart")
    func newBroker() async throws {
        let shop = try await Shop()
        try await shop.publish("cart.items", Self.cart)
        let plugin = try shop.start("price-indicator")
        try await shop.waitFor("cart.summary", #"{"items":3,"total":129.85}"#)
        try await shop.restartBroker()
        try await eventually("it is back") { plugin.errors.contains("connected again") }
        #expect(try await shop.text("cart.summary") == nil)
        try await shop.publish("cart.items", "[]")
        try await shop.waitFor("cart.summary", #"{"items":0,"total":0.00}"#)
    }
}
