import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("plugboard serve", .someAtATime)
final class ServeCommandTests: BrokerSuite {
    /// Starts a server, and waits until it serves.
    private func serve(_ key: String, _ options: [String] = [], _ command: String...) throws -> Run {
        let server = try Run(["serve", key, "--ready"] + options + ["--"] + command, in: folder)
        try eventually("it serves") { server.output == "ready\n" }
        return server
    }

    /// Asks a server to end, and returns how it ended.
    @discardableResult
    private func stop(_ server: Run) throws -> Finished {
        server.signal(SIGTERM)
        return try server.finished()
    }

    @Test("the value is on standard input, the call in the environment, and the output is the answer")
    func answers() throws {
        let script = #"read -r v; echo "[\"$PLUGBOARD_KEY\",\"$PLUGBOARD_BY\",\"$PLUGBOARD_CAUSE\",$v]""#
        let server = try serve("shop.*", [], "sh", "-c", script)
        let answer = try run("call", "shop.add", #"{"n":1.0}"#, "--name", "till", "--cause", "7")
        #expect(answer.output == #"["shop.add","till","0",{"n":1.0}]"# + "\n")
        #expect(try run("call", "shop.x", "2", "--name", "a").output == #"["shop.x","a","0",2]"# + "\n")
        let end = try stop(server)
        #expect(end.end == .exited(0))
        #expect(end.output == "ready\n" && end.messages.isEmpty)
        #expect(try run("call", "shop.add").messages.contains("no_provider"))
    }

    @Test("a second one without --spare is told of that option, and not of the protocol's field")
    func toldOfSpare() throws {
        let first = try serve("s", [], "echo", "1")
        let second = try run("serve", "s", "--", "echo", "2")
        #expect(second.end == .exited(1))
        #expect(second.messages.contains("or --spare waits in line"), "\(second.messages)")
        try stop(first)
    }

    @Test("with --spare, the second one waits in line, and takes over when the first ends")
    func spare() throws {
        let first = try serve("s", ["--spare", "--name", "one"], "echo", "1")
        let words = ["serve", "s", "--ready", "--spare", "--name", "two", "--", "echo", "2"]
        let second = try Run(words, in: folder)
        try eventually("it waits") { second.messages.contains("waiting in line for s; Ctrl-C ends\n") }
        #expect(try run("who", "s").output.contains(", in line: two (client "))
        #expect(try run("services", "s").output.contains(" +1"))
        #expect(try run("services", "s", "--json").output.contains(#""name":"two"}]"#))
        #expect(try run("call", "s").output == "1\n")
        #expect(try stop(first).output == "ready\n")
        try eventually("it serves") { second.output == "ready\n" }
        #expect(try run("call", "s").output == "2\n")
        #expect(try stop(second).messages.contains("serving s; Ctrl-C ends\n"))
    }

    @Test("JSON on several lines is an answer, and no output is null")
    func forms() throws {
        let pretty = try serve("pretty", [], "printf", #"{\n  "a": 1\n}\n"#)
        let silent = try serve("silent", [], "true")
        #expect(try run("call", "pretty").output == "{   \"a\": 1 }\n")
        #expect(try run("call", "silent", "1").output == "null\n")
        try stop(pretty)
        try stop(silent)
    }

    @Test("with --raw, strings go in and out as text")
    func raw() throws {
        let server = try serve("upper", ["--raw"], "tr", "a-z", "A-Z")
        #expect(try run("call", "upper", "--text", "hello \"you\"").output == #""HELLO \"YOU\"""# + "\n")
        #expect(try run("call", "upper", "[true]", "--raw").output == "[TRUE]\n")
        try stop(server)
    }

    @Test("a status other than 0 is an error with the output as its message")
    func failures() throws {
        let server = try serve(
            "f",
            [],
            "sh",
            "-c",
            #"read -r n; [ $n = 9 ] && kill -9 $$; [ $n = 2 ] || echo "no $n"; exit $n"#
        )
        for (value, message) in [
            ("1", "failed: no 1"), ("2", "failed: the command exited with status 2"),
            ("9", "failed: the command was ended by SIGKILL"),
        ] {
            let finished = try run("call", "f", value)
            #expect(finished.end == .exited(1))
            #expect(finished.messages.contains(message), "\(finished.messages)")
        }
        #expect(try stop(server).messages.contains("f: the command exited with status 2\n"))
    }

    @Test("output that is no JSON, no UTF-8 or too long is an error")
    func badOutput() throws {
        let server = try serve("b", [], "sh", "-c", #"read -r n; case $n in 1) echo hello;; 2) yes;; esac"#)
        let raw = try serve("r", ["--raw"], "printf", #"\377"#)
        #expect(try run("call", "b", "1").messages.contains("bad_answer: the command's output is not JSON"))
        #expect(
            try run("call", "b", "2").messages.contains("failed: the command wrote more than 1052672 bytes")
        )
        #expect(
            try run("call", "r").messages.contains("bad_answer: the command's output is no text in UTF-8")
        )
        let deep = try serve("d", [], "printf", String(repeating: "[", count: 65))
        #expect(
            try run("call", "d").messages.contains("output is nested deeper than 64 arrays and objects")
        )
        for each in [server, raw, deep] { try stop(each) }
    }

    @Test("an answer that fits no line is an error, and the next call is answered")
    func tooLong() throws {
        let server = try serve("n", ["--raw"], "sh", "-c", #"read -r n; head -c "$n" /dev/zero"#)
        #expect(try run("call", "n", "1000000", "--timeout", "60").messages.contains("too_long: "))
        #expect(try run("call", "n", "3", "--raw").output == "\0\0\0\n")
        try stop(server)
    }

    @Test("a large value that the command doesn't read, and a large one that it copies")
    func large() throws {
        let value = "\"" + String(repeating: "x", count: 900_000) + "\"\n"
        let file = try folder.write("large", value)
        let copy = try serve("copy", ["--jobs", "2"], "cat")
        let deaf = try serve("deaf", [], "true")
        let script = #"""
            "$0" call copy - <"$1" >other & "$0" call copy - <"$1" | cmp - "$1"; wait; cmp other "$1"
            "$0" call deaf - <"$1"
            """#
        let finished = try Run(program: "/bin/sh", ["-c", script, Products.plugboard, file], in: folder)
            .finished()
        #expect(finished.output == "null\n")
        #expect(finished.messages.isEmpty)
        try stop(copy)
        try stop(deaf)
    }

    @Test("without --jobs one command runs at a time, with --jobs several")
    func jobs() throws {
        let alone = try serve("alone", [], "sh", "-c", "mkdir busy || exit 1; sleep 0.1; rmdir busy")
        // Each command ends only when both have begun.
        let script = #"touch begun.$$; while [ "$(ls begun.* | wc -l)" -lt 2 ]; do sleep 0.01; done"#
        let pair = try serve("pair", ["--jobs", "2"], "sh", "-c", script)
        let calls = try ["alone", "alone", "pair", "pair"].map {
            try Run(["call", $0, "--timeout", "60"], in: folder)
        }
        for call in calls { #expect(try call.finished().end == .exited(0)) }
        try stop(pair)
        try stop(alone)
    }

    @Test("why shows who called, for what the command wrote")
    func whoCalled() throws {
        let script = #""$0" publish items - >/dev/null && echo 1"#
        let server = try serve("add", ["--name", "cart"], "sh", "-c", script, Products.plugboard)
        _ = try run("publish", "other", "1")
        _ = try run("emit", "noise", "1")
        #expect(try run("call", "add", "[1]", "--name", "mallory").end == .exited(0))
        let lines = try run("why", "items").lines
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("  items  publish by cart  revision 2  ") == true, "\(lines)")
        #expect(lines.last?.hasPrefix("← add    call by mallory  revision 1  ") == true, "\(lines)")
        try stop(server)
    }

    @Test("a command that hangs is ended when its caller waits no longer, and the next call is answered")
    func hangs() throws {
        let script = #"trap "" TERM; read -r n; [ $n = 1 ] && while :; do sleep 1000; done; echo $n"#
        let deaf = try serve("deaf", [], "sh", "-c", script)
        let mild = try serve("mild", [], "sh", "-c", #"read -r n; [ $n = 1 ] && exec sleep 1000; echo $n"#)
        for (key, server) in [("deaf", deaf), ("mild", mild)] {
            // On a busy machine, the command may not have begun in this time.
            try eventually("it was ended") {
                let late = try run("call", key, "1", "--timeout", "0.2")
                #expect(late.end == .exited(1))
                // Its server may say first that it has ended the command.
                let isLate = ["timeout: no answer came within", "failed: the command took more than"]
                    .contains { late.messages.contains("\($0) 200 ms") }
                #expect(isLate, "\(late.messages)")
                #expect(try run("call", key, "2", "--timeout", "300").output == "2\n")
                return server.messages.contains("\(key): the command took more than ")
            }
            #expect(try stop(server).messages.hasSuffix(" and was ended\n"))
        }
    }

    @Test("a call whose caller waits no longer isn't begun, and one that may wait long isn't ended")
    func lateCalls() throws {
        let script =
            #"read -r n; touch begun.$n; [ $n = 1 ] && while [ ! -e go ]; do sleep 0.01; done; echo $n"#
        let server = try serve("slow", [], "sh", "-c", script)
        let first = try Run(["call", "slow", "1", "--timeout", "3000"], in: folder)
        try eventually("the first has begun") { folder.exists("begun.1") }
        #expect(try run("call", "slow", "2", "--timeout", "0.1").messages.contains("timeout: "))
        let third = try Run(["call", "slow", "3", "--timeout", "3000"], in: folder)
        try folder.write("go", "")
        #expect(try first.finished().output == "1\n")
        #expect(try third.finished().output == "3\n")
        #expect(!folder.exists("begun.2"))
        try stop(server)
    }

    @Test("256 calls may wait, and one more is refused")
    func busy() throws {
        let script = "touch begun; while [ ! -e go ]; do sleep 0.01; done"
        let server = try serve("slow", [], "sh", "-c", script)
        let caller = try BrokerConnection(path: folder.socket)
        try caller.expectGreeting()
        let calls = (0...257).map { #"{"op":"call","id":\#($0),"key":"slow","timeout":60000}"# + "\n" }
        try caller.send(Array(calls[0].utf8))
        try eventually("the first has begun") { folder.exists("begun") }
        try caller.send(Array(calls[1...].joined().utf8))
        let refused = try caller.nextLine()
        #expect(refused.kind == .error("busy") && refused["id"]?.integer == 257)
        let start = MonotonicClock.nanoseconds()
        server.signal(SIGTERM)
        for number in 1...256 {
            let line = try caller.nextLine()
            #expect(line.kind == .error("stopping") && line["id"]?.integer == UInt64(number))
        }
        #expect(MonotonicClock.nanoseconds() - start >= 1_000_000_000, "they had a second")
        try folder.write("go", "")
        #expect(try caller.nextLine().kind == .ok("call"))
        #expect(try server.finished().end == .exited(0))
    }

    @Test("when it is asked to end it answers what has begun, and what waits if there is a second for it")
    func graceful() throws {
        let script = #"touch begun; while [ ! -e go ]; do sleep 0.01; done; echo 1"#
        let server = try serve("slow", [], "sh", "-c", script)
        let first = try Run(["call", "slow", "--timeout", "60"], in: folder)
        try eventually("the first has begun") { folder.exists("begun") }
        let second = try Run(["call", "slow", "--timeout", "60"], in: folder)
        try eventually("the second waits") {
            try run("get", "$broker.clients.*", "--field", "/lines").lines.count { $0 != "0" } == 4
        }
        server.signal(SIGTERM)
        Pause.sleep(seconds: 0.1)
        try folder.write("go", "")
        for call in [first, second] { #expect(try call.finished().output == "1\n") }
        #expect(try server.finished().end == .exited(0))
    }

    @Test("calls that the broker sent before it knew that the server ends are answered")
    func onTheWay() throws {
        let server = try serve("n", ["--jobs", "8"], "cat")
        let caller = try BrokerConnection(path: folder.socket)
        try caller.expectGreeting()
        let calls = (1...200).map { #"{"op":"call","id":\#($0),"key":"n","value":1,"timeout":60000}"# + "\n" }
        try caller.send(Array(calls[..<8].joined().utf8))
        server.signal(SIGTERM)
        for call in calls[8...] { try caller.send(Array(call.utf8)) }
        for _ in 1...200 {
            let line = try caller.nextLine()
            let isRight =
                [.ok("call"), .error("no_provider"), .error("stopping")].contains(line.kind)
            #expect(isRight, "\(line.kind)")
        }
        #expect(try server.finished().end == .exited(0))
    }

    @Test("when the broker goes it serves the next one, and doesn't mix up the calls")
    func reconnects() throws {
        let server = try serve(
            "n",
            [],
            "sh",
            "-c",
            #"read -r n; [ $n = 1 ] && touch begun && while [ ! -e go ]; do sleep 0.01; done; echo $n"#
        )
        let lost = try Run(["call", "n", "1"], in: folder)
        try eventually("it has begun") { folder.exists("begun") }
        broker.signal(SIGKILL)
        _ = try broker.finished()
        #expect(try lost.finished().end == .exited(69))
        let next = try startBroker(in: folder)
        try eventually("it serves again") { server.messages.contains("the broker is back") }
        let call = try Run(["call", "n", "2", "--timeout", "60"], in: folder)
        try folder.write("go", "")
        #expect(try call.finished().output == "2\n")
        #expect(try stop(server).end == .exited(0))
        _ = next
    }

    @Test("a closed terminal ends it as Ctrl-C does")
    func hangup() throws {
        let server = try serve("n", [], "cat")
        server.signal(SIGHUP)
        #expect(try server.finished().end == .exited(0))
    }

    @Test("with --no-reconnect it ends with status 69 when the broker goes, after its command has ended")
    func noReconnect() throws {
        let server = try serve(
            "n",
            ["--no-reconnect"],
            "sh",
            "-c",
            "touch begun; while [ ! -e go ]; do sleep 0.01; done; touch done"
        )
        let lost = try Run(["call", "n", "1"], in: folder)
        try eventually("it has begun") { folder.exists("begun") }
        broker.signal(SIGKILL)
        _ = try lost.finished()
        try folder.write("go", "")
        #expect(try server.finished().end == .exited(69))
        #expect(folder.exists("done"))
    }

    @Test("a program that isn't there, mistakes in the command line, and no broker")
    func mistakes() throws {
        let wrong: [([String], Int32, String)] = [
            (
                ["k", "--", "no-such-program"], 1,
                "no-such-program can't be started: no folder of PATH has it"
            ),
            (["k", "--", "./none"], 1, "./none can't be started: there is no such file"),
            (["k", "--", folder.path], 1, "it is no program"),
            (["k"], 64, "-- COMMAND is missing"), (["k", "--"], 64, "-- COMMAND is missing"),
            (["k", "date"], 64, "one argument too many"), ([], 64, "KEY is missing"),
            (["a..b", "--", "true"], 64, "bad_pattern"), (["k", "--job", "2", "--", "true"], 64, "--jobs"),
            (["k", "--jobs", "0", "--", "true"], 64, "from 1 to 256"),
            (["k", "--jobs", "257", "--", "true"], 64, "from 1 to 256"),
            (["k", "--jobs", "--", "true"], 64, "from 1 to 256"),
        ]
        for (words, status, message) in wrong {
            let finished = try Run(["serve"] + words, in: folder).finished()
            #expect(finished.end == .exited(status), "\(words)")
            #expect(finished.messages.contains(message), "\(finished.messages)")
        }
        broker.signal(SIGTERM)
        _ = try broker.finished()
        #expect(try run("serve", "k", "--", "true").end == .exited(69))
    }

    @Test("a program that is gone later makes its calls fail, and the server stays")
    func vanishes() throws {
        let program = try folder.script("tool", "echo 1")
        let server = try serve("k", [], program)
        #expect(try run("call", "k").output == "1\n")
        Folder.remove(program)
        #expect(try run("call", "k").messages.contains("failed: start \(program): No such file"))
        try folder.write("tool", "#!/bin/no-shell\n", mode: 0o700)
        let told = "failed: start \(program) (its interpreter is \"/bin/no-shell\"): No such file"
        #expect(try run("call", "k").messages.contains(told))
        try folder.script("tool", "echo 2")
        #expect(try run("call", "k").output == "2\n")
        try stop(server)
    }
}
