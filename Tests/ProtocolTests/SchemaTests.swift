// The schema itself, and the validator that other tests rely on.

import PlugboardWire
import TestSupport
import Testing

@Suite("schema", .someAtATime)
struct SchemaTests {
    @Test("the schema uses only keywords that the validator checks, and its references lead somewhere")
    func loads() throws {
        _ = try ProtocolSchema()
    }

    @Test("the schema has the same fields for each operation as the table that the decoder uses")
    func hasTheFieldsOfOperations() throws {
        let shapes = try JSONNode(try ProtocolFolder.bytes("schema.json"))["$defs"]
        func names(_ fields: FieldSet) -> Set<String> { Set(fields.fields.map { "\($0.name)" }) }
        func check(_ shape: String, _ required: Set<String>, _ allowed: Set<String>) {
            let shape = shapes?[shape]
            #expect(Set(shape?["required"]?.elements?.compactMap(\.string) ?? []) == required)
            #expect(Set(shape?["properties"]?.members?.map(\.name) ?? []) == allowed)
        }
        for operation in PlugboardWire.Operation.allCases {
            let (required, allowed) = (names(operation.required).union(["op"]), names(operation.allowed))
            check("request.\(operation.name)", required, allowed)
            if operation.isWrite {
                check("write.\(operation.name)", required, allowed.subtracting(["id", "durable"]))
            }
        }
    }

    @Test("an unknown keyword is refused")
    func refusesUnknownKeywords() {
        for text in [
            #"{"type":"string","format":"uri"}"#, #"{"properties":{"a":{"maxProperties":1}}}"#,
            ##"{"$ref":"#/$defs/nothing"}"##, #"{"oneOf":[{"deprecated":true}]}"#,
        ] {
            #expect(throws: SchemaValidator.BadSchema.self) {
                try SchemaValidator(try JSONNode(text))
            }
        }
    }

    @Test("the validator distinguishes valid from invalid values")
    func validates() throws {
        let cases: [(schema: String, fits: [String], others: [String])] = [
            (#"{"type":"integer"}"#, ["1", "-0", "1.0", "1e2"], ["1.5", "\"1\"", "true", "null"]),
            (#"{"type":["string","null"]}"#, ["\"\"", "null"], ["1", "[]"]),
            (#"{"const":"a"}"#, ["\"a\"", #""\u0061""#], ["\"b\"", "1"]),
            (#"{"enum":[1,"a",true]}"#, ["1", "\"a\"", "true"], ["2", "\"true\"", "false"]),
            (
                #"{"minimum":0,"maximum":9007199254740991}"#, ["0", "9007199254740991", "\"x\""],
                ["-1", "9007199254740992"]
            ),
            (#"{"minLength":1,"maxLength":2}"#, ["\"a\"", "\"😀é\"", "1"], ["\"\"", "\"abc\""]),
            (
                #"{"pattern":"^[^\\u0000-\\u0020$]+$"}"#, ["\"a\"", "\"é\""],
                ["\"a b\"", #""a\n""#, #""\n""#, "\"$\""]
            ),
            (
                #"{"minItems":1,"maxItems":2,"items":{"type":"number"}}"#, ["[1]", "[1,2]"],
                ["[]", "[1,2,3]", "[\"1\"]"]
            ),
            (
                #"{"required":["a"],"properties":{"a":{"type":"null"}}}"#, [#"{"a":null}"#, "1"],
                ["{}", #"{"a":1}"#]
            ),
            (
                #"{"properties":{"a":{}},"patternProperties":{"^x-":{"type":"null"}},"additionalProperties":false}"#,
                ["{}", #"{"a":1,"x-b":null}"#], [#"{"b":1}"#, #"{"x-b":1}"#, #"{"xx-b":null}"#]
            ),
            (#"{"additionalProperties":{"type":"string"}}"#, [#"{"a":"b"}"#], [#"{"a":1}"#]),
            (#"{"propertyNames":{"pattern":"^a"}}"#, [#"{"a":1,"ab":1}"#], [#"{"b":1}"#]),
            (#"{"oneOf":[{"type":"number"},{"const":1}]}"#, ["2"], ["1", "\"a\""]),
            (#"{"anyOf":[{"type":"number"},{"const":1}]}"#, ["1", "2"], ["\"a\""]),
            (#"{"not":{"type":"number"}}"#, ["\"a\""], ["1"]),
            (##"{"$ref":"#/$defs/n","$defs":{"n":{"type":"null"}}}"##, ["null"], ["1"]),
        ]
        for (schema, fits, others) in cases {
            let validator = try SchemaValidator(try JSONNode(schema))
            for value in fits {
                #expect(try validator.problem(try JSONNode(value)) == nil, "\(schema) \(value)")
            }
            for value in others {
                #expect(try validator.problem(try JSONNode(value)) != nil, "\(schema) \(value)")
            }
        }
    }

    @Test("the broker's lines are checked for members that the schema doesn't describe")
    func closesOutput() throws {
        let schema = try ProtocolSchema()
        let good = #"{"ok":"publish","id":1,"revision":1}"#
        #expect(schema.problem(output: Array(good.utf8)) == nil)
        for bad in [
            #"{"ok":"publish","id":1,"revision":1,"extra":1}"#, #"{"ok":"publish"}"#, #"{"ok":"nothing"}"#,
            #"{"event":"update","sub":1,"key":"a..b","revision":1,"by":"x"}"#,
            #"{"error":"odd","line":1,"message":"m"}"#, #"{"error":"limit","message":"m"}"#,
            #"{"error":"limit","id":1,"line":1,"message":"m"}"#, "[]", "{",
            #"{"revision":1,"ok":"sync"}"#, #"{"ok":"sync","revision":1,"event":"synced"}"#,
            #"{"event":"bye","reason":"slow","message":"m","error":"limit"}"#,
        ] {
            #expect(schema.problem(output: Array(bad.utf8)) != nil, "\(bad)")
        }
    }

    @Test("the reader of the tests refuses what isn't JSON")
    func readsJSON() throws {
        for row in try VectorTable("n_values.tsv", columns: 2...2).rows where row.columns[0] != "too_deep" {
            #expect(throws: JSONProblem.self, "\(row)") { try JSONNode(try row.bytes(1)) }
        }
        for row in try VectorTable("y_values.tsv", columns: 1...1).rows {
            #expect(try JSONNode(try row.bytes(0)).bytes == row.bytes(0), "\(row)")
        }
    }

    @Test("an expectation compares everything except what it leaves open")
    func expects() throws {
        let cases: [(expected: String, fits: [String], others: [String])] = [
            (#"{"a":1}"#, [#"{"a":1}"#], [#"{"a":1.0}"#, #"{"a":1,"b":2}"#, #"{ "a":1}"#, "{}"]),
            (#"{"a":"…"}"#, [#"{"a":1}"#, #"{"a":[{}]}"#], [#"{"b":1}"#, #"{"a":1,"b":1}"#]),
            (#"{"a":1,…}"#, [#"{"a":1}"#, #"{"a":1,"b":2}"#], [#"{"b":2,"a":1}"#, #"{"a":2}"#, "[]"]),
            (#"{"a":{…},"b":[…]}"#, [#"{"a":{},"b":[]}"#, #"{"a":{"c":1},"b":[1]}"#], [#"{"a":[],"b":[]}"#]),
            (#"["x…z"]"#, [#"["xz"]"#, #"["xyz"]"#], [#"["x"]"#, #"["xyzy"]"#, "[1]"]),
            (#"["…b…"]"#, [#"["b"]"#, #"["abc"]"#], [#"["ac"]"#]),
            (#"["aa…aa"]"#, [#"["aaaa"]"#], [#"["aaa"]"#]),
        ]
        for (expected, fits, others) in cases {
            let expectation = try Expectation(expected)
            for line in fits { #expect(expectation.mismatch(Array(line.utf8)) == nil, "\(expected) \(line)") }
            for line in others {
                #expect(expectation.mismatch(Array(line.utf8)) != nil, "\(expected) \(line)")
            }
        }
    }
}
