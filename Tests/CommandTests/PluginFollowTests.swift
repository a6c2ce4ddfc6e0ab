import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("plugin log --follow", .someAtATime)
final class PluginFollowTests: ShopSuite {
    @Test("lines have their times, a mark shows where a run began, and a restart of the broker loses none")
    func follows() throws {
        try shop.add(
            "talker",
            "echo $$ >> pids; echo one; while read -r line; do echo \"$line\"; done < feed; sleep 1000"
        )
        try shop.folder.script("make", "mkfifo plugins/talker/feed")
        _ = try Run(program: "\(shop.folder.path)/make", [], in: shop.folder).finished()
        let up = try shop.up()
        let first = try shop.pids("talker", count: 1)[0]
        let follower = try Run(["plugin", "log", "talker", "--follow"], in: shop.folder)
        let time = #"\d\d:\d\d:\d\d\.\d\d\d"#
        let start = try Regex("^\(time)  -- run 1 begins, pid \(first) --\n\(time)  one\n")
        try eventually("the beginning") { follower.output.contains(start) }
        let broker = try #require(Processes.children(of: up.pid).first { $0 != first })
        kill(broker, SIGKILL)
        try eventually("it waits") { follower.messages.contains("waiting for it to come back") }
        let feed = try Run(program: "/bin/sh", ["-c", "echo two > plugins/talker/feed"], in: shop.folder)
        _ = try feed.finished()
        try eventually("the rest") { follower.output.contains(try Regex("\n\(time)  two\n")) }
        #expect(follower.messages.contains("the broker is back"))
        _ = try plugboard("plugin", "restart", "talker", in: shop.folder)
        let second = try shop.pids("talker", count: 2)[1]
        try eventually("the second run") { follower.output.contains("-- run 2 begins, pid \(second) --") }
        follower.signal(SIGINT)
        let finished = try follower.finished()
        #expect(finished.end == .exited(0))
        #expect(finished.lines.count { $0.hasSuffix("  two") } == 1)
    }

    @Test(
        "of the next up everything comes, though it has printed more lines by then; so also if up is silent")
    func nextUp() throws {
        try shop.add(
            "talker",
            "echo $$ >> pids; n=$(cat pids | wc -l); for i in 1 2 3 4 5 6; do echo $n-$i; done; exec sleep 1000"
        )
        let up = try shop.up()
        let first = try shop.pids("talker", count: 1)[0]
        let follower = try Run(["plugins", "log", "talker", "--follow"], in: shop.folder)
        try eventually("the first run") { follower.output.contains("1-6\n") }
        // The broker is there, and nobody who could be asked, not even for an answer that is under way.
        up.signal(SIGSTOP)
        try eventually("it asks") {
            try plugboard("who", "plugins.log", "--json", in: shop.folder).output.contains(#""calls":1"#)
        }
        let own = try #require(
            plugboard("clients", "--json", in: shop.folder).lines.first { $0.contains(#""name":"up""#) }
        )
        let number = try #require(JSONObject(parsing: Array(own.utf8)[...])["client"]?.text)
        #expect(try plugboard("disconnect", number, in: shop.folder).end == .exited(0))
        try eventually("it waits") { follower.messages.contains("up has ended; waiting") }
        up.signal(SIGCONT)
        try eventually("it goes on") { follower.messages.contains("the broker is back") }
        up.signal(SIGTERM)
        _ = try up.finished()
        let next = try shop.up()
        let second = try shop.pids("talker", count: 2)[1]
        try eventually("the second run") { follower.output.contains("2-6\n") }
        follower.signal(SIGTERM)
        let finished = try follower.finished()
        #expect(finished.end == .exited(0))
        let shown = finished.lines.map { String($0.dropFirst("00:00:00.000  ".count)) }
        var expected: [String] = []
        for (run, pid) in [first, second].enumerated() {
            expected.append("-- run 1 begins, pid \(pid) --")
            for line in 1...6 { expected.append("\(run + 1)-\(line)") }
        }
        #expect(shown == expected)
        _ = next
    }

    @Test("entries after a number, what is missing before them, and JSON lines")
    func entries() throws {
        var log = PluginLog()
        log.begin(run: 1, pid: 7, at: 0)
        log.append(["a", "b"], at: 1_000)
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        let start = #"{"at":"1970-01-01T00:00:00.000Z","run":1,"pid":7}"#
        let lines = ["a", "b"].map { #"{"at":"1970-01-01T00:00:01.000Z","line":"\#($0)"}"# }
        #expect(text(log.json(after: 0)) == #"{"next":3,"entries":[\#(start),\#(lines[0]),\#(lines[1])]}"#)
        #expect(text(log.json(after: 2)) == #"{"next":3,"entries":[\#(lines[1])]}"#)
        #expect(text(log.json(after: 3)) == #"{"next":3,"entries":[]}"#)
        log.append((1...PluginLog.linesMax).map { "\($0)" })
        #expect(text(log.json(after: 1)).hasPrefix(#"{"next":203,"missing":2,"entries":["#))
        for run in 2...(3 * PluginLog.linesMax) { log.begin(run: run, pid: nil, at: 0) }
        #expect(log.entries.count == 2 * PluginLog.linesMax)
        // Whoever has a number of an earlier log, or of a clock that was set back, has nothing of this one.
        var next = PluginLog(after: 1_000)
        next.append(["a"], at: 1_000)
        let all = #"{"next":1001,"entries":[\#(lines[0])]}"#
        for number: UInt64 in [0, 203, 1_000, 1_002] { #expect(text(next.json(after: number)) == all) }
        next.append((1...PluginLog.linesMax).map { "\($0)" })
        #expect(text(next.json(after: 203)).hasPrefix(#"{"next":1201,"missing":1,"entries":["#))
        #expect(text(next.json(after: 0)).hasPrefix(#"{"next":1201,"entries":["#))
    }

    @Test("with --lines only the last entries come at first; with --json they are objects")
    func options() throws {
        try shop.add("talker", "echo one; echo two; exec sleep 1000")
        let up = try shop.up()
        try eventually("it talked") { up.output.contains("two") }
        let follower = try Run(
            ["plugin", "log", "talker", "--follow", "--lines", "1", "--json"], in: shop.folder
        )
        try eventually("a line") { follower.output.hasSuffix("\n") }
        #expect(follower.output.contains(/^\{"at":"[^"]+","line":"two"\}\n$/))
        #expect(try plugboard("plugin", "restart", "talker", "--follow", in: shop.folder).end == .exited(64))
        let unknown = try plugboard("plugin", "log", "talkr", "--follow", in: shop.folder)
        #expect(unknown.end == .exited(1) && unknown.messages.contains("did you mean \"talker\"?"))
        follower.signal(SIGTERM)
        _ = try follower.finished()
        let ending = try Run(["plugin", "log", "talker", "--follow", "--no-reconnect"], in: shop.folder)
        try eventually("a line") { ending.output.contains("two") }
        up.signal(SIGTERM)
        #expect(try ending.finished().end == .exited(69))
    }

    @Test("what is missing is a line, with --json an object")
    func missing() throws {
        try shop.add("talker", "echo one; until [ -e go ]; do sleep 0.02; done; seq 1 500; exec sleep 1000")
        let up = try shop.up()
        let followers = try [[], ["--json"]].map {
            try Run(["plugins", "log", "talker", "--follow"] + $0, in: shop.folder)
        }
        try eventually("both follow") { followers.allSatisfy { $0.output.contains("one") } }
        // Both ask while the 500 lines come, or afterwards.
        try shop.folder.write("plugins/talker/go", "")
        try eventually("the end") {
            followers[0].output.contains("  500\n") && followers[1].output.contains("\"line\":\"500\"")
        }
        #expect(followers[0].output.contains(/\n-- \d+ lines missing here --\n/))
        let lines = followers[1].output.split(separator: "\n")
        let missing = try lines.compactMap {
            try JSONObject(parsing: Array($0.utf8)[...])["missing"]?.integer
        }
        #expect(missing.reduce(0, +) + UInt64(lines.count - missing.count) == 502)
        _ = up
    }

    @Test("without up there is nothing to follow: status 69")
    func withoutUp() throws {
        let broker = try startBroker(in: shop.folder)
        let finished = try plugboard("plugin", "log", "a", "--follow", in: shop.folder)
        #expect(finished.end == .exited(69) && finished.messages.contains("plugboard up didn't start it"))
        _ = broker
    }
}
