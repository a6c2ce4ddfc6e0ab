import Foundation
import TestSupport
import Testing

@testable import PlugboardClient
@testable import PlugboardPosix

// What a person sees of a status: on a terminal one line that is redrawn, elsewhere lines.
@Suite("A plugin's status line", .someAtATime)
struct StatusLineTests {
    /// Back to the first column, and clear to the end of the line.
    private static let erasure = "\r\u{1B}[K"

    /// What a terminal of this width shows after `body`. A line ends with CR LF there.
    private func shown(columns: UInt16? = nil, _ body: (inout StatusLine) -> Void) throws -> String {
        let terminal = try TestTerminal(columns: columns)
        var line = StatusLine(output: StandardStream(fd: terminal.program.fileDescriptor))
        body(&line)
        return terminal.written()
    }

    /// What a pipe gets.
    private func piped(_ body: (inout StatusLine) -> Void) throws -> String {
        let pipe = Pipe()
        var line = StatusLine(output: StandardStream(fd: pipe.fileHandleForWriting.fileDescriptor))
        body(&line)
        try pipe.fileHandleForWriting.close()
        return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }

    @Test("on a terminal each status replaces the last one, even a longer one")
    func redrawing() throws {
        let shown = try shown { line in
            line.showStatus("3 items, total 129.85")
            line.showStatus("no cart")
        }
        #expect(shown == Self.erasure + "3 items, total 129.85" + Self.erasure + "no cart")
    }

    @Test(
        "it is cut so that the last column stays free and no terminal breaks the line",
        arguments: [(10, 9, 9), (10, 10, 9), (2, 5, 1), (1, 5, 1)]
    )
    func cutting(columns: UInt16, length: Int, left: Int) throws {
        let shown = try shown(columns: columns) { $0.showStatus(String(repeating: "x", count: length)) }
        #expect(shown == Self.erasure + String(repeating: "x", count: left))
    }

    @Test("a terminal that doesn't tell its width has eighty columns")
    func unknownWidth() throws {
        let shown = try shown { $0.showStatus(String(repeating: "x", count: 200)) }
        #expect(shown == Self.erasure + String(repeating: "x", count: 79))
    }

    @Test("a printed line is above the status")
    func lineAbove() throws {
        let terminal = try TestTerminal(columns: nil)
        let stream = StandardStream(fd: terminal.program.fileDescriptor)
        var line = StatusLine(output: stream)
        line.print("begins", to: stream)
        line.showStatus("1 item")
        line.print("hear this", to: stream)
        line.showStatus("2 items")
        let erasure = Self.erasure
        #expect(
            terminal.written()
                == "begins\r\n\(erasure)1 item\(erasure)hear this\r\n1 item\(erasure)2 items"
        )
    }

    @Test("a warning that goes elsewhere leaves the status unchanged")
    func warningElsewhere() throws {
        let errors = Pipe()
        let shown = try shown { line in
            line.showStatus("1 item")
            line.print("careful", to: StandardStream(fd: errors.fileHandleForWriting.fileDescriptor))
        }
        #expect(shown == "\(Self.erasure)1 item\(Self.erasure)1 item")
        try errors.fileHandleForWriting.close()
        #expect(try errors.fileHandleForReading.readToEnd() == Data("careful\n".utf8))
    }

    @Test("at the end, the last status stays as a line of its own, once")
    func ending() throws {
        let shown = try shown { line in
            line.endStatus()
            line.showStatus("1 item")
            line.endStatus()
            line.endStatus()
            line.print("over", to: line.output)
        }
        #expect(shown == "\(Self.erasure)1 item\r\nover\r\n")
    }

    @Test("elsewhere each status is a plain line of any length")
    func plainLines() throws {
        let long = String(repeating: "x", count: 200)
        let text = try piped { line in
            line.showStatus("1 item")
            line.print("hear this", to: line.output)
            line.showStatus(long)
            line.endStatus()
        }
        #expect(text == "1 item\nhear this\n\(long)\n")
    }

    @Test("nothing in a status or a line controls the terminal")
    func controlCharacters() throws {
        let hostile = "a\u{1B}[2J\r\n\u{9B}b\u{202E}"
        let safe = #"a\u001b[2J\u000d\u000a\u009bb\u202e"#
        #expect(try shown { $0.showStatus(hostile) } == Self.erasure + safe)
        #expect(try shown { $0.print(hostile, to: $0.output) } == safe + "\r\n")
        #expect(try piped { $0.showStatus(hostile) } == safe + "\n")
    }
}

@Suite("What the plugins show on a terminal", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct TerminalOutputTests {
    @Test("the price indicator: totals, a warning beside them, no cart, and the last line stays")
    func priceIndicator() async throws {
        let terminal = try TestTerminal(columns: 40)
        let shop = try await Shop()
        try await shop.publish("cart.items", "[]")
        let plugin = try shop.start("price-indicator", output: .terminal(terminal.path))
        try await shop.waitFor("cart.summary", #"{"items":0,"total":0.00}"#)
        try await shop.publish("cart.items", #"{"no":"cart"}"#)
        try await shop.waitFor("cart.summary", nil)
        try await shop.publish("cart.items", #"[{"price":0.10,"quantity":1}]"#)
        try await shop.waitFor("cart.summary", #"{"items":1,"total":0.10}"#)
        #expect(try await plugin.stop() == 0)
        let states = ["0 items, total 0.00", "0 items, total 0.00", "no cart", "1 item, total 0.10"]
        #expect(terminal.written() == states.map { "\r\u{1B}[K" + $0 }.joined() + "\r\n")
        #expect(plugin.errors == "cart.items by test is not a cart that can be added up\n")
    }

    @Test(
        "the others, which have no status: lines that stay",
        arguments: ShopPlugin.allCases.filter { $0 != .priceIndicator }
    )
    func lines(_ plugin: ShopPlugin) async throws {
        let terminal = try TestTerminal(columns: 40)
        let shop = try await Shop()
        let process = try plugin.start(in: shop, output: .terminal(terminal.path))
        for round in [1, 2] { try await plugin.work(process, in: shop, round: round) }
        if plugin == .reviewTracker { process.closeInput() } else { process.signal(SIGTERM) }
        #expect(try await process.end() == 0)
        let shown = terminal.written()
        #expect(shown.hasSuffix("\r\n"))
        #expect(!shown.contains("\u{1B}"))
        let said: [ShopPlugin: String] = [
            .cart: "cart.remove by test rejected: unknown_product, it isn't in the cart\r\n",
            .reviewBanner: "indicator.a gone\r\n",
            .logger: "writing to \(shop.path).log\r\n",
            .reviewTracker: "-: published 0 products and 2 reviews, skipped 0 lines\r\n",
        ]
        #expect(shown.contains(said[plugin] ?? "nothing that this test knows"))
    }
}
