// The whole shop: all five plugins as processes with one broker, filled with the phones.
// Invariant: the logger and `events` began with an empty bus, so both got everything.

import Foundation
import PlugboardClient
import TestSupport

/// A shop with every phone in its catalogue.
struct PhoneShop {
    /// Ends `events`.
    static let lastKey = "test.end"

    let shop: Shop
    let logger: TestProgram
    let tracker: TestProgram
    let logPath: String
    /// Everything from the beginning to `lastKey`.
    let events: Task<[Event], any Error>

    static func open() async throws -> PhoneShop {
        let shop = try await Shop()
        let events = try await watch(shop)
        let logPath = shop.folder + "/all.log"
        // One file is enough, because a rotated log keeps only its newest files.
        let logger = try shop.start("logger", ["--file", logPath, "--max-bytes", "1000000000"])
        try await eventually("the log begins") {
            try lines(of: logPath).contains { $0.contains(#""event":"synced""#) }
        }
        try await startOthers(shop)
        let tracker = try shop.start("review-tracker", ["--file", PhoneCatalogue.path])
        return PhoneShop(shop: shop, logger: logger, tracker: tracker, logPath: logPath, events: events)
    }

    /// What the logger wrote so far.
    func logged() throws -> [String] { try Self.lines(of: logPath) }

    /// Its last bytes. All of it is too much to read again and again.
    func logEnd() throws -> String {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: logPath))
        defer { try? file.close() }
        let size = try file.seekToEnd()
        try file.seek(toOffset: size - min(size, 200))
        return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    }

    private static func watch(_ shop: Shop) async throws -> Task<[Event], any Error> {
        let options = SubscribeOptions(delivery: .all)
        let all = try await shop.bus.subscribe("**", options: options)
        var iterator = all.makeAsyncIterator()
        while let event = try await iterator.next(), event.kind != .synced {}
        return Task {
            var heard: [Event] = []
            for try await event in all {
                heard.append(event)
                if event.key == lastKey { break }
            }
            return heard
        }
    }

    private static func startOthers(_ shop: Shop) async throws {
        // When the plugin has begun, it removes a banner that belongs to nothing.
        try await shop.publish("banner", #"{"sku":"none","text":"old"}"#)
        try await shop.publish("screen", #"{"name":"list"}"#)
        for plugin in ["cart", "price-indicator", "review-banner"] { try shop.start(plugin) }
        try await shop.waitFor("banner", nil)
        try await shop.waitFor("cart.summary", #"{"items":0,"total":0.00}"#)
    }

    private static func lines(of path: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return text.components(separatedBy: "\n").filter { !$0.isEmpty }
    }
}
