// The Swift code of README.md: what is shown is what was compiled, and it does what the
// page says of it.

import Foundation
import Observables
import PlugboardClient
import Testing

@Suite("README, its programs")
struct ProgramTests {
    /// Everything below a file's opening comment.
    private static func program(_ path: String) throws -> String {
        let lines = try Readme.text(of: "Tests/ReadmePrograms/\(path)/main.swift").components(
            separatedBy: "\n"
        )
        return lines.drop { $0.hasPrefix("//") || $0.isEmpty }.joined(separator: "\n")
    }

    private static func swiftBlock(_ index: Int) throws -> Readme.Block {
        let blocks = try Readme.blocks(in: "swift")
        #expect(blocks.count == 3)
        return blocks[index]
    }

    @Test("the plugin is the one that was compiled, and it is short")
    func pluginText() throws {
        let block = try Self.swiftBlock(0)
        #expect(block.text == (try Self.program("FreeShipping")), "\(block)")
        #expect(block.lines.count <= 15)
    }

    @Test("the plugin runs in up with the manifest that stands beside it")
    func plugin() async throws {
        let manifests = try Readme.blocks(in: "json").filter { $0.text.contains("\"run\"") }
        #expect(manifests.count == 1)
        let scratch = try Scratch()
        for manifest in manifests { try scratch.write("plugins/free-shipping/plugin.json", manifest.text) }
        let plugins = scratch.url.appendingPathComponent("plugins").path
        let up = try Running(built: "plugboard", ["up", "--plugins", plugins], in: scratch)
        try await eventually("up greets") {
            try up.output.contains("Plugboard is up. Plugins: free-shipping.")
        }
        let person = try Typist(socket: scratch.socket)
        _ = try await person.line()
        try person.type("subscribe shipping")
        for _ in 0..<2 { _ = try await person.line() }
        for (total, shipping) in [("599.85", "4.90"), ("629.80", "free")] {
            try person.type("publish cart.summary {\"items\":4,\"total\":\(total)}")
            let answers = [try await person.line(), try await person.line()]
            #expect(answers.contains { $0.contains("\"value\":\"\(shipping)\",\"by\":\"free-shipping\"") })
        }
        // One bad value is told, and isn't the end.
        try person.type("publish cart.summary {\"items\":\"many\"}")
        _ = try await person.line()
        try await eventually("it is told") {
            try up.output.contains("the value of cart.summary can't be decoded")
        }
        try person.type("publish cart.summary {\"items\":1,\"total\":9.90}")
        let answers = [try await person.line(), try await person.line()]
        #expect(answers.contains { $0.contains("\"value\":\"4.90\",\"by\":\"free-shipping\"") })
        #expect(try !up.output.contains("exited"))
        up.interrupt()
        #expect(try await up.status() == 0)
    }

    @Test("what was on the bus before is not overwritten, with and without waiting for it")
    func kept() async throws {
        let scratch = try Scratch()
        let broker = try Running(built: "plugboard", ["broker", "--ready"], in: scratch)
        try await eventually("the broker listens") { try broker.output.contains("ready") }
        let bus = try await Bus.connect(path: scratch.socket)
        try await bus.publish("demo.cart", Cart(items: 7, note: "gift"))
        let cart = bus.observable("demo.cart", default: Cart())
        try await cart.ready()
        cart.value.items += 5
        try await bus.sync()
        let other = try await Bus.connect(path: scratch.socket)
        let hasty = other.observable("demo.cart", default: Cart())
        hasty.update { $0.items += 1 }
        try await other.sync()
        let kept = try await bus.get("demo.cart", as: Cart.self)
        #expect(kept?.items == 13 && kept?.note == "gift")
    }

    @Test("the example of the pattern is the one that was compiled, and prints what its comments say")
    func pattern() async throws {
        let block = try Self.swiftBlock(1)
        #expect(block.text == (try Self.program("Pattern")), "\(block)")
        let scratch = try Scratch()
        let run = try Running(built: "readme-pattern", [], in: scratch)
        #expect(try await run.status() == 0)
        let said = block.lines.compactMap { $0.firstMatch(of: /\/\/ (\d.*)/).map { String($0.1) } }
        #expect(try run.output == said.map { $0 + "\n" }.joined())
        #expect(!said.isEmpty)
    }

    @Test("what moves the value to the bus is compiled below, and everything else stays")
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

    @Test("an observer in one program hears of a change in another")
    func moved() async throws {
        let scratch = try Scratch()
        let broker = try Running(built: "plugboard", ["broker", "--ready"], in: scratch)
        try await eventually("the broker listens") { try broker.output.contains("ready") }
        let bus = try await Bus.connect(path: scratch.socket)
        let heard = ObservableValue([Int]())
        let cart = bus.observable("demo.cart", default: Cart())
        try await cart.ready()
        let watching = watch(cart) { items in heard.update { $0.append(items) } }
        let other = try await Bus.connect(path: scratch.socket).observable("demo.cart", default: Cart())
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
    _ cart: some ValueObservable<Cart>,
    _ hear: @escaping @Sendable (Int) -> Void
) -> Disposable {
    cart.observe(\.items) { change in hear(change.new) }
}
