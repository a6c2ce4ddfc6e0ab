import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("record", .someAtATime)
final class RecordTests: BrokerSuite {
    /// Starts a recording in the background and waits until it has its snapshot.
    private func record(_ words: String...) throws -> Run {
        let recorder = try Run(["record"] + words, in: folder)
        try eventually("synced") { recorder.output.contains("synced") }
        return recorder
    }

    /// The lines of a recording without their times.
    private func untimed(_ lines: some Sequence<String>) -> [String] {
        lines.map { line in "{" + line.drop { $0 != "," }.dropFirst() }
    }

    @Test("it begins with its options; then come the broker's lines with their times")
    func lines() throws {
        _ = try run("publish", "a", #"{"n": 1.0,"ü":"\u00fc"}"#, "--name", "x")
        let recorder = try record("a", "b.**")
        let watcher = try Run(["subscribe", "a", "b.**", "--count", "5"], in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        _ = try run("publish", "a", "2", "--name", "y", "--cause", "1")
        _ = try run("publish", "c", "0")
        _ = try run("emit", "b.e", "[]", "--name", "y")
        _ = try run(
            "batch",
            input: "{\"op\":\"publish\",\"key\":\"b.x\",\"value\":1}\n{\"op\":\"delete\",\"key\":\"a\"}\n"
        )
        let watched = try watcher.finished().lines
        recorder.signal(SIGINT)
        let finished = try recorder.finished()
        #expect(watched.count == 6)
        #expect(untimed(finished.lines.dropFirst()) == watched)
        let header = try JSONObject(parsing: Array(finished.lines[0].utf8)[...])
        #expect(
            header.members.map(\.name) == [
                "recording", "patterns", "started", "revision", "protocol", "epoch", "broker", "version",
            ]
        )
        #expect(header["recording"]?.integer == Recording.version)
        #expect(header["patterns"]?.strings == ["a", "b.**"])
        #expect(header["revision"]?.integer == 1)
        #expect(header["protocol"]?.integer == UInt64(ProtocolVersion.number))
        #expect(header["epoch"]?.string?.count == 16)
        #expect(header["started"]?.string?.wholeMatch(of: /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ/) != nil)
    }

    @Test("a call is there with who called, before what its server wrote, and is not played again")
    func calls() throws {
        let command = ["sh", "-c", #""$0" publish cart.items - >/dev/null && echo 1"#, Products.plugboard]
        let server = try Run(["serve", "cart.add", "--ready", "--name", "cart", "--"] + command, in: folder)
        try eventually("it serves") { server.output == "ready\n" }
        _ = try run("publish", "other", "1")
        let recorder = try record("cart.**")
        _ = try run("publish", "other", "2")
        #expect(try run("call", "cart.add", "[1]", "--name", "mallory").end == .exited(0))
        #expect(try run("call", "cart.clear").end == .exited(1))
        recorder.signal(SIGINT)
        let finished = try recorder.finished()
        #expect(finished.messages.hasPrefix("recorded 0 values and 4 events in "))
        let lines = try finished.lines.dropFirst(2).map { try JSONObject(parsing: Array($0.utf8)[...]) }
        #expect(lines.map { $0["key"]?.string } == ["cart.add", "cart.items", "cart.add", "cart.clear"])
        #expect(lines.map { $0["outcome"]?.string } == ["asked", nil, "answered", "failed"])
        #expect(lines[0]["op"]?.string == "call" && lines[0]["by"]?.string == "mallory")
        #expect(lines[0]["revision"]?.integer == 2 && lines[1]["cause"]?.integer == 2)
        let file = try folder.write("session.ndjson", finished.output)
        #expect(try run("replay", file, "--to", "copy").output == "played 0 values and 1 event, revision 4\n")
        server.signal(SIGTERM)
        _ = try server.finished()
    }

    @Test("times are milliseconds since the start, and a batch has one time")
    func times() throws {
        let recorder = try record("**")
        Pause.sleep(seconds: 0.1)
        _ = try run(
            "batch",
            input: #"{"op":"publish","key":"a","value":1}"# + "\n" + #"{"op":"emit","key":"b","value":1}"#
        )
        _ = try run("publish", "c", "1")
        recorder.signal(SIGTERM)
        let times = try recorder.finished().lines.dropFirst().map { line in
            try Double(#require(try JSONObject(parsing: Array(line.utf8)[...])["ms"]).text) ?? -1
        }
        #expect(times.count == 4)
        #expect(times[0] >= 0 && times[1] >= 100 && times[1] == times[2] && times[3] > times[2])
    }

    @Test("SIGINT and SIGTERM end it with status 0, and everything before that is there")
    func signals() throws {
        let count = 20_000
        let lines = (1...count).map { "{\"key\":\"k.\($0 % 7)\",\"value\":\($0)}\n" }.joined()
        for (index, signal) in [SIGINT, SIGTERM].enumerated() {
            let recorder = try record("k.*")
            _ = try run("publish", "--from", "-", input: lines)
            recorder.signal(signal)
            let finished = try recorder.finished()
            #expect(finished.end == .exited(0))
            let values = index * 7
            // A client that can't keep up gets several updates as one line.
            let folded = try finished.lines.map { line in
                Int(try JSONObject(parsing: Array(line.utf8)[...])["skipped"]?.integer ?? 0)
            }
            .reduce(0, +)
            #expect(finished.lines.count + folded == 2 + values + count)
            #expect(finished.lines.last?.contains("\"value\":\(count),") == true)
            #expect(finished.messages.hasPrefix("recorded \(values) values and \(count - folded) events in "))
            #expect(finished.messages.contains("\(folded) events folded into later ones") == (folded > 0))
        }
    }

    @Test("an event that an earlier phase holds back is recorded when it happened")
    func phases() throws {
        let observer = try LinePeer(path: folder.socket)
        try observer.send(Array(#"{"op":"subscribe","key":"a","phase":1,"ack":true}"#.utf8) + [0x0A])
        while try !observer.text().contains("synced") {}
        let recorder = try record("a")
        for value in 1...3 { _ = try run("publish", "a", "\(value)") }
        try eventually("each is written, though the first is not acknowledged") {
            (1...3).allSatisfy { recorder.output.contains("\"value\":\($0),") }
        }
        recorder.signal(SIGINT)
        #expect(try recorder.finished().messages.hasPrefix("recorded 0 values and 3 events in "))
    }

    @Test("what another client holds by a pause is recorded, too, at the end")
    func paused() throws {
        let recorder = try record("a")
        let other = try LinePeer(path: folder.socket)
        _ = try other.line()
        try other.send("who a\n")
        let who = try JSONObject(parsing: (try other.line() ?? [])[...])
        let client = try #require(who["observers"]?.array?.first?.object?["client"]?.integer)
        try other.send(#"{"op":"pause","sub":1,"client":\#(client)}"# + "\n")
        #expect(try other.text().hasPrefix(#"{"ok":"pause""#))
        _ = try run("publish", "a", "1")
        _ = try run("publish", "a", "2")
        recorder.signal(SIGINT)
        let finished = try recorder.finished()
        #expect(finished.end == .exited(0))
        #expect(finished.lines.last?.contains(#""revision":2,"value":2,"#) == true, "\(finished.output)")
    }

    @Test("an event is in the file before the next one comes")
    func flushed() throws {
        let recorder = try record("**")
        _ = try run("publish", "a", "1")
        try eventually("the event is written") { recorder.output.hasSuffix("\"value\":1,\"by\":\"#2\"}\n") }
        #expect(recorder.isRunning)
        recorder.signal(SIGINT)
        _ = try recorder.finished()
    }

    @Test(
        "--count ends it after so many events, without the values at the start; --no-initial leaves those out"
    )
    func options() throws {
        _ = try run("publish", "a", "1")
        let recorder = try record("**", "--count", "2")
        for value in 2...4 { _ = try run("publish", "a", "\(value)") }
        let finished = try recorder.finished()
        #expect(finished.end == .exited(0))
        #expect(finished.lines.count == 5)
        #expect(finished.messages.hasPrefix("recorded 1 value and 2 events in "))
        let live = try Run(["record", "**", "--no-initial", "--count", "1"], in: folder)
        try eventually("it records") { live.output.contains("recording") }
        _ = try run("publish", "a", "5")
        #expect(try live.finished().lines.count == 2)
    }

    @Test(
        "with --no-reconnect, when the broker stops, the earlier events are there, and it says so with status 69"
    )
    func brokerStops() throws {
        let recorder = try record("**", "--no-reconnect")
        _ = try run("publish", "a", "1")
        broker.signal(SIGTERM)
        let finished = try recorder.finished()
        #expect(finished.end == .exited(69))
        #expect(finished.lines.count == 3)
        #expect(finished.messages.contains("recorded 0 values and 1 event in "))
        #expect(finished.messages.contains("the broker closed the connection: "))
    }

    @Test("it ends quietly when its reader is gone, without waiting for an event")
    func readerGone() throws {
        let finished = try Run(
            program: "/bin/bash",
            ["-c", #"set -o pipefail; "$0" record '**' | head -1; echo $?"#, Products.plugboard],
            in: folder
        )
        .finished()
        #expect(finished.lines.count == 2)
        #expect(finished.lines.last == "0")
        #expect(finished.messages.isEmpty)
    }

    @Test("a missing pattern is a usage error, a bad one is refused, and a full disk is reported")
    func failures() throws {
        #expect(try run("record").end == .exited(64))
        let refused = try run("record", "a.**.b")
        #expect(refused.end == .exited(64))
        #expect(refused.messages.contains("bad_pattern"))
        #expect(refused.output.isEmpty)
        guard FileStatus(path: "/dev/full").kind != .missing else { return }
        let full = try Run(
            program: "/bin/sh",
            ["-c", #""$0" record '**' >/dev/full"#, Products.plugboard],
            in: folder
        )
        .finished()
        #expect(full.end == .exited(1))
        #expect(full.messages.contains("No space left"))
    }

    @Test("a time is written with three decimals")
    func milliseconds() {
        #expect(Recording.milliseconds(0) == "0.000")
        #expect(Recording.milliseconds(1_002_999) == "1.002")
        #expect(Recording.milliseconds(12_345_678_900) == "12345.678")
    }
}
