import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("Text for terminals", .someAtATime)
struct PrintableTests {
    @Test("control characters and direction marks are escaped, everything else stays")
    func escapes() {
        #expect(Printable.text("a\tb ü 漢 👍🏽") == "a\tb ü 漢 👍🏽")
        #expect(Printable.text("\u{1B}[31m\u{7F}\u{9B}\u{0}\n") == "\\u001b[31m\\u007f\\u009b\\u0000\\u000a")
        #expect(Printable.text("a\u{202E}b\u{2066}c\u{200F}\u{2028}") == "a\\u202eb\\u2066c\\u200f\\u2028")
    }

    @Test("invisible characters are escaped as well, above U+FFFF as the pair that JSON writes")
    func invisible() {
        #expect(Printable.text("a\u{AD}b\u{200B}\u{2060}\u{FEFF}") == "a\\u00adb\\u200b\\u2060\\ufeff")
        #expect(Printable.text("\u{FFF9}x\u{E0041}") == "\\ufff9x\\udb40\\udc41")
        #expect(Printable.text("❤\u{FE0F}👩\u{200D}🚀") == "❤\\ufe0f👩\\u200d🚀")
    }

    @Test("no control character at all passes")
    func all() {
        for value in Array(0..<0x20) + Array(0x7F..<0xA0) where value != 9 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let shown = Printable.text(String(scalar))
            #expect(shown.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
        }
    }

    @Test("JSON made safe is the same JSON")
    func json() throws {
        let value = "[\"a\u{7F}\u{9B}\u{202E}\",\r\n1]"
        let shown = Printable.json(Array(value.utf8))
        #expect(shown == "[\"a\\u007f\\u009b\\u202e\",  1]")
        let array = try #require(try JSONValue(parsing: Array(shown.utf8)[...]).array)
        #expect(array[0].string == "a\u{7F}\u{9B}\u{202E}")
    }

    @Test("bytes that are not UTF-8 become replacement characters")
    func malformed() {
        #expect(Printable.text([0x61, 0xFF, 0x62]) == "a\u{FFFD}b")
    }

    @Test("a long text is cut with a note of what is left out")
    func shortened() {
        #expect(Printable.shortened("abc", to: 3) == "abc")
        #expect(Printable.shortened("abcdé", to: 3) == "abc… (3 bytes more)")
        #expect(Printable.shortened("üüü", to: 3) == "üüü")
    }
}

@Suite("A child's output", .someAtATime)
struct OutputLinesTests {
    private func lines(_ chunks: String...) -> [String] {
        var lines = OutputLines()
        var shown = chunks.flatMap { lines.take(Array($0.utf8)) }
        if let last = lines.finish() { shown.append(last) }
        return shown
    }

    @Test("lines are put together from pieces, and the last needs no end")
    func pieces() {
        #expect(lines("a", "b\nc", "d\n\nrest") == ["ab", "cd", "", "rest"])
        #expect(lines("a\n") == ["a"])
        #expect(lines() == [])
    }

    @Test("colours are removed, other control characters are escaped")
    func controls() {
        #expect(lines("\u{1B}[1;31mred\u{1B}[0m\u{1B}[K\n") == ["red"])
        #expect(lines("\u{1B}]0;title\u{7}\n") == ["\\u001b]0;title\\u0007"])
        #expect(lines("\u{1B}[2J\u{1B}[H\n") == ["\\u001b[2J\\u001b[H"])
        #expect(lines("\u{1B}[31") == ["\\u001b[31"])
    }

    @Test("of a line that is drawn over itself, the last state is shown")
    func redrawn() {
        #expect(lines("10 %\r50 %\r100 %\n") == ["100 %"])
        #expect(lines("dos\r\n") == ["dos"])
    }

    @Test("a line without an end is shown in pieces, so that memory stays limited")
    func endless() {
        let shown = lines(String(repeating: "x", count: OutputLines.lineBytesMax * 2 + 5))
        #expect(shown.map(\.count) == [OutputLines.lineBytesMax, OutputLines.lineBytesMax, 5])
    }
}

@Suite("Words for a shell", .someAtATime)
struct ShellWordTests {
    @Test("only words that the shell would read differently are quoted")
    func quoting() {
        #expect(ShellWord.quoted("/tmp/bus.sock") == "/tmp/bus.sock")
        #expect(ShellWord.quoted("a b") == "'a b'")
        #expect(ShellWord.quoted("it's") == #"'it'\''s'"#)
        #expect(ShellWord.quoted("") == "''")
        #expect(ShellWord.quoted("*") == "'*'")
    }
}

@Suite("JSON, one level at a time", .someAtATime)
struct JSONValueTests {
    private func object(_ text: String) -> Result<[String], JSONFault> {
        do throws(JSONFault) {
            let object = try JSONObject(parsing: Array(text.utf8)[...])
            return .success(object.members.map { "\($0.name)@\($0.offset)=\($0.value.text)" })
        } catch {
            return .failure(error)
        }
    }

    @Test("members have decoded names, unchanged values, and their places")
    func members() {
        #expect(object(#" { "a" : 1.0 ,"\u0062":[ {}] } "#) == .success(["a@3=1.0", "b@14=[ {}]"]))
        #expect(object("{}") == .success([]))
        #expect(object(#"{"a":"}"}"#) == .success([#"a@1="}""#]))
    }

    @Test(
        "a text that is no object is refused with the place",
        arguments: [
            ("", 0, "an object"), ("[1]", 0, "an object"), (#"{"a"}"#, 4, "a colon"),
            (#"{"a":1"#, 6, "a comma or }"),
            (#"{"a":1,}"#, 7, "a name in quotes"), (#"{"a":1} x"#, 8, "nothing more"),
            ("{a:1}", 1, "a name in quotes"),
            (#"{"a":tru}"#, 8, "true, false or null"),
        ]
    )
    func faults(text: String, offset: Int, expected: String) {
        guard case .failure(let fault) = object(text) else {
            Issue.record("accepted: \(text)")
            return
        }
        #expect(fault.offset == offset, "\(text)")
        #expect(fault.message.contains(expected), "\(fault.message)")
    }

    @Test("values know their kind")
    func kinds() throws {
        let object = try JSONObject(
            parsing: Array(#"{"s":"a\n","n":12,"m":-1,"t":true,"l":["x","y"],"k":[1],"o":{"p":null}}"#.utf8)[
                ...
            ]
        )
        #expect(object["s"]?.string == "a\n")
        #expect(object["n"]?.integer == 12)
        #expect(object["m"]?.integer == nil)
        #expect(object["t"]?.bool == true)
        #expect(object["l"]?.strings == ["x", "y"])
        #expect(object["k"]?.strings == nil)
        #expect(object["k"]?.array?.count == 1)
        #expect(object["o"]?.object?["p"]?.kindName == "null")
        #expect(object["none"] == nil)
    }
}
