// JSON as bytes, among Codable types, and as a part of them.

import TestSupport
import Testing

@testable import PlugboardClient

@Suite("JSON")
struct JSONTests {
    struct Product: Codable, Equatable {
        var title: String
        var extra: JSON
    }

    @Test(
        "text that is JSON is kept unchanged",
        arguments: ["1000.00", "-0", #"{"b":1,"a":1}"#, "[ 1 ]", "null"]
    )
    func kept(text: String) throws {
        #expect(try JSON(text).text == text)
    }

    @Test(
        "text that isn't JSON is refused with the place",
        arguments: ["", "{", "01", "'a'", "nul", "1 2", "\u{FEFF}1"]
    )
    func refused(text: String) throws {
        let error = #expect(throws: BusError.self) { try JSON(text) }
        #expect(error.map { "\($0)".contains("at byte") } == true)
    }

    @Test("bytes that aren't UTF-8 are refused")
    func notUTF8() {
        #expect(throws: BusError.self) { try JSON(bytes: [0x22, 0xFF, 0x22]) }
    }

    @Test("line breaks between parts become spaces, so that a value is one line")
    func oneLine() throws {
        let json = try JSON("{\r\n  \"a\": \"x\\n\"\n}")
        #expect(!json.bytes.contains(0x0A) && !json.bytes.contains(0x0D))
        #expect(try json.decode(as: [String: String].self) == ["a": "x\n"])
    }

    @Test(
        "white space round a value is removed, so that a value has only one beginning",
        arguments: [" null", "null\n", "\t null \r\n"]
    )
    func trimmed(text: String) throws {
        #expect(try JSON(text) == JSON.null)
        let product = Product(title: "A", extra: try JSON(" { \"a\" : [ 1 ] } "))
        #expect(try JSON(encoding: product).decode(as: Product.self).extra["a"]?.elements == [.integer(1)])
    }

    @Test("strings are escaped as JSON requires", arguments: ["", "a\"b\\c\n\u{1}", "\u{1F4F1} ü", "/"])
    func strings(text: String) throws {
        #expect(try JSON.string(text).decode(as: String.self) == text)
        #expect(try JSON(JSON.string(text).text) == JSON.string(text))
    }

    @Test("as a part of another type, every kind of value comes back")
    func nested() throws {
        let text =
            #"{"list":[1,-2.5,true,false,null,"t\"",{"deep":[[]]}],"empty":{},"big":1234567890123456789}"#
        let product = Product(title: "A", extra: try JSON(text))
        let json = try JSON(encoding: product)
        let back = try json.decode(as: Product.self)
        let values = try back.extra.decode(as: [String: JSON].self)
        #expect(values["big"]?.text == "1234567890123456789")
        #expect(values["empty"]?.text == "{}")
        let list = try #require(values["list"]).decode(as: [JSON].self).map(\.text)
        #expect(list == ["1", "-2.5", "true", "false", "null", #""t\"""#, #"{"deep":[[]]}"#])
    }

    @Test("an optional JSON is JSON or nil")
    func optional() throws {
        #expect(try JSON(encoding: JSON("1.0") as JSON?).text == "1.0")
        #expect(try JSON(encoding: nil as Int?).text == "null")
        #expect(try JSON("2.50").decode(as: JSON?.self)?.text == "2.50")
    }

    @Test("a value that can't be written as JSON is an error, not a trap")
    func unencodable() {
        #expect(throws: BusError.self) { try JSON(encoding: Double.nan) }
    }

    @Test("lines that don't belong to the protocol are errors, never traps")
    func malformedLines() {
        let lines = [
            "", " ", "{", "}", "[]", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,",
            "{\"a\":1,}", "{,}",
            "{\"a\"1}", "{1:1}", "{\"a\":1 \"b\":2}", "{\"ok\":1,\"id\":x}", "\u{0}",
        ]
        for line in lines where ParsedLine(Array(line.utf8).span) != nil { Issue.record("\(line)") }
    }

    @Test("fields of the wrong type count as absent")
    func wrongTypes() throws {
        let text = #"{"event":5,"sub":"x","key":7,"revision":-1,"by":[],"cause":1.5,"initial":1,"keys":3}"#
        let text8 = Array(text.utf8)
        do {
            let bytes = text8.span
            guard let line = ParsedLine(bytes) else { throw NeverHappened(description: "no line") }
            #expect(Event(line, bytes) == nil)
            #expect(bytes.text(line.key) == nil)
            #expect(bytes.text(line.by) == nil)
            #expect(bytes.integer(line.revision) == nil)
            #expect(bytes.integer(line.cause) == nil)
            #expect(bytes.integer(line.sub) == nil)
            #expect(bytes.flag(line.initial) == false)
            let reply = Reply(copying: bytes, line)
            #expect(try reply.keys().isEmpty)
        }
    }

    @Test("an integer above 2^53 is refused, one just below is accepted")
    func integers() {
        func integer(_ text: String) -> Int? {
            Array(text.utf8).span.integer(.init(0, text.utf8.count))
        }
        #expect(integer("9007199254740991") == 9_007_199_254_740_991)
        #expect(integer("9007199254740992") == nil)
        #expect(integer("99999999999999999999999999") == nil)
        #expect(integer("") == nil)
    }
}
