import PlugboardMemory
import TestSupport
import Testing

@testable import DashboardPlugin

@Suite("What of the page's requests reaches the broker")
struct RequestRulesTests {
    private let reading = RequestRules(writes: false)
    private let writing = RequestRules(writes: true)

    private func refusal(_ rules: RequestRules, _ line: String) -> String? {
        guard case .refused(let reply) = rules.check(Array(line.utf8)) else { return nil }
        return String(decoding: reply, as: UTF8.self)
    }

    @Test(
        "what only reads passes",
        arguments: [
            #""op":"get","key":"a""#, #""op":"keys""#, #""op":"subscribe","key":"**""#,
            #""op":"who","key":"a""#,
            #""op":"unsubscribe","sub":1"#, #""op":"why","key":"a""#, #""op":"trace","key":"a""#,
            #""op":"sync""#,
            #""op":"explain","write":{"op":"publish","key":"a","value":1}"#, #""op":"pause","sub":"own""#,
            #""op":"call","key":"plugins.log","value":"cart""#, #""op":"call","key":"plugins\u002elist""#,
        ]
    )
    func reads(_ fields: String) {
        #expect(reading.check(Array("{\"id\":7,\(fields)}".utf8)) == .passes(id: 7))
    }

    @Test(
        "what writes passes only with --write, however it is spelled",
        arguments: [
            #""op":"publish","key":"a","value":1"#, #""op":"emit","key":"a","value":1"#,
            #""op":"patch","key":"a","value":{}"#, #""op":"delete","key":"a""#, #""op":"batch","writes":[]"#,
            #""op":"pause","sub":1,"client":2"#, #""op":"step","sub":1,"client":2"#,
            #""\u006fp":"resume","sub":1,"cl\u0069ent":2"#, #""op":"p\u0075blish","key":"a","value":1"#,
        ]
    )
    func writes(_ fields: String) {
        let line = "{\"id\":7,\(fields)}"
        #expect(refusal(reading, line)?.hasPrefix(#"{"error":"forbidden","id":7,"#) == true)
        #expect(writing.check(Array(line.utf8)) == .passes(id: 7))
    }

    @Test(
        "what a page has no use for never passes",
        arguments: [
            #""op":"hello","name":"cart""#, #""op":"goodbye""#, #""op":"will""#, #""op":"serve","key":"a""#,
            #""op":"ack","sub":1,"revision":1"#, #""op":"call","key":"cart.clear""#,
            #""op":"call","key":"plugins.stop","value":"cart""#, #""op":"return","call":"1","value":1"#,
        ]
    )
    func others(_ fields: String) {
        #expect(refusal(writing, "{\"id\":7,\(fields)}")?.contains(#""error":"forbidden","id":7"#) == true)
    }

    @Test(
        "what the broker would not understand is answered with its words, and doesn't reach it",
        arguments: [
            ("", "bad_json"), ("help", "bad_json"), ("{", "bad_json"), ("{}", "missing_field"),
            ("[1]", "bad_json"),
            (#"{"op":"get","id":1}"#, "missing_field"),
            (#"{"op":"get","op":"publish","id":1}"#, "duplicate_field"),
            (#"{"op":"get","key":"a"}"#, "bad_id"), (#"{"op":"get","key":"a","id":"x"}"#, "bad_id"),
            (#"{"op":"fly","id":1}"#, "unknown_op"),
            ("{\"op\":\"sync\",\"id\":1}\n{\"op\":\"publish\",\"key\":\"a\",\"value\":1}", "bad_json"),
            ("{\"op\":\"sync\",\r\"id\":1}", "bad_json"), ("# a comment", "bad_json"),
        ]
    )
    func malformed(_ line: String, _ code: String) {
        #expect(
            refusal(writing, line)?.hasPrefix(#"{"error":"\#(code)""#) == true,
            "\(refusal(writing, line) ?? "")"
        )
    }

    @Test("a line of the greatest length passes, and a longer one doesn't")
    func lengths() {
        let frame = #"{"op":"publish","id":1,"key":"a","value":1,"x-a":""}"#
        let text = String(repeating: "x", count: 1_052_672 - frame.utf8.count)
        let line = #"{"op":"publish","id":1,"key":"a","value":1,"x-a":"\#(text)"}"#
        #expect(writing.check(Array(line.utf8)) == .passes(id: 1))
        #expect(refusal(writing, line.dropLast(2) + "x\"}")?.contains("too_long") == true)
    }

    @Test(
        "a line of the broker is a reply, an event, a greeting or nothing",
        arguments: [
            (#"{"ok":"get","id":12,"key":"a"}"#, BrokerLineKind.reply(id: 12)),
            (#"{"ok":"sync","id":1}"#, .reply(id: 1)),
            (#"{"error":"bad_key","id":-3,"at":4}"#, .reply(id: -3)), (#"{"ok":"get","key":"a"}"#, .other),
            (#"{"error":"bad_json","line":3}"#, .other), (#"{"event":"update","id":3}"#, .event),
            (#"{"event":"hello","client":1}"#, .greeting(hasName: false)), ("", .other), ("{", .other),
            (#"{"event":"hello","client":1,"name":"x"}"#, .greeting(hasName: true)), (#"{"ok":"a"#, .other),
            (#"{"ok":"get","id":"7","key":"a"}"#, .other),
            (#"{"ok":"get","id":99999999999999999999}"#, .other),
        ]
    )
    func kinds(_ line: String, _ kind: BrokerLineKind) {
        let bytes = Array(line.utf8)
        #expect(BrokerLineKind(bytes.span) == kind)
    }
}
