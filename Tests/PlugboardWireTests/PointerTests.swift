import PlugboardWire
import TestSupport
import Testing

@Suite("JSON Pointers (RFC 6901)")
struct PointerTests {
    /// The part of a value that a pointer names. The pointer is JSON.
    private func part(_ pointer: String, of value: String) -> String? {
        parts([pointer], of: value)[0]
    }

    private func parts(_ pointers: [String], of value: String) -> [String?] {
        guard let set = try? set("[\(pointers.joined(separator: ","))]") else {
            return pointers.map { _ in nil }
        }
        return withBytes(value) { value in
            set.withParts(of: value) { parts in
                pointers.indices.map { parts.has($0) ? String(parts[$0]) : nil }
            }
        }
    }

    private func set(_ array: String, at offset: Int = 0) throws(Refusal) -> JSONPointerSet {
        try JSONPointerSet(array: Array(array.utf8).span, at: offset)
    }

    private func refusal(_ array: String) -> Refusal? {
        do throws(Refusal) {
            _ = try set(array, at: 100)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "all of section 5",
        arguments: [
            (#""/foo""#, #"["bar", "baz"]"#), (#""/foo/0""#, #""bar""#), (#""/""#, "0"), (#""/a~1b""#, "1"),
            (#""/c%d""#, "2"), (#""/e^f""#, "3"), (#""/g|h""#, "4"), (#""/i\\j""#, "5"), (#""/k\"l""#, "6"),
            (#""/ ""#, "7"), (#""/m~0n""#, "8"),
        ]
    )
    func section5(pointer: String, expected: String) {
        let members = [
            #""foo": ["bar", "baz"]"#, #""": 0"#, #""a/b": 1"#, #""c%d": 2"#, #""e^f": 3"#, #""g|h": 4"#,
            #""i\\j": 5"#, #""k\"l": 6"#, #"" ": 7"#, #""m~n": 8"#,
        ]
        let document = "{\n      \(members.joined(separator: ",\n      "))\n   }"
        #expect(part(pointer, of: document) == expected)
        #expect(part(#""""#, of: document) == document)
    }

    @Test(
        "digits without a leading zero name an element, and - names nothing",
        arguments: [
            ("0", "10"), ("2", "12"), ("3", nil), ("-", nil), ("00", nil), ("01", nil), ("+1", nil),
            ("-0", nil),
            ("1.0", nil), ("1e0", nil), ("", nil), (" 1", nil), ("18446744073709551616", nil),
            ("9999999999", nil),
        ] as [(String, String?)]
    )
    func elements(token: String, expected: String?) {
        #expect(part("\"/\(token)\"", of: "[10,11,12]") == expected)
        #expect(part("\"/a/\(token)\"", of: "{\"a\": [ 10 , 11 , 12 ] }") == expected)
        #expect(part("\"/\(token)\"", of: "{\"\(token)\":true}") == "true")
    }

    @Test("~01 is ~1 and not a slash")
    func tildes() {
        #expect(part(#""/~01""#, of: #"{"~1":1,"/":2}"#) == "1")
        #expect(part(#""/~10""#, of: #"{"~0":1,"/0":2}"#) == "2")
        #expect(part(#""/~0~1~0""#, of: #"{"~/~":1}"#) == "1")
    }

    @Test("names are compared by their characters, in the value as in the pointer")
    func spellings() {
        #expect(part(#""/é""#, of: #"{"\u00e9":1}"#) == "1")
        #expect(part(#""\u002f\u00E9\u007e1""#, of: #"{"é/":1}"#) == "1")
        #expect(part(#""/\ud83d\ude00""#, of: "{\"😀\":1}") == "1")
        #expect(part(#""/a\\nb""#, of: #"{"a\nb":1,"a\\nb":2}"#) == "2")
        // There is no normalization: e with a combining accent is not the accented e.
        #expect(part("\"/e\u{301}\"", of: "{\"é\":1}") == nil)
    }

    @Test("if a name occurs twice, its last member counts, with everything in it")
    func repeats() {
        #expect(part(#""/a""#, of: #"{"a":1,"b":2,"\u0061":3}"#) == "3")
        let value = #"{"a":{"b":1,"c":2},"a":{"c":3}}"#
        #expect(parts([#""/a/b""#, #""/a/c""#, #""/a""#], of: value) == [nil, "3", #"{"c":3}"#])
        #expect(parts([#""/a""#, #""/a/b""#], of: #"{"a":{"b":1},"a":7}"#) == ["7", nil])
    }

    @Test("many pointers are found at once, even within each other")
    func together() {
        let pointers = [#""/a/0/b""#, #""/a/0""#, #""/a/1/b""#, #""""#, #""/c""#, #""/a/0/d""#]
        let value = #"{"c": "x\"}" , "a":[ {"b":[]}, {"b":{}} ]}"#
        #expect(parts(pointers, of: value) == ["[]", #"{"b":[]}"#, "{}", value, #""x\"}""#, nil])
    }

    @Test("a pointer into a scalar names nothing", arguments: ["1", "\"a\"", "null", "true", "[]", "{}"])
    func scalars(value: String) {
        #expect(part(#""/a""#, of: value) == nil)
        #expect(part(#""/0""#, of: value) == nil)
        #expect(part(#""""#, of: value) == value)
    }

    @Test("a pointer that occurs twice counts once")
    func twice() throws {
        let pointers = try set(#"["/a","/b","\u002fa"]"#)
        #expect(pointers.count == 2)
    }

    @Test(
        "an invalid pointer is refused, with its place",
        arguments: [
            (#"["a"]"#, .wrongType, 102), (#"["/a","b/c"]"#, .wrongType, 107), (#"["/~"]"#, .wrongType, 103),
            (#"["/a~2b"]"#, .wrongType, 104), (#"["/\u0061/~x"]"#, .wrongType, 110),
            (#"[1]"#, .wrongType, 101),
            (#"[ ["/a"]]"#, .wrongType, 102), ("[]", .wrongType, 100), ("{}", .wrongType, 100),
            (#""/a""#, .wrongType, 100), ("null", .wrongType, 100),
        ] as [(String, ErrorCode, Int)]
    )
    func refusals(array: String, code: ErrorCode, place: Int) {
        #expect(refusal(array)?.code == code)
        #expect(refusal(array)?.offset == place)
    }

    @Test("a name without its slash gets it in the hint")
    func slash() {
        #expect(refusal(#"["price"]"#)?.hint?.contains(#""/price""#) == true)
    }

    @Test("there is room for 64 pointers of 256 bytes and not for one more")
    func limits() throws {
        func array(_ count: Int) -> String {
            "[\((0..<count).map { "\"/p\($0)\"" }.joined(separator: ","))]"
        }
        let all = try set(array(Limits.pointersMax))
        #expect(all.count == Limits.pointersMax)
        #expect(refusal(array(Limits.pointersMax + 1))?.code == .limit)
        let value = "{\((0..<64).map { "\"p\($0)\":\($0)" }.joined(separator: ","))}"
        withBytes(value) { value in
            all.withParts(of: value) { parts in
                for pointer in 0..<64 { #expect(String(parts[pointer]) == "\(pointer)") }
            }
        }
        let long = String(repeating: "é", count: Limits.pointerBytesMax / 2 - 1)
        #expect(refusal("[\"//\(long)\"]") == nil)
        #expect(refusal("[\"//\(long)x\"]")?.code == .limit)
        // JSON's escapes don't count towards the limit.
        #expect(refusal("[\"\\u002f/\(long)\"]") == nil)
    }

    @Test("a pointer may be as deep as it likes")
    func depth() {
        let slashes = String(repeating: "/", count: Limits.pointerBytesMax)
        let depth = Limits.depthMax
        let value = String(repeating: "{\"\":", count: depth) + "1" + String(repeating: "}", count: depth)
        #expect(part("\"\(slashes)\"", of: value) == nil)
        #expect(part("\"\(slashes.prefix(depth))\"", of: value) == "1")
    }

    @Test("finds what a search through a tree finds", arguments: 0..<40)
    func property(seed: Int) throws {
        var random = SeededRandom(seed)
        for _ in 0..<60 {
            let tree = Tree.random(Tree.Recipe(repeats: true), &random)
            let paths = (0..<5).map { _ in
                (0..<random.below(4)).map { _ in Tree.names[random.below(Tree.names.count)] }
            }
            let pointers = paths.map { path in
                let tokens = path.map { $0.replacing("~", with: "~0").replacing("/", with: "~1") }
                return Tree.string(tokens.map { "/" + $0 }.joined())
            }
            guard Set(pointers).count == pointers.count else { continue }
            let value = tree.spelled(&random)
            let found = parts(pointers.map { $0.spelled(&random) }, of: value)
            for (path, part) in zip(paths, found) {
                #expect(part.flatMap { Tree($0) } == tree.part(path[...]), "\(path) of \(value)")
            }
        }
    }
}
