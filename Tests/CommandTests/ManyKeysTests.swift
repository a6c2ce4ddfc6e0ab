import PlugboardPosix
import PlugboardWire
import Synchronization
import TestSupport
import Testing

@testable import plugboard

@Suite("Many keys at once", .someAtATime)
final class ManyKeysTests: BrokerSuite {
    private func fill(_ count: Int, under prefix: String = "k") throws {
        let lines = (0..<count).map { "{\"key\":\"\(prefix).\($0)\",\"value\":\($0)}\n" }.joined()
        _ = try Run(["publish", "--from", "-"], in: folder, input: lines).finished()
    }

    @Test("get takes several keys and patterns, and prints each key once, in order")
    func get() throws {
        for key in ["b.2", "b.1", "a", "c"] { _ = try run("publish", key, "1", "--name", "me") }
        let keys = try run("get", "c", "b.*", "b.1", "a").lines.map { $0.prefix { $0 != "," } }
        #expect(keys == [#"{"key":"a""#, #"{"key":"b.1""#, #"{"key":"b.2""#, #"{"key":"c""#])
        #expect(try run("get", "a", "a").output == "1\n")
        let missing = try run("get", "a", "x", "b.*", "y")
        #expect(missing.lines.count == 3)
        #expect(missing.end == .exited(1))
        #expect(
            missing.messages
                == "\"x\" has no value\n\"y\" has no value\nplugboard get: 2 of 3 keys had no value\n"
        )
        #expect(try run("get", "a", "x*").end == .exited(64))
    }

    @Test("get takes more words than a subscription has patterns")
    func manyWords() throws {
        try fill(130)
        let words = (0..<130).map { "k.\($0)" }
        #expect(try Run(["get"] + words, in: folder).finished().lines.count == 130)
    }

    @Test("get has all values at one revision, also of more words than a subscription has patterns")
    func oneRevision() throws {
        let words = (0..<150).map { "k.\($0)" }
        let isOver = Atomic(false)
        let path = folder.socket
        try Background.start {
            defer { isOver.store(true, ordering: .sequentiallyConsistent) }
            guard let writer = try? BrokerConnection(path: path) else { return }
            // Each batch writes all keys.
            for number in 1... where !isOver.load(ordering: .sequentiallyConsistent) {
                let writes = words.map {
                    ObjectWriter(op: "publish").adding("key", string: $0).adding("value", number).bytes
                }
                let batch = ObjectWriter(op: "batch").adding("writes", json: ObjectWriter.array(writes))
                guard (try? writer.request(batch)) != nil else { return }
            }
        }
        try eventually("they are written") { try run("get", "k.0").end == .exited(0) }
        for _ in 0..<5 {
            let lines = try Run(["get"] + words, in: folder).finished().lines
            let revisions = try lines.map {
                try JSONObject(parsing: Array($0.utf8)[...])["revision"]?.integer
            }
            #expect(lines.count == words.count && Set(revisions).count == 1, "\(Set(revisions))")
        }
        let hasEnded = isOver.exchange(true, ordering: .sequentiallyConsistent)
        #expect(!hasEnded)
    }

    @Test("keys --long has its titles once, however many keys there are")
    func titles() throws {
        try fill(2_500)
        let lines = try run("keys", "--long").lines
        #expect(lines.count == 2_501 && lines.filter { $0.hasPrefix("KEY ") } == [lines[0]])
    }

    @Test("delete takes patterns, in batches, and each batch is one revision")
    func deletes() throws {
        try fill(1_025)
        _ = try run("publish", "other", "1")
        #expect(try run("delete", "k.*", "none.**").output == "deleted 1025 keys, revision 1028\n")
        #expect(try run("keys").lines == ["other"])
        #expect(try run("delete", "k.*").output == "deleted 0 keys\n")
        _ = try run("publish", "b", "1")
        #expect(
            try run("delete", "b", "other", "--json", "--cause", "3").output
                == "{\"deleted\":2,\"missing\":0,\"revision\":1030}\n"
        )
    }

    @Test("a batch of exactly 1,024 keys is one revision")
    func fullBatch() throws {
        try fill(1_024)
        #expect(try run("delete", "**").output == "deleted 1024 keys, revision 1025\n")
    }

    @Test("keys without a value are reported, and the others are deleted")
    func missing() throws {
        _ = try run("publish", "a", "1")
        let finished = try run("delete", "a", "x", "none.*")
        #expect(finished.output == "deleted 1 key, revision 2\n")
        #expect(finished.end == .exited(1))
        #expect(finished.messages == "\"x\" has no value\nplugboard delete: 1 of 2 keys had no value\n")
    }

    @Test("--dry-run prints the keys and deletes nothing")
    func dryRun() throws {
        try fill(3)
        let dry = try run("delete", "k.*", "--dry-run")
        #expect(dry.lines == ["k.0", "k.1", "k.2"])
        #expect(dry.messages == "3 keys match\n")
        #expect(try run("delete", "k.0", "k.1", "--dry-run").lines == ["k.0", "k.1"])
        #expect(try run("delete", "k.0", "--dry-run").output.hasPrefix("k.0  delete at revision "))
        #expect(try run("keys").lines.count == 3)
        #expect(try run("delete", "x", "--dry-run").end == .exited(1))
    }

    @Test("mistakes are found before anything is deleted")
    func mistakes() throws {
        try fill(2)
        let wrong: [([String], String)] = [
            (["k.*", "--if", "1"], "--if is for one key"), (["k.0", "k*"], "bad_pattern"),
            ([], "KEY is missing"), (["k.0", "a..b"], "is not a key"),
            (["k.*", "--yse"], "did you mean \"--yes\"?"),
        ]
        for (words, message) in wrong {
            let finished = try Run(["delete"] + words, in: folder).finished()
            #expect(finished.end == .exited(64), "\(words)")
            #expect(finished.messages.contains(message), "\(finished.messages)")
        }
        #expect(try run("keys").lines.count == 2)
        broker.signal(SIGTERM)
        _ = try broker.finished()
        #expect(try run("delete", "k.*").end == .exited(69))
    }

    @Test("on a terminal it asks; only yes deletes, and --yes doesn't ask")
    func asks() throws {
        try fill(4)
        for (answer, left) in [("n\n", 4), ("\n", 4), ("\u{4}", 4), ("Yes\n", 0)] {
            let terminal = try TestTerminal()
            let delete = try Run(["delete", "k.*"], in: folder, terminal: terminal.path, typing: true)
            try eventually("it asks") {
                terminal.shown().contains("delete 4 keys (k.0, k.1, k.2, …)? [y/N] ")
            }
            terminal.type(answer)
            let end = try delete.finished().end
            #expect(end == .exited(left == 0 ? 0 : 1), "\(answer)")
            #expect(try run("keys").lines.count == left)
        }
        try fill(1)
        let terminal = try TestTerminal()
        let delete = try Run(["delete", "k.*", "--yes"], in: folder, terminal: terminal.path, typing: true)
        #expect(try delete.finished().end == .exited(0))
        #expect(terminal.shown().contains("deleted 1 key"))
    }

    @Test("a broker that goes away while it asks is reported")
    func brokerGone() throws {
        try fill(2)
        let terminal = try TestTerminal()
        let delete = try Run(["delete", "k.*"], in: folder, terminal: terminal.path, typing: true)
        try eventually("it asks") { terminal.shown().contains("[y/N]") }
        broker.signal(SIGKILL)
        _ = try broker.finished()
        terminal.type("y\n")
        #expect(try delete.finished().end == .exited(69))
        #expect(terminal.shown().contains("0 of 2 keys were deleted before"))
    }
}
