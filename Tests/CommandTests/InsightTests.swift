import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("Commands that find out", .someAtATime)
final class InsightTests: BrokerSuite {
    @Test("why prints a step a line, the newest first")
    func why() throws {
        _ = try run("publish", "cart.items", "[1]", "--name", "cart")
        _ = try run("publish", "total", "1", "--name", "price", "--cause", "1")
        let lines = try run("why", "total").lines
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("  total       publish by price  revision 2  20"))
        #expect(lines[1].hasPrefix("← cart.items  publish by cart  revision 1  20"))
        let cut = try run("why", "total", "--limit", "1").lines
        #expect(cut.count == 2)
        #expect(cut.last == "← more: --limit shows them")
    }

    @Test("why --json prints the broker's reply; an unknown key is refused, with similar ones")
    func whyReplies() throws {
        _ = try run("publish", "total", "1")
        let reply = try run("why", "total", "--json").output
        #expect(reply.hasPrefix(#"{"ok":"why","id":1,"key":"total","chain":[{"#))
        let refused = try run("why", "totla")
        #expect(refused.end == .exited(1))
        #expect(refused.messages.contains("not_found"))
        #expect(refused.messages.contains("did you mean \"total\"?"))
        #expect(try run("why", "a.*").end == .exited(64))
        #expect(try run("why", "total", "--limit", "0").end == .exited(64))
    }

    @Test("who prints the writer and each observer")
    func who() throws {
        #expect(try run("who", "cart.total").lines == ["cart.total  has no value", "nobody observes it"])
        let watcher = try Run(["subscribe", "cart.*"], in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        _ = try run("publish", "cart.total", "1", "--name", "till")
        let lines = try run("who", "cart.total").lines
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("cart.total  written by till (client "))
        #expect(lines[0].hasSuffix("), who is gone  revision 1"))
        #expect(lines[1].contains("pid \(watcher.pid)  sub 1  cart.*  live"))
        #expect(try run("who", "cart.total", "--json").output.contains(#""pattern":"cart.*","phase":5,"#))
    }

    @Test("explain prints who would be told, and fails with the reason if the write would be refused")
    func explain() throws {
        let nobody = try run("explain", "publish", "cart.total", "1")
        #expect(nobody.lines.first == "cart.total  update at revision 1")
        #expect(nobody.lines.last?.hasPrefix("nobody observes this key") == true)
        let watcher = try Run(["subscribe", "cart.*"], in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        let told = try run("explain", "patch", "cart.total", #"{"a":1}"#)
        #expect(told.lines.count == 3)
        #expect(told.lines[1] == #"  {"a":1}"#)
        #expect(told.lines[2].hasSuffix("sub 1  cart.*  sent"))
        let price = try BrokerConnection(path: folder.socket)
        let client = try #require(try price.expectGreeting()["client"]?.text)
        _ = try price.accepted(
            ObjectWriter(op: "subscribe").adding("key", string: "cart.total").adding("phase", 1)
                .adding("ack", true, unless: false)
        )
        let waiting = try run("explain", "publish", "cart.total", "1").lines.last ?? ""
        #expect(waiting.contains("sub 1  cart.* "))
        #expect(waiting.hasSuffix("  waiting for phase 1: #\(client) (client \(client))"))
        let refused = try run("explain", "delete", "cart.total")
        #expect(refused.end == .exited(1))
        #expect(refused.messages.contains("it would be refused: not_found"))
        #expect(try run("explain", "publish", "a", "1", "--if", "7").messages.contains("conflict"))
        #expect(try run("explain", "publish", "$broker.stats", "1").messages.contains("forbidden"))
        #expect(try run("keys").output.isEmpty)
    }

    @Test("--dry-run of a write says what explain says, and writes nothing")
    func dryRun() throws {
        _ = try run("publish", "n", "1")
        let writes: [[String]] = [
            ["publish", "n", "2"], ["emit", "n", "2"], ["patch", "n", "{}"], ["add", "n", "2"],
            ["delete", "n"],
        ]
        for write in writes {
            let dry = try Run(write + ["--dry-run"], in: folder).finished()
            let explained = try Run(["explain"] + write, in: folder).finished().output
            #expect(dry.end == .exited(0) && dry.output == explained)
            let json = try Run(write + ["--dry-run", "--json"], in: folder).finished().output
            #expect(json.hasPrefix(#"{"ok":"explain","id":1,"op":"\#(write[0])","key":"n","#), "\(json)")
        }
        #expect(try run("publish", "n", "-t", "so", "--ttl", "5", "--dry-run").end == .exited(0))
        #expect(try run("patch", "n", "2", "--field", "/a", "--dry-run").end == .exited(1))
        let refused = try run("publish", "n", "2", "--if", "7", "--dry-run")
        #expect(refused.end == .exited(1) && refused.messages.contains("it would be refused: conflict"))
        #expect(try run("publish", "--from", "-", "--dry-run").end == .exited(64))
        #expect(try run("get", "n", "--json").output.contains(#""revision":1,"#))
    }

    @Test("explain takes the four writes, with a value if they have one")
    func explainUsage() throws {
        let wrong = [
            ["get", "a"], ["publish", "a"], ["delete", "a", "1"], ["publish", "a", "b"], ["publish"],
        ]
        for words in wrong {
            #expect(try Run(["explain"] + words, in: folder).finished().end == .exited(64), "\(words)")
        }
        #expect(try run("explain", "emit", "a", "1").end == .exited(0))
        #expect(try run("explain", "pubish", "a", "1").messages.contains("did you mean \"publish\"?"))
        #expect(
            try run("explain", "patch", "a").messages.contains("usage: plugboard explain patch KEY VALUE")
        )
    }

    @Test("pause holds a client's subscription, step lets lines of it through, resume all of them")
    func control() throws {
        let watcher = try Run(["subscribe", "k.*"], in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        let who = try run("who", "k.a").output
        let client = String(try #require(who.firstMatch(of: /client (\d+)/)?.1))
        #expect(try run("pause", client).lines == ["0 owed"])
        for key in ["k.a", "k.b", "k.c", "k.d"] { _ = try run("publish", key, "1") }
        #expect(try run("who", "k.a").output.contains("paused: 4 owed"))
        #expect(try run("step", client, "1", "--count", "2").lines == ["4 owed"])
        try eventually("two lines") { watcher.output.contains(#""key":"k.b""#) }
        #expect(!watcher.output.contains(#""key":"k.c""#))
        #expect(try run("resume", client, "--json").output.hasPrefix(#"{"ok":"resume","id":1,"sub":1,"#))
        try eventually("all") { watcher.output.contains(#""key":"k.d""#) }
        #expect(try run("step", client).messages.contains("conflict"))
    }

    @Test("a subscription whose name is a text is found by it; an unknown one is refused")
    func controlNames() throws {
        let person = try BrokerConnection(path: folder.socket)
        let client = try #require(try person.expectGreeting()["client"]?.integer)
        for sub in [#""prices""#, #""7""#, "-3"] {
            _ = try person.accepted(
                ObjectWriter(op: "subscribe").adding("key", string: "k").adding(
                    "sub", json: Array(sub.utf8)[...]
                )
            )
        }
        for sub in ["prices", #""7""#, "-3"] {
            #expect(try run("pause", "\(client)", sub).end == .exited(0), "\(sub)")
        }
        for sub in ["7", #""prices"#, "+4"] {
            #expect(try run("pause", "\(client)", sub).messages.contains("unknown_sub"), "\(sub)")
        }
        #expect(try run("pause", "999").messages.contains("not_found"))
        let named = try run("pause", "cart")
        #expect(named.end == .exited(64))
        #expect(named.messages.contains("plugboard clients lists them"))
        #expect(try run("step", "\(client)", "--count", "0").end == .exited(64))
    }

    @Test("trace draws each write with its observers below it")
    func trace() throws {
        let watcher = try Run(["subscribe", "cart.*"], in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        let tracer = try Run(["trace", "**", "--count", "2"], in: folder)
        let lines = try Run(["trace", "**", "--count", "2", "--json"], in: folder)
        try eventually("both trace") {
            try run("get", "$broker.stats").output.contains(#""clients":4,"subscriptions":3,"#)
        }
        _ = try run("publish", "cart.total", "1", "--name", "till")
        _ = try run("emit", "bell", "1", "--name", "till", "--cause", "1")
        let drawn = try tracer.finished().lines
        #expect(drawn.count == 4)
        #expect(drawn[0].hasSuffix("  cart.total  publish by till  revision \(revision(drawn[0]))"))
        #expect(drawn[1].contains("  └ #"))
        #expect(drawn[1].contains("  sub 1  sent after "))
        #expect(drawn[1].hasSuffix(" µs"))
        #expect(drawn[2].contains("  bell  emit by till  revision "))
        #expect(drawn[2].hasSuffix(", because of 1"))
        #expect(drawn[3] == "  └ nobody observes it")
        let raw = try lines.finished().lines
        #expect(raw.count == 2)
        #expect(raw.allSatisfy { $0.hasPrefix(#"{"event":"trace","sub":1,"key":"#) })
    }

    private func revision(_ line: String) -> Substring {
        line.split(separator: " ").last ?? ""
    }
}
