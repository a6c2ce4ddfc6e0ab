import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("The file of a replay", .someAtATime)
final class ReplayFileTests: BrokerSuite {
    @Test("a line that is none of a recording's is told by number, and nothing of the file is played")
    func badLines() throws {
        let good = update("a", "1", 1)
        let faults = [
            ("{", "not JSON"), ("[]", "not JSON: expected an object"),
            (#"{"event":"update"}"#, "\"ms\" is missing"),
            (#"{"ms":-1,"event":"update"}"#, "\"ms\" is a number from 0"),
            (#"{"ms":31536000001,"event":"update"}"#, "\"ms\" is a number from 0"),
            (#"{"ms":"1","event":"update"}"#, "\"ms\" is a number from 0"),
            (#"{"ms":1,"key":"a"}"#, "\"event\" is missing"),
            (#"{"ms":1,"event":"emit","revision":1,"value":1}"#, "\"key\" is missing"),
            (#"{"ms":1,"event":"emit","key":"a..b","revision":1,"value":1}"#, "\"a..b\" is not a key"),
            (#"{"ms":1,"event":"emit","key":"a","value":1}"#, "\"revision\" is missing"),
            (#"{"ms":1,"event":"update","key":"a","revision":1}"#, "\"value\" is missing"),
            (#"{"recording":1}"#, "another recording begins here"),
            (#"{"recording":2}"#, "a recording of kind 2"),
            ("\"" + String(repeating: "x", count: FileLines.lineBytesMax) + "\"", "longer than"),
        ]
        for (line, message) in faults {
            let finished = try replay(recording(good, "", "# a note", line, good))
            #expect(finished.end == .exited(1))
            let told = "session.ndjson:5: "
            #expect(
                finished.messages.contains(told) && finished.messages.contains(message),
                "\(finished.messages)"
            )
            #expect(finished.messages.hasSuffix("; nothing was played\n"))
            #expect(finished.output.isEmpty)
        }
        #expect(try run("keys").output.isEmpty)
    }

    @Test("the number of missing events in it may be any number, however large")
    func muchMissing() throws {
        let most = #","skipped":\#(UInt64.max)"#
        let finished = try replay(
            recording(
                update("a", "1", 1, more: most),
                update("a", "2", 2, more: most),
                #"{"ms":0,"event":"lagged","dropped":\#(UInt64.max),"first":1,"last":2}"#
            )
        )
        #expect(finished.end == .exited(0))
        #expect(finished.messages.contains("\(UInt64.max) events missing in the recording"))
    }

    @Test("a file that is no recording is reported")
    func noRecording() throws {
        for text in ["", "\n\n# nothing\n"] {
            #expect(try replay(text).messages.contains("session.ndjson: it is empty, and no recording"))
        }
        for text in ["hello\n", #"{"key":"a","value":1}"# + "\n", "{\"recor"] {
            #expect(try replay(text).messages.contains("session.ndjson:1: no recording: "), "\(text)")
        }
        #expect(
            try replay(#"{"recording":2,"patterns":[]}"#).messages.contains(
                "kind 2, and this version plays kind 1"
            )
        )
        #expect(try run("replay", "no/such/file").messages.contains("No such file"))
        #expect(try run("replay").end == .exited(64))
        #expect(try run("keys").output.isEmpty)
    }

    @Test("from standard input it plays up to the wrong line")
    func badInput() throws {
        let wrong = update("c", "1", 3) + "oops"
        let text = recording(update("a", "1", 1), update("b", "1", 2), wrong, update("d", "1", 4))
        let finished = try run("replay", "-", input: text)
        #expect(finished.end == .exited(1))
        #expect(finished.messages.contains("standard input:4: not JSON"))
        #expect(finished.messages.hasSuffix("; what stands up to line 3 was played\n"))
        #expect(try run("keys").lines == ["a", "b"])
        // Here the damaged line has the revision of the line before it. Both may be one batch, so neither
        // is played.
        let unknown = try run(
            "replay", "-", "--to", "x", input: text.replacing("3,\"value\"", with: "2,\"value\"")
        )
        #expect(unknown.messages.hasSuffix("; what stands up to line 2 was played\n"))
        #expect(try run("keys").lines == ["a", "b", "x.a"])
    }

    @Test("if a file ends within a line, it plays everything before that, and no half of a batch")
    func cutOff() throws {
        let first = update("a", "1", 1) + "\n" + update("b", "1", 2) + "\n" + update("c", "1", 2) + "\n"
        let cut = try replay(
            recording(first + String(update("d", "1", 3).dropLast(9))).dropLast().description
        )
        #expect(cut.end == .exited(1))
        #expect(cut.output == "played 0 values and 3 events, revision 2\n")
        #expect(cut.messages.contains("session.ndjson:5: the recording is cut off here: "))
        #expect(cut.messages.hasSuffix("; what stands up to line 4 was played\n"))
        _ = try run("delete", "b")
        _ = try run("delete", "c")
        let revision = try run("get", "a", "--json").output
        // Only the missing line could say whether this is another write of the batch.
        for length in [9, 40, 70] {
            let half = try replay(
                recording(first + String(update("d", "1", 2).dropLast(length))).dropLast().description
            )
            #expect(half.output.hasPrefix("played 0 values and 1 event,"), "\(length)")
        }
        #expect(try run("keys").lines == ["a"])
        #expect(try run("get", "a", "--json").output != revision)
    }

    @Test("a last line needs no line feed")
    func noFeed() throws {
        #expect(try replay(recording(update("a", "1", 1)).dropLast().description).end == .exited(0))
        #expect(try run("keys").lines == ["a"])
    }

    @Test("the broker's own keys and unknown events are left out, with a note")
    func leftOut() throws {
        let finished = try replay(
            recording(
                update("$broker.stats", "{}", 1),
                update("a.$own", "{}", 2),
                update("a", "1", 3),
                #"{"ms":1,"event":"synced","sub":1,"revision":3}"#,
                #"{"ms":1,"event":"unheard-of","of":1}"#,
                #"{"ms":2,"event":"lagged","sub":1,"dropped":12,"first":3,"last":9}"#,
                update("b", "1", 20, more: #","skipped":3"#)
            )
        )
        #expect(finished.output == "played 0 values and 2 events, revision 2\n")
        #expect(finished.end == .exited(0))
        #expect(
            finished.messages == """
                2 events left out: the key has a $ and is the broker's own
                15 events missing in the recording: too fast for it

                """
        )
    }

    @Test(
        "writes of one revision are one batch, up to the limit of writes; an emit of another writer isn't part of it"
    )
    func batches() throws {
        let writes = (1...Limits.batchWritesMax + 1).map { update("k.\($0)", "1", 9) }
        let events = try seen(in: folder) {
            _ = try replay(([#"{"recording":1}"#] + writes).joined(separator: "\n"))
        }
        #expect(events.count { $0.hasPrefix("1 ") } == Limits.batchWritesMax)
        #expect(events.count { $0.hasPrefix("2 ") } == 1)
        let foreign = emit("e", "1", 4).replacing("\"x\"", with: "\"y\"")
        let three = try seen(in: folder) {
            _ = try replay(recording(update("a", "1", 4), foreign, emit("f", "1", 4, ms: 5)))
        }
        #expect(three == ["1 update a 1", "1 emit e 1", "1 emit f 1"])
    }

    @Test(
        "a batch too long for a line is played in parts, with a note; the longest value is played, one byte more is refused"
    )
    func large() throws {
        let long = "\"\(String(repeating: "x", count: 600_000))\""
        let finished = try replay(recording(update("a", long, 1), update("b", long, 1)))
        #expect(finished.end == .exited(0))
        #expect(finished.output == "played 0 values and 2 events, revision 2\n")
        #expect(finished.messages == "1 batches were too large and played in parts\n")
        let most = "\"\(String(repeating: "x", count: Limits.valueBytesMax - 2))\""
        let played = try replay(recording(update("d", most, 1, more: ",\"cause\":1"), update("e", "1", 2)))
        #expect(played.end == .exited(0))
        #expect(try run("get", "d").output == most + "\n")
        let refused = try replay(
            recording(update("c", "1", 1), update("f", "[\(most)]", 2), update("g", "1", 3))
        )
        #expect(refused.end == .exited(1))
        #expect(refused.messages.contains("session.ndjson:3: limit: "))
        #expect(refused.messages.contains("1 of 3 events were refused"))
        #expect(try run("keys").lines == ["a", "b", "c", "d", "e", "g"])
    }

    @Test("standard input is played as it arrives, before the next line is there")
    func slowInput() throws {
        try folder.write("one", recording(update("a", "1", 1), update("b", "1", 1)))
        try folder.write("two", update("c", "1", 2) + "\n")
        let script =
            #"{ cat one; while [ ! -e go ]; do sleep 0.02; done; cat two; } | "$0" replay - --speed max"#
        let player = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder)
        try eventually("the first lines are played") { try run("keys").lines == ["a", "b"] }
        try folder.write("go", "")
        #expect(try player.finished().output == "played 0 values and 3 events, revision 2\n")
    }
}
