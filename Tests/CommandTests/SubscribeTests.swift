import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("subscribe", .someAtATime)
final class SubscribeTests: BrokerSuite {
    /// Starts a subscription in the background and waits until it has its snapshot.
    private func watch(_ words: String...) throws -> Run {
        let watcher = try Run(["subscribe", "--no-reconnect"] + words, in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        return watcher
    }

    @Test("into a pipe it prints the broker's lines: the values, synced, then changes")
    func piped() throws {
        _ = try run("publish", "a", "1", "--name", "x")
        let watcher = try watch("*", "--old", "--count", "3")
        _ = try run("publish", "a", "2", "--name", "y")
        _ = try run("delete", "a", "--name", "z")
        let finished = try watcher.finished()
        #expect(finished.end == .exited(0))
        #expect(
            finished.lines == [
                #"{"event":"update","sub":1,"key":"a","revision":1,"value":1,"by":"x","initial":true,"live":false}"#,
                #"{"event":"synced","sub":1,"revision":1}"#,
                #"{"event":"update","sub":1,"key":"a","revision":2,"value":2,"old":1,"by":"y"}"#,
                #"{"event":"delete","sub":1,"key":"a","revision":3,"old":2,"by":"z"}"#,
            ]
        )
        #expect(finished.messages.isEmpty)
    }

    @Test("several patterns are one subscription; --no-values leaves the values out")
    func options() throws {
        let watcher = try watch("a.*", "b", "--no-values", "--count", "2")
        for key in ["c", "a.x", "b"] { _ = try run("publish", key, "1", "--name", "me") }
        #expect(
            try watcher.finished().lines.dropFirst() == [
                #"{"event":"update","sub":1,"key":"a.x","revision":2,"by":"me"}"#,
                #"{"event":"update","sub":1,"key":"b","revision":3,"by":"me"}"#,
            ]
        )
    }

    @Test("--where, --fields, --diff and --phase ask for less")
    func askingForLess() throws {
        _ = try run("publish", "p.1", #"{"price":120,"name":"one"}"#, "--name", "me")
        let cheap = try watch(
            "p.*",
            "--where",
            #"{"/price":{"<":100}}"#,
            "--fields",
            "/price",
            "--count",
            "2"
        )
        let changes = try watch("p.*", "--diff", "--phase", "9", "--count", "4")
        let who = try run("who", "p.1").lines.filter { $0.contains("sub 1") }
        #expect(who.count == 2 && who[1].hasSuffix("phase 9"))
        _ = try run("patch", "p.1", #"{"price":90}"#, "--name", "me")
        _ = try run("patch", "p.1", #"{"price":91,"name":null}"#, "--name", "me")
        _ = try run("patch", "p.1", #"{"price":100}"#, "--name", "me")
        #expect(
            try cheap.finished().lines.dropFirst() == [
                #"{"event":"update","sub":1,"key":"p.1","revision":2,"fields":{"/price":90},"by":"me"}"#,
                #"{"event":"update","sub":1,"key":"p.1","revision":3,"fields":{"/price":91},"by":"me"}"#,
            ]
        )
        let patches = try changes.finished().lines
        #expect(patches.count == 5 && patches[2].contains(#""patch":{"price":90}"#))
    }

    @Test("--every folds faster updates into one line, --delivery all keeps each")
    func seldom() throws {
        let folded = try watch("s", "--every", "1", "--count", "2")
        let whole = try watch("s", "--every", "1", "--delivery", "all", "--count", "3")
        let writes = (1...3).map { "{\"key\":\"s\",\"value\":\($0)}\n" }.joined()
        _ = try Run(["publish", "--from", "-"], in: folder, input: writes).finished()
        let last = try folded.finished().lines.last ?? ""
        #expect(last.contains(#""value":3,"#) && last.contains(#""skipped":1"#))
        #expect(try whole.finished().lines.count == 4)
    }

    @Test("invalid options are reported before the broker is asked")
    func wrongOptions() throws {
        let wrong: [([String], String)] = [
            (["--where", "price<3"], "--where is not JSON"),
            (["--fields", "price"], "such as /price"),
            (["--fields", "/a,"], "\"\" is none"),
            (["--fields", "/a", "--no-values"], "--fields and --no-values are two answers"),
            (["--every", "0"], "0.001 to 86400 seconds"),
            (["--every", "86401"], "0.001 to 86400 seconds"),
            (["--delivery", "al"], "did you mean \"all\"?"),
            (["--phase", "10"], "from 0 to 9"),
        ]
        for (words, message) in wrong {
            let finished = try Run(["subscribe", "a"] + words, in: folder).finished()
            #expect(finished.end == .exited(64), "\(words)")
            #expect(finished.messages.contains(message), "\(finished.messages)")
        }
        let refused = try run("subscribe", "a", "--where", #"{"/price":100}"#)
        #expect(refused.end == .exited(64))
        #expect(refused.messages.contains("takes an object of operators"))
    }

    @Test("--no-initial shows only what comes later")
    func noInitial() throws {
        _ = try run("publish", "a", "1")
        let watcher = try Run(["subscribe", "a", "--no-initial", "--count", "1"], in: folder)
        // Nothing says when this subscription exists, so the key is changed until an event comes.
        try eventually("an event") {
            _ = try run("publish", "a", "2")
            return !watcher.isRunning
        }
        let lines = try watcher.finished().lines
        #expect(lines.count == 1)
        #expect(!lines[0].contains("initial"))
    }

    @Test("it ends quietly when its reader is gone, without waiting for an event")
    func readerGone() throws {
        _ = try run("publish", "a", "1")
        let script = #""$0" subscribe '**' | head -1; echo "after"; "$0" publish a 2 >&2"#
        let finished = try Run(
            program: "/bin/bash", ["-c", "set -o pipefail; " + script, Products.plugboard], in: folder
        )
        .finished()
        #expect(finished.lines.count == 2)
        #expect(finished.lines.last == "after")
        #expect(finished.messages == "revision 2\n")
    }

    @Test("every command ends quietly when its reader is gone, with status 0")
    func brokenPipe() throws {
        let lines = (0..<20_000).map { "{\"key\":\"k.\($0)\",\"value\":0}\n" }.joined()
        _ = try Run(["publish", "--from", "-"], in: folder, input: lines).finished()
        let script = #"set -o pipefail; "$0" keys | head -1; echo $?"#
        let finished = try Run(program: "/bin/bash", ["-c", script, Products.plugboard], in: folder)
            .finished()
        #expect(finished.lines == ["k.0", "0"])
        #expect(finished.messages.isEmpty)
    }

    @Test("with --no-reconnect, when the broker stops it says so and ends with status 69")
    func brokerStops() throws {
        let watcher = try watch("**")
        broker.signal(SIGTERM)
        let finished = try watcher.finished()
        #expect(finished.end == .exited(69))
        #expect(finished.messages.contains("the broker closed the connection: "))
        #expect(try broker.finished().end == .exited(0))
    }

    @Test("with --no-reconnect, when the broker vanishes it says so and ends with status 69")
    func brokerKilled() throws {
        let watcher = try watch("**")
        broker.signal(SIGKILL)
        let finished = try watcher.finished()
        #expect(finished.end == .exited(69))
        #expect(finished.messages.contains("the broker at \(folder.socket) went away"))
    }

    @Test("everything before the broker's end is printed, even a flood, line by line or folded")
    func flood() throws {
        let watcher = try watch("**")
        let lines = (1...20_000).map { "{\"key\":\"k.\($0 % 100)\",\"value\":\($0)}\n" }.joined()
        _ = try Run(["publish", "--from", "-"], in: folder, input: lines).finished()
        try eventually("all of it is on its way") {
            try run("who", "k.1", "--json").output.contains(#""state":"live","queued":0,"#)
        }
        broker.signal(SIGTERM)
        let finished = try watcher.finished()
        let folded = try finished.lines.map { line in
            try JSONObject(parsing: Array(line.utf8)[...])["skipped"]?.integer ?? 0
        }
        #expect(UInt64(finished.lines.count) + folded.reduce(0, +) == 20_001)
        #expect(finished.lines.last?.contains("\"value\":20000") == true)
        #expect(finished.end == .exited(69))
    }

    @Test("a bad pattern is a usage error, with status 64")
    func badPattern() throws {
        let finished = try run("subscribe", "a.**.b")
        #expect(finished.end == .exited(64))
        #expect(finished.messages.contains("bad_pattern"))
    }
}
