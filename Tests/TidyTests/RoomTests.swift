// The boundaries of the broker's parts ("rooms"): who owns a field.

import Testing

@Suite("the broker's rooms have walls")
struct RoomTests {
    /// Each is a folder, and in it a structure of that name.
    private static let rooms = [
        "Access", "Calls", "Delivery", "Durability", "Insight", "Keyspace", "Matching", "Phases", "Requests",
    ]
    /// Parts of a room that have doors of their own. They are used as they are, without a second door in front.
    private static let parts = [
        "authors", "batch", "buffers", "copy", "decoder", "emits", "group", "held", "history", "judge",
        "lanes", "lifetimes", "log", "olds", "rates", "reach", "records", "replies", "tracing", "warnings",
    ]
    private static func broker() throws -> [SourceFile] {
        try SourceTree.files(in: "Sources/PlugboardBroker")
    }

    /// The lines of the structure that a file is named after.
    private static func structure(_ name: String, in file: SourceFile) -> [String] {
        let start = file.code.firstIndex { $0.hasPrefix("struct \(name):") }
        return start.map { file.code[$0...].prefix { $0 != "}" } } ?? []
    }

    /// The lines that declare stored properties.
    private static func fields(_ code: [String]) -> [String] {
        code.filter { line in
            line.hasPrefix("    ") && !line.hasPrefix("     ") && !line.hasSuffix("{")
                && line.contains(/^    (private\(set\) |private |fileprivate )?(var|let)\s/)
                && !line.contains(/\{.*\}$/)
        }
    }

    @Test("a room's fields are its own, and may be read at most", arguments: rooms)
    func fields(name: String) throws {
        let path = "Sources/PlugboardBroker/\(name)/\(name).swift"
        let code = Self.structure(name, in: try #require(try Self.broker().first { $0.path == path }))
        let fields = Self.fields(code).filter { field in
            !Self.parts.contains { field.firstMatch(of: /var (\w+)/)?.output.1 == $0[...] }
        }
        #expect(!fields.isEmpty)
        #expect(fields.allSatisfy { $0.contains("private") || $0.contains(" let ") }, "\(fields)")
        #expect(!code.contains { $0.contains(/\b(hub|Hub)\b/) })
    }

    @Test("a room is not extended outside of its main file", arguments: rooms)
    func extensions(name: String) throws {
        let others = try Self.broker().filter { $0.path != "Sources/PlugboardBroker/\(name)/\(name).swift" }
        #expect(others.filter { $0.code.contains("extension \(name) {") }.map(\.path) == [])
    }

    /// The phases of a turn, in their order.
    private static let phases = [
        "replacePolicy()", "try wait(milliseconds)", "run(.prompt)",
        "try answerHeard()", "expireDue()", "goOnWithPatient()", "try tickJournal()", "try keepRecords()",
        "try writeOut()", "hub.endTurn()", "try checkTurn()",
    ]

    @Test("one function shows the phases of a turn in order, and nothing else calls them")
    func turn() throws {
        let lines = try Self.broker().flatMap(\.code)
        let start = try #require(lines.firstIndex { $0.contains("func turn(waiting") })
        let turn = lines[start...].prefix { $0 != "    }" }
        let called = turn.compactMap { line in Self.phases.first { line.contains($0) } }
        #expect(called == Self.phases)
        for phase in Self.phases {
            #expect(lines.count { $0.contains(phase) && !$0.contains("func ") } == 1, "\(phase)")
        }
    }
}
