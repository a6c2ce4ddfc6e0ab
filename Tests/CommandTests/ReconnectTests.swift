import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("When the broker goes and comes back", .oneAtATime)
final class ReconnectTests: FolderSuite {
    private func start(_ command: String, _ words: String...) throws -> Run {
        let run = try Run([command] + words, in: folder)
        try eventually("synced") { run.output.contains("synced") }
        return run
    }

    private func objects(_ lines: some Sequence<String>) throws -> [JSONObject] {
        try lines.map { try JSONObject(parsing: Array($0.utf8)[...]) }
    }

    /// The values of a key's updates, in order.
    private func values(_ lines: some Sequence<String>) throws -> [UInt64] {
        try objects(lines).filter { $0["event"]?.string == "update" }.compactMap { $0["value"]?.integer }
    }

    @Test("subscribe, get, wait and top have the name that they are given, also when the broker is back")
    func names() throws {
        let broker = try startBroker(in: folder)
        let named: [[String]] = [
            ["subscribe", "n", "--name", "ada"], ["get", "n", "--watch", "--name", "bob"],
            ["wait", "m", "--name", "eve"], ["top", "--name", "tom"], ["top"],
            ["serve", "x", "--name", "sam", "--", "true"],
        ]
        var runs = try named.map { try Run($0, in: folder) }
        let variables = ["PLUGBOARD_NAME": "env"]
        runs.append(try Run(["subscribe", "n"], in: folder, environment: variables))
        let names = ["ada", "bob", "env", "eve", "sam", "tom", "top"]
        func here() throws -> [String] {
            try run("clients", "--json").lines.compactMap {
                try JSONObject(parsing: Array($0.utf8)[...])["name"]?.string
            }
            .sorted()
        }
        try eventually("all have their names") { try here() == names }
        #expect(try run("restart").end == .exited(0))
        try eventually("all have their names again") { try here() == names }
        for run in runs { run.signal(SIGTERM) }
        broker.signal(SIGTERM)
    }

    @Test("subscribe and record show each write once, over restarts and kills of the broker")
    func everyWriteOnce() throws {
        var broker = try startBroker(in: folder)
        let watcher = try start("subscribe", "n", "--delivery", "all")
        let newest = try start("subscribe", "n")
        let recorder = try start("record", "n")
        for round in 0..<8 {
            for number in 1...5 { _ = try run("publish", "n", "\(round * 5 + number)") }
            // It counts how often the broker was gone, so it has to come back in each round.
            try eventually("the watcher is back") { watcher.output.contains("\"value\":\(round * 5 + 5),") }
            if round % 4 == 3 {
                broker.signal(SIGKILL)
                _ = try broker.finished()
                broker = try startBroker(in: folder)
            } else {
                #expect(try run("restart").end == .exited(0))
            }
        }
        _ = try run("publish", "n", "41")
        for watcher in [watcher, newest, recorder] {
            try eventually("the last one is there") { watcher.output.contains("\"value\":41,") }
        }
        #expect(try values(watcher.output.split(separator: "\n").map(String.init)) == Array(1...41))
        recorder.signal(SIGINT)
        #expect(try recorder.finished().end == .exited(0))
        for lines in [try recorder.finished().lines, newest.output.split(separator: "\n").map(String.init)] {
            let told = try values(lines)
            #expect(told == told.sorted() && Set(told).count == told.count && told.last == 41)
            #expect(!lines.contains { $0.contains("\"gap\"") })
        }
        #expect(watcher.messages.components(of: "waiting for it to come back") == 8)
        #expect(watcher.messages.components(of: "the broker is back\n") == 8)
        for run in [watcher, newest] { run.signal(SIGTERM) }
    }

    @Test("an event that was held when the connection broke comes afterwards, once")
    func held() throws {
        let broker = try startBroker(in: folder, "--memory")
        let peer = try LinePeer(path: folder.socket)
        _ = try peer.line()
        func ask(_ request: String) throws -> JSONObject {
            try peer.send(request + "\n")
            while let line = try peer.line() {
                let reply = try JSONObject(parsing: line[...])
                if reply["event"] == nil { return reply }
            }
            return try JSONObject(parsing: Array("{}".utf8)[...])
        }
        // It never acknowledges.
        _ = try ask(#"{"op":"subscribe","key":"late","phase":1,"ack":true,"initial":false}"#)
        let live = try Run(["subscribe", "*", "--no-initial"], in: folder)
        let rare = try Run(["subscribe", "*", "--no-initial", "--every", "86400"], in: folder)
        let recorder = try Run(["record", "*", "--no-initial"], in: folder)
        var observers: [JSONObject] = []
        try eventually("all observe") {
            observers = try ask("who n")["observers"]?.array?.compactMap(\.object) ?? []
            return observers.count == 3
        }
        let clients = observers.compactMap { $0["client"]?.integer }
        _ = try ask("publish n 1")
        for run in [live, rare, recorder] {
            try eventually("it is told") { run.output.contains("\"value\":1,") }
        }
        // The recorder is in the first phase, so it comes first.
        _ = try ask(#"{"op":"pause","sub":1,"client":\#(clients[0])}"#)
        _ = try ask("publish n 2")
        _ = try ask("publish late 3")
        for client in clients { #expect(try ask("disconnect \(client)")["ok"]?.string == "disconnect") }
        for run in [live, rare, recorder] {
            try eventually("it comes") { run.output.contains("\"value\":3,") }
        }
        recorder.signal(SIGINT)
        #expect(try values(try recorder.finished().lines) == [1, 2, 3])
        for run in [live, rare] {
            #expect(try values(run.output.split(separator: "\n").map(String.init)) == [1, 2, 3])
            run.signal(SIGTERM)
        }
        broker.signal(SIGTERM)
    }

    @Test("updates from before the broker went don't count as skipped")
    func skipped() throws {
        let broker = try startBroker(in: folder)
        let watcher = try Run(["subscribe", "n", "--every", "60", "--json"], in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        for number in 1...3 { _ = try run("publish", "n", "{\"skipped\":\(number)}") }
        try eventually("the first is told") { watcher.output.contains("\"revision\":1,") }
        broker.signal(SIGKILL)
        _ = try broker.finished()
        let next = try startBroker(in: folder)
        try eventually("the last is told") { watcher.output.contains("\"value\":{\"skipped\":3},") }
        #expect(watcher.output.contains(#""value":{"skipped":3},"by":"#))
        #expect(watcher.output.contains(#","skipped":1}"#))
        next.signal(SIGTERM)
    }

    @Test("a plugin's command doesn't wait for another broker when its plugin has ended; a person's does")
    func orphans() throws {
        let script = #""$0" subscribe n & echo $!; wait"#
        for (name, stays) in [(["PLUGBOARD_NAME": "greeter"], false), ([:], true)] {
            let broker = try startBroker(in: folder)
            let shell = try Run(
                program: "/bin/sh", ["-c", script, Products.plugboard], in: folder, environment: name
            )
            try eventually("synced") { shell.output.contains("synced") }
            let command = try #require(Int32(shell.output.prefix { $0 != "\n" }))
            // If the parent ended, everything that it has started would end.
            shell.signal(SIGKILL)
            broker.signal(SIGTERM)
            _ = try broker.finished()
            try eventually("it says what it does") {
                shell.messages.contains(stays ? "waiting for it to come back" : "belonged to has ended")
            }
            if !stays { try eventually("it ends") { !Processes.isAlive(command) } }
        }
    }

    @Test("the same without a journal, when the broker is replaced again and again")
    func everyWriteOnceInMemory() throws {
        let broker = try startBroker(in: folder, "--memory")
        _ = try run("publish", "other", "\"first\"")
        let watcher = try start("subscribe", "n")
        let recorder = try start("record", "*")
        for round in 0..<4 {
            for number in 1...3 { _ = try run("publish", "n", "\(round * 3 + number)") }
            // A recorder that isn't back yet would be told neither this write nor its delete.
            try eventually("the recorder is back") { recorder.output.contains("\"value\":\(round * 3 + 3),") }
            _ = try run("publish", "other", "\"round \(round)\"")
            _ = try run("delete", "other")
            #expect(try run("restart").end == .exited(0))
        }
        _ = try run("publish", "n", "13")
        for watcher in [watcher, recorder] {
            try eventually("the last one is there") { watcher.output.contains("\"value\":13,") }
        }
        recorder.signal(SIGINT)
        for lines in [try recorder.finished().lines, watcher.output.split(separator: "\n").map(String.init)] {
            let told = try values(lines.filter { $0.contains(#""key":"n""#) })
            #expect(told == told.sorted() && Set(told).count == told.count && told.last == 13)
            #expect(!lines.contains { $0.contains("\"gap\"") })
        }
        #expect(try recorder.finished().lines.count { $0.contains(#""event":"delete""#) } == 4)
        watcher.signal(SIGTERM)
        broker.signal(SIGTERM)
    }

    @Test("the demo's script goes on when the broker is replaced in the middle of it")
    func player() throws {
        let broker = try startBroker(in: folder, "--memory")
        try folder.write("demo.txt", "publish a 1\npause 1\npublish b 2\n# over\n")
        let player = try Run(["play", "demo.txt"], in: folder)
        try eventually("it has begun") { try run("get", "a").end == .exited(0) }
        #expect(try run("restart").end == .exited(0))
        #expect(try player.finished().end == .exited(0))
        #expect(try player.finished().lines == ["> publish a 1", "> publish b 2", "# over"])
        #expect(try run("get", "b").output == "2\n")
        broker.signal(SIGTERM)
    }

    @Test("a script goes on after a line that is refused and a key that doesn't come, and ends with status 1")
    func refusedLines() throws {
        let broker = try startBroker(in: folder, "--memory")
        for (line, told) in [
            ("publish a b c", "bad_json"), ("await no.key 0.01", "no.key has no value after 0.01 seconds"),
        ] {
            try folder.write("demo.txt", "\(line)\npublish b 2\n")
            let finished = try run("play", "demo.txt")
            #expect(finished.end == .exited(1), "\(line)")
            #expect(finished.messages.contains(told), "\(finished.messages)")
            #expect(finished.lines.last == "> publish b 2")
        }
        broker.signal(SIGTERM)
    }

    @Test("a script waits for the answers of its calls, also behind its last line and while it awaits a key")
    func lateAnswers() throws {
        let broker = try startBroker(in: folder, "--memory")
        defer { broker.signal(SIGTERM) }
        let server = try Run(
            [
                "serve", "slow", "--ready", "--jobs", "9", "--", "/bin/sh", "-c",
                // What fails is answered last.
                "n=$(cat); sleep 0.3; [ $n = 0 ] || sleep 0.3; echo 5; exit $n",
            ],
            in: folder
        )
        try eventually("it serves") { server.output == "ready\n" }
        let late = #"{"op":"call","id":"a","key":"slow","value":0,"timeout":50}"#
        for (script, told) in [
            ("call slow 1\npublish b 2", "call slow: failed: 5"),
            ("\(late)\npublish b 2\nawait no.key 0.2\nawait b", "call slow: timeout: "),
            ("call slow 1\ncall slow 0\nawait b", "call slow: failed: 5"), ("call slow 0", ""),
        ] {
            try folder.write("demo.txt", script + "\n")
            let finished = try run("play", "demo.txt")
            #expect(finished.end == .exited(told.isEmpty ? 0 : 1), "\(script)")
            #expect(finished.messages.contains(told) || told.isEmpty, "\(script): \(finished.messages)")
            #expect(
                finished.messages.split(separator: "\n").count { $0.contains("call slow") }
                    == (told.isEmpty ? 0 : 1))
        }
    }

    @Test("a broker that remembers nothing: first a gap, then the present values, then the deleted keys")
    func gap() throws {
        var broker = try startBroker(in: folder, "--memory")
        for key in ["a", "b", "c"] { _ = try run("publish", key, "1", "--name", "x") }
        let watcher = try start("subscribe", "*")
        let some = try start("subscribe", "*", "--where", #"{"":{">":0}}"#)
        let live = try Run(["subscribe", "*", "--no-initial"], in: folder)
        let recorder = try start("record", "*")
        // The recorder has a second one, for calls.
        try eventually("all are there") {
            try run("get", "$broker.stats").output.contains(#""subscriptions":5,"#)
        }
        broker.signal(SIGKILL)
        _ = try broker.finished()
        let elsewhere = try TemporaryFolder()
        broker = try Run(["broker", "--ready", "--memory", "--socket", elsewhere.socket], in: elsewhere)
        try eventually("it listens") { broker.output == "ready\n" }
        // It must already have something when clients can find it.
        _ = try Run(["publish", "b", "2", "--name", "y"], in: elsewhere).finished()
        _ = try Run(["publish", "d", "3", "--name", "y"], in: elsewhere).finished()
        SystemCalls.remove(folder.socket)
        SystemCalls.makeLink(folder.socket, to: elsewhere.socket)
        for run in [watcher, some, live, recorder] {
            try eventually("it is back") { run.messages.contains("what happened meanwhile is not known") }
        }
        _ = try run("publish", "e", "4", "--name", "y")
        for run in [watcher, some, live, recorder] {
            try eventually("it goes on") { run.output.contains(#""key":"e""#) }
        }
        let told = watcher.output.split(separator: "\n").map(String.init)
        let gap = try #require(try objects(told).first { $0["event"]?.string == "gap" })
        #expect(gap.members.map(\.name) == ["event", "sub", "since", "revision", "epoch"])
        #expect(
            Array(told.drop { !$0.contains("\"gap\"") }.dropFirst()) == [
                #"{"event":"update","sub":1,"key":"b","revision":1,"value":2,"by":"y","initial":true,"live":false}"#,
                #"{"event":"update","sub":1,"key":"d","revision":2,"value":3,"by":"y","initial":true,"live":false}"#,
                #"{"event":"delete","sub":1,"key":"a","revision":2}"#,
                #"{"event":"delete","sub":1,"key":"c","revision":2}"#,
                #"{"event":"synced","sub":1,"revision":2}"#,
                #"{"event":"update","sub":1,"key":"e","revision":3,"value":4,"by":"y"}"#,
            ]
        )
        #expect(some.output.contains(#"{"event":"leave","sub":1,"key":"a","revision":2}"#))
        #expect(try objects(live.output.split(separator: "\n").map(String.init)).count == 2)
        recorder.signal(SIGINT)
        let finished = try recorder.finished()
        #expect(finished.messages.contains("1 gap: what happened there isn't known"))
        let played = try TemporaryFolder()
        let other = try startBroker(in: played, "--memory")
        let file = try played.write("session.ndjson", finished.output)
        #expect(try plugboard("replay", file, "--speed", "max", in: played).end == .exited(0))
        #expect(try plugboard("keys", in: played).lines == ["b", "d", "e"])
        #expect(try plugboard("get", "b", in: played).output == "2\n")
        for run in [watcher, some, live, broker, other] { run.signal(SIGTERM) }
    }

    @Test("while there is no broker, Ctrl-C ends a recording, and subscribe ends with its reader")
    func endsApart() throws {
        let broker = try startBroker(in: folder)
        _ = try run("publish", "a", "1")
        let recorder = try start("record", "**")
        let script =
            #""$0" subscribe '**' | { read line; kill -KILL "$1"; until grep -q waiting "$2"; do sleep 0.01; done; }; echo after"#
        let piped = try Run(
            program: "/bin/sh",
            ["-c", script, Products.plugboard, "\(broker.pid)", "\(folder.path)/err"],
            in: folder
        )
        try eventually("it waits") { recorder.messages.contains("waiting for it to come back") }
        try eventually("it waits as well") { piped.messages.contains("waiting for it to come back") }
        try folder.write("err", "waiting")
        #expect(try piped.finished().lines == ["after"])
        recorder.signal(SIGINT)
        let finished = try recorder.finished()
        #expect(finished.end == .exited(0) && finished.lines.count == 3)
        #expect(finished.messages.contains("recorded 1 value and 0 events in "))
    }

    @Test("a trace goes on and says that it missed something; --no-reconnect ends it")
    func trace() throws {
        let broker = try startBroker(in: folder)
        let tracer = try Run(["trace", "a", "--count", "2", "--json"], in: folder)
        let ending = try Run(["trace", "a", "--no-reconnect"], in: folder)
        try eventually("both trace") {
            try run("get", "$broker.stats").output.contains(#""subscriptions":2,"#)
        }
        _ = try run("publish", "a", "1")
        #expect(try run("restart").end == .exited(0))
        #expect(try ending.finished().end == .exited(69))
        try eventually("it is back") { tracer.messages.contains("what happened meanwhile is not known") }
        _ = try run("publish", "a", "2")
        let finished = try tracer.finished()
        #expect(finished.end == .exited(0))
        #expect(try objects(finished.lines).map { $0["event"]?.string } == ["trace", "gap", "trace"])
        _ = broker
    }

    @Test("if something else answers at the path, the command ends and says so")
    func stranger() throws {
        let broker = try startBroker(in: folder)
        let watcher = try start("subscribe", "**")
        broker.signal(SIGKILL)
        _ = try broker.finished()
        let listener = try UnixSocket.listen(path: folder.socket)
        var peer: Int32 = -1
        try eventually("it connects") {
            if case .connection(let descriptor) = try UnixSocket.accept(listener.raw) {
                peer = descriptor.release()
            }
            return peer >= 0
        }
        defer { DescriptorCalls.close(peer) }
        let greeting = Array("SSH-2.0-x\r\n".utf8)
        _ = DescriptorCalls.send(peer, greeting.span)
        let finished = try watcher.finished()
        #expect(finished.end == .exited(69) && finished.messages.contains("is not a Plugboard broker"))
    }
}

@Suite("What a subscription knows", .oneAtATime)
struct KnownKeysTests {
    @Test("keys that aren't told again are gone, each once; those of a broker that goes on are not")
    func known() {
        var known = KnownKeys()
        known.begin(isResumed: false)
        for key in ["b", "a"] { same(known.isNews("update", key: key), true) }
        same(known.synced(), [])
        known.begin(isResumed: true)
        same(known.isNews("delete", key: "never"), false)
        same(known.isNews("delete", key: "b"), true)
        same(known.synced(), [])
        same(known.isNews("update", key: "c"), true)
        same(known.isNews("delete", key: "never"), true)
        known.begin(isResumed: false)
        same(known.isNews("update", key: "c"), true)
        same(known.synced(), ["a"])
        same(known.synced(), [])
    }
}

extension String {
    /// How often a text occurs in this one.
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}

/// Compares values that change while they are read.
private func same<Value: Equatable>(
    _ value: Value, _ expected: Value, _ location: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, sourceLocation: location)
}
