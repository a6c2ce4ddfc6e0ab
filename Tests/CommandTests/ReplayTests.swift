import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("replay", .someAtATime)
final class ReplayTests: BrokerSuite {
    @Test("what a call led to has the call's own cause, because calls aren't played")
    func calls() throws {
        let call =
            #""key":"s.do","op":"call","by":"m","call":"1","outcome":"asked","server":{"client":3,"name":"s"}"#
        let lines = [
            #"{"recording":1,"patterns":["**"]}"#,
            #"{"ms":1,"event":"update","sub":1,"key":"a","revision":11,"value":1,"by":"x"}"#,
            #"{"ms":2,"event":"trace","sub":2,"revision":11,\#(call)}"#,
            #"{"ms":3,"event":"update","sub":1,"key":"b","revision":12,"value":1,"by":"s","cause":11}"#,
            #"{"ms":4,"event":"update","sub":1,"key":"c","revision":13,"value":1,"by":"t","cause":11}"#,
            #"{"ms":5,"event":"trace","sub":2,"revision":13,"cause":12,\#(call)}"#,
            #"{"ms":6,"event":"update","sub":1,"key":"d","revision":14,"value":1,"by":"s","cause":13}"#,
        ]
        let file = try folder.write("session.ndjson", lines.map { $0 + "\n" }.joined())
        #expect(try run("replay", file).output == "played 0 values and 4 events, revision 4\n")
        let causes = try ["b", "c", "d"].map { key in
            try JSONObject(parsing: Array(try run("get", key, "--json").output.utf8)[...])["cause"]?.integer
        }
        #expect(causes == [nil, 1, 2])
    }

    @Test("what the command of a serve without a name writes has the call's own cause, too")
    func unnamedServer() throws {
        let call =
            ##""key":"s","op":"call","by":"m","call":"1","outcome":"asked","server":{"name":"#5"}"##
        let lines = [
            #"{"recording":1,"patterns":["**"]}"#,
            #"{"ms":1,"event":"update","sub":1,"key":"a","revision":11,"value":1,"by":"x"}"#,
            #"{"ms":2,"event":"trace","sub":2,"revision":11,\#(call)}"#,
            ##"{"ms":3,"event":"update","sub":1,"key":"b","revision":12,"value":1,"by":"#7","cause":11}"##,
            #"{"ms":4,"event":"update","sub":1,"key":"c","revision":13,"value":1,"by":"t","cause":11}"#,
            #"{"ms":5,"event":"trace","sub":2,"revision":13,"cause":12,\#(call)}"#,
            ##"{"ms":6,"event":"update","sub":1,"key":"d","revision":14,"value":1,"by":"#8","cause":13}"##,
            #"{"ms":7,"event":"trace","sub":2,"revision":14,"cause":11,\#(call)}"#,
            #"{"ms":8,"event":"emit","sub":1,"key":"e","revision":14,"value":1,"by":"x"}"#,
            ##"{"ms":9,"event":"update","sub":1,"key":"f","revision":15,"value":1,"by":"#7","cause":14}"##,
        ]
        let file = try folder.write("session.ndjson", lines.map { $0 + "\n" }.joined())
        #expect(try run("replay", file).output == "played 0 values and 6 events, revision 5\n")
        let causes = try ["b", "c", "d", "f"].map { key in
            try JSONObject(parsing: Array(try run("get", key, "--json").output.utf8)[...])["cause"]?.integer
        }
        #expect(causes == [nil, 1, 2, 4])
    }

    @Test("a session that was recorded and is played gives the same events, batches and state")
    func roundTrip() throws {
        _ = try run("publish", "kept", #"{"n": 1.50, "ü":"\u00fc"}"#)
        _ = try run("publish", "changed", "1")
        _ = try run("publish", "removed", "1")
        let recorder = try Run(["record", "**"], in: folder)
        try eventually("synced") { recorder.output.contains("synced") }
        let session = try seen(in: folder) {
            _ = try run("patch", "changed", #"{"a":1}"#)
            _ = try run("emit", "hello", "\"x\"", "--cause", "4")
            _ = try run(
                "batch",
                input: """
                    {"op":"emit","key":"first","value":0}
                    {"op":"publish","key":"b.one","value":1,"cause":4}
                    {"op":"delete","key":"removed"}
                    {"op":"patch","key":"b.two","value":{"x":2}}
                    {"op":"emit","key":"last","value":0}
                    """
            )
            _ = try run("emit", "hello", "\"y\"")
            _ = try run("delete", "b.one")
            _ = try run("publish", "b.one", "[]")
        }
        recorder.signal(SIGINT)
        let file = try folder.write("session.ndjson", try recorder.finished().output)
        let other = try TemporaryFolder()
        let second = try startBroker(in: other)
        let played = try seen(in: other) {
            let finished = try Run(["replay", file, "--speed", "1000"], in: other).finished()
            #expect(finished.output == "played 3 values and 10 events, revision 7\n")
            #expect(finished.end == .exited(0))
            #expect(finished.messages.isEmpty)
        }
        // Here the values from the beginning are events, too.
        #expect(played.count == session.count + 3)
        #expect(session.count == 10)
        let shifted = played.dropFirst(3).map { line in
            let revision = Int(line.prefix { $0 != " " }) ?? -1
            return "\(revision - 3)" + line.drop { $0 != " " }.replacing(" ←4", with: " ←1")
        }
        #expect(shifted == session)
        let states = try [folder, other].map { place in
            try plugboard("get", "**", in: place).lines.map { line in
                let object = try JSONObject(parsing: Array(line.utf8)[...])
                return "\(object["key"]?.text ?? "") \(object["value"]?.text ?? "")"
            }
        }
        #expect(states[0] == states[1])
        #expect(states[0].count == 4)
        second.signal(SIGTERM)
        _ = try second.finished()
    }

    @Test("--to puts a prefix before each key and leaves the real keys alone")
    func prefix() throws {
        _ = try run("publish", "a", "0")
        let text = recording(
            update("a", "1", 5, more: #","initial":true"#),
            update("b", "2", 6),
            update("c", "3", 6),
            emit("d", "4", 6, ms: 9),
            delete("a", 7, ms: 9)
        )
        let events = try seen(in: folder) {
            let finished = try replay(text, "--to", "copy.of")
            #expect(finished.output == "played 1 value and 4 events, revision 4\n")
        }
        #expect(
            events == [
                "1 update copy.of.a 1", "2 update copy.of.b 2", "2 update copy.of.c 3",
                "2 emit copy.of.d 4", "3 delete copy.of.a ",
            ]
        )
        #expect(try run("get", "a").output == "0\n")
        let refused = try replay(text, "--to", String(repeating: "x", count: 255))
        #expect(refused.messages.contains("session.ndjson:2: "))
        #expect(refused.messages.contains("longer than 256 bytes; nothing was played"))
        #expect(try replay(text, "--to", String(repeating: "x", count: 254)).end == .exited(0))
        for bad in ["a..b", "$own", "a.*", ""] { #expect(try replay(text, "--to", bad).end == .exited(64)) }
    }

    @Test("who wrote it first stays; how long it was to stay doesn't")
    func origin() throws {
        let lines = recording(
            update("a", "1", 5, more: #","origin":"far","initial":true,"ttl":90000,"while":"connected""#),
            update("b", "2", 6, more: #","origin":"away""#),
            delete("b", 7)
        )
        let watcher = try Run(["subscribe", "*", "--count", "3"], in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        #expect(try replay(lines).end == .exited(0))
        let told = try watcher.finished().lines.dropFirst()
        #expect(told.map { $0.contains(#""origin":"far""#) } == [true, false, false])
        #expect(told.map { $0.contains(#""origin":"away""#) } == [false, true, false])
        let kept = try run("get", "a", "--json").output
        #expect(kept.contains(#""origin":"far""#) && !kept.contains("ttl") && !kept.contains("while"))
    }

    @Test("events come at their times divided by the speed")
    func speed() throws {
        let text = recording(update("a", "1", 1), update("b", "1", 2, ms: 200_000))
        let file = try folder.write("session.ndjson", text)
        let start = MonotonicClock.nanoseconds()
        // Only a lower bound is checked. Without the division it would take minutes.
        #expect(try run("replay", file, "--speed", "1000").end == .exited(0))
        #expect(MonotonicClock.nanoseconds() - start >= 200_000_000)
        for word in ["max", "0"] { #expect(try run("replay", file, "--speed", word).end == .exited(0)) }
        for word in ["fast", "-1", "1e3", "0.0001", "1000001"] {
            #expect(try run("replay", file, "--speed=\(word)").end == .exited(64), "\(word)")
        }
    }

    @Test("time begins with the recording, or with the first event if the first line is missing")
    func beginning() throws {
        let lines = update("a", "1", 1, ms: 300_000) + "\n" + update("b", "1", 2, ms: 300_010) + "\n"
        let part = try folder.write("part.ndjson", lines)
        #expect(try run("replay", part).output == "played 0 values and 2 events, revision 2\n")
        let whole = try folder.write("whole.ndjson", recording(lines))
        let start = MonotonicClock.nanoseconds()
        #expect(try run("replay", whole, "--speed", "1000").end == .exited(0))
        #expect(MonotonicClock.nanoseconds() - start >= 300_000_000)
    }

    @Test("a cause becomes the new revision of that event, and is left out if that event wasn't recorded")
    func causes() throws {
        _ = try run("publish", "other", "1")
        let events = try seen(in: folder) {
            _ = try replay(
                recording(
                    update("a", "1", 41, more: #","cause":7,"initial":true"#),
                    update("b", "1", 50, more: #","cause":41"#),
                    emit("e", "1", 50, ms: 20),
                    update("c", "1", 51, ms: 30, more: #","cause":50"#),
                    update("d", "1", 52, ms: 30, more: #","cause":52000"#)
                )
            )
        }
        #expect(
            events == [
                "1 update a 1", "2 update b 1 ←1", "2 emit e 1", "3 update c 1 ←2", "4 update d 1",
            ]
        )
    }

    @Test("deleting a missing key is noted and is no failure, even in a batch")
    func goneKeys() throws {
        let events = try seen(in: folder) {
            let finished = try replay(
                recording(
                    delete("a", 1), delete("b", 2), update("c", "1", 2), delete("d", 2), update("e", "1", 2)
                )
            )
            #expect(finished.end == .exited(0))
            #expect(finished.output == "played 0 values and 2 events, revision 1\n")
            #expect(finished.messages == "3 events deleted a key that wasn't there\n")
        }
        #expect(events == ["1 update c 1", "1 update e 1"])
    }

    @Test("--json prints the result as an object")
    func json() throws {
        let text = recording(update("a", "1", 1, more: #","initial":true"#), update("b", "1", 2))
        #expect(
            try replay(text, "--json").output == "{\"values\":1,\"events\":1,\"refused\":0,\"revision\":2}\n"
        )
    }

    @Test("Ctrl-C ends it within a pause, and it says how far it got")
    func interrupted() throws {
        let file = try folder.write(
            "long.ndjson", recording(update("a", "1", 1), update("b", "1", 2, ms: 1_000_000))
        )
        let player = try Run(["replay", file], in: folder)
        try eventually("the first is played") { try run("keys").lines == ["a"] }
        player.signal(SIGINT)
        let finished = try player.finished()
        #expect(finished.end == .exited(1))
        #expect(finished.messages.contains("stopped after line 3 of "))
        #expect(try run("keys").lines == ["a"])
    }

    @Test("when the broker stops in a pause it says so and ends with status 69")
    func brokerStops() throws {
        let file = try folder.write(
            "long.ndjson", recording(update("a", "1", 1), update("b", "1", 2, ms: 1_000_000))
        )
        let player = try Run(["replay", file], in: folder)
        try eventually("the first is played") { try run("keys").lines == ["a"] }
        broker.signal(SIGTERM)
        let finished = try player.finished()
        #expect(finished.end == .exited(69))
        #expect(finished.messages.contains("the broker closed the connection: "))
    }

    @Test("many events arrive complete and in order, each with its cause")
    func many() throws {
        let count = 20_000
        let lines = (1...count).map {
            update("k.\($0 % 100)", "\($0)", $0, more: $0 > 1 ? ",\"cause\":\($0 - 1)" : "")
        }
        #expect(
            try replay(([#"{"recording":1}"#] + lines).joined(separator: "\n")).output
                == "played 0 values and \(count) events, revision \(count)\n"
        )
        let last = try run("get", "k.0", "--json").output
        #expect(last.contains("\"value\":\(count),") && last.contains("\"cause\":\(count - 1)"))
    }
}

@Suite("The revisions of a recording on this bus", .someAtATime)
struct RevisionMapTests {
    @Test("it remembers as many as a broker remembers causes, and forgets the oldest for one more")
    func limit() {
        var map = RevisionMap()
        let count = UInt64(RevisionMap.countMax)
        for revision in 1...count { map.note(revision, as: revision * 2) }
        #expect(map[1] == 2 && map[count] == count * 2)
        map.note(count + 1, as: 7)
        #expect(map[1] == nil && map[2] == 4 && map[count + 1] == 7)
        map.note(count + 2, as: 8)
        #expect(map[2] == nil && map[3] == 6)
    }

    @Test("the first entry for a revision stays")
    func first() {
        var map = RevisionMap()
        map.note(5, as: 1)
        map.note(5, as: 2)
        #expect(map[5] == 1)
    }
}
