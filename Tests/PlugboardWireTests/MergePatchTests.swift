import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@Suite("Merge patches (RFC 7396)")
struct MergePatchTests {
    private func merged(_ target: String?, _ patch: String) -> String {
        var buffer = ByteBuffer()
        withBytes(patch) { patch in
            if let target {
                withBytes(target) { MergePatch.apply(patch, to: $0, into: &buffer) }
            } else {
                MergePatch.apply(patch, to: Span(), into: &buffer)
            }
        }
        return text(buffer)
    }

    @Test(
        "all of appendix A",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
            (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
            ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        ]
    )
    func appendixA(target: String, patch: String, result: String) {
        #expect(merged(target, patch) == result)
    }

    @Test("members that are not named keep their bytes and their order")
    func untouched() {
        let target = #"{ "z" : 1.0e+2 , "\u0061" : [ 1 ] ,"k":{"x": 01e0}}"#.replacing("01e0", with: "1e0")
        #expect(merged(target, #"{"k":{"y":2}}"#) == #"{"z":1.0e+2,"\u0061":[ 1 ],"k":{"x":1e0,"y":2}}"#)
    }

    @Test("a name is its characters, however they are spelled")
    func spellings() {
        #expect(merged(#"{"\u0061":1}"#, #"{"a":2}"#) == #"{"\u0061":2}"#)
        #expect(merged(#"{"a":1}"#, #"{"\u0061":null}"#) == "{}")
    }

    @Test("if a patch has a name twice, the last one counts")
    func repeated() {
        #expect(merged(#"{"a":1}"#, #"{"a":2,"a":3}"#) == #"{"a":3}"#)
        #expect(merged(nil, #"{"b":1,"b":null}"#) == "{}")
    }

    @Test("an absent value is patched as an empty object")
    func absent() {
        #expect(merged(nil, #"{"a":{"b":null,"c":1}}"#) == #"{"a":{"c":1}}"#)
        #expect(merged(nil, " [1] ") == "[1]")
    }

    @Test("many members are merged in reasonable time")
    func many() {
        let members = (0..<20_000).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        #expect(merged("{\(members)}", "{\(members)}") == "{\(members)}")
    }

    @Test("what is made for a patch is as large as what there is, however often a name occurs")
    func repeatedObjects() {
        let objects = String(repeating: #""a":{},"#, count: 100_000)
        let changes = (0..<60_000).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        let target = #"{\#(objects)"a":{"c":2}}"#
        #expect(merged(target, #"{"a":{\#(changes)}}"#) == #"{"a":{"c":2,\#(changes)}}"#)
    }

    @Test("among many names, too, each is found as it is spelled, and the last one of a name counts")
    func manySpellings() {
        let others = (0..<20).map { #""k\#($0)":{"x":1}"# }.joined(separator: ",")
        let patch = #"{\#(others),"\u006b3":{"y":2},"k4":null}"#
        let result = merged(#"{"k3":{"a":0},"\u006b\u0034":1,"k3":{"z":{}}}"#, patch)
        #expect(result.hasPrefix(#"{"k3":{"z":{},"y":2},"k0":{"x":1}"#))
        #expect(result.hasSuffix(#""k19":{"x":1}}"#))
        #expect(!result.contains("k4") && !result.contains(#"\u006b"#))
    }
}
