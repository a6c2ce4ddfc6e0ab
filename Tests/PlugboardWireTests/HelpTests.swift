import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@Suite("Help for people at a terminal")
struct HelpTests {
    private func reply(id: String = "") -> String {
        var buffer = ByteBuffer()
        withBytes(id) { ReplyEncoder.appendHelp(about: nil, id: $0, to: &buffer) }
        return String(text(buffer).dropLast())
    }

    @Test("help fits a screen of 80 by 24, and each line on an operation begins at a column")
    func screen() {
        for id in ["", "1", "\"some id\""] {
            let reply = Array(reply(id: id).utf8)
            // The help must fit a terminal of 24 lines, with the typed line and the prompt.
            #expect(reply.count <= 80 * 22)
            #expect(reply.allSatisfy { $0 < 0x80 })
            var last = 0
            for operation in Operation.allCases {
                let start = Array("\"\(operation.name) ".utf8)
                let place = reply.indices.dropLast(start.count).first { reply[$0...].starts(with: start) }
                #expect(place.map { $0 % 40 } == 0, "\(operation.name)")
                #expect(place ?? 0 > last, "\(operation.name)")
                last = place ?? 0
            }
        }
    }

    @Test("the table has a row for each operation, with a name of its own and an example that is right")
    func rows() {
        for operation in Operation.allCases {
            let help = OperationHelp.of(operation)
            #expect(!operation.name.description.isEmpty && !help.summary.isEmpty, "\(operation)")
            #expect(help.shorthand.hasPrefix("\(operation.name)") || operation == .batch, "\(operation)")
            let example = decode(help.example)
            #expect(example.refusal == nil, "\(operation)")
            #expect(example.request.operation == operation)
            #expect(operation.required.isSubset(of: operation.allowed))
        }
        #expect(Set(Operation.allCases.map { "\($0.name)" }).count == Operation.allCases.count)
    }

    @Test(
        "words of shells and of other servers get the operation that they mean",
        arguments: [
            ("exit", "goodbye"), ("quit", "goodbye"), ("?", "help"), ("ls", "keys"), ("pub", "publish"),
            ("sub", "subscribe"), ("del", "delete"), ("set", "publish"), ("EXIT", "goodbye"),
            ("unsub", "unsubscribe"), ("publsh", "publish"), ("gte", "get"),
        ]
    )
    func synonyms(word: String, meant: String) {
        #expect(OperationHelp.hint(for: word) == "did you mean \"\(meant)\"?")
    }

    @Test("no such word is an operation, and an unknown word gets no guess")
    func guesses() {
        for operation in Operation.allCases {
            #expect(OperationHelp.hint(for: "\(operation.name)") == "did you mean \"\(operation.name)\"?")
        }
        for word in ["", "xyzzy", "42", String(repeating: "s", count: 100_000)] {
            #expect(OperationHelp.hint(for: word) == nil)
        }
    }

    @Test(
        "a value that was meant as JSON gets a hint about its mistake",
        arguments: [
            ("{a:1}", "a name is in quotes: \"a\""), (#"{"a":1,}"#, "no comma stands before }"),
            ("[1,2,]", "no comma stands before ]"), ("True", "did you mean true?"),
            ("FALSE", "did you mean false?"), ("None", "did you mean null?"), ("nil", "did you mean null?"),
            ("{'a':1}", "JSON has double quotes: \"…\", not '…'"),
            (#"{"a":'b'}"#, "JSON has double quotes: \"…\", not '…'"),
            (#"{"a":True}"#, "did you mean true?"), (#"{"a":b}"#, "a text is in quotes: \"b\""),
            ("[hello]", "a text is in quotes: \"hello\""), (#"{"a":1"#, "it ends too early: } is missing"),
            (#"{"a":["b"#, "it ends too early: \"]} is missing"), ("[", "it ends too early: ] is missing"),
            (#"{"a"}"#, "a colon and a value are missing before }"),
            (#"{"a":}"#, "a value is missing before }"),
            (#"{"a":1 "b":2}"#, "a comma stands between two members or elements"),
            ("[1 2]", "a comma stands between two members or elements"),
            (#"{"a":1} x"#, "nothing may stand behind the value"),
            (#"{"a":1}}"#, "} closes nothing that is open there"),
            ("[1] // one", "JSON has no comments"), ("\"abc", "the string lacks its quote at the end"),
            ("\"a\" b", "a string ends at its quote; one inside it is written \\\""),
            ("true story", "nothing may stand behind true; a text is in quotes"),
            ("nul", "did you mean null?"), ("tru", "did you mean true?"), ("fals", "did you mean false?"),
            ("nulll", "did you mean null?"), ("true1", "did you mean true?"), ("TRUE1", "did you mean true?"),
            (#"{"a":nul}"#, "did you mean null?"), ("[fals, 1]", "did you mean false?"),
            ("[nothing]", "a text is in quotes: \"nothing\""), ("[-]", "a digit is missing before ]"),
            (#"{"a":1.}"#, "a digit is missing before }"), (#"{"a":[1,2}"#, "] is missing before }"),
            (#"{"a" 1}"#, "a colon stands between a name and its value"),
            (#"{"a":01}"#, "no 0 stands before a number"), ("[00]", "no 0 stands before a number"),
            (#""a\q""#, #"the escapes are \" \\ \/ \b \f \n \r \t and \u; \ itself is \\"#),
            (#"["\u12"]"#, #"four hexadecimal digits stand behind \u"#),
            ("\"a\tb\"", #"in a string, a line feed is \n, a tab \t"#),
            ("{\"a\":\"b\nc\"}", #"in a string, a line feed is \n, a tab \t"#),
            ("{1:2}", "a name is in quotes: \"1\""), ("{,}", "each member begins with a name in quotes"),
        ]
    )
    func values(value: String, hint: String) {
        #expect(withBytes(value) { ValueHint.of($0) } == hint)
        #expect(!withBytes(value) { ValueHint.isText($0) })
    }

    @Test(
        "a value that looks like text is text, and gets its quotes",
        arguments: [
            "hello world", "truely", "nothing", "it's", "None of these", "2026-11-22", "é", "-", "a{b}",
        ]
    )
    func texts(value: String) {
        #expect(withBytes(value) { ValueHint.of($0) } == nil)
        #expect(withBytes(value) { ValueHint.isText($0) })
    }

    @Test("JSON gets no hint, and long values that aren't JSON take no time")
    func others() {
        for value in ["{}", "[1]", "\"a\"", "null", "1"] {
            withBytes(value) { #expect(ValueHint.of($0) == nil) }
        }
        let long = "{\"a\":\"" + String(repeating: "x", count: 1_000_000)
        withBytes(long) { #expect(ValueHint.of($0) == "it ends too early: \"} is missing") }
        withBytes(String(repeating: "[", count: 60)) { #expect((ValueHint.of($0) ?? "").utf8.count < 60) }
    }
}
