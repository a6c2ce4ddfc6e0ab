import PlugboardWire
import TestSupport
import Testing

@Suite("The decoder")
struct DecoderTests {
    @Test("finds the fields of a publish, and doesn't change the value's bytes")
    func publish() {
        let decoded = decode(
            #"{"op":"publish","id":"a1","key":"cart.total","value": {"b":1.0,"a":[ ]} ,"if":3}"#
        )
        #expect(decoded.refusal == nil)
        #expect(decoded.request.operation == .publish)
        #expect(decoded.id == "\"a1\"")
        #expect(decoded.key == "cart.total")
        #expect(decoded.value == #"{"b":1.0,"a":[ ]}"#)
        #expect(decoded.request.ifRevision == 3)
    }

    @Test("reads fields whose names and values have escapes")
    func escapes() {
        let decoded = decode(#"{"\u006fp":"p\u0075blish","k\u0065y":"a\u002eb","value":"\u0061"}"#)
        #expect(decoded.refusal == nil)
        #expect(decoded.request.operation == .publish)
        #expect(decoded.key == "a.b")
        #expect(decoded.value == #""\u0061""#)
    }

    @Test(
        "names the first mistake",
        arguments: [
            (#"{"op":"publish","key":"a","value":1"#, .badJSON),
            (#"{"op":"publish","key":"a","value":1}x"#, .badJSON),
            (#"{"op":"publish","key":"a","value":01}"#, .badJSON),
            (#"{"op":"get","key":"\ud800"}"#, .badUTF8),
            (#"{}"#, .missingField), (#"{"op":"get"}"#, .missingField),
            (#"{"op":"publish","key":"a"}"#, .missingField),
            (#"{"op":"subscribe"}"#, .missingField), (#"{"op":"sub"}"#, .unknownOperation),
            (#"{"op":1}"#, .wrongType),
            (#"{"op":"get","key":1}"#, .wrongType), (#"{"op":"get","key":"a","key":"b"}"#, .duplicateField),
            (#"{"op":"get","key":"a","k\u0065y":"b"}"#, .duplicateField),
            (#"{"op":"sync","x-a":1,"x-a":2}"#, .duplicateField), (#"{"op":"get","kye":"a"}"#, .unknownField),
            (#"{"op":"get","key":"a","value":1}"#, .unknownField), (#"{"op":"sync","id":1.5}"#, .badID),
            (#"{"op":"sync","id":9007199254740992}"#, .badID), (#"{"op":"sync","id":null}"#, .badID),
            (#"{"op":"publish","key":"a","value":1,"if":-1}"#, .wrongType),
            (#"{"op":"keys","limit":0}"#, .limit),
            (#"{"op":"keys","limit":10001}"#, .limit), (#"{"op":"subscribe","keys":[]}"#, .wrongType),
            (#"{"op":"subscribe","keys":["a"],"key":"a"}"#, .duplicateField),
            (#"{"op":"subscribe","key":"a","old":1}"#, .wrongType),
            (#"{"op":"hello","name":""}"#, .wrongType),
            (##"{"op":"hello","name":"#7"}"##, .wrongType), (#"{"op":"batch","writes":{}}"#, .wrongType),
            (#"{"op":"batch","writes":[1]}"#, .wrongType),
            (#"{"op":"batch","writes":[{"op":"get","key":"a"}]}"#, .wrongType),
            (#"{"op":"batch","writes":[{"op":"delete","key":"a","id":1}]}"#, .unknownField),
            (#"{"op":"batch","writes":[{"op":"batch","writes":[]}]}"#, .wrongType),
            ("publsh a 1", .unknownOperation), ("publish a", .missingField), ("publish a b", .badJSON),
            ("get", .missingField), ("get a b", .unknownField), ("[1]", .unknownOperation), (" x", .badJSON),
        ] as [(String, ErrorCode)]
    )
    func mistakes(line: String, code: ErrorCode) {
        #expect(decode(line).refusal?.code == code)
    }

    @Test("an id that was read is kept for the reply, whatever comes after it")
    func idBeforeMistake() {
        #expect(decode(#"{"id":7,"op":"publish","key":"#).id == "7")
        #expect(decode(#"{"op":"get","key":1,"id":"late"}"#).id == "\"late\"")
    }

    @Test("ids reach from −(2^53−1) to 2^53−1 and up to 64 bytes")
    func ids() {
        for id in ["9007199254740991", "-9007199254740991", "0", "\"\""] {
            #expect(decode(#"{"op":"sync","id":\#(id)}"#).id == id)
        }
        let long = String(repeating: "x", count: Limits.idBytesMax)
        #expect(decode(#"{"op":"sync","id":"\#(long)"}"#).refusal == nil)
        #expect(decode(#"{"op":"sync","id":"\#(long)x"}"#).refusal?.code == .badID)
    }

    @Test("x- fields are ignored, but count as fields")
    func extensions() {
        func line(_ count: Int) -> String {
            let fields = (0..<count).map { #","x-\#($0)":[{"a":\#($0)}]"# }.joined()
            return #"{"op":"sync"\#(fields)}"#
        }
        #expect(decode(line(Limits.fieldsMax - 1)).refusal == nil)
        #expect(decode(line(Limits.fieldsMax)).refusal?.code == .limit)
    }

    @Test("a batch takes as many writes as its limit and not one more")
    func batchLimit() {
        func line(_ count: Int) -> String {
            let writes = (0..<count).map { #"{"op":"publish","key":"k\#($0)","value":\#($0)}"# }
            return #"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#
        }
        let most = decode(line(Limits.batchWritesMax))
        #expect(most.refusal == nil)
        #expect(most.writes.count == Limits.batchWritesMax)
        #expect(decode(line(Limits.batchWritesMax + 1)).refusal?.code == .limit)
    }

    @Test("a mistake in a batch names its write")
    func batchPlace() {
        let writes = #"{"op":"delete","key":"a"},{"op":"publish","key":"a","vlaue":1}"#
        let refusal = decode(#"{"op":"batch","writes":[\#(writes)]}"#).refusal
        #expect(refusal?.write == 1)
        #expect(refusal?.hint == "did you mean \"value\"?")
    }

    @Test("patterns, subs and names are accepted up to their limits")
    func otherLimits() {
        func keys(_ count: Int) -> String {
            #"{"op":"subscribe","keys":[\#((0..<count).map { "\"k\($0)\"" }.joined(separator: ","))]}"#
        }
        #expect(decode(keys(Limits.patternsMax)).patterns.count == Limits.patternsMax)
        #expect(decode(keys(Limits.patternsMax + 1)).refusal?.code == .limit)
        let sub = String(repeating: "s", count: Limits.subBytesMax)
        #expect(decode(#"{"op":"unsubscribe","sub":"\#(sub)"}"#).sub == sub)
        #expect(decode(#"{"op":"unsubscribe","sub":"\#(sub)s"}"#).refusal?.code == .limit)
        let name = String(repeating: "n", count: Limits.nameBytesMax)
        #expect(decode(#"{"op":"hello","name":"\#(name)"}"#).refusal == nil)
        #expect(decode(#"{"op":"hello","name":"\#(name)n"}"#).refusal?.code == .limit)
    }

    @Test("words make the same request as JSON")
    func shorthand() {
        let decoded = decode("publish \t cart.total   {\"a\": 1} ")
        #expect(decoded.refusal == nil)
        #expect(decoded.key == "cart.total")
        #expect(decoded.value == "{\"a\": 1}")
        #expect(decoded.request.wantsReply)
        #expect(decode("subscribe a.* b").patterns == ["a.*", "b"])
        #expect(decode("unsubscribe 7").request.subIsInteger)
        #expect(decode("unsubscribe \"7\"").sub == "7")
        #expect(decode("keys").refusal == nil)
    }

    @Test("a text without its quotes gets them in the hint")
    func quotes() {
        #expect(decode("publish greeting hello you").refusal?.hint == #"publish greeting "hello you""#)
    }

    @Test("comments and blank lines are ignored", arguments: ["", "# x", "   ", "\t", "#{}"])
    func ignored(line: String) {
        #expect(withBytes(line) { RequestDecoder.isIgnored($0) })
    }

    @Test("survives every cut and every changed byte")
    func mutations() {
        let lines = [
            #"{"op":"batch","id":"x","writes":[{"op":"patch","key":"a\u0062","value":{"c":[1,"é"]},"if":0}]}"#,
            #"{"op":"subscribe","keys":["a.*","b"],"sub":-3,"old":true,"x-y":null}"#, "publish a.b \"c\"",
            #"{"op":"subscribe","key":"a","where":{"/b":{"<":1}},"fields":["/\u0063"],"delivery":"all"}"#,
            #"{"op":"will","write":{"op":"publish","key":"a","value":1,"while":"connected","ttl":9}}"#,
            #"{"op":"return","call":"1","error":{"code":"a_b","message":"c\n"}}"#,
        ]
        for line in lines.map({ Array($0.utf8) }) {
            for end in line.indices { _ = decode(Array(line[..<end])) }
            for place in line.indices {
                for byte in UInt8.min...UInt8.max {
                    var changed = line
                    changed[place] = byte
                    _ = decode(changed)
                }
            }
        }
    }
}

@Suite("Plain lines")
struct PlainLineTests {
    /// The same line with a space that makes it take the slow path.
    private func decodeAtLength(_ line: [UInt8]) -> Decoded {
        decode([UInt8(ascii: " ")] + line)
    }

    @Test(
        "are read as on the slow path, whatever byte of them changes",
        arguments: [
            #"{"op":"publish","id":"a1","key":"a.b","value":{"c":[1,"x\n"]}}"#,
            #"{"op":"get","key":"a","id":123}"#,
            #"{"id":0,"value":"plain text of some length, more than sixteen","key":"k","op":"emit"}"#,
            #"{"op": "publish", "key": "a.b", "value": {"c": [1, null]}, "id": "x"}"#,
            #"{"op":"patch","key":"a","value":-1.5e3,"id":7}"#, #"{"key":"a","op":"delete"}"#,
            #"{"op":"publish","id":1,"key":"a","value":1,"durable":true}"#,
            #"{"op":"publish","key":"a","value":1,"cause":12,"id":7}"#,
            #"{"op":"emit", "cause": 0, "key":"a", "value": {}}"#, #"{"op":"get","key":"a","cause":1}"#,
            #"{"op": "delete", "durable": true, "key": "a"}"#, #"{"op":"get","key":"a","durable":true}"#,
            #"{"op":"sync"}"#, #"{"op":"hello","id":1}"#, #"{"op":"subscribe","key":"a"}"#,
            #"{"op":"batch","key":"a","value":1}"#, #"{"op":"keys","key":"a","value":1}"#,
            #"{"op":"who","id":1,"key":"a"}"#, #"{"op":"why","key":"a.b"}"#, #"{"op":"goodbye","id":1}"#,
        ]
    )
    func agree(line: String) {
        let line = Array(line.utf8)
        for end in 1...line.count { compare(Array(line[..<end])) }
        for place in line.indices {
            for byte in [
                0x00, 0x0A, 0x20, 0x22, 0x2C, 0x30, 0x31, 0x39, 0x5C, 0x61, 0x65, 0x6B, 0x7B, 0x7D, 0x80,
                0xC3,
            ] as [UInt8] {
                var changed = line
                changed[place] = byte
                compare(changed)
            }
        }
    }

    @Test(
        "include those that programs write",
        arguments: [
            #"{"op":"publish","key":"a.b","value":1}"#,
            #"{"op": "publish", "key": "a.b", "value": {"c": 1}}"#,
            #"{"id":1,"op":"emit","value":[],"key":"a"}"#, #"{"op":"get","key":"a","id":"x"}"#,
            #"{"op":"publish", "value":"\u00e9","key":"a"}"#,
            #"{"op":"publish","key":"a","value":1,"durable":true}"#,
            #"{"op":"publish","key":"a","value":1,"cause":1234567,"id":3}"#,
        ]
    )
    func usual(line: String) {
        var decoder = RequestDecoder()
        var request = Request()
        #expect(withBytes(line) { decoder.decodePlain($0, into: &request) })
    }

    private func compare(_ line: [UInt8]) {
        guard line[0] == UInt8(ascii: "{") else { return }
        let (short, long) = (decode(line), decodeAtLength(line))
        #expect(short.refusal?.code == long.refusal?.code)
        #expect(short.refusal?.offset == long.refusal?.offset.map { $0 - 1 })
        guard short.refusal == nil, long.refusal == nil else { return }
        #expect(short.request.operation == long.request.operation)
        #expect(short.request.fields == long.request.fields)
        #expect(short.request.isDurable == long.request.isDurable)
        #expect(short.request.cause == long.request.cause)
        #expect([short.id, short.key, short.value] == [long.id, long.key, long.value])
    }

    @Test(
        "don't include an id that is too long, too large or misspelled",
        arguments: ["01", "-", "9007199254740992", "1e2", "1.0"]
    )
    func ids(id: String) {
        #expect(decode(#"{"op":"sync","id":\#(id)}"#).refusal != nil)
    }
}
