import PlugboardPosix
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

    @Test("without up there is nothing to follow: status 69")
    func withoutUp() throws {
        let broker = try startBroker(in: shop.folder)
        let finished = try plugboard("plugin", "log", "a", "--follow", in: shop.folder)
        #expect(finished.end == .exited(69) && finished.messages.contains("plugboard up didn't start it"))
        _ = broker
    }
}
