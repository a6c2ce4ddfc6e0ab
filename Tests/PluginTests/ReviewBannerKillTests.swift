// A banner plugin that is killed at any moment: what it forgets, and what stands on which screen.

import Foundation
import PlugboardClient
import Synchronization
import TestSupport
import Testing

@Suite("The review banner, killed", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct ReviewBannerKillTests {
    private static let products = (0..<14).map { "p\($0)" }

    /// How many reviews each product has.
    private actor Counts {
        private(set) var all: [String: Int] = [:]

        /// Some more reviews of one product.
        func next(_ number: Int) -> (sku: String, value: JSON) {
            let sku = products[number * 5 % products.count]
            all[sku, default: 10] += 1 + number % 2
            return (sku, .object(["rating": .integer(4), "count": .integer(all[sku] ?? 0)]))
        }
    }

    /// A shop with products, and a banner plugin that has heard of all of them.
    private func open(_ screen: String) async throws -> (Shop, Counts) {
        let shop = try await Shop()
        for sku in Self.products { try await shop.publish("reviews.\(sku)", #"{"rating":4,"count":10}"#) }
        try await shop.publish("screen", screen)
        let plugin = try shop.start("review-banner")
        try await eventually("it has heard of all") {
            try await shop.bus.keys("seen.*").count == Self.products.count
        }
        try await plugin.stop(SIGKILL)
        return (shop, Counts())
    }

    private func isRunning(_ shop: Shop) async throws -> Bool {
        try await !shop.bus.who("screen").observers.filter { $0.name == "review-banner" }.isEmpty
    }

    @Test("not one review is forgotten, and the indicators end with it and come back")
    func reviews() async throws {
        let (shop, counts) = try await open(#"{"name":"list"}"#)
        #expect(try await shop.bus.keys("indicator.*").isEmpty)
        var trial = KillTrial { try shop.start("review-banner") }
        let last = try await trial.run(rate: 250) {
            try await isRunning(shop)
        } _: { number in
            let (sku, value) = await counts.next(number)
            try await shop.bus.publish("reviews.\(sku)", value)
        }
        let all = await counts.all
        var reviews = 0
        for sku in Self.products {
            let new = (all[sku] ?? 10) - 10
            reviews += new
            try await shop.waitFor("indicator.\(sku)", new > 0 ? #"{"new":\#(new)}"# : nil)
            #expect(try await shop.text("seen.\(sku)") == "10")
        }
        #expect(reviews > 0)
        LongSuite.print("review-banner: \(KillTrial.kills) kills, \(reviews) reviews, none lost")
        try await last.stop(SIGKILL)
        try await eventually("they end with it") { try await shop.bus.keys("indicator.*").isEmpty }
    }

    /// What an observer has learned, which checks each group of events.
    private struct Watcher {
        var screen: JSON?
        var shown: [String: JSON] = [:]
        /// The most reviews that the screens have told of.
        var told: [String: Int] = [:]
        var counts: [String: Int] = [:]

        mutating func take(_ events: [Event]) {
            for event in events {
                if event.key == "screen" {
                    screen = event.value
                } else if event.key.hasPrefix("reviews.") {
                    counts[String(event.key.dropFirst(8))] = event.value?["count"]?.integer
                } else if !event.key.isEmpty {
                    shown[event.key] = event.value
                }
            }
        }

        /// What stands on a screen where it doesn't belong.
        var mistakes: [String] {
            let name = screen?["name"]?.string
            return shown.filter { key, value in
                if key == "banner" { return name != "detail" || screen?["sku"] != value["sku"] }
                return name != "list"
            }.map { "\($0) on \(screen?.text ?? "none")" }
        }
    }

    @Test("nothing stands on the wrong screen, whether screen and reviews are one batch or follow each other")
    func screens() async throws {
        let (shop, counts) = try await open(#"{"name":"list"}"#)
        let mistakes = Mutex<[String]>([])
        let groups = Atomic(0)
        let patterns = ["screen", "reviews.*", "indicator.*", "banner"]
        let watched = try await shop.bus.subscribe(patterns, options: SubscribeOptions(delivery: .all))
        async let watching: Void = {
            var watcher = Watcher()
            try await watched.forEachGroup { events in
                watcher.take(events)
                groups.add(1, ordering: .relaxed)
                mistakes.withLock { $0 += watcher.mistakes }
            }
        }()
        var trial = KillTrial { try shop.start("review-banner") }
        _ = try await trial.run(rate: 250) {
            try await isRunning(shop)
        } _: { number in
            let (sku, value) = await counts.next(number)
            let screens = [
                #"{"name":"list"}"#, #"{"name":"detail","sku":"\#(sku)"}"#, #"{"name":"checkout"}"#,
                #"{"name":"detail","sku":"p1"}"#,
            ]
            let screen = try Write.publish("screen", JSON(screens[number / 3 % screens.count]))
            let reviews = try Write.publish("reviews.\(sku)", value)
            switch number % 4 {
            case 0: try await shop.bus.batch([screen, reviews])
            case 1: try await shop.bus.batch([reviews, screen])
            case 2:
                try shop.bus.pipeline.add(reviews)
                try shop.bus.pipeline.add(screen)
            default:
                try await shop.bus.write(reviews)
                try await shop.bus.write(screen)
            }
        }
        // No product has fewer news than were never shown.
        try await shop.publish("screen", #"{"name":"list"}"#)
        for (sku, count) in await counts.all {
            try await eventually("\(sku) adds up") {
                let seen = try await shop.bus.get("seen.\(sku)", as: Int.self) ?? -1
                let new = try await shop.bus.entry("indicator.\(sku)")?.value["new"]?.integer ?? 0
                return seen + new == count
            }
        }
        watched.cancel()
        try await watching
        #expect(mistakes.withLock { $0 } == [])
        #expect(groups.load(ordering: .relaxed) > 10)
        LongSuite.print(
            "review-banner: \(KillTrial.kills) kills, \(groups.load(ordering: .relaxed)) states, none wrong"
        )
    }
}
