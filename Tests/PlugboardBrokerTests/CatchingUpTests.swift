// Observers that were away longer than the broker's memory reaches back, or that want every event and had
// no room for it. What they missed is read from the journal's files.

import Foundation
import PlugboardBroker
import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("Catching up from the journal", .someAtATime, .serialized)
struct CatchingUpTests {
    private let home: TemporaryFolder
    private var state: String { home.path + "/state" }

    init() throws {
        home = try TemporaryFolder(named: "pj")
    }

    /// Small segments, which a snapshot soon replaces. All of them stay as history.
    private static let small = JournalOptions(
        sync: .never,
        historyBytes: 1 << 30,
        segmentBytes: 4_000...4_000,
        leewayBytes: 0...0,
        slackBytes: 8_000
    )

    private func withBroker(
        _ options: JournalOptions = small, policy: Policy? = nil, _ body: (TestBroker) throws -> Void
    ) throws {
        try TestBroker.run(state: state, options, policy: policy, body)
    }

    /// The lines up to `synced`, with `synced`.
    private func linesToSynced(_ client: TestClient) throws -> [String] {
        var lines: [String] = []
        repeat { lines.append(try client.line()) } while !lines[lines.count - 1].contains(#""synced""#)
        return lines
    }

    /// Returns when the broker has handled everything that a client sent. Every line in shorthand is
    /// answered.
    private func sync(_ client: TestClient) throws {
        try client.send("sync")
        while try !client.line().contains(#""ok":"sync""#) {}
    }

    private func revisions(_ lines: [String]) -> [Int] {
        lines.compactMap { line in
            line.firstMatch(of: #/"event":"(?:update|delete|leave)".*?"revision":(\d+)/#).flatMap {
                Int($0.1)
            }
        }
    }

    @Test("who is told all gets every write in order, from many files and an earlier broker, then live ones")
    func all() throws {
        try withBroker { broker in
            let writer = try broker.client()
            _ = try writer.ask("hello till")
            for number in 1...1_500 { try writer.send("publish k.\(number % 7) \(number)") }
            try sync(writer)
        }
        try withBroker { broker in
            let writer = try broker.client()
            _ = try writer.ask("hello other")
            try writer.send(#"{"op":"publish","key":"k.1","value":"x","cause":7}"#)
            try writer.send(
                #"{"op":"batch","writes":[{"op":"delete","key":"k.2"},{"op":"publish","key":"else","value":0},{"op":"patch","key":"k.3","value":{"a":1}}]}"#
            )
            try sync(writer)
            let client = try broker.client()
            try client.send(#"{"op":"subscribe","id":1,"key":"k.*","since":3,"delivery":"all"}"#)
            try client.send(#"{"op":"sync","id":2}"#)
            #expect(
                try client.line() == #"{"ok":"subscribe","id":1,"sub":1,"revision":1502,"resumed":true}"#
            )
            let lines = try linesToSynced(client)
            #expect(revisions(lines) == Array(4...1_502) + [1_502])
            #expect(
                lines[0]
                    == #"{"event":"update","sub":1,"key":"k.4","revision":4,"value":4,"by":"till"}"#
            )
            #expect(
                Array(lines.suffix(4)) == [
                    #"{"event":"update","sub":1,"key":"k.1","revision":1501,"value":"x","by":"other","cause":7}"#,
                    #"{"event":"delete","sub":1,"key":"k.2","revision":1502,"by":"other"}"#,
                    #"{"event":"update","sub":1,"key":"k.3","revision":1502,"value":{"a":1},"by":"other"}"#,
                    #"{"event":"synced","sub":1,"revision":1502}"#,
                ]
            )
            // The reply to a later request comes after everything that was owed when it was made.
            #expect(try client.line() == #"{"ok":"sync","id":2,"revision":1502}"#)
            _ = try writer.ask(#"publish k.1 "live""#)
            #expect(try client.line().contains(#""revision":1503,"value":"live""#))
        }
    }

    @Test("who wants the newest of each key gets it, and what is gone, also from before the last snapshot")
    func newest() throws {
        try withBroker { broker in
            let writer = try broker.client()
            try writer.send("publish old 0\npublish gone 0\npublish back 0\ndelete back")
            for number in 1...400 { try writer.send("publish k.\(number % 3) \(number)") }
            try writer.send("delete gone\npublish back 1")
            for number in 1...400 { try writer.send("publish k.\(number % 3) \(number)") }
            try sync(writer)
            try eventually("a snapshot is made") { try names().contains { $0.hasPrefix("snapshot-") } }
        }
        try withBroker { broker in
            let client = try broker.client()
            try client.send(#"{"op":"subscribe","id":1,"key":"**","since":2}"#)
            #expect(try client.line().contains(#""revision":806,"resumed":true"#))
            let lines = try linesToSynced(client)
            #expect(lines.count == 6)
            #expect(lines[0].hasPrefix(##"{"event":"delete","sub":1,"key":"gone","revision":405,"by":"#1""##))
            #expect(lines[1].hasPrefix(#"{"event":"update","sub":1,"key":"back","revision":406,"value":1,"#))
            #expect(lines[1].hasSuffix(#""skipped":2}"#))
            #expect(revisions(Array(lines[2...])) == [804, 805, 806])
            #expect(lines[4].contains(#""skipped":266"#) || lines[4].contains(#""skipped":267"#))
            #expect(!lines.contains { $0.contains(#""initial""#) || $0.contains(#""key":"old""#) })
            #expect(try client.ask("publish k.9 1").contains(#""event":"update""#))
        }
    }

    @Test("what happens while the files are read comes behind it, each once")
    func meanwhile() throws {
        try withBroker { broker in
            let writer = try broker.client()
            for number in 1...3_000 { try writer.send("publish k.\(number % 500) \(number)") }
            try sync(writer)
            let client = try broker.client()
            try client.send(#"{"op":"subscribe","id":1,"key":"**","since":1,"delivery":"all"}"#)
            #expect(try client.line().contains(#""revision":3000,"resumed":true"#))
            for number in 1...300 { try writer.send("publish k.1 \(number)") }
            try sync(writer)
            var told: [Int] = []
            while told.last != 3_300 { told += revisions([try client.line()]) }
            #expect(told == Array(2...3_300))
        }
    }

    @Test("what is owed is what the client may see, and a step passes a line that it is told")
    func steps() throws {
        let rules = #"[{"allow":{"everything":["**"]}},{"plugin":"low","deny":{"subscribe":["h.**"]}}]"#
        try withBroker(policy: try Policy.read(#"{"rules":\#(rules)}"#)) { broker in
            let (writer, client) = (try broker.client(), try broker.client())
            for number in 0..<10 { try writer.send("publish h.a \(number)\npublish a \(number)") }
            try sync(writer)
            let options = #""since":0,"delivery":"all","where":{"":{">=":7}}"#
            try client.send(#"{"op":"hello","name":"low"}"#)
            try client.send(#"{"op":"subscribe","key":"**",\#(options)}"# + "\npause 1")
            for _ in 1...3 { _ = try client.line() }
            var owed = 0
            try eventually("it was read") {
                owed = number("owed", in: try client.ask("pause 1")) ?? 0
                return owed > 0
            }
            #expect(owed == 10)
            for told in [#""event":"leave""#, #""value":7"#, #""value":8"#, #""value":9"#] {
                #expect(try client.ask("step 1").contains(#""ok":"step""#))
                let line = try client.line()
                #expect(line.contains(told) && !line.contains("h.a"))
            }
        }
    }

    @Test("where the files are gone, everything is told anew")
    func tooLate() throws {
        let options = JournalOptions(
            sync: .never, historyBytes: 0, segmentBytes: 4_000...4_000, leewayBytes: 0...0, slackBytes: 8_000
        )
        try withBroker(options) { broker in
            let writer = try broker.client()
            for number in 1...800 { try writer.send("publish k.\(number % 3) \(number)") }
            try sync(writer)
            try eventually("a snapshot is made") { try names().contains { $0.hasPrefix("snapshot-") } }
        }
        try withBroker(options) { broker in
            let client = try broker.client()
            try client.send(#"{"op":"subscribe","id":1,"key":"**","since":2}"#)
            #expect(try client.line().contains(#""resumed":false"#))
            #expect(try linesToSynced(client).count == 4)
            try client.send(#"{"op":"subscribe","id":2,"key":"**","since":800,"sub":"late"}"#)
            #expect(try client.line().contains(#""revision":800,"resumed":true"#))
            #expect(try client.line() == #"{"event":"synced","sub":"late","revision":800}"#)
        }
    }

    @Test("who deleted a key isn't forgotten because somebody reads of an older delete")
    func olderDelete() throws {
        try withBroker(JournalOptions(sync: .never)) { broker in
            let (client, writer, other) = (try broker.client(), try broker.client(), try broker.client())
            _ = try other.ask("hello old")
            _ = try writer.ask("hello new")
            _ = try other.ask("publish k 1")
            _ = try other.ask("delete k")
            let long = String(repeating: "x", count: 100_000)
            for number in 1...100 { try writer.send(#"publish fill.\#(number) "\#(long)""#) }
            _ = try client.ask(#"{"op":"subscribe","key":"k","initial":false}"#)
            _ = try client.ask("pause 1")
            // More writes than the broker remembers.
            let writes = (0..<1_000).map { #"{"op":"publish","key":"h.\#($0)","value":1}"# }
            let batch = #"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#
            for _ in 0..<66 { try writer.send(batch) }
            // So that both deletes weren't in the same second.
            Thread.sleep(forTimeInterval: 1)
            try writer.send("publish k 2\ndelete k")
            try sync(writer)
            for attempt in 0..<10 {
                let reader = try broker.client()
                try reader.send(#"{"op":"subscribe","key":"**","since":1}"#)
                #expect(try reader.line().contains(#""resumed":true"#))
                withExtendedLifetime(reader) { Thread.sleep(forTimeInterval: 0.004 * Double(attempt)) }
            }
            try client.send("resume 1")
            #expect(try client.line().contains(#""ok":"resume""#))
            let line = try client.line()
            #expect(line.contains(#""event":"delete""#) && line.contains(#""by":"new""#), "\(line)")
        }
    }

    @Test("a gap whose files are gone is told as one, and it goes on behind it")
    func gapLost() throws {
        try withBroker(JournalOptions(sync: .never, segmentBytes: 100_000...100_000)) { broker in
            let (client, writer) = (try broker.client(), try broker.client())
            _ = try client.ask(#"{"op":"subscribe","key":"k","delivery":"all","initial":false}"#)
            _ = try client.ask("pause 1")
            let long = String(repeating: "x", count: 40_000)
            for _ in 1...60 { try writer.send(#"publish k "\#(long)""#) }
            try sync(writer)
            for name in try names() where name.hasPrefix("segment-") {
                SystemCalls.remove("\(state)/\(name)")
            }
            try client.send("resume 1")
            _ = try client.line()
            var lines: [String] = []
            while lines.last?.contains("lagged") != true { lines.append(try client.line()) }
            let told = revisions(lines).count
            #expect(told < 40 && revisions(lines) == Array(1...told))
            #expect(
                lines.last?.hasSuffix(#""dropped":\#(60 - told),"first":\#(told + 1),"last":60}"#) == true
            )
            _ = try writer.ask("publish k 1")
            #expect(try client.line().contains(#""revision":61,"#))
        }
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: state)
    }
}
