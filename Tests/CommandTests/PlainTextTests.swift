// Values as text: `--text`, `--raw` and `--field`, and the ends of `subscribe` and `get --watch`.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("Values as text", .someAtATime)
final class PlainTextTests: BrokerSuite {
    /// Starts a command in the background, and returns when the broker knows its subscription to the key.
    private func watch(_ key: String, _ words: String...) throws -> Run {
        try watch(key, words)
    }

    /// `key` is one that no earlier one observes alone.
    private func watch(_ key: String, _ words: [String], program: String = Products.plugboard) throws -> Run {
        func observers() throws -> Int { try run("who", key).lines.count { $0.contains("sub 1") } }
        let before = try observers()
        let watcher = try Run(program: program, words, in: folder)
        try eventually("it observes") { try observers() > before }
        return watcher
    }

    @Test("--text publishes words as a string, from the command line and from standard input")
    func text() throws {
        _ = try run("publish", "--text", "screen", "it's", "a \"list\"\n")
        #expect(try run("get", "screen").output == #""it's a \"list\"\n""# + "\n")
        _ = try run("publish", "screen", "--text", "-", input: "two\nlines\n")
        #expect(try run("get", "screen").output == #""two\nlines""# + "\n")
        _ = try run("publish", "screen", "--text", "-", input: "bytes\r\n\n")
        #expect(try run("get", "screen").output == #""bytes\r\n""# + "\n")
        _ = try run("publish", "screen", "--text", "-", input: "bytes\r\n")
        #expect(try run("get", "screen").output == #""bytes\r""# + "\n")
        _ = try run("publish", "screen", "--text", "")
        #expect(try run("get", "screen").output == "\"\"\n")
        _ = try run("publish", "screen", "--text", "12")
        #expect(try run("get", "screen").output == "\"12\"\n")
    }

    @Test("a text that isn't UTF-8, or goes with a file, is refused")
    func badText() throws {
        let script = #"printf 'a\377' | "$0" publish k --text -; echo $?"#
        let finished = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder).finished()
        #expect(finished.lines == ["1"])
        #expect(finished.messages.contains("standard input is no text in UTF-8"))
        #expect(try run("publish", "--from", "x", "--text").end == .exited(64))
        #expect(try run("publish", "k", "--text").messages.contains("VALUE is missing"))
        #expect(try run("keys").output.isEmpty)
    }

    @Test("get --raw prints a string without quotes and escapes, and other values as they are")
    func raw() throws {
        _ = try run("publish", "a", #""line 1\nline \u0032\t\"""#)
        #expect(try run("get", "a", "--raw").output == "line 1\nline 2\t\"\n")
        _ = try run("publish", "a", #"{"n": 1.0}"#)
        #expect(try run("get", "a", "--raw").output == "{\"n\": 1.0}\n")
    }

    @Test("--raw and --text give back the same bytes")
    func roundTrip() throws {
        let text = "ü \u{200B} \u{1F600} \\ \" \u{7} end"
        _ = try run("publish", "a", "--text", "-", input: text + "\n")
        #expect(try run("get", "a", "--raw").output == text + "\n")
    }

    @Test("--field prints a part of the value, by JSON Pointer")
    func field() throws {
        _ = try run("publish", "p.1", #"{"a/b":[1,{"c":1.50}],"s":"x"}"#)
        _ = try run("publish", "p.2", #"{"s":"y"}"#)
        #expect(try run("get", "p.1", "--field", "/a~1b/1/c").output == "1.50\n")
        #expect(try run("get", "p.1", "--field", "").output.isEmpty)
        #expect(try run("get", "p.1", "--field", "/s", "--raw").output == "x\n")
        #expect(try run("get", "p.*", "--field", "/s").output == "\"x\"\n\"y\"\n")
        #expect(try run("get", "p.*", "--field", "/a~1b/0").output == "1\n")
        let missing = try run("get", "p.2", "--field", "/a")
        #expect(missing.end == .exited(1))
        #expect(missing.messages == "plugboard get: the value of p.2 has no part /a\n")
    }

    @Test("options that contradict each other, and parts that are no pointers, are usage errors")
    func contradictions() throws {
        let wrong: [([String], String)] = [
            (["get", "a", "--field", "s"], "begins with \"/\""),
            (["get", "a", "--field", "s"], "\"/s\" names a member\n"), (["get", "a", "--field", "/~2"], "~"),
            (["get", "a", "--raw", "--json"], "--json prints whole lines"),
            (["subscribe", "a", "--field", "/a", "--fields", "/b"], "--fields doesn't go with --field"),
            (["subscribe", "a", "--raw", "--diff"], "--diff doesn't go with --raw"),
            (["subscribe", "a", "--raw", "--old"], "--old doesn't go with --raw"),
            (["subscribe", "a", "--for", "-1"], "number of seconds"),
            (["call", "a", "--raw", "--json"], "--json prints whole lines"),
            (["subscribe", "a", "--format", "{key}", "--json"], "--json prints whole lines"),
            (["subscribe", "a", "--format", "{key}", "--diff"], "--diff doesn't go with --format"),
            (["subscribe", "a", "--format", "{kye}"], "did you mean \"key\"?"),
            (["subscribe", "a", "--format", "{wavelength}"], "{{ is a brace"),
            (["subscribe", "a", "--format", "{key} {value"], "--format has a { without }: {value"),
            (
                ["subscribe", "a", "--format", "{key}", "--exec", "--", "x"],
                "--format doesn't go with --exec"
            ),
            (["get", "a", "-0"], "--null is for --raw"), (["get", "a", "--format", "x"], "no option"),
        ]
        for (words, message) in wrong {
            let finished = try Run(words, in: folder).finished()
            #expect(finished.end == .exited(64), "\(words)")
            #expect(finished.messages.contains(message), "\(finished.messages)")
        }
    }

    @Test("--format prints a line for each event, for while read key value; a key that is gone has no value")
    func format() throws {
        _ = try run("publish", "f.a", #""it's \u0031""#, "--name", "me")
        let script = #"""
            "$0" subscribe 'f.*' --format '{key} {value}' -n 4 |
                while read -r key value; do echo "$key=$value;"; done
            """#
        let reading = try watch("f.a", ["-c", script, Products.plugboard], program: "/bin/sh")
        let whole = try watch(
            "f.b",
            ["subscribe", "f.*", "-rn4", "--format", "{{{event} {key}\t{revision},{by},{cause}|{value}"]
        )
        let times = try watch("f.c", ["subscribe", "f.*", "--no-values", "-n4", "--format", "{when}{value}"])
        let field = try watch("f.d", ["subscribe", "f.*", "-f", "/x", "-n2", "--format", "{key} {value}"])
        _ = try run("emit", "f.b", #"{"x": 1}"#, "--name", "me", "--cause", "1")
        _ = try run("publish", "f.b", "[1, 2]", "--name", "me")
        _ = try run("delete", "f.a", "--name", "me")
        #expect(
            try reading.finished().lines == [
                #"f.a="it's \u0031";"#, #"f.b={"x": 1};"#, "f.b=[1, 2];", "f.a=;",
            ]
        )
        #expect(
            try whole.finished().lines == [
                "{update f.a\t1,me,|it's 1", "{emit f.b\t1,me,1|{\"x\": 1}", "{update f.b\t2,me,|[1, 2]",
                "{delete f.a\t3,me,|",
            ]
        )
        #expect(try times.finished().lines.allSatisfy { $0.count == 20 && $0.hasPrefix("20") })
        #expect(try field.finished().lines == ["f.b 1", "f.a "])
    }

    @Test("get --raw -0 ends each value with a NUL byte, so that it may have line feeds")
    func null() throws {
        _ = try run("publish", "files.1", #""a b\nc""#)
        _ = try run("publish", "files.2", "[1]")
        #expect(try run("get", "files.*", "--raw", "-0").output == "a b\nc\u{0}[1]\u{0}")
        #expect(try run("get", "files.1", "-r0").output == "a b\nc\u{0}")
        #expect(try run("wait", "files.1", "--null", "-r").output == "a b\nc\u{0}")
        #expect(try run("call", "files.1", "-0").messages.contains("no_provider"))
    }

    @Test("subscribe --raw prints only values, and --field only the part when it changes")
    func subscribe() throws {
        _ = try run("publish", "s", #"{"name":"one","n":1}"#)
        let texts = try watch("s", "subscribe", "s", "--raw", "--field", "/name", "--count", "2")
        let values = try watch("s", "subscribe", "s", "--raw", "--count", "3")
        try eventually("both observe") { try run("who", "s").lines.count { $0.contains("sub 1") } == 2 }
        _ = try run("patch", "s", #"{"n":2}"#)
        _ = try run("delete", "s")
        _ = try run("publish", "s", #"{"name":"two"}"#)
        #expect(try texts.finished().output == "one\ntwo\n")
        #expect(
            try values.finished().output
                == "{\"name\":\"one\",\"n\":1}\n{\"name\":\"one\",\"n\":2}\n{\"name\":\"two\"}\n"
        )
    }

    @Test("subscribe --for ends after that time with status 0, and with what it has")
    func duration() throws {
        _ = try run("publish", "a", "1")
        let finished = try run("subscribe", "a", "--raw", "--for", "0.2")
        #expect(finished.end == .exited(0))
        #expect(finished.output == "1\n")
    }

    @Test("get --watch prints the value and each new one, and says that the key is gone")
    func getWatch() throws {
        _ = try run("publish", "a", #""one""#, "--name", "me")
        let single = try watch("a", "get", "a", "--watch", "--raw")
        let several = try watch("b", "get", "a", "b", "--watch")
        try eventually("both have the value") { single.output == "one\n" && several.output.contains("one") }
        _ = try run("emit", "a", #""emitted""#)
        _ = try run("delete", "a")
        _ = try run("publish", "b", "2", "--name", "me")
        _ = try run("publish", "a", #""two""#, "--name", "me")
        try eventually("all has come") { single.output == "one\ntwo\n" && several.output.contains("two") }
        #expect(
            several.output == """
                {"key":"a","revision":1,"value":"one","by":"me"}
                {"key":"b","revision":3,"value":2,"by":"me"}
                {"key":"a","revision":4,"value":"two","by":"me"}

                """
        )
        #expect(single.messages == "a has no value any more\n")
        for watcher in [single, several] {
            watcher.signal(SIGTERM)
            _ = try watcher.finished()
        }
    }

    @Test("get --watch ends when nobody reads any more, and goes on when the broker comes back")
    func watchEnds() throws {
        _ = try run("publish", "a", "1")
        let script = #""$0" get a --watch | head -1; echo after"#
        let finished = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder).finished()
        #expect(finished.output == "1\nafter\n")
        let watcher = try watch("a", "get", "a", "--watch")
        broker.signal(SIGKILL)
        _ = try broker.finished()
        let next = try startBroker(in: folder)
        _ = try run("publish", "a", "2")
        try eventually("the new value") { watcher.output.hasSuffix("2\n") }
        watcher.signal(SIGTERM)
        _ = try watcher.finished()
        _ = next
    }

    @Test("call --raw and --field print a part of the answer")
    func call() throws {
        let server = try Run(["serve", "time", "--ready", "--", "echo", #"{"now":"noon"}"#], in: folder)
        try eventually("it serves") { server.output == "ready\n" }
        #expect(try run("call", "time", "--field", "/now").output == "\"noon\"\n")
        #expect(try run("call", "time", "--field", "/now", "--raw").output == "noon\n")
        let missing = try run("call", "time", "--field", "/then")
        #expect(missing.end == .exited(1))
        #expect(missing.messages.contains("has no part /then"))
        server.signal(SIGTERM)
        #expect(try server.finished().end == .exited(0))
    }
}
