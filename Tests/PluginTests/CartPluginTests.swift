import PlugboardClient
import TestSupport
import Testing

@Suite("The cart on the bus", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct CartPluginTests {
    private static let phone = #"{"title":"Phone","price":49.95,"colour":"red"}"#

    /// A shop with a running cart plugin and three products.
    private func open(cart: String? = nil) async throws -> (Shop, TestProgram) {
        let shop = try await Shop()
        try await shop.publish("catalog.phone", Self.phone)
        try await shop.publish("catalog.case", #"{"title":"Case","price":29.95}"#)
        try await shop.publish("catalog.soon", #"{"title":"Soon","price":null}"#)
        if let cart { try await shop.publish("cart.items", cart) }
        let plugin = try shop.start("cart")
        if cart == nil { try await shop.waitFor("cart.items", "[]") } else { try await begun(shop) }
        return (shop, plugin)
    }

    /// Waits until the cart answers. Removing a missing product changes nothing.
    private func begun(_ shop: Shop) async throws {
        let rejections = try await shop.bus.subscribe("cart.rejected")
        var events = rejections.makeAsyncIterator()
        _ = try await events.next()
        let asking = Task {
            while !Task.isCancelled {
                try await shop.emit("cart.remove", #"{"sku":"nothing"}"#)
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        _ = try await events.next()
        asking.cancel()
        _ = await asking.result
        // When this one is answered, all earlier ones are.
        try await shop.emit("cart.remove", #"{"sku":"the.end"}"#)
        while let event = try await events.next(), event.value?["sku"]?.string != "the.end" {}
    }

    /// What is rejected while `body` runs, up to the first `count`.
    private func rejections(
        _ shop: Shop, count: Int, _ body: () async throws -> Void
    ) async throws -> [String] {
        var events = try await shop.bus.subscribe("cart.rejected").makeAsyncIterator()
        try await body()
        var texts: [String] = []
        while texts.count < count, let event = try await events.next() {
            if event.kind == .emit, let value = event.value { texts.append(value.text) }
        }
        return texts
    }

    @Test("a called command is answered with what the line has become, or with the reason why not")
    func calls() async throws {
        let (shop, plugin) = try await open()
        let answer: JSON = try await shop.bus.call("cart.add", ["sku": "phone"])
        #expect(answer.text == #"{"sku":"phone","quantity":1,"lines":1}"#)
        let items = #"[{"sku":"phone","title":"Phone","price":49.95,"quantity":1}]"#
        #expect(try await shop.text("cart.items") == items)
        let error = await #expect(throws: BusError.self) {
            let _: JSON = try await shop.bus.call("cart.add", ["sku": "soon"])
        }
        #expect(error?.code == "not_for_sale")
        // Each command is carried out once, even if it is called while others are emitted.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...20 {
                group.addTask { let _: JSON = try await shop.bus.call("cart.add", ["sku": "phone"]) }
                group.addTask { try await shop.emit("cart.add", #"{"sku":"phone"}"#) }
            }
            try await group.waitForAll()
        }
        try await shop.waitFor(
            "cart.items",
            #"[{"sku":"phone","title":"Phone","price":49.95,"quantity":41}]"#
        )
        withExtendedLifetime(plugin) {}
    }

    @Test("the cart names the command that changed it as its cause")
    func cause() async throws {
        let (shop, plugin) = try await open()
        let revision = try await shop.bus.emit("cart.add", JSON(#"{"sku":"phone"}"#))
        try await shop.waitFor("cart.items", #"[{"sku":"phone","title":"Phone","price":49.95,"quantity":1}]"#)
        #expect(try await shop.bus.entry("cart.items")?.cause == revision)
        withExtendedLifetime(plugin) {}
    }

    @Test("a product is added with the catalogue's title and price, and raised when added again")
    func adding() async throws {
        let (shop, plugin) = try await open()
        try await shop.emit("cart.add", #"{"sku":"phone"}"#)
        try await shop.waitFor("cart.items", #"[{"sku":"phone","title":"Phone","price":49.95,"quantity":1}]"#)
        try await shop.emit("cart.add", #"{"sku":"case","quantity":2}"#)
        try await shop.emit("cart.add", #"{"sku":"phone","quantity":2}"#)
        try await shop.waitFor(
            "cart.items",
            #"[{"sku":"phone","title":"Phone","price":49.95,"quantity":3},"#
                + #"{"sku":"case","title":"Case","price":29.95,"quantity":2}]"#
        )
        #expect(try await shop.bus.entry("cart.items")?.by == "cart")
        #expect(try await plugin.stop() == 0)
    }

    @Test("products are removed, and the cart is cleared")
    func removing() async throws {
        let (shop, _) = try await open()
        try await shop.emit("cart.add", #"{"sku":"phone"}"#)
        try await shop.emit("cart.add", #"{"sku":"case"}"#)
        try await shop.emit("cart.remove", #"{"sku":"phone"}"#)
        try await shop.waitFor("cart.items", #"[{"sku":"case","title":"Case","price":29.95,"quantity":1}]"#)
        try await shop.emit("cart.clear", "{}")
        try await shop.waitFor("cart.items", "[]")
    }

    @Test("an impossible command is rejected with its reason, in order, and changes nothing")
    func rejecting() async throws {
        let (shop, _) = try await open()
        let texts = try await rejections(shop, count: 6) {
            try await shop.emit("cart.add", #"{"sku":"ghost"}"#)
            try await shop.emit("cart.add", #"{"sku":"soon"}"#)
            try await shop.emit("cart.add", #"{"sku":"phone","quantity":0}"#)
            try await shop.emit("cart.add", #""phone""#)
            try await shop.emit("cart.remove", #"{"sku":"phone"}"#)
            try await shop.emit("cart.add", #"{"sku":"\#(String(repeating: "x", count: 300))"}"#)
        }
        #expect(
            texts.dropLast() == [
                #"{"sku":"ghost","reason":"unknown_product"}"#, #"{"sku":"soon","reason":"not_for_sale"}"#,
                #"{"sku":"phone","reason":"bad_request"}"#, #"{"sku":null,"reason":"bad_request"}"#,
                #"{"sku":"phone","reason":"unknown_product"}"#,
            ]
        )
        #expect(texts.last?.hasSuffix(#"x","reason":"bad_request"}"#) == true)
        #expect(try await shop.text("cart.items") == "[]")
    }

    @Test("a command that is published instead of emitted is rejected once, and not again later")
    func published() async throws {
        let (shop, plugin) = try await open()
        let texts = try await rejections(shop, count: 1) {
            try await shop.publish("cart.add", #"{"sku":"phone"}"#)
        }
        #expect(texts == [#"{"sku":"phone","reason":"bad_request"}"#])
        try await plugin.stop()
        try await shop.bus.delete("cart.items")
        try shop.start("cart")
        try await shop.waitFor("cart.items", "[]")
    }

    @Test("the plugin continues with a cart that exists already")
    func goingOn() async throws {
        let items = #"[{"sku":"old","title":"Old","price":1.10,"quantity":4}]"#
        let (shop, plugin) = try await open(cart: items)
        #expect(try await shop.text("cart.items") == items)
        try await shop.emit("cart.add", #"{"sku":"phone"}"#)
        let both =
            #"[{"sku":"old","title":"Old","price":1.10,"quantity":4},"#
            + #"{"sku":"phone","title":"Phone","price":49.95,"quantity":1}]"#
        try await shop.waitFor("cart.items", both)
        try await plugin.stop()
        try shop.start("cart")
        try await begun(shop)
        #expect(try await shop.text("cart.items") == both)
    }

    @Test("what another client writes into the cart is not lost with the next command")
    func otherWriters() async throws {
        let (shop, _) = try await open()
        try await shop.emit("cart.add", #"{"sku":"phone"}"#)
        try await shop.waitFor("cart.items", #"[{"sku":"phone","title":"Phone","price":49.95,"quantity":1}]"#)
        try await shop.publish("cart.items", #"[{"sku":"gift","title":"Gift","price":0.00,"quantity":1}]"#)
        try await shop.emit("cart.add", #"{"sku":"case"}"#)
        try await shop.waitFor(
            "cart.items",
            #"[{"sku":"gift","title":"Gift","price":0.00,"quantity":1},"#
                + #"{"sku":"case","title":"Case","price":29.95,"quantity":1}]"#
        )
    }

    @Test("what another client put into the cart can be removed, even if the plugin has not read it yet")
    func othersLine() async throws {
        let (shop, _) = try await open()
        try await shop.emit("cart.add", #"{"sku":"phone"}"#)
        try await shop.waitFor("cart.items", #"[{"sku":"phone","title":"Phone","price":49.95,"quantity":1}]"#)
        let gift = #"{"sku":"gift","title":"Gift","price":0.00,"quantity":1}"#
        let case1 = #"{"sku":"case","title":"Case","price":29.95,"quantity":1}"#
        try await shop.publish("cart.items", "[\(gift),\(case1)]")
        let texts = try await rejections(shop, count: 1) {
            try await shop.emit("cart.remove", #"{"sku":"gift"}"#)
            try await shop.emit("cart.remove", #"{"sku":"phone"}"#)
        }
        #expect(texts == [#"{"sku":"phone","reason":"unknown_product"}"#])
        #expect(try await shop.text("cart.items") == "[\(case1)]")
        try await shop.bus.delete("cart.items")
        try await shop.emit("cart.remove", #"{"sku":"case"}"#)
        try await shop.emit("cart.add", #"{"sku":"case"}"#)
        try await shop.waitFor("cart.items", "[\(case1)]")
    }

    @Test("the cart is read at most once, however many commands come")
    func reading() async throws {
        let shop = try await Shop()
        let line = #"{"sku":"old","title":"Old","price":1.10,"quantity":4}"#
        try await shop.publish("cart.items", "[\(line)]")
        try await shop.publish("catalog.phone", Self.phone)
        let tap = try Wiretap(path: shop.folder + "/tap", broker: shop.path)
        let plugin = try TestProgram("cart", ["--socket", tap.path], in: shop.folder, output: .files)
        try await begun(shop)
        let texts = try await rejections(shop, count: 2) {
            for _ in 1...20 { try await shop.emit("cart.add", #"{"sku":"phone"}"#) }
            try await shop.emit("cart.remove", #"{"sku":"ghost"}"#)
            try await shop.emit("cart.remove", #"{"sku":"old"}"#)
            try await shop.emit("cart.remove", #"{"sku":"old"}"#)
        }
        #expect(texts.count == 2)
        #expect(
            try await shop.text("cart.items")
                == #"[{"sku":"phone","title":"Phone","price":49.95,"quantity":20}]"#
        )
        #expect(try await plugin.stop() == 0)
        let reads = try tap.requests().filter { $0["op"]?.string == "get" }.compactMap { $0["key"]?.string }
        #expect(reads.filter { $0 == "cart.items" }.count == 1)
        #expect(try tap.written().filter { $0 == "cart.items" }.count == 22, "its beginning and 21 changes")
    }

    @Test("with 500 products in the cart, a command sends at most 8 KB, and the bus has the whole cart")
    func largeCart() async throws {
        let shop = try await Shop()
        let lines = (0..<500).map {
            #"{"sku":"p\#($0)","title":"Product \#($0)","price":49.95,"quantity":1}"#
        }
        try await shop.publish("cart.items", "[\(lines.joined(separator: ","))]")
        for sku in ["p250", "new"] {
            try await shop.publish("catalog.\(sku)", #"{"title":"A","price":9.50}"#)
        }
        let tap = try Wiretap(path: shop.folder + "/tap", broker: shop.path)
        let plugin = try TestProgram("cart", ["--socket", tap.path], in: shop.folder, output: .files)
        try await begun(shop)
        func sent(_ body: () async throws -> Void) async throws -> Int {
            let before = tap.heardBytes
            try await body()
            return tap.heardBytes - before
        }
        let changed = #"{"sku":"p250","title":"A","price":9.50,"quantity":2}"#
        let added = #"{"sku":"new","title":"A","price":9.50,"quantity":1}"#
        let emitted = try await sent {
            try await shop.emit("cart.add", #"{"sku":"p250"}"#)
            let items = lines[..<250] + [changed] + lines[251...]
            try await shop.waitFor("cart.items", "[\(items.joined(separator: ","))]")
        }
        let called = try await sent {
            let answer: JSON = try await shop.bus.call("cart.add", ["sku": "new"])
            #expect(answer.text == #"{"sku":"new","quantity":1,"lines":501}"#)
        }
        let removed = try await sent {
            let answer: JSON = try await shop.bus.call("cart.remove", ["sku": "p0"])
            #expect(answer.text == #"{"sku":"p0","quantity":0,"lines":500}"#)
        }
        #expect((100...8_000).contains(emitted) && (100...8_000).contains(called))
        #expect((100...8_000).contains(removed))
        let items = lines[1..<250] + [changed] + lines[251...] + [added]
        #expect(try await shop.text("cart.items") == "[\(items.joined(separator: ","))]")
        #expect(try await plugin.stop() == 0)
    }

    @Test("a cart.items that is no cart is left alone until it is cleared")
    func noCart() async throws {
        let (shop, _) = try await open(cart: #"{"what":"is this"}"#)
        let texts = try await rejections(shop, count: 1) {
            try await shop.emit("cart.add", #"{"sku":"phone"}"#)
        }
        #expect(texts == [#"{"sku":"phone","reason":"bad_request"}"#])
        #expect(try await shop.text("cart.items") == #"{"what":"is this"}"#)
        try await shop.emit("cart.clear", "null")
        try await shop.waitFor("cart.items", "[]")
        // It knows a cart by now, and still checks before it answers.
        try await shop.publish("cart.items", "5")
        let later = try await rejections(shop, count: 2) {
            try await shop.emit("cart.remove", #"{"sku":"phone"}"#)
            try await shop.emit("cart.add", #"{"sku":"phone"}"#)
        }
        #expect(later == texts + texts)
        #expect(try await shop.text("cart.items") == "5")
    }

    @Test("a thousand commands at once are carried out one by one, and none is lost")
    func manyCommands() async throws {
        let (shop, _) = try await open()
        for _ in 1...1_000 { try shop.bus.pipeline.emit("cart.add", JSON(#"{"sku":"phone"}"#)) }
        try await shop.waitFor(
            "cart.items",
            #"[{"sku":"phone","title":"Phone","price":49.95,"quantity":1000}]"#
        )
    }

    @Test("after a new broker has taken over, the cart is there again and works")
    func newBroker() async throws {
        let (shop, _) = try await open()
        try await shop.restartBroker()
        try await shop.waitFor("cart.items", "[]")
        try await shop.publish("catalog.phone", Self.phone)
        try await shop.emit("cart.add", #"{"sku":"phone"}"#)
        try await shop.waitFor("cart.items", #"[{"sku":"phone","title":"Phone","price":49.95,"quantity":1}]"#)
    }

    @Test("a new broker's cart is not mistaken for the old one of the same revision")
    func newBrokersCart() async throws {
        let (shop, _) = try await open()
        let revision = try #require(try await shop.bus.entry("cart.items")?.revision)
        try await shop.restartBroker()
        let gift = #"{"sku":"gift","title":"Gift","price":0.00,"quantity":1}"#
        try await shop.publish("catalog.phone", Self.phone)
        for _ in 2..<revision { try await shop.publish("filler", "0") }
        try await shop.publish("cart.items", "[\(gift)]")
        let both = #"[\#(gift),{"sku":"phone","title":"Phone","price":49.95,"quantity":1}]"#
        try await begun(shop)
        try await shop.emit("cart.add", #"{"sku":"phone"}"#)
        try await shop.waitFor("cart.items", both)
    }
}
