// The five plugins as tests of all plugins see them: how each is started, and how to find
// out from outside that it works.

import Foundation
import PlugboardClient
import TestSupport

/// One of the plugins of the shop.
enum ShopPlugin: String, CaseIterable, Sendable, CustomStringConvertible {
    case cart
    case priceIndicator = "price-indicator"
    case reviewBanner = "review-banner"
    case logger
    case reviewTracker = "review-tracker"

    var description: String { rawValue }

    /// Its folder in the repository.
    var folder: String { Self.allFolder + "/" + rawValue }

    /// The folder of all plugins.
    static let allFolder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("plugins").path

    /// Without a file to read, the tracker would have nothing to do and end. The logger would
    /// print nothing.
    var arguments: [String] {
        switch self {
        case .reviewTracker: ["--file", "-"]
        case .logger: ["--verbose"]
        default: []
        }
    }

    /// Starts it on a shop's bus, so that it runs until it is stopped.
    func start(in shop: Shop, output: TestProgram.Output = .files) throws -> TestProgram {
        try shop.start(rawValue, arguments, input: self == .reviewTracker ? .typed : .nothing, output: output)
    }

    /// Gives it something to do and waits until that is done. Each round asks for something
    /// different. All but the tracker print in the second round at the latest.
    func work(_ process: TestProgram, in shop: Shop, round: Int) async throws {
        switch self {
        case .cart: try await fillCart(shop, round)
        case .priceIndicator: try await addUp(shop, round)
        case .reviewBanner: try await indicate(shop, round)
        case .logger: try await log(shop, round)
        case .reviewTracker: try await feed(process, shop, round)
        }
    }

    /// Only present observers get events, so they are sent until one has an effect.
    private func fillCart(_ shop: Shop, _ round: Int) async throws {
        try await shop.publish("catalog.product-\(round)", #"{"title":"Product","price":1.00}"#)
        try await eventually("the cart takes product \(round)") {
            try await shop.emit("cart.remove", #"{"sku":"nothing"}"#)
            try await shop.emit("cart.add", #"{"sku":"product-\#(round)"}"#)
            return try await shop.text("cart.items")?.contains("product-\(round)\"") == true
        }
    }

    private func addUp(_ shop: Shop, _ round: Int) async throws {
        let line = #"{"sku":"a","title":"A","price":0.10,"quantity":\#(round)}"#
        try await shop.publish("cart.items", "[\(line)]")
        try await shop.waitFor("cart.summary", #"{"items":\#(round),"total":0.\#(round)0}"#)
    }

    private func indicate(_ shop: Shop, _ round: Int) async throws {
        try await shop.publish("screen", #"{"name":"elsewhere"}"#)
        try await shop.waitFor("indicator.a", nil)
        try await shop.publish("screen", #"{"name":"list"}"#)
        var count = round * 1_000_000
        try await eventually("a new review is indicated") {
            count += 1
            try await shop.publish("reviews.a", #"{"rating":1,"count":\#(count)}"#)
            return try await shop.text("indicator.a") != nil
        }
    }

    private func log(_ shop: Shop, _ round: Int) async throws {
        try await shop.publish("log.\(round)", "true")
        try await eventually("log.\(round) is in the log") {
            guard let log = FileManager.default.contents(atPath: shop.path + ".log") else { return false }
            return String(decoding: log, as: UTF8.self).contains("\"log.\(round)\"")
        }
    }

    private func feed(_ process: TestProgram, _ shop: Shop, _ round: Int) async throws {
        try process.type(#"{"sku":"fed","rating":1,"count":\#(round)}"# + "\n")
        try await shop.waitFor("reviews.fed", #"{"rating":1,"count":\#(round)}"#)
    }
}
