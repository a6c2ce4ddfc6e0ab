import PlugboardWire
import Testing

@Suite("The scanner")
struct ScannerTests {
    @Test(
        "accepts every form of value",
        arguments: [
            "null", "true", "false", "0", "-0", "1e400", "-12.50E-3", "123456789012345678901234567890",
            "\"\"", #""a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#, "\"é😀\u{10FFFD}\"", "[]", "{}", "[ 1 , [ ] ]",
            #"{ "a" : { "a" : 1 , "a" : 2 } }"#, "\"\u{7F}\"", " [1]\t",
        ]
    )
    func accepts(text: String) {
        #expect(failure(text) == nil)
    }

    @Test(
        "refuses what doesn't follow the grammar",
        arguments: [
            "", " ", "nul", "nulll", "True", "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "1 2", "\"",
            "\"a",
            "\"\\x\"", "\"\\u12g4\"", "\"\\u12\"", "\"a\tb\"", "[", "[1", "[1,", "[1,]", "[,1]", "{", "{1:2}",
            "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "[1}", "{\"a\":1]", "]", "NaN", "'a'",
            "\u{FEFF}1",
            "\"\u{0}\"", "1\u{0}", "[1]]", "\"\\\"",
        ]
    )
    func refuses(text: String) {
        #expect(failure(text)?.kind == .syntax)
    }

    @Test(
        "refuses what is not UTF-8",
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xEF, 0xBF],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3], [0xFF],
        ] as [[UInt8]]
    )
    func refusesEncoding(sequence: [UInt8]) {
        #expect(failure([0x22] + sequence + [0x22])?.kind == .encoding)
        #expect(failure([0x22] + Array("12345678".utf8) + sequence + [0x22])?.kind == .encoding)
    }

    @Test(
        "refuses a surrogate without its partner",
        arguments: [
            #""\ud800""#, #""\ud800x""#, #""\ud800\n""#, #""\udc00""#, #""\ud800\ud800""#, #""\ud800\u0041""#,
        ]
    )
    func refusesLoneSurrogates(text: String) {
        #expect(failure(text)?.kind == .encoding)
    }

    @Test("finds a mistake at each place of a long string", arguments: 0..<40)
    func findsMistakes(place: Int) {
        for bad in [UInt8(0x00), 0x1F, 0x0A] {
            var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 40)
            bytes[place] = bad
            #expect(failure([0x22] + bytes + [0x22])?.offset == place + 1)
        }
        var quoted = [UInt8](repeating: UInt8(ascii: "x"), count: 40)
        quoted[place] = UInt8(ascii: "\"")
        #expect(failure([0x22] + quoted + [0x22])?.offset == place + 2)
    }

    @Test("a number ends at the first byte that is no digit, wherever that is", arguments: 1..<20)
    func digits(count: Int) throws {
        let number = (0..<count).map { UInt8(0x31 + $0 % 9) }
        var wrong: [[UInt8]] = []
        for byte in UInt8.min...UInt8.max where !(0x30...0x39).contains(byte) && !".eE".utf8.contains(byte) {
            for bytes in [number, number + [byte], number + [byte] + number] {
                var scanner = JSONScanner(bytes.span)
                try scanner.skipValue()
                if scanner.position != count { wrong.append(bytes) }
            }
        }
        #expect(wrong == [])
    }

    @Test("accepts nesting up to the limit and not one level more")
    func depth() {
        let limit = Limits.depthMax
        func nested(_ depth: Int, _ open: String, _ close: String) -> String {
            String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        }
        #expect(failure(nested(limit, "[", "]")) == nil)
        #expect(failure(nested(limit + 1, "[", "]"))?.kind == .depth)
        #expect(failure(nested(limit, "{\"a\":", "}")) == nil)
        #expect(failure(nested(limit + 1, "{\"a\":", "}"))?.kind == .depth)
        #expect(failure(String(repeating: "[", count: limit) + String(repeating: "]", count: limit)) == nil)
        #expect(failure(String(repeating: "[", count: 100_000))?.kind == .depth)
    }

    @Test("never reads past its bytes, wherever a text is cut")
    func cuts() {
        let whole = Array(#"{"a":[1,-2.5e3,"é\u00e9\ud83d\ude00",true,false,null,{"b":{}}],"c":""}"#.utf8)
        #expect(failure(whole) == nil)
        for end in 0..<whole.count { #expect(failure(Array(whole[..<end])) != nil) }
    }

    @Test("survives any single byte being changed")
    func mutations() {
        let whole = Array(#"{"a":[1,"é\u00e9",null]}"#.utf8)
        for place in whole.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = whole
                changed[place] = byte
                _ = failure(changed)
            }
        }
    }
}
