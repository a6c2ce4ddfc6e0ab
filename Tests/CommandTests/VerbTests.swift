import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("Commands at a broker", .someAtATime)
final class VerbTests: BrokerSuite {
    @Test("publish prints the revision and get the value, byte for byte")
    func publishAndGet() throws {
        let value = #"{"b": 1.0000000000000000000001, "a":[ ],"ü":"\u00fc"}"#
        #expect(try run("publish", "cart.total", value).output == "revision 1\n")
        let got = try run("get", "cart.total")
        #expect(got.output == value + "\n")
        #expect(got.end == .exited(0))
        #expect(got.messages.isEmpty)
    }

    @Test("a batch whose writes stand where its file is named is a usage error", arguments: ["[]", "{}"])
    func batchWithoutFile(writes: String) throws {
        let refused = try run("batch", writes)
        #expect(refused.end == .exited(64) && refused.messages.contains("batch takes the name of a file"))
        #expect(refused.messages.contains("standard input"))
    }

    @Test("--json prints the broker's reply")
    func replies() throws {
        #expect(
            try run("publish", "a", "1", "--json", "--name", "till").output
                == "{\"ok\":\"publish\",\"id\":1,\"revision\":1}\n"
        )
        let value = try run("get", "a", "--json").output.replacing(/"when":"20[^"]*Z"/, with: #""when":"""#)
        #expect(
            value
                == #"{"ok":"get","id":1,"key":"a","revision":1,"value":1,"by":"till","when":"","live":false}"#
                + "\n"
        )
    }

    @Test("a value may be several words, come from standard input, or have line breaks")
    func valueForms() throws {
        #expect(try run("publish", "a", "[1,", "2]").end == .exited(0))
        #expect(try run("get", "a").output == "[1, 2]\n")
        #expect(try run("publish", "b", "-", input: "{\n  \"x\": 1\r\n}\n").end == .exited(0))
        #expect(try run("get", "b").output == "{   \"x\": 1  }\n")
        #expect(try run("publish", "c", "-7").end == .exited(0))
        #expect(try run("get", "c").output == "-7\n")
    }

    @Test("a value that is not JSON is a usage error, with a hint that has the missing quotes")
    func quotes() throws {
        for verb in ["publish", "emit", "patch"] {
            let finished = try run(verb, "greeting", "hello", "it's", "me")
            #expect(finished.end == .exited(64))
            #expect(finished.messages.contains("the value is not JSON"))
            #expect(finished.messages.contains(#"\#(verb) greeting '"hello it'\''s me"'"#))
        }
        #expect(try run("keys").output.isEmpty)
    }

    @Test("the hint for a value without quotes, pasted into a shell, does what was meant")
    func hintWorks() throws {
        let refused = try run("publish", "greeting", "it's", "me")
        let line = try #require(
            refused.messages.split(separator: "\n").last?.split(separator: "quotes: ").last
        )
        let shell = try Run(program: "/bin/sh", ["-c", String(line)], in: folder).finished()
        #expect(shell.output == "revision 1\n")
        #expect(try run("get", "greeting").output == "\"it's me\"\n")
    }

    @Test("an invalid key is a usage error that says why")
    func badKey() throws {
        for words in [
            ["publish", "a..b", "1"], ["delete", ""], ["get", "a b"], ["who", "a.*"], ["patch", "a*", "{}"],
        ] {
            let finished = try Run(words, in: folder).finished()
            #expect(finished.end == .exited(64), "\(words)")
            #expect(finished.messages.contains("is not a key"), "\(words)")
        }
    }

    @Test("patch --field changes, adds and removes one element, and says where there is none")
    func patchesParts() throws {
        _ = try run("publish", "list", #"[{"n":1},2]"#)
        #expect(try run("patch", "list", "--field", "/0", #"{"n":3}"#).output == "revision 2\n")
        #expect(try run("patch", "list", "--field", "/-", "4").end == .exited(0))
        #expect(try run("patch", "list", "null", "--field", "/1").end == .exited(0))
        #expect(try run("get", "list").output == #"[{"n":3},4]"# + "\n")
        let finished = try run("patch", "list", "--field", "/2/n", "1")
        #expect(finished.end == .exited(1))
        #expect(finished.messages.contains("the whole value is an array of 2 elements"))
        #expect(try run("patch", "list", "--field", "n", "1").end == .exited(64))
    }

    @Test("patch merges, delete removes, and a missing key is refused with status 1")
    func patchAndDelete() throws {
        _ = try run("publish", "p", #"{"a":1,"b":2}"#)
        #expect(try run("patch", "p", #"{"a":null,"c":3}"#).output == "revision 2\n")
        #expect(try run("get", "p").output == "{\"b\":2,\"c\":3}\n")
        #expect(try run("delete", "p").output == "revision 3\n")
        for verb in ["get", "delete"] {
            let gone = try run(verb, "p")
            #expect(gone.end == .exited(1))
            #expect(gone.messages.contains("not_found"))
            #expect(gone.output.isEmpty)
        }
    }

    @Test("a refusal goes to standard error, and with --json also as the broker's line")
    func refusal() throws {
        let finished = try run("delete", "nothing", "--json")
        #expect(finished.end == .exited(1))
        #expect(finished.output.hasPrefix(#"{"error":"not_found","id":1"#))
        #expect(finished.messages.contains("plugboard delete: not_found"))
    }

    @Test("--if writes only at that revision, and the refusal has the present one")
    func condition() throws {
        #expect(try run("publish", "a", "1", "--if", "0").end == .exited(0))
        let conflict = try run("publish", "a", "2", "--if", "0")
        #expect(conflict.end == .exited(1))
        #expect(conflict.messages.contains("conflict"))
        #expect(try run("patch", "a", "3", "--if", "1").end == .exited(0))
        #expect(try run("delete", "a", "--if", "1").end == .exited(1))
        #expect(try run("delete", "a", "--if=2").end == .exited(0))
    }

    @Test("--ttl deletes the key after that time")
    func timeToLive() throws {
        _ = try run("publish", "hint", "1", "--ttl", "0.05")
        try eventually("it is gone") { try run("get", "hint").messages.contains("not_found") }
        _ = try run("publish", "hint", "1", "--ttl", "600")
        #expect(try run("get", "hint").output == "1\n")
        #expect(try run("publish", "hint", "1", "--ttl", "0").end == .exited(64))
        #expect(try run("publish", "--from", "x", "--ttl", "1").messages.contains("doesn't go with --from"))
    }

    @Test("standard streams that were closed at the start are not used for the connection")
    func closedStreams() throws {
        let script = #"""
            "$0" publish a 1 >&-; echo $?; "$0" get a >&-; echo $?; "$0" keys <&- >&-; echo $?
            "$0" get nix 2>&-; echo $?; "$0" get a <&- 2>&-
            """#
        let finished = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder).finished()
        #expect(finished.lines == ["0", "0", "0", "1", "1"])
        #expect(finished.messages.isEmpty)
    }

    @Test("output that can't be written is an error that names the stream")
    func fullDisk() throws {
        let script = #""$0" limits >/dev/full"#
        let finished = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder).finished()
        #expect(finished.end == .exited(1))
        #expect(finished.messages.contains("write standard output: "))
    }

    @Test("a path that is no socket is reported, without the advice to start a broker there")
    func noSocket() throws {
        let path = try folder.write("file", "text")
        for path in [path, folder.path] {
            let finished = try run("keys", "--socket", path)
            #expect(finished.end == .exited(69))
            #expect(finished.messages == "plugboard keys: \(path) is no socket, so no broker\n")
        }
    }

    @Test("--name, or else PLUGBOARD_NAME, is the writer's name; --cause is passed on")
    func authors() throws {
        _ = try run(
            "publish", "a", "1", "--name", "till", "--cause", "7", environment: ["PLUGBOARD_NAME": "other"]
        )
        let first = try run("get", "a", "--json").output
        #expect(first.contains(#""by":"till","when":"20"#))
        #expect(first.hasSuffix(#"Z","cause":7,"live":false}"# + "\n"))
        _ = try run("publish", "a", "1", environment: ["PLUGBOARD_NAME": "other"])
        #expect(try run("get", "a", "--json").output.contains(#""by":"other","when":"20"#))
        #expect(try run("publish", "a", "1", "--name", "#7").end == .exited(1))
    }

    @Test("keys lists keys in order, one per line, beyond one page of the broker")
    func keys() throws {
        #expect(try run("keys").output.isEmpty)
        let numbers = (0..<2_345).map { "k.\(10_000 + $0)" }
        let file = numbers.reversed().map { "{\"key\":\"\($0)\",\"value\":0}\n" }.joined()
        _ = try run("publish", "--from", "-", input: file)
        _ = try run("publish", "other", "1")
        #expect(try run("keys").lines == numbers + ["other"])
        #expect(try run("keys", "k.*").lines == numbers)
        #expect(
            try run("keys", "other", "--json").output
                == "{\"key\":\"other\",\"revision\":2346,\"live\":false}\n"
        )
        #expect(try run("keys", "a..b").end == .exited(64))
    }

    @Test("get with a pattern prints one record per key, in order, that publish --from accepts")
    func patterns() throws {
        _ = try run("publish", "c.b", "[2]", "--name", "x")
        _ = try run("publish", "c.a", #"{"n":1.50}"#, "--name", "x", "--cause", "1")
        _ = try run("publish", "d", "0")
        let got = try run("get", "c.**")
        #expect(
            got.output == """
                {"key":"c.a","revision":2,"value":{"n":1.50},"by":"x","cause":1}
                {"key":"c.b","revision":1,"value":[2],"by":"x"}

                """
        )
        let copy = try TemporaryFolder()
        let other = try startBroker(in: copy)
        let taken = try Run(["publish", "--from", "-"], in: copy, input: got.output).finished()
        #expect(taken.output == "published 2 values, revision 2\n")
        #expect(try plugboard("get", "c.a", in: copy).output == "{\"n\":1.50}\n")
        _ = other
        let none = try run("get", "nothing.*")
        #expect(none.end == .exited(0))
        #expect(none.output.isEmpty)
        #expect(try run("get", "a.**.b").messages.contains("bad_pattern"))
    }

    @Test("values that nest as deep as the bus allows are read back")
    func deep() throws {
        let value = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(try run("publish", "deep", value).end == .exited(0))
        #expect(try run("get", "deep").output == value + "\n")
        #expect(try run("get", "*").output.contains(value))
        #expect(try run("publish", "deep", "[\(value)]").end == .exited(64))
    }

    @Test("a batch is one revision, all or nothing, and a refused write is reported by its line")
    func batch() throws {
        let writes = """
            # two prices
            {"op":"publish","key":"a","value":1}

            {"op":"patch","key":"b","value":{"x":1}}
            """
        #expect(try run("batch", input: writes).output == "2 writes, revision 1\n")
        let bad = try run("batch", input: writes + "\n" + #"{"op":"delete","key":"nothing"}"#)
        #expect(bad.end == .exited(1))
        #expect(bad.messages.contains("standard input:5: not_found"))
        #expect(try run("get", "a", "--json").output.contains(#""revision":1,"#))
        let file = try folder.write("changes.ndjson", #"{"op":"publish","key":"a","value":2}"#)
        #expect(try run("batch", file, "--json").output == "{\"ok\":\"batch\",\"id\":1,\"revision\":2}\n")
        let broken = try run("batch", input: #"{"op":"publish","key":"a","value":3}"# + "\n{\"op\":\n")
        #expect(broken.messages.contains("standard input:2: not JSON"))
        #expect(try run("get", "a").output == "2\n")
        #expect(try run("batch", "no/such/file").end == .exited(1))
    }

    @Test("emit reaches present observers and is not kept")
    func emit() throws {
        let watcher = try Run(["subscribe", "cart.*", "--count", "1"], in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        #expect(try run("emit", "cart.add", #"{"sku":"B1"}"#, "--name", "me").output == "revision 0\n")
        let finished = try watcher.finished()
        #expect(finished.end == .exited(0))
        #expect(
            finished.lines.last
                == #"{"event":"emit","sub":1,"key":"cart.add","revision":0,"value":{"sku":"B1"},"by":"me"}"#
        )
        #expect(try run("get", "cart.add").end == .exited(1))
    }
}
