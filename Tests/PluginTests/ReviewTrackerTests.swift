import Foundation
import PlugboardClient
import TestSupport
import Testing

@Suite("The review tracker on the bus", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct ReviewTrackerTests {
    /// A tracker that reads these lines from `feed` in the shop's folder.
    private func track(_ shop: Shop, _ lines: [String], _ arguments: [String] = []) throws -> TestProgram {
        let path = shop.folder + "/feed"
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
        return try shop.start("review-tracker", ["--file", "feed"] + arguments)
    }

    @Test("objects become products and reviews, and the last line needs no line feed")
    func objects() async throws {
        let shop = try await Shop()
        let plugin = try track(
            shop,
            [
                #"{"sku":"a","title":"A","price":49.90,"brand":"X","rating":3.9,"count":14}"#,
                #"{"sku":"b","title":"B"}"#, #"{"sku":"a","rating":4.0,"count":15}"#,
            ]
        )
        #expect(try await plugin.end() == 0)
        #expect(try await shop.text("catalog.a") == #"{"title":"A","price":49.90,"brand":"X"}"#)
        #expect(try await shop.text("catalog.b") == #"{"title":"B","price":null}"#)
        #expect(try await shop.text("reviews.a") == #"{"rating":4.0,"count":15}"#)
        #expect(try await shop.bus.keys().map(\.key).sorted() == ["catalog.a", "catalog.b", "reviews.a"])
        #expect(try await shop.bus.entry("catalog.a")?.by == "review-tracker")
        #expect(plugin.output == "feed: published 2 products and 2 reviews, skipped 0 lines\n")
        #expect(plugin.errors.isEmpty)
    }

    @Test("arrays with a header row become products and reviews, with the lowest price")
    func arrays() async throws {
        let shop = try await Shop()
        let plugin = try track(
            shop,
            [
                #"["asin","brand","title","rating","totalReviews","prices"]"#,
                #"["B1","Nokia","One",3,14,""]"#, #"["B2","","Two",2.9,7,"$1,299.99"]"#,
                #"["B3","X","Three",5,1,"$3.00,$2.50"]"#, "",
            ]
        )
        #expect(try await plugin.end() == 0)
        #expect(try await shop.text("catalog.B1") == #"{"title":"One","price":null,"brand":"Nokia"}"#)
        #expect(try await shop.text("catalog.B2") == #"{"title":"Two","price":1299.99,"brand":""}"#)
        #expect(try await shop.text("catalog.B3") == #"{"title":"Three","price":2.50,"brand":"X"}"#)
        #expect(try await shop.text("reviews.B1") == #"{"rating":3,"count":14}"#)
        #expect(try await shop.text("reviews.B2") == #"{"rating":2.9,"count":7}"#)
        #expect(plugin.output == "feed: published 3 products and 3 reviews, skipped 0 lines\n")
    }

    @Test("bad lines are reported with their number and skipped; the lines around them count")
    func badLines() async throws {
        let shop = try await Shop()
        let plugin = try track(
            shop,
            [
                #"{"sku":"a","title":"A","price":1}"#, "not JSON", "",
                #"{"sku":"b","title":"B","price":"free"}"#,
                #"{"sku":"c.d","title":"C"}"#, String(repeating: "x", count: 1_048_577),
                #"{"sku":"e","title":"E","price":5}"#,
            ]
        )
        #expect(try await plugin.end() == 0)
        #expect(try await shop.bus.keys().map(\.key).sorted() == ["catalog.a", "catalog.e"])
        let errors = plugin.errors.split(separator: "\n")
        let starts = [
            "feed:2: it is not JSON", "feed:4: \"free\" is not a price", "feed:5: \"sku\" is not text",
            "feed:6: it is too long",
        ]
        #expect(errors.count == starts.count)
        for (error, start) in zip(errors, starts) {
            #expect(error.hasPrefix(start) && error.hasSuffix("; skipped"))
        }
        #expect(plugin.output == "feed: published 2 products and 0 reviews, skipped 4 lines\n")
    }

    @Test("a value that the broker refuses is a bad line like others")
    func refused() async throws {
        let shop = try await Shop()
        let title = String(repeating: "x", count: 1_048_500)
        let plugin = try track(
            shop,
            [#"{"sku":"a","title":"\#(title)"}"#, #"{"sku":"b","title":"B"}"#]
        )
        #expect(try await plugin.end() == 0)
        #expect(try await shop.text("catalog.b") == #"{"title":"B","price":null}"#)
        #expect(try await shop.text("catalog.a") == nil)
        #expect(plugin.errors.hasPrefix("feed:1: ") && plugin.errors.hasSuffix("; skipped\n"))
    }

    @Test("standard input is published as it arrives, and its end ends the tracker")
    func standardInput() async throws {
        let shop = try await Shop()
        let plugin = try shop.start("review-tracker", ["--file", "-"], input: .typed)
        try plugin.type(#"{"sku":"a","rating":1,"count":1}"# + "\n" + #"{"sku":"a","rat"#)
        try await shop.waitFor("reviews.a", #"{"rating":1,"count":1}"#)
        try plugin.type(#"ing":2,"count":2}"# + "\n")
        try await shop.waitFor("reviews.a", #"{"rating":2,"count":2}"#)
        #expect(plugin.status == nil)
        plugin.closeInput()
        #expect(try await plugin.end() == 0)
        #expect(plugin.output == "-: published 0 products and 2 reviews, skipped 0 lines\n")
    }

    @Test("a pipe without input doesn't delay the end")
    func silentPipe() async throws {
        let shop = try await Shop()
        let plugin = try shop.start("review-tracker", ["--file", "-"], input: .typed)
        try plugin.type(#"{"sku":"a","rating":1,"count":1}"# + "\n")
        try await shop.waitFor("reviews.a", #"{"rating":1,"count":1}"#)
        #expect(try await plugin.stop() == 0)
    }

    @Test("a tracker without its broker ends on request")
    func withoutBroker() async throws {
        let shop = try await Shop()
        let plugin = try shop.start("review-tracker", ["--file", "-"], input: .typed)
        try plugin.type(#"{"sku":"a","rating":1,"count":1}"# + "\n")
        try await shop.waitFor("reviews.a", #"{"rating":1,"count":1}"#)
        shop.stopBroker()
        try plugin.type(#"{"sku":"a","rating":2,"count":2}"# + "\n")
        try await eventually("it knows") { !plugin.errors.isEmpty }
        #expect(try await plugin.stop() == 0)
    }

    @Test("what a lost connection delayed is published to the next broker")
    func newBroker() async throws {
        let shop = try await Shop()
        let plugin = try shop.start("review-tracker", ["--file", "-"], input: .typed)
        try plugin.type(#"{"sku":"a","rating":1,"count":1}"# + "\n")
        try await shop.waitFor("reviews.a", #"{"rating":1,"count":1}"#)
        try await shop.restartBroker()
        try plugin.type(#"{"sku":"a","rating":2,"count":2}"# + "\n")
        try await shop.waitFor("reviews.a", #"{"rating":2,"count":2}"#)
    }

    @Test("--rate spreads the lines over time")
    func rate() async throws {
        let shop = try await Shop()
        let lines = (1...6).map { #"{"sku":"a","rating":1,"count":\#($0)}"# }
        let start = ContinuousClock.now
        let plugin = try track(shop, lines, ["--rate", "5"])
        #expect(try await plugin.end() == 0)
        // There are five steps of 200 ms between six lines.
        #expect(start.duration(to: .now) >= .milliseconds(1_000))
        #expect(try await shop.text("reviews.a") == #"{"rating":1,"count":6}"#)
    }

    @Test("on request, it invents reviews after the last line until it is stopped")
    func further() async throws {
        let shop = try await Shop()
        let lines = [
            #"{"sku":"a","rating":4.0,"count":14}"#, #"{"sku":"b","title":"B","price":1}"#,
            #"{"sku":"c","rating":3.1,"count":2}"#, #"{"sku":"a","rating":4.1,"count":15}"#,
        ]
        let plugin = try track(shop, lines, ["--then-every", "0.01"])
        // One more each time, of which this may miss some.
        try await eventually("further reviews") {
            let count = try await shop.text("reviews.a")?.firstMatch(of: #/"rating":4.1,"count":(\d+)/#)
            return count.flatMap { Int($0.1) }.map { $0 >= 17 } ?? false
        }
        try await eventually("the others as well") {
            try await shop.text("reviews.c").map { $0 != #"{"rating":3.1,"count":2}"# } ?? false
        }
        #expect(try await plugin.stop() == 0)
        #expect(plugin.output == "feed: published 1 products and 3 reviews, skipped 0 lines\n")
    }

    @Test("if no line has reviews, it invents none and ends")
    func noFurther() async throws {
        let shop = try await Shop()
        let plugin = try track(shop, [#"{"sku":"b","title":"B","price":1}"#], ["--then-every", "0.01"])
        #expect(try await plugin.end() == 0)
    }

    @Test("a missing file, or something that is no file, is named with the reason, with status 1")
    func missingFile() async throws {
        let shop = try await Shop()
        for (path, reason) in [("no-such", "No such file or directory"), (".", "Is a directory")] {
            let plugin = try shop.start("review-tracker", ["--file", path])
            #expect(try await plugin.end() == 1)
            #expect(plugin.errors == "review-tracker: \(path) can't be read: \(reason)\n")
        }
    }

    @Test("without a file it says so, and ends with status 0")
    func noFile() async throws {
        let shop = try await Shop()
        let plugin = try shop.start("review-tracker")
        #expect(try await plugin.end() == 0)
        #expect(plugin.output == "nothing to read: --file names no file\n")
    }

    @Test("its help has status 0; a mistake is explained with status 64")
    func usage() async throws {
        let folder = NSTemporaryDirectory()
        let help = try TestProgram("review-tracker", ["--help"], in: folder, output: .files)
        #expect(try await help.end() == 0)
        #expect(help.output.contains("--file PATH") && help.output.contains("--rate N"))
        for (arguments, hint) in [
            (["--fiel", "x"], "--file"), (["--rate", "0"], "--rate"), (["x"], "\"x\""),
        ] {
            let mistaken = try TestProgram("review-tracker", arguments, in: folder, output: .files)
            #expect(try await mistaken.end() == 64)
            #expect(mistaken.errors.contains(hint))
        }
    }
}

@Suite("The phone catalogue", .someAtATime, .timeLimit(.minutes(20)))
struct PhoneCatalogueTests {
    private static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../shared/data/amazon_cellphones.ndjson").standardizedFileURL.path

    /// A price as the catalogue's own texts spell it: with a dollar sign.
    private func lowest(_ text: String) -> Decimal? {
        text.split(separator: "$").compactMap { Decimal(string: $0.filter { $0 != "," }) }.min()
    }

    @Test(
        "all 792 products are published, with every price and every review right",
        .enabled(if: FileManager.default.fileExists(atPath: path))
    )
    func everyPrice() async throws {
        let shop = try await Shop()
        let plugin = try shop.start("review-tracker", ["--file", Self.path])
        #expect(try await plugin.end() == 0)
        #expect(plugin.output.hasSuffix("published 792 products and 792 reviews, skipped 0 lines\n"))
        #expect(try await shop.bus.keys("catalog.*").count == 792)
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: Self.path)), as: UTF8.self)
        for line in text.split(separator: "\n").dropFirst() {
            let row = try #require(try JSON(String(line)).elements)
            let sku = try #require(row[0].string)
            let product = try #require(try await shop.bus.entry("catalog.\(sku)")?.value)
            let price = try #require(product["price"])
            #expect((price.isNull ? nil : Decimal(string: price.text)) == lowest(row[8].string ?? "?"))
            #expect(product["title"] == row[2])
            #expect(
                try await shop.text("reviews.\(sku)") == #"{"rating":\#(row[5]),"count":\#(row[7])}"#
            )
        }
    }
}
