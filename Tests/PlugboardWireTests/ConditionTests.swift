import PlugboardWire
import TestSupport
import Testing

@Suite("Conditions")
struct ConditionTests {
    private func conditions(_ text: String, at offset: Int = 0) throws(Refusal) -> Conditions {
        return try Conditions(where: Array(text.utf8).span, at: offset)
    }

    private func refusal(_ text: String) -> Refusal? {
        do throws(Refusal) {
            _ = try conditions(text, at: 100)
            return nil
        } catch {
            return error
        }
    }

    private func holds(_ text: String, for value: String) throws -> Bool {
        let conditions = try conditions(text)
        var comparer = JSONComparer()
        return withBytes(value) { conditions.hold(for: $0, using: &comparer) }
    }

    private let phone =
        #"{"price":99.90,"brand":"Nokia","tags":["old","r\u00e9d"],"stock":{"de":3},"gone":null}"#

    @Test(
        "hold",
        arguments: [
            #"{"/price":{"<":100},"/brand":{"in":["Nokia"]}}"#, #"{"/price":{"==":99.9}}"#,
            #"{"/price":{">=":9.99e1,"<=":99.900}}"#, #"{"/price":{">":0,"<":1e9}}"#,
            #"{"/brand":{"in":[1,null,"Nokia"]}}"#, #"{"/brand":{"prefix":"No"}}"#,
            #"{"/brand":{"prefix":""}}"#,
            #"{"/brand":{"<":"Nokib"}}"#, #"{"/brand":{">":"Nok"}}"#, #"{"/brand":{">=":"\u004eokia"}}"#,
            #"{"/tags/1":{"==":"réd"}}"#, #"{"/tags":{"==":["old","réd"]}}"#,
            #"{"/tags/1":{"prefix":"r\u00E9"}}"#,
            #"{"/stock":{"==":{"de":3.0}}}"#, #"{"/stock":{"in":[{"de":4},{"de":3}]}}"#,
            #"{"/gone":{"==":null}}"#, #"{"/gone":{"exists":true}}"#, #"{"/no":{"exists":false}}"#,
            #"{"":{"exists":true}}"#, #"{"/price":{"!=":100}}"#, #"{"/price":{"!=":"99.9"}}"#,
            #"{"/no":{"!=":1}}"#, #"{"/gone":{"!=":1}}"#,
        ]
    )
    func hold(text: String) throws {
        #expect(try holds(text, for: phone))
    }

    @Test(
        "don't hold",
        arguments: [
            #"{"/price":{"<":99.9}}"#, #"{"/price":{"<":100},"/brand":{"in":["Sony"]}}"#,
            #"{"/price":{"<":1000,">":100}}"#, #"{"/price":{"==":"99.90"}}"#, #"{"/price":{"<":"a"}}"#,
            #"{"/price":{"prefix":"9"}}"#, #"{"/brand":{"<":5}}"#, #"{"/brand":{">":5}}"#,
            #"{"/brand":{"prefix":"Nokia "}}"#, #"{"/brand":{"prefix":"nokia"}}"#, #"{"/tags":{"<":"z"}}"#,
            #"{"/no":{"==":null}}"#, #"{"/no":{"<":1}}"#, #"{"/no":{">=":1}}"#, #"{"/no":{"in":[null]}}"#,
            #"{"/no":{"prefix":""}}"#, #"{"/no":{"exists":true}}"#, #"{"/gone":{"exists":false}}"#,
            #"{"/gone":{"<=":0}}"#, #"{"/price":{"!=":9.99e1}}"#, #"{"/tags":{"!=":["old","réd"]}}"#,
            #"{"/tags/2":{"exists":true}}"#, #"{"/no":{"!=":1,"exists":true}}"#,
        ]
    )
    func fail(text: String) throws {
        #expect(try !holds(text, for: phone))
    }

    @Test("can be about a whole value that is no object")
    func whole() throws {
        #expect(try holds(#"{"":{">":20.5}}"#, for: "21"))
        #expect(try !holds(#"{"":{">":21}}"#, for: "21.0"))
        #expect(try holds(#"{"":{"prefix":"op"}}"#, for: "\"open\""))
        #expect(try holds(#"{"/0":{"==":1}}"#, for: "[1]"))
    }

    @Test(
        "compare numbers exactly, however they are spelled",
        arguments: [
            ("1.0", "1e0", 0), ("0.1", "0.10", 0), ("-0", "0", 0), ("-0.0e99", "0", 0), ("1e2", "100", 0),
            ("0.001e3", "1", 0), ("10e-1", "1", 0), ("1", "2", -1), ("-1", "-2", 1), ("-1", "1", -1),
            ("0", "1e-400", -1), ("0", "-1e-400", 1), ("9", "10", -1), ("0.9", "0.10", 1),
            ("1.01", "1.1", -1),
            ("123", "1234e-1", -1), ("100", "1001e-1", -1), ("1001e-1", "100", 1),
            ("9007199254740992", "9007199254740993", -1),
            ("0.1000000000000000055511151231257827", "0.1", 1), ("1e400", "1e401", -1),
            ("-1e400", "-1e401", 1),
            ("1e-400", "1e-401", 1), ("1e999999999", "1e1000000000", -1), ("1e999999999", "1", 1),
            ("1e-999999999", "1", -1), ("1e99999999999999999999999999", "1e99999999999999999999999998", 1),
            ("10e99999999999999999999999998", "1e99999999999999999999999999", 0),
            ("0.1e100000000000000000000", "1e99999999999999999999", 0),
            ("1e-99999999999999999999", "0.1e-99999999999999999998", 0),
            ("1e99999999999999999999", "1e-99999999999999999999", 1),
            ("1e-99999999999999999999", "1e99999999999999999999", -1),
            ("1e0000000000000000000000002", "100", 0),
            ("1E+0002", "100", 0), ("0e99999999999999999999", "0", 0),
        ]
    )
    func numbers(left: String, right: String, order: Int) throws {
        for (left, right, order) in [(left, right, order), (right, left, -order)] {
            #expect(try holds("{\"\":{\"<\":\(right)}}", for: left) == (order < 0))
            #expect(try holds("{\"\":{\"<=\":\(right)}}", for: left) == (order <= 0))
            #expect(try holds("{\"\":{\">\":\(right)}}", for: left) == (order > 0))
            #expect(try holds("{\"\":{\">=\":\(right)}}", for: left) == (order >= 0))
            #expect(try holds("{\"\":{\"==\":\(right)}}", for: left) == (order == 0))
            #expect(try holds("{\"\":{\"!=\":\(right)}}", for: left) == (order != 0))
        }
    }

    @Test("compare a large value with many others in reasonable time")
    func manyChoices() throws {
        let large = "[\((0..<100_000).map(String.init).joined(separator: ","))]"
        let choices = Array(repeating: "[]", count: Limits.choicesMax).joined(separator: ",")
        #expect(try !holds("{\"\":{\"in\":[\(choices)]}}", for: large))
        #expect(try holds("{\"/b\":{\"in\":[[1],{},[2.0]]},\"/a\":{\"!=\":[2]}}", for: #"{"a":[1],"b":[2]}"#))
    }

    @Test("compare a number that fills a line quickly")
    func longNumbers() throws {
        let zeros = String(repeating: "0", count: 200_000)
        #expect(try holds(#"{"":{"==":1}}"#, for: "1.\(zeros)"))
        #expect(try holds(#"{"":{">":1}}"#, for: "1.\(zeros)1"))
        #expect(try holds(#"{"":{"<":1e200001}}"#, for: "1\(zeros)"))
        #expect(try holds(#"{"":{"==":1e200000}}"#, for: "1\(zeros)"))
        #expect(try holds(#"{"":{"==":1e-200001}}"#, for: "0.\(zeros)1"))
    }

    @Test("agree with numbers that are written out", arguments: 0..<20)
    func decimals(seed: Int) throws {
        var random = SeededRandom(seed)
        for _ in 0..<100 {
            let (left, right) = (Self.number(&random), Self.number(&random))
            let (leftDigits, rightDigits) = (Self.inFull(left), Self.inFull(right))
            #expect(
                try holds("{\"\":{\"<\":\(right)}}", for: left) == (leftDigits < rightDigits),
                "\(left) \(right)"
            )
            #expect(
                try holds("{\"\":{\"==\":\(right)}}", for: left) == (leftDigits == rightDigits),
                "\(left) \(right)"
            )
        }
    }

    @Test(
        "compare strings by code point",
        arguments: [
            ("", "a"), ("a", "b"), ("a", "aa"), ("Z", "a"), ("z", "é"), ("é", "😀"), ("\u{FFFF}", "😀"),
            (#"\u0000"#, "a"), (#"\ue000"#, #"\ud83d\ude00"#), (#"a\\"#, #"a\\\\"#), ("a[", #"a\\"#),
            (#"a\\"#, "a]"),
            (#"\n"#, " "), ("ab", #"\u0061c"#),
        ]
    )
    func strings(less: String, more: String) throws {
        #expect(try holds("{\"\":{\"<\":\"\(more)\"}}", for: "\"\(less)\""))
        #expect(try holds("{\"\":{\">\":\"\(less)\"}}", for: "\"\(more)\""))
        #expect(try !holds("{\"\":{\">=\":\"\(more)\"}}", for: "\"\(less)\""))
        #expect(try !holds("{\"\":{\"==\":\"\(more)\"}}", for: "\"\(less)\""))
    }

    @Test("an operator may be spelled with escapes")
    func escapedOperator() throws {
        #expect(try holds(#"{"\u002fa":{"\u003c":2}}"#, for: #"{"a":1}"#))
    }

    @Test(
        "are refused with their place if they make no sense",
        arguments: [
            ("[]", .wrongType, 100), ("{}", .wrongType, 100), ("1", .wrongType, 100),
            (#"{"price":{"<":1}}"#, .wrongType, 102), (#"{"/a":1}"#, .wrongType, 106),
            (#"{"/a":{}}"#, .wrongType, 106), (#"{"/a":{"lt":1}}"#, .wrongType, 108),
            (#"{"/a":{"<":1,"<<":1}}"#, .wrongType, 114), (#"{"/a":{"<":true}}"#, .wrongType, 111),
            (#"{"/a":{"<=":null}}"#, .wrongType, 112), (#"{"/a":{">":[]}}"#, .wrongType, 111),
            (#"{"/a":{">=":{}}}"#, .wrongType, 112), (#"{"/a":{"in":"a"}}"#, .wrongType, 112),
            (#"{"/a":{"in":[]}}"#, .wrongType, 112), (#"{"/a":{"in":[ ]}}"#, .wrongType, 112),
            (#"{"/a":{"in":{"a":1}}}"#, .wrongType, 112), (#"{"/a":{"exists":1}}"#, .wrongType, 116),
            (#"{"/a":{"exists":null}}"#, .wrongType, 116), (#"{"/a":{"prefix":1}}"#, .wrongType, 116),
            (#"{"/a":{"<":1},"/\u0061":{">":1}}"#, .duplicateField, 115),
            (#"{"/a":{"<":1,"\u003c":2}}"#, .duplicateField, 114),
        ] as [(String, ErrorCode, Int)]
    )
    func refusals(text: String, code: ErrorCode, place: Int) {
        #expect(refusal(text)?.code == code)
        #expect(refusal(text)?.offset == place)
    }

    @Test(
        "an unknown operator gets a hint",
        arguments: [
            ("lt", "<"), ("=", "=="), ("===", "=="), ("=>", ">="), ("<>", "!="), ("exist", "exists"),
            ("IN", "in"),
            ("prefx", "prefix"), ("startsWith", "prefix"), ("$gte", ">="), ("!", "!="),
        ]
    )
    func hints(word: String, meant: String) {
        #expect(refusal("{\"/a\":{\"\(word)\":1}}")?.hint == "did you mean \"\(meant)\"?")
    }

    @Test("a plain value or an empty object gets the likely meaning as a hint")
    func plain() {
        #expect(refusal(#"{"/brand":"Nokia"}"#)?.hint == #"{"/brand":{"==":"Nokia"}}"#)
        #expect(refusal(#"{"/brand":{}}"#)?.hint == #"{"/brand":{"exists":true}}"#)
        #expect(refusal(#"{"/a":{"contains":1}}"#)?.hint == "there are == != < <= > >= in exists prefix")
    }

    @Test("a condition at each limit is accepted, and one beyond it is refused")
    func limits() throws {
        func parts(_ count: Int) -> String {
            "{\((0..<count).map { "\"/\($0)\":{\"<\":1}" }.joined(separator: ","))}"
        }
        #expect(try conditions(parts(Limits.pointersMax)).count == Limits.conditionsMax)
        #expect(refusal(parts(Limits.pointersMax + 1))?.code == .limit)
        let several = (0..<32).map { "\"/\($0)\":{\"<\":1,\">\":0}" }.joined(separator: ",")
        #expect(refusal("{\(several)}") == nil)
        #expect(refusal("{\(several),\"/x\":{\"<\":1}}")?.code == .limit)
        func choices(_ count: Int) -> String {
            "{\"/a\":{\"in\":[\(Array(repeating: "0", count: count).joined(separator: ","))]}}"
        }
        #expect(refusal(choices(Limits.choicesMax)) == nil)
        #expect(refusal(choices(Limits.choicesMax + 1))?.code == .limit)
        func bytes(_ count: Int) -> String {
            let frame = #"{"":{"==":""}}"#
            return #"{"":{"==":"\#(String(repeating: "x", count: count - frame.utf8.count))"}}"#
        }
        #expect(refusal(bytes(Limits.whereBytesMax)) == nil)
        #expect(refusal(bytes(Limits.whereBytesMax + 1))?.code == .limit)
    }

    /// A number of a few digits, with a point and an exponent anywhere.
    private static func number(_ random: inout SeededRandom) -> String {
        var text = random.oneIn(2) ? "-" : ""
        text += random.oneIn(3) ? "0" : String(1 + random.below(200))
        if random.oneIn(2) { text += "." + ["0", "00", "5", "50", "05", "125", "999"][random.below(7)] }
        if random.oneIn(2) {
            text += ["e", "E", "e+", "e-", "E-0"][random.below(5)] + String(random.below(6))
        }
        return text
    }

    /// A small number in units of 10^-20.
    private static func inFull(_ text: String) -> Int128 {
        let parts = text.lowercased().split(separator: "e")
        let decimals = parts[0].split(separator: ".")
        let fraction = decimals.count > 1 ? decimals[1] : ""
        let exponent = 20 - fraction.count + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
        let digits = Int128(decimals[0] + fraction) ?? 0
        return (0..<exponent).reduce(digits) { product, _ in product * 10 }
    }
}
