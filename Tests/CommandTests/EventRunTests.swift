import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("subscribe --exec", .someAtATime)
final class EventRunTests: BrokerSuite {
    /// Starts a subscription that runs a shell script for each event, and waits until the broker knows it.
    private func watch(_ key: String, _ options: [String] = [], _ script: String) throws -> Run {
        let runner = try Run(
            ["subscribe", key, "--exec"] + options + ["--", "sh", "-c", script], in: folder)
        let one = key.split(separator: "*").joined() + (key.hasSuffix("*") ? "1" : "")
        try eventually("it observes") { try run("who", one).output.contains("sub 1") }
        return runner
    }

    @Test("each event has a command, with the value as input and the event in the environment")
    func events() throws {
        _ = try run("publish", "a", #"{"n":1.0}"#, "--name", "me")
        let script =
            #"echo "$PLUGBOARD_EVENT $PLUGBOARD_KEY $PLUGBOARD_REVISION $PLUGBOARD_BY $PLUGBOARD_CAUSE $(cat)""#
        let runner = try watch("a", ["--count", "4", "--all"], script)
        _ = try run("publish", "a", #""two""#, "--name", "you")
        _ = try run("emit", "a", "[3]", "--name", "you")
        _ = try run("delete", "a", "--name", "me")
        let finished = try runner.finished()
        #expect(finished.end == .exited(0))
        #expect(
            finished.lines == [
                #"update a 1 me 1 {"n":1.0}"#, #"update a 2 you 2 "two""#, "emit a 2 you 2 [3]",
                "delete a 3 me 3 ",
            ]
        )
        #expect(finished.messages.isEmpty)
    }

    @Test("with --raw a string is text, and with --field only a part of the value is the input")
    func forms() throws {
        _ = try run("publish", "a", #"{"name":"Ada"}"#)
        let finished = try run(
            "subscribe",
            "a",
            "--raw",
            "--field",
            "/name",
            "--count",
            "1",
            "--exec",
            "--",
            "sh",
            "-c",
            "read -r name; echo hello $name"
        )
        #expect(finished.output == "hello Ada\n")
    }

    @Test("what a command writes names the event as its cause, whatever command of plugboard writes it")
    func cause() throws {
        let write =
            #"p=$0; "$p" publish out.1 1; "$p" patch out.2 '{}'; echo '{"key":"out.3","value":1}' | "$p" publish --from -; echo '{"op":"publish","key":"out.4","value":1}' | "$p" batch; "$p" publish out.5 1 --cause 1"#
        _ = try run("publish", "x", "0")
        let runner = try Run(
            ["subscribe", "in", "--exec", "--count", "1", "--", "sh", "-c", write, Products.plugboard],
            in: folder
        )
        try eventually("it observes") { try run("who", "in").output.contains("sub 1") }
        _ = try run("publish", "in", "1")
        #expect(try runner.finished().end == .exited(0))
        let causes = try run("get", "out.*").lines.map { $0.split(separator: "\"cause\":").last ?? "" }
        #expect(causes == ["2}", "2}", "2}", "2}", "1}"])
        #expect(try run("why", "out.1").output.contains("in"))
    }

    @Test("PLUGBOARD_CAUSE that is no revision is a usage error, and an empty one counts as unset")
    func badCause() throws {
        let wrong = try run("publish", "a", "1", environment: ["PLUGBOARD_CAUSE": "soon"])
        #expect(wrong.end == .exited(64))
        #expect(wrong.messages.contains("PLUGBOARD_CAUSE is a whole number"))
        _ = try run("publish", "a", "1", environment: ["PLUGBOARD_CAUSE": ""])
        #expect(try !run("get", "a", "--json").output.contains("cause"))
    }

    @Test("one command runs at a time for a key, and then one for the newest value")
    func newest() throws {
        let script =
            #"read -r v; echo $v; [ -e begun ] && exit; touch begun; while [ ! -e go ]; do sleep 0.01; done"#
        let runner = try watch("a", [], script)
        _ = try run("publish", "a", "1")
        try eventually("the first has begun") { folder.exists("begun") }
        for value in 2...5 { _ = try run("publish", "a", "\(value)") }
        // Another key isn't held up, but this one has seen all that came before.
        try eventually("all has come") { try run("who", "a", "--json").output.contains(#""queued":0"#) }
        try folder.write("go", "")
        try eventually("the newest is next") { runner.output == "1\n5\n" }
        runner.signal(SIGINT)
        #expect(try runner.finished().end == .exited(0))
        #expect(runner.output == "1\n5\n")
    }

    @Test("with --all each event has a command, in order")
    func all() throws {
        let runner = try watch("a", ["--all", "--count", "40"], "cat")
        let writes = (1...40).map { "{\"key\":\"a\",\"value\":\($0)}\n" }.joined()
        _ = try Run(["publish", "--from", "-"], in: folder, input: writes).finished()
        #expect(try runner.finished().lines == (1...40).map { "\($0)" })
    }

    @Test("commands of several keys run side by side, at most --jobs of them")
    func sideBySide() throws {
        let script =
            #"touch "begun.$PLUGBOARD_KEY"; while [ "$(ls begun.* | wc -l)" -lt 2 ]; do sleep 0.01; done; echo"#
        let runner = try watch("k.*", ["--jobs", "2", "--count", "2"], script)
        _ = try run("publish", "k.1", "1")
        _ = try run("publish", "k.2", "1")
        #expect(try runner.finished().end == .exited(0))
    }

    @Test("more events than may wait are kept by the broker, and none is lost with --all")
    func flood() throws {
        let count = 300
        let script =
            #"[ -e go ] || { touch begun; while [ ! -e go ]; do sleep 0.01; done; }; read -r v; echo $v"#
        let runner = try watch("a", ["--all", "--count", "\(count)"], script)
        let writes = (1...count).map { "{\"key\":\"a\",\"value\":\($0)}\n" }.joined()
        _ = try Run(["publish", "--from", "-"], in: folder, input: writes).finished()
        try eventually("the first has begun") { folder.exists("begun") }
        try folder.write("go", "")
        #expect(try runner.finished().lines == (1...count).map { "\($0)" })
    }

    @Test("a command that fails is reported, the others run, and the status is 1 at the end")
    func failures() throws {
        let runner = try watch("k.*", ["--count", "3"], #"read -r n; exit $n"#)
        for value in [0, 3, 0] { _ = try run("publish", "k.\(value)", "\(value)") }
        let finished = try runner.finished()
        #expect(finished.end == .exited(1))
        #expect(finished.messages.contains("k.3: the command exited with status 3\n"))
        #expect(finished.messages.hasSuffix("plugboard subscribe: 1 of 3 commands failed\n"))
    }

    @Test("with --limit a command that takes longer is ended and has failed, and the next has its turn")
    func limit() throws {
        let options = ["--count", "2", "--limit", "0.2", "--jobs", "1"]
        let runner = try watch("k.*", options, "exec sleep 1000")
        for value in 1...2 { _ = try run("publish", "k.\(value)", "\(value)") }
        let finished = try runner.finished()
        #expect(finished.end == .exited(1))
        #expect(finished.messages.contains("k.1: the command took more than 200 ms and was ended\n"))
        #expect(finished.messages.hasSuffix("plugboard subscribe: 2 of 2 commands failed\n"))
        let patient = try watch("j.*", ["--count", "1", "--limit", "3000"], "cat")
        _ = try run("publish", "j.1", "7")
        #expect(try patient.finished().output == "7\n")
    }

    @Test("a run with a limit is asked to end and then killed; one without is told of after a minute, once")
    func runTimes() {
        func steps(_ limit: Double?) -> [(Double, RunTime.Step)] {
            var time = RunTime(limit: limit, start: 1_000_000_000)
            var steps: [(Double, RunTime.Step)] = []
            while let due = time.due {
                #expect(time.take(at: due - 1) == nil)
                guard let step = time.take(at: due) else { break }
                steps.append((Double(due) / 1e9 - 1, step))
            }
            #expect(time.take(at: .max) == nil)
            #expect(time.isOver == (limit != nil))
            return steps
        }
        for (limit, expected) in [
            (nil, [(60, .tell)]), (5, [(5, .end), (6, .kill)]), (0, [(0, .end), (1, .kill)]),
            (600.5, [(600.5, .end), (601.5, .kill)]),
        ] as [(Double?, [(Double, RunTime.Step)])] {
            let steps = steps(limit)
            #expect(steps.map(\.0) == expected.map(\.0) && steps.map(\.1) == expected.map(\.1))
        }
        #expect(!RunTime(limit: 5, start: 0).isOver && !RunTime(limit: nil, start: 0).isOver)
    }

    @Test("Ctrl-C waits for the commands that run; twice Ctrl-C kills them")
    func stops() throws {
        let script = #"touch begun; while [ ! -e go ]; do sleep 0.01; done; touch done"#
        _ = try run("publish", "a", "1")
        let patient = try watch("a", [], script)
        try eventually("it has begun") { folder.exists("begun") }
        patient.signal(SIGINT)
        try folder.write("go", "")
        #expect(try patient.finished().end == .exited(0))
        #expect(folder.exists("done"))
        Folder.remove(folder("go"))
        let hasty = try watch("a", [], #"echo $$ >pid; while :; do sleep 0.01; done"#)
        try eventually("it has begun") { folder.text("pid").hasSuffix("\n") }
        let pid = try #require(Int32(folder.text("pid").dropLast()))
        try eventually("the second signal isn't the first one repeated") {
            hasty.signal(SIGINT)
            return !hasty.isRunning
        }
        try eventually("its command is gone") { !Processes.isAlive(pid) }
    }

    @Test(
        "when the broker goes, commands that run are not killed, and later events come from the next broker"
    )
    func reconnects() throws {
        let runner = try watch(
            "a",
            [],
            #"read -r v; echo $v; [ $v = 1 ] && while [ ! -e go ]; do sleep 0.01; done; true"#
        )
        _ = try run("publish", "a", "1")
        try eventually("it has begun") { runner.output == "1\n" }
        broker.signal(SIGKILL)
        _ = try broker.finished()
        let next = try startBroker(in: folder)
        try eventually("it is back") { runner.messages.contains("the broker is back") }
        try folder.write("go", "")
        _ = try run("publish", "a", "2")
        try eventually("the next event") { runner.output.hasSuffix("2\n") }
        runner.signal(SIGTERM)
        #expect(try runner.finished().end == .exited(0))
        _ = next
    }

    @Test("mistakes in the command line, and a program that isn't there")
    func mistakes() throws {
        let wrong: [([String], Int32, String)] = [
            (["a", "--exec"], 64, "-- COMMAND is missing"),
            (["a", "--exec", "--"], 64, "-- COMMAND is missing"),
            (
                ["a", "--exec", "--all", "--delivery", "latest", "--", "true"], 64,
                "--all needs --delivery all"
            ),
            (["a", "--all"], 64, "--all is for --exec"), (["a", "--jobs", "2"], 64, "--jobs is for --exec"),
            (["a", "--limit", "2"], 64, "--limit is for --exec"),
            (["a", "--exec", "--limit", "0", "--", "true"], 64, "--limit"),
            (["a", "--exec", "--json", "--", "true"], 64, "--json doesn't go with --exec"),
            (["a", "--exec", "--diff", "--", "true"], 64, "--diff doesn't go with --exec"),
            (["a", "--exec", "--", "no-such-program"], 1, "no-such-program can't be started"),
        ]
        for (words, status, message) in wrong {
            let finished = try Run(["subscribe"] + words, in: folder).finished()
            #expect(finished.end == .exited(status), "\(words)")
            #expect(finished.messages.contains(message), "\(finished.messages)")
        }
    }

    @Test("it ends when nobody reads its output any more")
    func readerGone() throws {
        _ = try run("publish", "a", "1")
        let script = #""$0" subscribe a --exec -- echo hello | head -1; echo after"#
        let finished = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder).finished()
        #expect(finished.output == "hello\nafter\n")
    }
}
