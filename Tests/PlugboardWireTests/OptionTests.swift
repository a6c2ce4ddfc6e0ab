// The fields that few requests have, each at its limit and one beyond it.

import PlugboardWire
import TestSupport
import Testing

@Suite("Rare fields")
struct OptionTests {
    /// A number at both ends of its range, and just outside.
    private func expectRange(
        _ line: (String) -> String, _ range: ClosedRange<UInt64>, _ read: (Decoded) -> UInt64
    ) {
        for value in [range.lowerBound, range.upperBound] {
            let decoded = decode(line(String(value)))
            #expect(decoded.refusal == nil, "\(line(String(value)))")
            #expect(read(decoded) == value)
        }
        let outside = ["-1", String(range.upperBound + 1)] + (range.lowerBound > 0 ? ["0"] : [])
        for value in outside {
            #expect(decode(line(value)).refusal?.code.isOutOfRange == true, "\(value)")
        }
        for value in ["\"1\"", "1.0", "true", "null", "[1]"] {
            #expect(decode(line(value)).refusal?.code == .wrongType, "\(line(value))")
        }
    }

    private func subscribe(_ fields: String) -> String { #"{"op":"subscribe","key":"a",\#(fields)}"# }

    @Test("numbers are integers within their range")
    func numbers() {
        expectRange({ subscribe("\"every\":\($0)") }, 1...86_400_000) { UInt64($0.options.every) }
        expectRange({ subscribe("\"phase\":\($0)") }, 0...9) { UInt64($0.options.phase) }
        expectRange({ #"{"op":"publish","key":"a","value":1,"ttl":\#($0)}"# }, 1...Limits.integerMax) {
            $0.request.timeToLive
        }
        expectRange({ #"{"op":"call","key":"a","timeout":\#($0)}"# }, 1...3_600_000) {
            UInt64($0.options.timeout)
        }
        expectRange({ #"{"op":"step","sub":1,"count":\#($0)}"# }, 1...1_000_000) { UInt64($0.options.count) }
        expectRange({ #"{"op":"pause","sub":1,"client":\#($0)}"# }, 1...Limits.integerMax) {
            $0.options.client
        }
        expectRange({ #"{"op":"ack","sub":1,"revision":\#($0)}"# }, 0...Limits.integerMax) {
            $0.options.revision
        }
        expectRange({ subscribe("\"since\":\($0)") }, 0...Limits.integerMax) { $0.options.since }
        expectRange({ #"{"op":"why","key":"a","limit":\#($0)}"# }, 1...10_000) { UInt64($0.options.limit) }
    }

    @Test("fields that aren't given have their defaults, whatever the line before had")
    func defaults() throws {
        var decoder = RequestDecoder()
        func decode(_ line: String) throws {
            var bytes = Array(line.utf8)
            var request = Request()
            var span = bytes.mutableSpan
            try decoder.decode(&span, into: &request)
        }
        try decode(
            subscribe(#""phase":1,"every":2,"delivery":"all","ack":true,"fields":["/a"],"initial":false"#)
        )
        #expect(decoder.options.phase == 1)
        #expect(decoder.options.fields.count == 6)
        for line in [#"{"op":"keys","key":"a"}"#, #"{"op":"subscribe","key":"a"}"#, "call a"] {
            try decode(line)
            #expect(decoder.options.phase == 5)
            #expect(decoder.options.every == 0)
            #expect(decoder.options.delivery == .latest)
            #expect(!decoder.options.acknowledges)
            #expect(decoder.options.initial)
            #expect(decoder.options.timeout == 5_000)
            #expect(decoder.options.limit == 1_000)
            #expect(decoder.options.count == 1)
            #expect(decoder.options.fields.isEmpty)
        }
    }

    @Test("a word is one of the known ones, and a similar one is suggested")
    func words() {
        #expect(decode(subscribe(#""delivery":"all""#)).options.delivery == .all)
        #expect(decode(subscribe(#""delivery":"l\u0061test""#)).options.delivery == .latest)
        let refusal = decode(subscribe(#""delivery":"lates""#)).refusal
        #expect(refusal?.code == .wrongType)
        #expect(refusal?.hint == "did you mean \"latest\"?")
        #expect(decode(subscribe(#""delivery":1"#)).refusal?.code == .wrongType)
        let line = #"{"op":"publish","key":"a","value":1,"while":"#
        #expect(decode(line + #""connected"}"#).refusal == nil)
        #expect(decode(line + #""connected"}"#).request.has(.whileConnected))
        #expect(decode(line + #""awake"}"#).refusal?.code == .wrongType)
        #expect(decode(line + "true}").refusal?.code == .wrongType)
    }

    @Test("fields are an array, kept as it was written")
    func pointers() {
        let pointers = #"[ "/price", "/\u0061~1b" ]"#
        #expect(decode(subscribe(#""fields":\#(pointers)"#)).pointers == pointers)
        #expect(decode(subscribe(#""fields":"/a""#)).refusal?.code == .wrongType)
        #expect(decode(subscribe(#""fields":["#)).refusal?.code == .badJSON)
    }

    @Test("conditions are an object, kept as it was written")
    func conditions() {
        let condition = #"{"/price": {"<":100.0}, "/\u0062":{"in":["x"]}}"#
        #expect(decode(subscribe(#""where":\#(condition)"#)).condition == condition)
        #expect(decode(subscribe(#""where":[]"#)).refusal?.code == .wrongType)
        #expect(decode(subscribe(#""where":{"#)).refusal?.code == .badJSON)
    }

    @Test("an event has one form: fields, diff and values:false exclude each other")
    func forms() {
        #expect(decode(subscribe(#""fields":["/a"],"diff":false,"values":true"#)).refusal == nil)
        #expect(decode(subscribe(#""diff":true,"ack":true,"phase":0"#)).options.differences)
        for pair in [
            #""fields":["/a"],"diff":true"#, #""fields":["/a"],"values":false"#,
            #""diff":true,"values":false"#,
        ] {
            #expect(decode(subscribe(pair)).refusal?.code == .duplicateField)
        }
        #expect(decode(#"{"op":"trace","key":"a","keys":["b"]}"#).refusal?.code == .duplicateField)
        #expect(decode(#"{"op":"trace"}"#).refusal?.code == .missingField)
    }

    @Test("a single write is read like one of a batch")
    func writes() {
        let line = #"{"op":"will","write":{"op":"publish","key":"a\u002eb","value":[1],"ttl":5},"id":7}"#
        let decoded = decode(line)
        #expect(decoded.refusal == nil)
        #expect(decoded.request.operation == .will)
        #expect(decoded.id == "7")
        #expect(decoded.writes.map(\.operation) == [.publish])
        #expect(decoded.writtenKeys == ["a.b"])
        #expect(decoded.writes.first?.timeToLive == 5)
        #expect(decode(#"{"op":"will","write":null}"#).writes.isEmpty)
        #expect(decode(#"{"op":"will"}"#).refusal == nil)
    }

    @Test("a hint names what the write takes here", arguments: ["will", "explain"])
    func hints(operation: String) {
        let line = #"{"op":"\#(operation)","write":{"op":"publish","key":"a","value":1,"color":1}}"#
        let hint = decode(line).refusal?.hint ?? ""
        #expect(hint.hasPrefix("it takes ") && hint.contains("ttl") && !hint.contains("durable"), "\(hint)")
        #expect(hint.contains("while") == (operation == "explain"), "\(hint)")
    }

    @Test(
        "an invalid write is refused",
        arguments: [
            (#"{"op":"will","write":[]}"#, .wrongType), (#"{"op":"will","write":{}}"#, .missingField),
            (#"{"op":"will","write":{"op":"get","key":"a"}}"#, .wrongType),
            (#"{"op":"will","write":{"op":"batch","writes":[]}}"#, .wrongType),
            (#"{"op":"will","write":{"op":"explain","write":{"op":"delete","key":"a"}}}"#, .wrongType),
            (#"{"op":"will","write":{"op":"delete","key":"a","id":1}}"#, .unknownField),
            (#"{"op":"will","write":{"op":"delete","key":"a","value":1}}"#, .unknownField),
            (#"{"op":"explain","write":null}"#, .wrongType), (#"{"op":"explain"}"#, .missingField),
        ] as [(String, ErrorCode)]
    )
    func badWrites(line: String, code: ErrorCode) {
        let refusal = decode(line).refusal
        #expect(refusal?.code == code)
        #expect(refusal?.write == nil)
    }

    @Test("an answer has a value, or an error of a code and a message")
    func answers() {
        let value = decode(#"{"op":"return","call":"1\u0032","value":null}"#)
        #expect(value.refusal == nil)
        #expect(value.call == "12")
        #expect(value.value == "null")
        #expect(!value.request.wantsReply)
        let error = #"{ "message" : "none \"left\"", "code":"out_\u006ff_stock" }"#
        let failed = decode(#"{"op":"return","call":"1","error":\#(error),"id":1}"#)
        #expect(failed.refusal == nil)
        #expect(failed.errorCode == "out_of_stock")
        #expect(failed.errorMessage == #""none \"left\"""#)
        #expect(failed.request.wantsReply)
        let long = String(repeating: "c", count: 64)
        #expect(decode(Self.failing(#"{"code":"\#(long)","message":""}"#)).errorCode == long)
        #expect(decode(Self.failing(#"{"code":"\#(long)c","message":""}"#)).refusal?.code == .limit)
    }

    @Test(
        "an invalid error is refused",
        arguments: [
            (#""out_of_stock""#, .wrongType), ("{}", .missingField), (#"{"code":"a"}"#, .missingField),
            (#"{"message":"a"}"#, .missingField), (#"{"code":"Out","message":"a"}"#, .wrongType),
            (#"{"code":"","message":"a"}"#, .wrongType), (#"{"code":"1st","message":"a"}"#, .wrongType),
            (#"{"code":1,"message":"a"}"#, .wrongType), (#"{"code":"a","message":1}"#, .wrongType),
            (#"{"code":"a","message":"b","mesage":"c"}"#, .unknownField),
            (#"{"code":"a","message":"b","code":"c"}"#, .duplicateField), (#"{"code":"a",}"#, .badJSON),
            ("{1}", .badJSON),
        ] as [(String, ErrorCode)]
    )
    func badErrors(error: String, code: ErrorCode) {
        #expect(decode(Self.failing(error)).refusal?.code == code)
    }

    private static func failing(_ error: String) -> String {
        #"{"op":"return","call":"1","error":\#(error)}"#
    }

    @Test("an answer with both or neither is refused")
    func ambiguousAnswers() {
        let both = #"{"op":"return","call":"1","value":1,"error":{"code":"a","message":"b"}}"#
        #expect(decode(both).refusal?.code == .duplicateField)
        #expect(decode(#"{"op":"return","call":"1"}"#).refusal?.code == .missingField)
        #expect(decode(#"{"op":"return","value":1}"#).refusal?.code == .missingField)
    }

    @Test("every operation and field is found by its name, and fits in the set of fields")
    func names() {
        for operation in Operation.allCases {
            let bytes = Array("\(operation.name)".utf8)
            #expect(withBytes(bytes) { Operation($0) } == operation)
        }
        #expect(Field.allCases.count <= 64)
        #expect(Set(Field.allCases.map { "\($0.name)" }).count == Field.allCases.count)
        // Whatever an operation allows was read by its name. Otherwise it would be an unknown
        // field.
        for field in Field.allCases where field != .operation {
            let refusal = decode(#"{"\#(field.name)":0}"#).refusal
            #expect(refusal?.code != .unknownField, "\(field.name)")
        }
    }
}

@Suite("Typed words of rare operations")
struct RarerShorthandTests {
    @Test("make the same request as JSON")
    func words() {
        let call = decode("call cart.add  {\"n\": 1} ")
        #expect(call.key == "cart.add")
        #expect(call.value == "{\"n\": 1}")
        #expect(!decode("call cart.add").request.has(.value))
        let answer = decode("return 17 [1]")
        #expect(answer.call == "17")
        #expect(answer.value == "[1]")
        #expect(answer.request.wantsReply)
        #expect(decode("serve cart.*").key == "cart.*")
        #expect(decode("pause 3").request.subIsInteger)
        #expect(decode("step s 4").options.count == 4)
        #expect(decode("step s").options.count == 1)
        #expect(decode("ack 1 77").options.revision == 77)
        #expect(decode("trace a.* b").patterns == ["a.*", "b"])
        #expect(decode("goodbye").refusal == nil)
        #expect(decode("who cart").key == "cart")
        let will = decode("will publish a.b 3")
        #expect(will.request.operation == .will)
        #expect(will.writes.map(\.operation) == [.publish])
        #expect(will.writtenKeys == ["a.b"])
        #expect(decode("explain delete a").writtenKeys == ["a"])
        #expect(decode("will").refusal == nil)
    }

    @Test(
        "say what is missing or superfluous",
        arguments: [
            ("call", .missingField), ("call a b", .badJSON), ("return 1", .missingField),
            ("return", .missingField),
            ("serve", .missingField), ("serve a b", .unknownField), ("pause", .missingField),
            ("step", .missingField), ("step 1 0", .limit), ("step 1 x", .wrongType),
            ("step 1 01", .wrongType),
            ("step 1 1000001", .limit), ("step 1 1 1", .unknownField), ("ack 1", .missingField),
            ("ack 1 9007199254740992", .wrongType), ("trace", .missingField), ("goodbye now", .unknownField),
            ("explain", .missingField), ("explain get a", .wrongType), ("will publish a", .missingField),
            ("will publish a b", .badJSON), ("will batch", .wrongType), ("explain delete a b", .unknownField),
        ] as [(String, ErrorCode)]
    )
    func mistakes(line: String, code: ErrorCode) {
        #expect(decode(line).refusal?.code == code)
    }

    @Test(
        "a number on a command line has digits, and nothing else that numbers may have elsewhere",
        arguments: [.integer(0...100), .number(0...100), .seconds] as [CommandOption.Kind]
    )
    func numbers(kind: CommandOption.Kind) {
        let option = CommandOption("count", "N", "how many", kind)
        for text in ["5", "05", "100", "0"] { #expect(option.fault(of: text) == nil, "\(text)") }
        for text in ["+5", "5e1", "0x5", "--5", "-5", "-", "", "5 ", "inf", "nan", "31536001"] {
            #expect(option.fault(of: text) != nil, "\(text)")
        }
        let below = CommandOption("least", "N", "at least", .number(-9...9))
        #expect(below.fault(of: "-5.5") == nil && below.fault(of: "--5") != nil)
    }

    @Test("PLUGBOARD_TIMEOUT is a number of seconds, and any other text says nothing")
    func timeoutVariable() {
        for (text, seconds) in [("30", 30), ("0.5", 0.5), ("0", 0), ("31536000", 31_536_000)] {
            #expect(TimeoutVariable.seconds(text) == seconds)
        }
        for text in [nil, "", "soon", "-1", "1e3", "31536001"] {
            #expect(TimeoutVariable.seconds(text) == TimeoutVariable.usualSeconds)
        }
    }
}

extension ErrorCode {
    /// `limit`, or `wrong_type` for a number that is described as a revision.
    fileprivate var isOutOfRange: Bool { self == .limit || self == .wrongType }
}
