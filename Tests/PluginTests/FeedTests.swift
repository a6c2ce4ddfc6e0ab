import PlugboardClient
import Testing

@testable import ReviewTrackerPlugin

@Suite("Prices as shops print them")
struct PriceTextTests {
    @Test(
        "the lowest price is a JSON number with the decimals that were printed",
        arguments: [
            ("$49.95", "49.95"), ("$1,299.99", "1299.99"), ("$3.00,$2.50", "2.50"), ("$2.50,$3.00", "2.50"),
            ("$1,149.99,$1,249.99", "1149.99"), ("$1,249.99,$999", "999"), ("49.90", "49.90"), ("7", "7"),
            ("$1,234,567.80", "1234567.80"), ("$0.00", "0.00"), (" $5.00, $4.00 ", "4.00"), ("$10,$9", "9"),
            ("$1000,$200", "200"), ("$0.10,$0.1", "0.10"),
            ("\"$142.99,$139.00\"", "139.00"), ("\"$1,299.99\"", "1299.99"),
        ]
    )
    func lowest(_ text: String, _ price: String) throws {
        #expect(try PriceText.lowest(text).text == price)
    }

    @Test("no text means that the product is not for sale", arguments: ["", " ", "\"\""])
    func notForSale(_ text: String) throws {
        #expect(try PriceText.lowest(text) == .null)
    }

    @Test(
        "a text that is no price is refused and quoted",
        arguments: [
            "free", "$", "$49.95,", ",$49.95", "$-5", "-5", "$5.", "$.99", "$1.2.3", "$5 each", "€5", "$007",
            "$1e5", "$4.00$5.00", "$5,,$6", "NaN", "\"", "\"$5", "$99999999999999999999999999999",
        ]
    )
    func nonsense(_ text: String) {
        #expect(throws: FeedFault("\"\(text)\" is not a price")) { try PriceText.lowest(text) }
    }
}

@Suite("What a feed's lines say")
struct FeedTests {
    /// The last line's product and reviews as text, after the other lines were read.
    private func read(_ lines: String...) throws -> [String?] {
        var feed = Feed()
        for line in lines.dropLast() {
            let none = try feed.record(Array(line.utf8))
            #expect(none == nil)
        }
        let record = try feed.record(Array((lines.last ?? "").utf8))
        return [record?.sku, record?.product?.text, record?.reviews?.text]
    }

    private func fault(_ lines: String...) -> String? {
        var feed = Feed()
        do {
            for line in lines { _ = try feed.record(Array(line.utf8)) }
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("an object tells about a product, about its reviews, or about both")
    func objects() throws {
        #expect(
            try read(#"{"colour":"red","count":14,"price":49.90,"rating":3.9,"sku":"a","title":"A"}"#)
                == ["a", #"{"title":"A","price":49.90,"colour":"red"}"#, #"{"rating":3.9,"count":14}"#]
        )
        #expect(try read(#"{"sku":"a","title":"A","price":1}"#) == ["a", #"{"title":"A","price":1}"#, nil])
        #expect(
            try read(#"{"sku":"a","rating":4.0,"count":0}"#) == ["a", nil, #"{"rating":4.0,"count":0}"#]
        )
    }

    @Test("no price, an empty one and null all mean not for sale")
    func notForSale() throws {
        for price in ["", #","price":null"#, #","price":"""#] {
            #expect(
                try read(#"{"sku":"a","title":"A"\#(price)}"#) == ["a", #"{"title":"A","price":null}"#, nil]
            )
        }
    }

    @Test("arrays are read with their header row, in any order of columns")
    func arrays() throws {
        let header = #"["asin","brand","title","rating","totalReviews","prices"]"#
        #expect(
            try read(header, #"["B07","Nokia","Phone",3,14,"$1,299.99,$59.95"]"#)
                == ["B07", #"{"title":"Phone","price":59.95,"brand":"Nokia"}"#, #"{"rating":3,"count":14}"#]
        )
        #expect(
            try read(#"["price","sku","title"]"#, "", #"[5.50,"a","A"]"#)
                == ["a", #"{"title":"A","price":5.50}"#, nil]
        )
        #expect(try read(header) == [nil, nil, nil])
    }

    @Test("an object may stand between the arrays")
    func mixed() throws {
        var feed = Feed()
        for line in [#"["sku","title"]"#, #"{"sku":"b","rating":1,"count":2}"#] {
            _ = try feed.record(Array(line.utf8))
        }
        let record = try feed.record(Array(#"["a","A"]"#.utf8))
        #expect(record?.sku == "a")
    }

    @Test("a line that can't be used is refused with a reason")
    func faults() {
        #expect(fault("{")?.hasPrefix("it is not JSON: ") == true)
        #expect(fault("5") == "it is neither an object nor an array")
        #expect(fault(#"["a","A"]"#)?.contains("no header row") == true)
        #expect(fault(#"["sku",5]"#)?.contains("no header row") == true)
        #expect(fault(#"["sku","title"]"#, #"["a"]"#) == "it has 1 values for 2 columns")
        #expect(fault(#"{"sku":"a"}"#) == "it says nothing of a")
        #expect(fault(#"{"sku":"a","price":5}"#) == #""title" is not text"#)
        #expect(fault(#"{"sku":"a","title":5}"#) == #""title" is not text"#)
        #expect(fault(#"{"sku":"a","title":"A","price":-1}"#) == "-1 is not a price")
        #expect(fault(#"{"sku":"a","title":"A","price":[1]}"#) == "[1] is not a price")
        #expect(fault(#"{"sku":"a","title":"A","price":"free"}"#) == #""free" is not a price"#)
        for reviews in [
            #""rating":4"#, #""count":4"#, #""rating":"4","count":1"#, #""rating":4,"count":1.5"#,
        ] {
            #expect(fault(#"{"sku":"a",\#(reviews)}"#)?.contains("both numbers") == true)
        }
    }

    @Test("a sku must fit into a key", arguments: ["5", "null", #""""#, #""a.b""#, #""*""#, #""a b""#])
    func skus(_ sku: String) {
        #expect(fault(#"{"sku":\#(sku),"title":"A"}"#) == #""sku" is not text that can stand in a key"#)
    }

    @Test("lines are the same wherever chunks end, and a line that is too long doesn't affect the next")
    func splitting() throws {
        let long = String(repeating: "x", count: InputLines.lineBytesMax)
        let bytes = Array("a\r\n\n\(long)\n\(long)y\nb\n".utf8)
        for size in [1 << 16, 1_000_003] {
            var lines: [InputLine] = []
            var splitter = LineSplitter {
                lines.append($0)
                return true
            }
            for start in stride(from: 0, to: bytes.count, by: size) {
                let wantsMore = splitter.add(bytes[start..<min(start + size, bytes.count)])
                #expect(wantsMore)
            }
            #expect(lines.map(\.number) == [1, 2, 3, 4, 5])
            #expect(lines.map(\.bytes?.count) == [1, 0, long.utf8.count, nil, 1])
        }
    }
}

@Suite("Invented reviews")
struct FurtherReviewsTests {
    private func record(_ sku: String, _ count: Int) throws -> FeedRecord {
        try FeedRecord([("sku", .string(sku)), ("rating", try JSON("4.0")), ("count", .integer(count))])
    }

    @Test("they continue from the newest counts, one product after the other")
    func turns() throws {
        var further = FurtherReviews()
        #expect(further.next() == nil)
        for (sku, count) in [("a", 1), ("b", 7), ("a", 3)] { further.note(try record(sku, count)) }
        for (sku, count) in [("a", 4), ("b", 8), ("a", 5)] {
            #expect(further.next() == (try record(sku, count)))
        }
    }

    @Test("64 products have them, one more doesn't; a count at its limit ends them")
    func limits() throws {
        var further = FurtherReviews()
        for number in 0...FurtherReviews.productsMax { further.note(try record("p\(number)", 1)) }
        let told = (0...FurtherReviews.productsMax).map { _ in further.next()?.sku }
        #expect(told == (0..<FurtherReviews.productsMax).map { "p\($0)" } + ["p0"])
        var full = FurtherReviews()
        full.note(try record("a", Int.max))
        #expect(full.next() == nil)
    }
}
