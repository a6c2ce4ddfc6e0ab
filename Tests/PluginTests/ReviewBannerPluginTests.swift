import PlugboardClient
import TestSupport
import Testing

@Suite("The review banner on the bus", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct ReviewBannerPluginTests {
    /// A shop on the list screen, with one product and a running banner plugin.
    private func open() async throws -> (Shop, TestProgram) {
        let shop = try await Shop()
        try await shop.publish("reviews.a", #"{"rating":3.9,"count":14}"#)
        try await shop.publish("screen", #"{"name":"list"}"#)
        // When the plugin has begun, it removes a banner that belongs to nothing.
        try await shop.publish("banner", #"{"sku":"a","text":"old"}"#)
        let plugin = try shop.start("review-banner")
        try await shop.waitFor("banner", nil)
        return (shop, plugin)
    }

    @Test("from the indicator to the banner, and gone again")
    func session() async throws {
        let (shop, plugin) = try await open()
        let revision = try await shop.bus.publish("reviews.a", JSON(#"{"rating":4.0,"count":16}"#))
        try await shop.waitFor("indicator.a", #"{"new":2}"#)
        #expect(try await shop.bus.entry("indicator.a")?.cause == revision)
        try await shop.publish("screen", #"{"name":"detail","sku":"a"}"#)
        try await shop.waitFor("banner", #"{"sku":"a","text":"2 new reviews, now 16, rated 4"}"#)
        #expect(try await shop.text("indicator.a") == nil)
        try await shop.publish("screen", #"{"name":"list"}"#)
        try await shop.waitFor("banner", nil)
        #expect(try await shop.text("indicator.a") == nil)
        #expect(try await plugin.stop() == 0)
    }

    @Test("changes that belong together are one revision")
    func oneRevision() async throws {
        let (shop, _) = try await open()
        try await shop.publish("reviews.a", #"{"rating":4.0,"count":16}"#)
        try await shop.waitFor("indicator.a", #"{"new":2}"#)
        var events = try await shop.bus.subscribe(["indicator.*", "banner"]).makeAsyncIterator()
        while let event = try await events.next(), event.kind != .synced {}
        try await shop.publish("screen", #"{"name":"detail","sku":"a"}"#)
        let first = try #require(try await events.next())
        let second = try #require(try await events.next())
        #expect(Set([first.key, second.key]) == ["banner", "indicator.a"])
        #expect(first.revision == second.revision)
    }

    @Test("an indicator that another client deleted doesn't stop the banner")
    func takenAway() async throws {
        let (shop, plugin) = try await open()
        try await shop.publish("reviews.a", #"{"rating":4.0,"count":16}"#)
        try await shop.waitFor("indicator.a", #"{"new":2}"#)
        try await shop.bus.delete("indicator.a")
        try await shop.publish("screen", #"{"name":"detail","sku":"a"}"#)
        try await shop.waitFor("banner", #"{"sku":"a","text":"2 new reviews, now 16, rated 4"}"#)
        #expect(plugin.errors == "")
    }

    @Test("a crash in between loses no indicator")
    func crash() async throws {
        let (shop, plugin) = try await open()
        try await shop.publish("reviews.a", #"{"rating":4.0,"count":16}"#)
        try await shop.waitFor("indicator.a", #"{"new":2}"#)
        try await plugin.stop(9)
        try await shop.waitFor("indicator.a", nil)
        try await shop.publish("reviews.a", #"{"rating":4.0,"count":17}"#)
        try shop.start("review-banner")
        try await shop.waitFor("indicator.a", #"{"new":3}"#)
        try await shop.publish("screen", #"{"name":"detail","sku":"a"}"#)
        try await eventually("a banner") { try await shop.text("banner") != nil }
        #expect(try await shop.text("indicator.a") == nil)
    }

    @Test("more than a thousand products at once work")
    func manyProducts() async throws {
        let (shop, _) = try await open()
        for count in [1, 2] {
            for number in 1...1_500 {
                try shop.bus.pipeline.publish("reviews.p\(number)", JSON(#"{"rating":1,"count":\#(count)}"#))
            }
            try await shop.bus.sync()
        }
        try await eventually("all are indicated") { try await shop.bus.keys("indicator.*").count == 1_500 }
        try await shop.publish("screen", #"{"name":"other"}"#)
        try await eventually("none is") { try await shop.bus.keys("indicator.*").isEmpty }
    }

    @Test("on the list only products with more reviews are indicated, until another screen comes")
    func seen() async throws {
        let (shop, _) = try await open()
        try await shop.publish("reviews.b", #"{"rating":2.0,"count":5}"#)
        try await shop.publish("reviews.b", #"{"rating":2.0,"count":4}"#)
        try await shop.publish("reviews.a", #"{"rating":3.9,"count":15}"#)
        try await shop.waitFor("indicator.a", #"{"new":1}"#)
        try await shop.publish("reviews.a", #"{"rating":3.9,"count":18}"#)
        try await shop.waitFor("indicator.a", #"{"new":4}"#)
        #expect(try await shop.bus.keys("indicator.*").map(\.key) == ["indicator.a"])
        try await shop.publish("screen", #"{"name":"checkout"}"#)
        try await shop.waitFor("indicator.a", nil)
        try await shop.publish("screen", #"{"name":"list"}"#)
        // Reviews count from when they were seen. If the four had come back, this would be a fifth.
        try await shop.publish("reviews.a", #"{"rating":3.9,"count":19}"#)
        try await shop.waitFor("indicator.a", #"{"new":1}"#)
        #expect(try await shop.text("banner") == nil)
    }

    @Test("a product's banner goes with its screen, even to another product's, and counts as seen")
    func bannerSeen() async throws {
        let (shop, _) = try await open()
        try await shop.publish("reviews.b", #"{"rating":2.0,"count":5}"#)
        try await shop.publish("screen", #"{"name":"detail","sku":"a"}"#)
        try await shop.publish("reviews.b", #"{"rating":2.0,"count":6}"#)
        try await shop.publish("reviews.a", #"{"rating":3.9,"count":15}"#)
        try await shop.waitFor("banner", #"{"sku":"a","text":"1 new review, now 15, rated 3.9"}"#)
        #expect(try await shop.bus.keys("indicator.*").isEmpty)
        try await shop.publish("screen", #"{"name":"detail","sku":"b"}"#)
        try await shop.waitFor("banner", #"{"sku":"b","text":"1 new review, now 6, rated 2"}"#)
        try await shop.publish("screen", #"{"name":"detail","sku":"a"}"#)
        try await shop.waitFor("banner", nil)
        try await shop.publish("screen", #"{"name":"list"}"#)
        try await shop.publish("reviews.b", #"{"rating":2.0,"count":8}"#)
        try await shop.waitFor("indicator.b", #"{"new":2}"#)
        #expect(try await shop.text("indicator.a") == nil)
    }
}
