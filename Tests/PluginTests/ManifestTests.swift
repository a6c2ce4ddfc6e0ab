import Foundation
import PlugboardClient
import TestSupport
import Testing

// Compares every plugin.json with what its plugin does: a tap before each plugin sees its
// requests while the demo is played.
@Suite("The manifests and what the plugins do", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct ManifestTests {
    private let manifests: [ShopPlugin: JSON]

    init() throws {
        manifests = try Dictionary(
            uniqueKeysWithValues: ShopPlugin.allCases.map { plugin in
                let text = try String(contentsOfFile: plugin.folder + "/plugin.json", encoding: .utf8)
                return (plugin, try JSON(text))
            }
        )
    }

    private func strings(_ plugin: ShopPlugin, _ field: String) -> [String] {
        manifests[plugin]?[field]?.elements?.compactMap(\.string) ?? []
    }

    @Test("every plugin's folder is one of the seven, and has its manifest's name")
    func names() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: ShopPlugin.allFolder)
            .filter { FileManager.default.fileExists(atPath: "\(ShopPlugin.allFolder)/\($0)/plugin.json") }
        let all = ShopPlugin.allCases.map(\.rawValue) + ["dashboard", "bridge"]
        #expect(folders.sorted() == all.sorted())
        for (plugin, manifest) in manifests {
            #expect(manifest["name"]?.string == plugin.rawValue)
            #expect(manifest["run"]?.string == plugin.rawValue)
        }
    }

    @Test("the manifest lists what the demo needs, and nothing that doesn't exist")
    func demo() async throws {
        let shop = try await Shop()
        let demo = try Demo(shop)
        try await demo.start(demoArguments: { strings($0, "demo_arguments") })
        try await demo.play()
        for plugin in ShopPlugin.allCases {
            let tap = try #require(demo.taps[plugin])
            let told = Set(try tap.subscribed() + tap.read())
            let seen = strings(plugin, "subscribes")
            let hidden = told.filter { key in !seen.contains { $0 == key || matches($0, key) } }
            #expect(hidden.isEmpty, "\(plugin) is told what its manifest doesn't list")
            // A plugin may have to delete what it publishes, although not in the demo.
            let unneeded = seen.filter { pattern in
                !strings(plugin, "publishes").contains(pattern)
                    && !told.contains { $0 == pattern || matches(pattern, $0) }
            }
            #expect(unneeded.isEmpty, "\(plugin) lists what it is never told")
            #expect(try tap.served().sorted() == strings(plugin, "serves").sorted(), "\(plugin) serves")
            let listed = strings(plugin, "publishes")
            let written = Set(try tap.written())
            // How it is, it may always tell.
            let health = "\(plugin.rawValue).health"
            #expect(written.contains(health) == [.logger, .reviewTracker].contains(plugin), "\(plugin)")
            let unlisted = written.filter { key in key != health && !listed.contains { matches($0, key) } }
            #expect(unlisted.isEmpty, "\(plugin) writes what its manifest doesn't list")
            let unused = listed.filter { pattern in !written.contains { matches(pattern, $0) } }
            #expect(unused.isEmpty, "\(plugin) lists what it never writes")
        }
    }

    /// Section 4 of the specification: `*` is one token, `**` at the end is any number.
    private func matches(_ pattern: String, _ key: String) -> Bool {
        var tokens = key.split(separator: ".")[...]
        for part in pattern.split(separator: ".") {
            if part == "**" { return true }
            guard let token = tokens.popFirst(), part == "*" || part == token else { return false }
        }
        return tokens.isEmpty
    }

    @Test("this suite's patterns match as the broker's do")
    func matching() {
        for (pattern, key) in [("a", "a"), ("a.*", "a.b"), ("a.**", "a.b.c"), ("**", "a")] {
            #expect(matches(pattern, key), "\(pattern) \(key)")
        }
        for (pattern, key) in [("a", "b"), ("a", "a.b"), ("a.b", "a"), ("a.*", "a"), ("a.*", "a.b.c")] {
            #expect(!matches(pattern, key), "\(pattern) \(key)")
        }
    }
}

/// The demo without its pauses: what `up --demo` starts and plays.
private final class Demo {
    private let shop: Shop
    let taps: [ShopPlugin: Wiretap]
    private var processes: [TestProgram] = []

    init(_ shop: Shop) throws {
        self.shop = shop
        taps = try Dictionary(
            uniqueKeysWithValues: ShopPlugin.allCases.map { plugin in
                (plugin, try Wiretap(path: "\(shop.folder)/\(plugin)", broker: shop.path))
            }
        )
    }

    /// The tracker starts last, when the others have subscribed. In the demo its pace makes sure
    /// of that.
    func start(demoArguments: (ShopPlugin) -> [String]) async throws {
        // When the plugin has begun, it removes a banner that belongs to nothing.
        try await shop.publish("banner", #"{"sku":"none","text":"old"}"#)
        for plugin in ShopPlugin.allCases where plugin != .reviewTracker {
            try start(plugin, demoArguments(plugin))
        }
        try await shop.waitFor("banner", nil)
        try await shop.waitFor("cart.summary", #"{"items":0,"total":0.00}"#)
        let logger = taps[.logger]
        try await eventually("the logger listens") { try logger?.subscribed().isEmpty == false }
        let arguments = demoArguments(.reviewTracker)
        let rate = try #require(arguments.firstIndex(of: "--rate"), "the demo's reviews come one by one")
        try start(.reviewTracker, arguments[..<rate] + ["--rate", "1000"] + arguments.dropFirst(rate + 2))
    }

    private func start(_ plugin: ShopPlugin, _ arguments: [String]) throws {
        let words = ["--socket", "\(shop.folder)/\(plugin)"] + arguments
        processes.append(try TestProgram(plugin.rawValue, words, in: plugin.folder, output: .files))
    }

    /// Plays every step, and waits for the effects of the last ones.
    func play() async throws {
        let text = try String(contentsOfFile: ShopPlugin.allFolder + "/demo.txt", encoding: .utf8)
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            switch words[0] {
            case "pause": break
            case "await": try await eventually("\(line)") { try await self.shop.text(words[1]) != nil }
            case "publish": try await shop.publish(words[1], words[2])
            case "emit": try await shop.emit(words[1], words[2])
            default: throw NeverHappened(description: "a step \"\(line)\"")
            }
        }
        try await shop.waitFor("cart.summary", #"{"items":3,"total":599.85}"#)
        try await shop.waitFor("banner", nil)
    }
}
