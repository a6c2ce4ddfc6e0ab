import PlugboardWire
import TestSupport
import Testing

@Suite("Equal values")
struct EqualityTests {
    private func areEqual(_ left: String, _ right: String, _ sameness: JSONSameness = .meaning) -> Bool {
        var comparer = JSONComparer()
        return withBytes(left) { left in withBytes(right) { comparer.areEqual(left, $0, sameness) } }
    }

    @Test(
        "mean the same, however they are written",
        arguments: [
            ("1", "1.0"), ("1", "1e0"), ("100", "1E+2"), ("0.1", "0.10"), ("-0", "0"), ("0e5", "-0.00"),
            ("1e-2", "0.01"), (#""a""#, #""\u0061""#), (#""/""#, #""\/""#), (#""😀""#, #""\ud83d\ude00""#),
            ("[1,2]", "[ 1.0 , 2 ]"), (#"{"a":1,"b":2}"#, #"{ "b":2.0, "\u0061" : 1 }"#),
            (#"{"a":{"b":[{"c":1}]}}"#, #"{"a":{"b":[{"c":10e-1}]}}"#),
            ("[]", "[ ]"), ("{}", "{ }"),
        ]
    )
    func equal(left: String, right: String) {
        #expect(areEqual(left, right))
        #expect(areEqual(right, left))
        #expect(areEqual(left, right, .spelling) == (Tree(left)?.asSpelled == Tree(right)?.asSpelled))
    }

    @Test(
        "aren't those that are only similar",
        arguments: [
            ("1", "2"), ("1", "\"1\""), ("0", "false"), ("null", "false"), ("\"\"", "null"), ("[]", "{}"),
            ("[1,2]", "[2,1]"), ("[1]", "[1,1]"), ("[]", "[[]]"), (#"{"a":1}"#, #"{"b":1}"#),
            (#"{"a":1}"#, #"{"a":1,"b":1}"#), (#"{"a":1,"b":1}"#, #"{"a":1,"c":1}"#), (#""a""#, #""A""#),
            (#""é""#, "\"e\u{301}\""), (#""\\n""#, #""\n""#),
            (#"{"a":null}"#, "{}"), ("1e400", "1e401"), ("12345678901234567890", "12345678901234567891"),
        ]
    )
    func unequal(left: String, right: String) {
        for sameness in [JSONSameness.meaning, .spelling] {
            #expect(!areEqual(left, right, sameness))
            #expect(!areEqual(right, left, sameness))
        }
    }

    @Test("by spelling, 1.0 is not 1, but the order of members still doesn't matter")
    func spelling() {
        #expect(!areEqual("1", "1.0", .spelling))
        #expect(!areEqual("[0]", "[-0]", .spelling))
        #expect(areEqual(#"{"a":1.0,"b":"\u0041"}"#, #"{"b":"A","\u0061":1.0}"#, .spelling))
    }

    @Test("if a name occurs twice, its last member counts, whatever is in between")
    func repeats() {
        for sameness in [JSONSameness.meaning, .spelling] {
            for other in [
                #"{"a":1,"a":2}"#, #"{"a": 1,"a":2}"#, #"{"a":2}"#, #"{"a":{"b":[]},"\u0061":2}"#,
                #"{"a":2,"a":2}"#, #"{"a":1,"a":1,"a":2}"#,
            ] {
                #expect(areEqual(#"{"a":1,"a":2}"#, other, sameness), "\(other)")
                #expect(areEqual(other, #"{"a":1,"a":2}"#, sameness), "\(other)")
                #expect(areEqual(#"[{"a":1,"a":2},0]"#, "[ \(other),0]", sameness), "\(other)")
            }
            for other in [
                #"{"a":2,"a":1}"#, #"{"a":1}"#, #"{"a":2,"b":1}"#, #"{"b":1,"a":2,"b":1}"#, "{}",
                #"{"a":1,"a":2,"a":null}"#,
            ] {
                #expect(!areEqual(#"{"a":1,"a":2}"#, other, sameness), "\(other)")
                #expect(!areEqual(other, #"{"a":1,"a":2}"#, sameness), "\(other)")
            }
        }
    }

    @Test("a value compares again as it did the first time, with repeated names or without")
    func again() {
        var comparer = JSONComparer()
        withBytes(#"{"a":1,"b":{"c":1,"c":2},"a":2}"#) { value in
            for (other, isEqual) in [
                (#"{"a":2}"#, false), (#"{"b":{"c":2},"a":2}"#, true), (#"{"b":{"c":1},"a":2}"#, false),
                (#"{"a":2,"b":{"c":9,"c":2}}"#, true),
            ] {
                withBytes(other) { #expect(comparer.areEqual(value, $0) == isEqual, "\(other)") }
            }
        }
    }

    @Test("agree with trees compared by the same rules", arguments: 0..<40)
    func property(seed: Int) {
        var random = SeededRandom(seed)
        for _ in 0..<100 {
            let recipe = Tree.Recipe(repeats: random.oneIn(2))
            let left = Tree.random(recipe, &random)
            let right = left.changed(recipe, &random)
            let (leftText, rightText) = (left.spelled(&random), right.spelled(&random))
            #expect(
                areEqual(leftText, rightText) == (left.asMeant == right.asMeant), "\(leftText) \(rightText)"
            )
            #expect(
                areEqual(leftText, rightText, .spelling) == (left.asSpelled == right.asSpelled),
                "\(leftText) \(rightText)"
            )
        }
    }

    @Test("are found in reasonable time, whatever the order of many members")
    func many() {
        let count = 20_000
        let members = (0..<count).map { "\"name \($0)\":\($0)" }
        let forward = "{\(members.joined(separator: ","))}"
        let backward = "{\(members.reversed().joined(separator: ","))}"
        #expect(areEqual(forward, backward))
        #expect(areEqual(forward, backward, .spelling))
        #expect(!areEqual(forward, "{\(members.dropFirst().joined(separator: ","))}"))
        let repeated = Array(repeating: "\"n\":0", count: count).joined(separator: ",")
        #expect(areEqual("{\(repeated),\"n\":1}", "{\(repeated),\"n\":1.0}"))
        #expect(!areEqual("{\(repeated),\"n\":1}", "{\(repeated),\"n\":2}"))
    }

    @Test("are found as deep as values nest")
    func deep() {
        func nested(_ inner: String) -> String {
            let half = Limits.depthMax / 2
            return String(repeating: #"{"b":0,"a":["#, count: half) + inner
                + String(repeating: "]}", count: half)
        }
        func turned(_ inner: String) -> String {
            let half = Limits.depthMax / 2
            return String(repeating: #"{"a":["#, count: half) + inner
                + String(repeating: #"],"b":0}"#, count: half)
        }
        #expect(areEqual(nested("1"), turned("1.0")))
        #expect(!areEqual(nested("1"), turned("2")))
    }

    @Test("need no more memory for the next comparison")
    func reuse() {
        var comparer = JSONComparer()
        for (left, right, expected) in [("[1]", "[1.0]", true), ("{}", "[]", false), ("[[]]", "[{}]", false)]
        {
            withBytes(left) { left in
                withBytes(right) { right in #expect(comparer.areEqual(left, right) == expected) }
            }
        }
    }
}
