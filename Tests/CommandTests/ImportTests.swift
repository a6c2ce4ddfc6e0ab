import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("publish --from", .someAtATime)
final class ImportTests: BrokerSuite {
    private func take(_ text: String, _ more: String...) throws -> Finished {
        try Run(["publish", "--from", "-"] + more, in: folder, input: text).finished()
    }

    @Test("each line is published, even a last one without a line feed; blank lines and comments are skipped")
    func lines() throws {
        let file = try folder.write(
            "values.ndjson",
            "# a comment\n{\"key\":\"a\",\"value\":{\"n\": 1.0}}\r\n\n  \n{\"value\":[2],\"key\":\"b\\u002ec\",\"x-note\":0}"
        )
        let finished = try plugboard("publish", "--from", file, "--name", "import", in: folder)
        #expect(finished.output == "published 2 values, revision 2\n")
        #expect(finished.end == .exited(0))
        #expect(finished.messages.isEmpty)
        #expect(try plugboard("get", "a", in: folder).output == "{\"n\": 1.0}\n")
        let kept = try plugboard("get", "b.c", "--json", in: folder).output
        #expect(kept.contains(#""value":[2],"by":"import","when":"20"#))
    }

    @Test("bad lines are reported by number, the others are published, and the status is 1")
    func badLines() throws {
        let finished = try take(
            """
            {"key":"a","value":1}
            {"key":"b" "value":1}

            {"key":"c","vlaue":1}
            {"key":"d..e","value":1}
            {"key":"f"}
            {"value":1}
            [1]
            {"key":"g","value":1,"key":"h"}
            {"key":5,"value":1}
            {"key":"$own","value":1}
            {"key":"z","value":1}
            """
        )
        #expect(finished.end == .exited(1))
        #expect(finished.output == "published 2 values, revision 2\n")
        let told = Set(finished.messages.split(separator: "\n").map(String.init))
        let expected = [
            "2: not JSON: expected a comma or }", "4: a line has no field \"vlaue\"; did you mean \"value\"?",
            "5: bad_key: ", "6: \"value\" is missing", "7: \"key\" is missing",
            "8: not JSON: expected an object",
            "9: \"key\" stands twice", "10: wrong_type: ", "11: forbidden: ",
        ]
        for line in expected {
            #expect(told.contains { $0.hasPrefix("standard input:" + line) }, "\(line) in \(told)")
        }
        #expect(told.contains("plugboard publish: 9 of 11 lines were not published"))
        #expect(told.count == expected.count + 1)
        #expect(try plugboard("keys", in: folder).lines == ["a", "z"])
    }

    @Test("--json prints the result as an object")
    func json() throws {
        let finished = try take("{\"key\":\"a\",\"value\":1}\nx\n", "--json")
        #expect(finished.output == "{\"published\":1,\"refused\":1,\"revision\":1}\n")
    }

    @Test(
        "a line may have a ttl, what get and dump print besides is ignored, and the cause comes from outside"
    )
    func ends() throws {
        let lines =
            #"{"key":"a","value":1,"ttl":30}"# + "\n"
            + #"{"key":"b","value":1,"while":"connected","cause":9}"#
        let script = #"PLUGBOARD_CAUSE=7 "$0" publish --from -"#
        let taken = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder, input: lines)
        #expect(try taken.finished().output == "published 2 values, revision 2\n")
        try eventually("the first has ended") { try plugboard("keys", in: folder).lines == ["b"] }
        #expect(try plugboard("get", "b", "--json", in: folder).output.contains(#""cause":7"#))
        #expect(try take(#"{"key":"a","value":1,"ttl":0}"#).end == .exited(1))
    }

    @Test("of very many bad lines only some are reported, but all are counted")
    func flood() throws {
        let finished = try take(
            String(repeating: "bad\n", count: 500)
                + String(repeating: "{\"key\":\"..\",\"value\":1}\n", count: 500)
        )
        #expect(finished.messages.split(separator: "\n").count == 22)
        #expect(finished.messages.hasSuffix("1000 of 1000 lines were not published\n"))
    }

    @Test("a line over the limit is reported by number, and the next one is published")
    func overlong() throws {
        let long = String(repeating: "x", count: 1_100_000)
        let finished = try take("{\"key\":\"a\",\"value\":\"\(long)\"}\n{\"key\":\"b\",\"value\":1}\n")
        #expect(finished.messages.contains("standard input:1: longer than 1056768 bytes"))
        #expect(try plugboard("keys", in: folder).lines == ["b"])
    }

    @Test("many lines arrive complete and in order")
    func many() throws {
        let count = 30_000
        let finished = try take((1...count).map { "{\"key\":\"k.\($0 % 1000)\",\"value\":\($0)}\n" }.joined())
        #expect(finished.output == "published \(count) values, revision \(count)\n")
        #expect(try plugboard("get", "k.999", in: folder).output == "29999\n")
        #expect(try plugboard("get", "k.0", "--json", in: folder).output.contains("\"revision\":30000,"))
    }

    @Test("the first lines of a slow standard input are published before the last one arrives")
    func slowInput() throws {
        let script =
            #"{ echo '{"key":"a","value":1}'; while [ ! -e go ]; do sleep 0.02; done; echo '{"key":"b","value":2}'; } | "$0" publish --from -"#
        let writer = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder)
        try eventually("the first line is published") {
            try plugboard("get", "a", in: folder).output == "1\n"
        }
        try folder.write("go", "")
        #expect(try writer.finished().output == "published 2 values, revision 2\n")
    }

    @Test("with a file it takes no key and no options for one key, and a missing file is an error")
    func misuse() throws {
        #expect(try plugboard("publish", "a", "--from", "x", in: folder).end == .exited(64))
        #expect(try plugboard("publish", "--from", "x", "--if", "1", in: folder).end == .exited(64))
        let missing = try plugboard("publish", "--from", "no/such/file", in: folder)
        #expect(missing.end == .exited(1))
        #expect(missing.messages.contains("read no/such/file: No such file or directory"))
        #expect(try plugboard("publish", "--from", ".", in: folder).messages.contains("directory"))
    }

    @Test("if the broker goes away in the middle, it says so and names the line that it reached")
    func brokerGone() throws {
        let script =
            #"{ echo '{"key":"a","value":1}'; while [ ! -e go ]; do sleep 0.02; done; for i in 1 2 3 4 5; do echo '{"key":"b","value":2}'; sleep 0.05; done; } | "$0" publish --from -"#
        let writer = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder)
        try eventually("the first line is published") {
            try plugboard("get", "a", in: folder).output == "1\n"
        }
        broker.signal(SIGKILL)
        _ = try broker.finished()
        try folder.write("go", "")
        let finished = try writer.finished()
        #expect(finished.end == .exited(69))
        #expect(finished.messages.contains("after line"))
    }
}

@Suite("The progress bar", .someAtATime)
struct ProgressBarTests {
    @Test("it shows the progress, the lines, the rate and the time left, within the terminal's width")
    func text() {
        #expect(
            ProgressBar.text(
                done: 500, of: 1_000, count: "12,000 lines", rate: 6_000, seconds: 2, columns: 60
            )
                == "[########.........]  50 %  12,000 lines  6,000/s  0:02 left"
        )
        for columns in [30, 60, 80, 200] {
            let text = ProgressBar.text(
                done: 1, of: 3_000_000, count: "1,234,567 lines", rate: 137_174, seconds: 9, columns: columns
            )
            #expect(text.count < columns)
        }
    }

    @Test("without a total it counts")
    func unknownTotal() {
        #expect(
            ProgressBar.text(done: 9, of: nil, count: "1,000 lines", rate: 1_000, seconds: 1, columns: 80)
                == "1,000 lines  1,000/s"
        )
    }
}
