import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("dump and load", .someAtATime)
final class DumpTests: BrokerSuite {
    @Test("a dump has the order, the batches and the values byte for byte, and load makes them again")
    func roundTrip() throws {
        _ = try run("publish", "z", #"{"n": 1.50,"ü":"\u00fc"}"#, "--name", "me")
        _ = try run(
            "batch",
            input: #"{"op":"publish","key":"b","value":1}"# + "\n" + #"{"op":"publish","key":"a","value":2}"#
        )
        _ = try run("publish", "c", "null", "--name", "me", "--cause", "2")
        let dump = try run("dump")
        #expect(dump.end == .exited(0))
        #expect(dump.messages.isEmpty)
        #expect(dump.lines.count == 4)
        #expect(dump.lines[0] == #"{"key":"z","revision":1,"value":{"n": 1.50,"ü":"\u00fc"},"by":"me"}"#)
        #expect(dump.lines[1].hasPrefix(#"{"key":"a","revision":2,"value":2,"#))
        #expect(dump.lines[1].hasSuffix(#","x-batch":2}"#) && dump.lines[2].hasSuffix(#","x-batch":2}"#))
        #expect(dump.lines[3] == #"{"key":"c","revision":3,"value":null,"by":"me","cause":2}"#)
        let copy = try BrokerSuite()
        let loaded = try copy.run("load", "-", input: dump.output)
        #expect(loaded.output == "wrote 4 values in 3 writes, revision 3\n")
        #expect(loaded.end == .exited(0))
        let again = try copy.run("dump").lines
        #expect(again.map { $0.prefix { $0 != "y" } } == dump.lines.map { $0.prefix { $0 != "y" } })
        #expect(again.count { $0.hasSuffix(#","x-batch":2}"#) } == 2)
    }

    @Test("a dump and load keep who wrote a value first")
    func origins() throws {
        let bridge = try LinePeer(path: folder.socket)
        try bridge.send(#"{"op":"publish","id":1,"key":"far","value":1,"origin":"cart@hostB"}"# + "\n")
        while try !bridge.text().contains(#""ok":"publish""#) {}
        let copy = try BrokerSuite()
        #expect(try copy.run("load", "-", input: run("dump").output).end == .exited(0))
        #expect(try copy.run("get", "far", "--json").output.contains(#""origin":"cart@hostB""#))
    }

    @Test("a dump tells what ends a value, and load begins its time anew and leaves out what was bound")
    func endsAreTold() throws {
        let till = try LinePeer(path: folder.socket)
        try till.send(#"{"op":"publish","id":1,"key":"here","value":1,"while":"connected"}"# + "\n")
        while try !till.text().contains(#""ok":"publish""#) {}
        _ = try run("publish", "soon", "2", "--ttl", "3600")
        let dump = try run("dump")
        #expect(dump.lines.first?.hasSuffix(#","while":"connected"}"#) == true)
        let left = try #require(dump.lines.last?.firstMatch(of: /,"ttl":([0-9]+)}$/).flatMap { Int($0.1) })
        #expect((3_000_000...3_600_000).contains(left))
        let copy = try BrokerSuite()
        let loaded = try copy.run("load", "-", input: dump.output)
        #expect(
            loaded.output == "wrote 1 value in 1 write, left out 1 that ended with a connection, revision 1\n"
        )
        let again = try copy.run("get", "soon", "--json").output
        let rest = try #require(again.firstMatch(of: /,"ttl":([0-9]+)/).flatMap { Int($0.1) })
        #expect((2_900_000...left).contains(rest))
        #expect(try copy.run("load", "-", "--bound", input: dump.output).output.hasPrefix("wrote 2 values"))
        #expect(try !copy.run("get", "here", "--json").output.contains("while"))
    }

    private static let jq = try? ProgramSearch.path(of: "jq")

    /// A dump with one batch, in a file.
    private func batchFile() throws -> String {
        let writes = ["b", "a"].map { #"{"op":"publish","key":"\#($0)","value":"\#($0)"}"# + "\n" }
        _ = try run("batch", input: writes.joined())
        return try folder.write("bus.ndjson", run("dump").output)
    }

    @Test("publish --from reads a dump")
    func plainImport() throws {
        let file = try batchFile()
        let copy = try BrokerSuite()
        #expect(try copy.run("publish", "--from", file).output == "published 2 values, revision 2\n")
        #expect(try copy.run("get", "b").output == "\"b\"\n")
    }

    @Test("jq reads a dump", .enabled(if: jq != nil, "jq is not installed"))
    func otherReader() throws {
        let words = ["-c", "[.key,.value]", try batchFile()]
        let finished = try Run(program: try #require(Self.jq), words, in: folder).finished()
        #expect(finished.output == "[\"a\",\"a\"]\n[\"b\",\"b\"]\n")
    }

    @Test("dump takes a pattern, and an empty bus has an empty dump")
    func pattern() throws {
        #expect(try run("dump").output.isEmpty)
        _ = try run("publish", "a.b", "1")
        _ = try run("publish", "c", "1")
        #expect(try run("dump", "a.**").lines.count == 1)
        #expect(try run("dump", "a*").end == .exited(64))
        #expect(
            try run("load", "-", input: "# nothing\n\n").output == "wrote 0 values in 0 writes, revision 2\n"
        )
    }

    @Test("a batch is loaded whole or not at all, and its line is named")
    func wholeBatches() throws {
        let line = { (key: String, batch: Int) in
            #"{"key":"\#(key)","revision":7,"value":1,"x-batch":\#(batch)}"# + "\n"
        }
        let file = line("a", 2) + "\n" + line("$own", 2) + #"{"key":"z","value":1}"# + "\n"
        let refused = try run("load", "-", input: file)
        #expect(refused.end == .exited(1))
        #expect(refused.messages.contains("standard input:3: forbidden: "))
        #expect(refused.messages.contains("2 of 3 values were not written"))
        #expect(refused.output == "wrote 1 value in 1 write, revision 1\n")
        let half = try run("load", "-", input: line("b", 3) + line("c", 3))
        #expect(half.messages.contains("standard input:1: a batch of 3 values has only 2 here"))
        let bad = try run("load", "-", input: line("b", 3) + "x\n" + line("c", 3) + line("d", 1))
        #expect(bad.messages.contains("standard input:2: not JSON"))
        #expect(bad.messages.contains("standard input:1: a batch of 3 values has only 2 here; a line is bad"))
        #expect(try run("keys").lines == ["d", "z"])
    }

    @Test("a file that ends within a line is reported, and what comes before is loaded")
    func halfFile() throws {
        let half = try run("load", "-", input: #"{"key":"a","value":1}"# + "\n" + #"{"key":"b","val"#)
        #expect(half.end == .exited(1))
        #expect(half.messages.contains("standard input:2: not JSON"))
        #expect(half.messages.contains("the file ends in the middle of a line"))
        #expect(try run("keys").lines == ["a"])
    }

    @Test("values with a ttl end again, and those of a connection are left out or stay")
    func ends() throws {
        let file = try folder.write(
            "ends.ndjson",
            #"{"key":"a","value":1,"ttl":40}"# + "\n" + #"{"key":"b","value":1,"while":"connected"}"# + "\n"
                + #"{"key":"c","value":1,"ttl":600000}"# + "\n"
        )
        #expect(
            try run("load", file).output
                == "wrote 2 values in 2 writes, left out 1 that ended with a connection, revision 2\n"
        )
        try eventually("the first has ended") { try run("keys").lines == ["c"] }
        #expect(try run("load", file, "--bound").output.hasPrefix("wrote 3 values in 3 writes, revision "))
        #expect(try run("keys").lines.contains("b"))
        #expect(
            try run("load", file, "--json").output.hasPrefix(
                #"{"values":2,"writes":2,"bound":1,"refused":0,"revision":"#
            )
        )
    }

    @Test("--dry-run says what load would do, and does nothing")
    func dryRun() throws {
        _ = try run("publish", "a", "0")
        let file = try folder.write(
            "two.ndjson",
            #"{"key":"a","revision":1,"value":1,"x-batch":2}"# + "\n"
                + #"{"key":"b","revision":1,"value":1,"ttl":9,"x-batch":2}"# + "\n"
        )
        #expect(
            try run("load", file, "--dry-run").output
                == "would write 2 values in 1 write: 1 new, 1 replaced, 1 with a ttl\n"
        )
        #expect(try run("get", "a").output == "0\n")
        #expect(try run("keys").lines == ["a"])
        #expect(try run("load", file, "--dry-run", "--json").output.hasSuffix(#""replaced":1}"# + "\n"))
    }

    @Test("--dry-run says which values would be refused, with all of their batch")
    func dryRefusals() throws {
        let guarded = try TemporaryFolder()
        try guarded.write("p.json", #"{"rules":[{"allow":{"everything":["a.**"]}}]}"#)
        let broker = try startBroker(in: guarded, "--policy", "p.json", "--memory")
        defer { withExtendedLifetime(broker) {} }
        _ = try plugboard("publish", "a.x", "0", in: guarded)
        let batch = ["a.x", "b", "c"].map {
            #"{"key":"\#($0)","revision":1,"value":1,"ttl":9,"x-batch":3}"# + "\n"
        }
        let text = batch.joined() + "{\"key\":\"a.y\",\"value\":1}\n\n{\"key\":\"d\",\"value\":1}\n"
        let dry = try plugboard("load", "-", "--dry-run", in: guarded, input: text)
        #expect(dry.end == .exited(1))
        #expect(dry.output == "would write 1 value in 1 write: 1 new, 0 replaced, 0 with a ttl\n")
        let told = dry.messages.split(separator: "\n")
        try #require(told.count == 3)
        #expect(told[0].hasPrefix("standard input:2: it would be refused: forbidden: "))
        #expect(told[1].hasPrefix("standard input:6: it would be refused: forbidden: "))
        #expect(told[2].contains("4 of 5 values would not be written"))
        #expect(try plugboard("keys", in: guarded).lines == ["a.x"])
        let real = try plugboard("load", "-", in: guarded, input: text)
        #expect(real.output.hasPrefix("wrote 1 value in 1 write"))
        #expect(real.messages.contains("4 of 5 values were not written"))
    }

    @Test("bad lines are reported by number, of very many only some")
    func badLines() throws {
        let finished = try run(
            "load",
            "-",
            input: """
                {"key":"a","value":1}
                {"key":"..","value":1}
                {"value":1}
                {"key":"b"}
                {"key":"b","value":1,"ttl":"x"}
                {"key":"b","value":1,"x-batch":1025}
                {"key":"b","key":"c","value":1}
                {"key":"b","value":1,"ttl":0}

                """
        )
        for (number, text) in [
            (2, "is not a key"), (3, "\"key\""), (4, "\"value\""), (5, "\"ttl\""), (6, "1 to 1024"),
            (7, "twice"),
            (8, "ttl"),
        ] {
            let line = finished.messages.split(separator: "\n").first {
                $0.hasPrefix("standard input:\(number): ")
            }
            #expect(line?.contains(text) == true, "\(number): \(finished.messages)")
        }
        #expect(finished.output == "wrote 1 value in 1 write, revision 1\n")
        let flood = try run("load", "-", input: String(repeating: "x\n", count: 200))
        #expect(flood.messages.split(separator: "\n").count == 22)
        #expect(try run("load", "no/such/file").messages.contains("read no/such/file: No such file"))
        #expect(try run("load").end == .exited(64))
    }

    @Test("many values and a batch of 1,024 arrive complete and in order")
    func many() throws {
        let singles = (1...3_000).map { "{\"key\":\"s.\($0)\",\"revision\":\($0),\"value\":\($0)}\n" }
            .joined()
        let batch = (1...1_024).map {
            "{\"key\":\"b.\($0)\",\"revision\":30000,\"value\":0,\"x-batch\":1024}\n"
        }.joined()
        let file = try folder.write("many.ndjson", singles + batch)
        #expect(try run("load", file).output == "wrote 4024 values in 3001 writes, revision 3001\n")
        #expect(
            try run("dump", "s.*").lines.map { $0.prefix(9) }.prefix(2) == [#"{"key":"s"#, #"{"key":"s"#]
        )
        #expect(try run("dump").lines.count == 4_024)
    }

    @Test("dump ends quietly when its reader is gone, and says when its output can't be written")
    func output() throws {
        let lines = (1...3_000).map { "{\"key\":\"s.\($0)\",\"value\":\"\(folder.path)\"}\n" }.joined()
        _ = try Run(["publish", "--from", "-"], in: folder, input: lines).finished()
        let script = #"set -o pipefail; "$0" dump | head -1 | wc -l; echo $?; "$0" dump >/dev/full; echo $?"#
        let finished = try Run(program: "/bin/bash", ["-c", script, Products.plugboard], in: folder)
            .finished()
        #expect(finished.lines == ["1", "0", "1"])
        #expect(finished.messages.contains("plugboard dump: write standard output: "))
    }

    @Test("without a broker, and when it goes in the middle, the status is 69")
    func brokerGone() throws {
        let script =
            #"{ echo '{"key":"a","value":1}'; while [ ! -e go ]; do sleep 0.01; done; for i in 1 2 3 4 5; do echo '{"key":"b","value":2}'; sleep 0.05; done; } | "$0" load -"#
        let load = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder)
        try eventually("the first line is loaded") { try run("get", "a").output == "1\n" }
        broker.signal(SIGKILL)
        _ = try broker.finished()
        try folder.write("go", "")
        let finished = try load.finished()
        #expect(finished.end == .exited(69))
        #expect(finished.messages.contains("after line"))
        #expect(try run("dump").end == .exited(69))
    }
}
