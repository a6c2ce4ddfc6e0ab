// What one turn does at most: as much as its limit at once, and one more in the next turn.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("the limits of a turn", .computing)
struct TurnLimitTests {
    private typealias Loop = EventLoop<SiegeNetwork>

    /// Of those who were sent something in one turn.
    private func told(_ links: [SiegeStage.Link], by stage: SiegeStage) throws -> Int {
        try stage.turn()
        return links.count { !$0.take().isEmpty }
    }

    /// How often a budget of so many steps has room for something that costs so much, and the last begins within it.
    private func room(_ budget: Int, for cost: Int) -> Int { budget / cost + 1 }

    private let effort = Int(SiegeStage.effort)

    /// Many clients that were heard just now: one alone would have a larger budget.
    private func crowd(_ count: Int, at stage: SiegeStage) throws -> [SiegeStage.Link] {
        let links = try (0..<count).map { _ in try stage.connect() }
        for link in links { stage.send("sync\n", link) }
        while try told(links, by: stage) > 0 {}
        return links
    }

    @Test("as many clients as a turn hears are answered in it, and one more in the next", arguments: 0...1)
    func reads(more: Int) throws {
        let stage = try SiegeStage(hasSlices: true)
        let count = room(effort, for: Cost.read)
        let links = try crowd(count + more, at: stage)
        for link in links { stage.send("sync\n", link) }
        #expect(try told(links, by: stage) == count)
        #expect(try told(links, by: stage) == more)
    }

    @Test("as many as a turn accepts are greeted in it, and one more in the next", arguments: 0...1)
    func accepts(more: Int) throws {
        let stage = try SiegeStage(hasSlices: false)
        let links = (0..<Loop.acceptsPerTurn + more).map { _ in stage.knock() }
        #expect(try told(links, by: stage) == Loop.acceptsPerTurn)
        #expect(try told(links, by: stage) == more)
    }

    @Test("as many observers as a turn serves are told in it, and one more in the next", arguments: 0...1)
    func serves(more: Int) throws {
        let stage = try SiegeStage(hasSlices: true)
        // The writer is served, too, and a line of more than 64 bytes is a step.
        let count = room(effort - Cost.serve, for: Cost.serve + 1)
        let observers = try (0..<count + more).map { _ in
            let observer = try stage.connect()
            try stage.ask(#"{"op":"subscribe","key":"news","initial":false}"#, observer)
            return observer
        }
        stage.send("publish news 1\n", try stage.connect())
        #expect(try told(observers, by: stage) == count)
        #expect(try told(observers, by: stage) == more)
    }

    @Test("as many connections as a turn closes end in it, and one more in the next", arguments: 0...1)
    func closes(more: Int) throws {
        let stage = try SiegeStage(hasSlices: true)
        // Their ends are read first.
        let count = room(effort, for: Cost.read + Cost.close)
        let links = try crowd(count + more, at: stage)
        for link in links { stage.close(link) }
        try stage.turn()
        #expect(stage.closings == count)
        try stage.turn()
        #expect(stage.closings == links.count)
    }

    @Test(
        "as many clients may say goodbye at once as a turn closes, and one more waits for the next",
        arguments: 0...1
    )
    func goodbyes(more: Int) throws {
        let stage = try SiegeStage(hasSlices: true)
        // What they may have sent since isn't read, so each takes as long to close as some others.
        let count = room(effort, for: Cost.closeUnread)
        let links = try (0..<count + more).map { _ in try stage.connect() }
        for link in links { stage.send("goodbye\n", link) }
        try stage.turn()
        try stage.checkInvariants()
        #expect(stage.closings == 0)
        try stage.turn()
        #expect(stage.closings == count)
        try stage.turn()
        #expect(stage.closings == links.count)
    }

    @Test("as many half lines as a turn reads are read in it, and one more in the next", arguments: 0...1)
    func halfLines(more: Int) throws {
        try expectRead("x", room(effort, for: Cost.read), more)
    }

    @Test("as many bytes of half lines as fit a turn are read in it, and more in the next", arguments: 0...1)
    func bytes(more: Int) throws {
        let piece = String(repeating: "x", count: effort / 4 * Cost.bytesReadPerStep)
        try expectRead(piece, room(effort, for: Cost.read + effort / 4), more)
    }

    /// Has clients that have begun a line send more of it, and looks how much of that two turns read.
    private func expectRead(_ piece: String, _ count: Int, _ more: Int) throws {
        let stage = try SiegeStage(hasSlices: true)
        let links = try (0..<count + more).map { _ in try stage.connect() }
        for link in links { stage.send("{", link) }
        for _ in 0..<4 { try stage.turn() }
        for link in links { stage.send(piece, link) }
        let before = stage.readBytes
        try stage.turn()
        #expect(stage.readBytes - before == count * piece.utf8.count)
        try stage.turn()
        #expect(stage.readBytes - before == links.count * piece.utf8.count)
    }

    @Test(
        "as many keys as a turn ends go in it, and one more in the next",
        arguments: 0...1,
        [#""ttl":1000"#, #""while":"connected""#]
    )
    func ends(more: Int, bound: String) throws {
        let stage = try SiegeStage(hasSlices: false)
        let writer = try stage.connect()
        let keys = Deadlines.firedPerTurnMax + more
        let writes = (0..<keys).map { #"{"op":"publish","key":"k\#($0)","value":1,\#(bound)}"# }
        try stage.ask(writes.joined(separator: "\n"), writer)
        #expect(stage.keyCount == keys)
        if bound.contains("ttl") {
            stage.time.advance(nanoseconds: 1_000_000_000)
        } else {
            stage.close(writer)
        }
        try stage.turn()
        #expect(stage.keyCount == more)
        try stage.turn()
        #expect(stage.keyCount == 0)
    }
}

@Suite("What is counted", .computing)
struct CountedWorkTests {
    /// Lines of one client, and what the last of them counts at least.
    struct Work: Sendable, CustomTestStringConvertible {
        let name: String
        let before: [String]
        let line: String
        let stepsMin: Int
        var testDescription: String { name }
    }

    private static func lines(_ count: Int, _ line: (Int) -> String) -> [String] { (0..<count).map(line) }

    private static let members = lines(1_000) { "\"m\($0)\":0" }.joined(separator: ",")
    private static let pointers = lines(64) { "\"/x\($0)\"" }.joined(separator: ",")

    static let all = [
        Work(
            name: "a search for the write of a value among the emits since then",
            before: ["subscribe e", "publish a 1"] + lines(2_000) { "emit e \($0)" },
            line: "why a",
            stepsMin: 2_000 / Cost.entriesPerStep
        ),
        Work(
            name: "patterns held against what was written meanwhile",
            before: lines(2_000) { "publish k\($0).a 1" },
            line: #"{"op":"subscribe","key":"*.b","since":1}"#,
            stepsMin: 2_000 / Cost.matchesPerStep
        ),
        Work(
            name: "patterns held against keys that were deleted in another life",
            before: lines(4_000) { ($0 % 2 == 0 ? "publish k\($0 / 2).a 1" : "delete k\($0 / 2).a") },
            line: #"{"op":"subscribe","key":"b","since":1,"epoch":"x"}"#,
            stepsMin: 2_000 / Cost.matchesPerStep
        ),
        Work(
            name: "members looked for among many pointers",
            before: [#"{"op":"subscribe","key":"k","initial":false,"fields":[\#(pointers)]}"#],
            line: "publish k {\(members)}",
            stepsMin: members.utf8.count / 16 * 16
        ),
    ]

    @Test("is what takes as long as many observers", arguments: all)
    func counted(work: Work) {
        let test = TestHub()
        let client = test.client()
        for line in work.before { test.tell(line, from: client) }
        test.dropTurn()
        let before = test.hub.effort
        test.send(work.line, from: client)
        #expect(test.hub.effort - before >= UInt64(work.stepsMin))
        #expect(test.hub.effort - before < UInt64(16 * work.stepsMin + 4_096))
    }
}
