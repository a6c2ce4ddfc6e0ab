import Testing

@testable import PlugboardClient

@Suite("Parts of a JSON value")
struct JSONPartsTests {
    @Test("a member keeps the spelling of its number")
    func spelling() throws {
        let product = try JSON(#"{"title":"Phone","price":49.90,"weight":1e2}"#)
        #expect(product["price"]?.text == "49.90")
        #expect(product["weight"]?.text == "1e2")
        #expect(product["colour"] == nil)
    }

    @Test("of members with the same name the last one counts, however the name is spelled")
    func repeatedNames() throws {
        #expect(try JSON(#"{"a":1,"\u0061":2}"#)["a"]?.text == "2")
    }

    @Test("members and elements come in order, without white space")
    func order() throws {
        let members = try #require(try JSON(#" { "b" : [ 1 , 2 ] , "a" : { } } "#).members)
        #expect(members.map(\.name) == ["b", "a"])
        #expect(members[0].value.elements?.map(\.text) == ["1", "2"])
        #expect(members[1].value.members?.isEmpty == true)
    }

    @Test("a value of another kind has none of these parts")
    func otherKinds() throws {
        for text in ["1", "\"x\"", "true", "null", "[]"] {
            #expect(try JSON(text).members == nil)
            #expect(try JSON(text)["a"] == nil)
        }
        for text in ["1", "\"x\"", "true", "null", "{}"] { #expect(try JSON(text).elements == nil) }
    }

    @Test("a string's escapes are decoded")
    func strings() throws {
        #expect(try JSON(#" "a\n\u00e9\ud83d\ude00" "#).string == "a\né😀")
        #expect(try JSON(#""""#).string == "")
        #expect(try JSON("5").string == nil)
    }

    @Test("an integer has only digits and fits in 64 bits")
    func integers() throws {
        #expect(try JSON(" -12 ").integer == -12)
        #expect(try JSON("9223372036854775807").integer == .max)
        for text in ["9223372036854775808", "1.0", "1e2", "\"1\"", "null", "[1]"] {
            #expect(try JSON(text).integer == nil)
        }
    }

    @Test("a value that is built from parts is JSON, whatever its names and strings are")
    func making() throws {
        let made = JSON.object([
            "a\"b": .string("line\nfeed \\ \"quote\" 😀"), "n": .integer(.min),
            "list": .array([.true, .null]),
            "empty": .array([]),
        ])
        #expect(try JSON(made.text) == made)
        #expect(made["a\"b"]?.string == "line\nfeed \\ \"quote\" 😀")
        #expect(made["n"]?.integer == .min)
        #expect(made["list"]?.text == "[true,null]")
        #expect(made["empty"]?.text == "[]")
    }
}

@Suite("Tokens of keys")
struct KeyTokenTests {
    @Test("text that can be between two dots", arguments: ["B07", "größe", "a-b_c", "😀", "a$"])
    func accepted(_ token: String) {
        #expect(token.isKeyToken)
    }

    @Test(
        "text that can't",
        arguments: [
            "", ".", "a.b", "a b", "a\tb", "*", "a*", "\"", "\\", "$a", "a\u{0}", "a\u{A0}", ".\u{301}",
            "$\u{301}",
        ]
    )
    func refused(_ token: String) {
        #expect(!token.isKeyToken)
    }
}
