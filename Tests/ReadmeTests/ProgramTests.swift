// The Swift code of README.md. The shown code is the compiled code, and it does what the
// page says.

import Foundation
import Observables
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

@Suite("README, its programs", .someAtATime)
struct ProgramTests {
    private static func swiftBlock(_ index: Int) throws -> Readme.Block {
        let blocks = try Readme.blocks(in: "swift")
        #expect(blocks.count == 3)
        return blocks[index]
    }

    /// Writes the plugin's two files where the page says.
    private static func writePlugin(in scratch: TemporaryFolder) throws {
        let names = try Readme.inlineCode(of: Readme.section("A plugin"))
        let source = try #require(names.first { $0.hasSuffix("/main.swift") })
        try scratch.write(source, try swiftBlock(0).text)
        let manifests = try Readme.blocks(in: "json").filter { $0.text.contains("\"run\"") }
        #expect(manifests.count == 1)
        let folder = source.dropLast("main.swift".count)
        for manifest in manifests { try scratch.write(folder + "plugin.json", manifest.text) }
    }

    /// Adds the plugin to a copy of the checkout. Returns the copy.
    private static func addPlugin(in scratch: TemporaryFolder) throws -> URL {
        for name in ["Package.swift", "Sources", "Tests", "plugins"] {
            let original = Readme.package.appendingPathComponent(name)
            try FileManager.default.copyItem(at: original, to: scratch.url.appendingPathComponent(name))
        }
        try writePlugin(in: scratch)
        let manifest = try Readme.text(of: "Package.swift")
        let list = "let plugins = ["
        #expect(manifest.components(separatedBy: list).count == 2)
        try scratch.write("Package.swift", manifest.replacing(list, with: list + "\"free-shipping\", "))
        return scratch.url
    }

    /// What the package manager says about a package.
    private struct Described: Decodable {
        struct Product: Decodable {
            let name: String
            let type: [String: [String]?]
        }
        let products: [Product]
    }

    @Test("the plugin, added to a copy of the checkout as the page says, is a program like the shop's")
    func addedPlugin() async throws {
        let scratch = try TemporaryFolder()
        let folder = try Self.addPlugin(in: scratch)
        let arguments = ["swift", "package", "--package-path", folder.path, "describe", "--type", "json"]
        let run = try Running("/usr/bin/env", arguments, in: scratch)
        #expect(try await run.status() == 0)
        let output = run.output
        try #require(output.contains("{"), "\(output)")
        let package = try JSONDecoder().decode(Described.self, from: Data(output.drop { $0 != "{" }.utf8))
        let programs = package.products.filter { $0.type.keys.contains("executable") }.map(\.name)
        let plugins = try FileManager.default.contentsOfDirectory(
            at: folder.appendingPathComponent("plugins"), includingPropertiesForKeys: [.isDirectoryKey]
        ).filter { try $0.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true }
        // `swift run` must not offer anything else, so what only tests need is no product.
        #expect(Set(programs) == Set(plugins.map(\.lastPathComponent) + ["plugboard", "plugboard-bench"]))
        #expect(programs.contains("free-shipping"))
    }

    @Test("the plugin, compiled from the page, runs in up with the manifest beside it")
    func plugin() async throws {
        #expect(try Self.swiftBlock(0).lines.count <= 15)
        let scratch = try TemporaryFolder()
        try Self.writePlugin(in: scratch)
        let plugins = scratch.url.appendingPathComponent("plugins").path
        let program = plugins + "/free-shipping/free-shipping"
        try SwiftProgram.compile([plugins + "/free-shipping/main.swift"], to: program)
        let up = try Running("plugboard", ["up", "--plugins", plugins], in: scratch)
        try await eventually("up greets") {
            up.output.contains("Plugboard is up. Plugins: free-shipping.")
        }
        let person = try Typist(socket: scratch.busSocket)
        _ = try await person.line()
        try person.type("subscribe shipping")
        for _ in 0..<2 { _ = try await person.line() }
        for (total, shipping) in [("599.85", "4.90"), ("629.80", "free")] {
            try person.type("publish cart.summary {\"items\":4,\"total\":\(total)}")
            let answers = [try await person.line(), try await person.line()]
            #expect(answers.contains { $0.contains("\"value\":\"\(shipping)\",\"by\":\"free-shipping\"") })
        }
        // A bad value is reported, and the plugin goes on.
        try person.type("publish cart.summary {\"items\":\"many\"}")
        _ = try await person.line()
        try await eventually("it is told") {
            up.output.contains("the value of cart.summary can't be decoded")
        }
        try person.type("publish cart.summary {\"items\":1,\"total\":9.90}")
        let answers = [try await person.line(), try await person.line()]
        #expect(answers.contains { $0.contains("\"value\":\"4.90\",\"by\":\"free-shipping\"") })
        #expect(!up.output.contains("exited"))
        up.interrupt()
        #expect(try await up.status() == 0)
    }

    @Test("an existing value on the bus is not overwritten, with and without waiting for it")
    func kept() async throws {
        let scratch = try TemporaryFolder()
        let broker = try Running("plugboard", ["broker", "--ready"], in: scratch)
        try await eventually("the broker listens") { broker.output.contains("ready") }
        let bus = try await Bus.connect(path: scratch.busSocket)
        try await bus.publish("demo.cart", Cart(items: 7, note: "gift"))
        let cart = bus.observable("demo.cart", default: Cart())
        try await cart.ready()
        cart.value.items += 5
        try await bus.sync()
        let other = try await Bus.connect(path: scratch.busSocket)
        let hasty = other.observable("demo.cart", default: Cart())
        hasty.update { $0.items += 1 }
        try await other.sync()
        let kept = try await bus.get("demo.cart", as: Cart.self)
        #expect(kept?.items == 13 && kept?.note == "gift")
    }

    @Test("the example of the pattern, compiled from the page, prints what its comments say")
    func pattern() async throws {
        let block = try Self.swiftBlock(1)
        let scratch = try TemporaryFolder()
        try scratch.write("main.swift", block.text)
        let program = scratch.url.appendingPathComponent("pattern")
        try SwiftProgram.compile([scratch.url.appendingPathComponent("main.swift").path], to: program.path)
        let run = try Running(program.path, [], in: scratch)
        #expect(try await run.status() == 0)
        let said = block.lines.compactMap { $0.firstMatch(of: /\/\/ (\d.*)/).map { String($0.1) } }
        #expect(run.output == said.map { $0 + "\n" }.joined())
        #expect(!said.isEmpty)
    }

    @Test("the lines that move the value to the bus are compiled below, and everything else stays")
    func movedText() throws {
        let lines = try Self.swiftBlock(2).lines
        #expect(lines.count == 2)
        let source = try Readme.text(of: "Tests/ReadmeTests/ProgramTests.swift")
        #expect(source.contains(lines.map { "\n        \($0)" }.joined() + "\n"))
        let example = try Self.swiftBlock(1).text
        for declaration in ["struct Cart: Codable, Sendable", "some ValueObservable<Cart>) -> Disposable"] {
            #expect(example.contains(declaration))
        }
    }

    @Test("an observer in one program gets a change of another")
    func moved() async throws {
        let scratch = try TemporaryFolder()
        let broker = try Running("plugboard", ["broker", "--ready"], in: scratch)
        try await eventually("the broker listens") { broker.output.contains("ready") }
        let bus = try await Bus.connect(path: scratch.busSocket)
        let heard = ObservableValue([Int]())
        let cart = bus.observable("demo.cart", default: Cart())
        try await cart.ready()
        let watching = watch(cart) { items in heard.update { $0.append(items) } }
        let other = try await Bus.connect(path: scratch.busSocket).observable("demo.cart", default: Cart())
        try await other.ready()
        other.value.items += 1
        other.value.note = "gift"
        other.value.items += 1
        for await items in heard.values where items.count >= 2 { break }
        #expect(heard.value == [1, 2])
        watching.dispose()
    }
}

private struct Cart: Codable, Sendable { var items = 0; var note = "" }

private func watch(
    _ cart: some ValueObservable<Cart>, _ hear: @escaping @Sendable (Int) -> Void
) -> Disposable {
    cart.observe(\.items) { change in hear(change.new) }
}
