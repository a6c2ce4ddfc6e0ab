// The walls of the broker's rooms: who owns a field, and how much the hub still owns itself.

import Testing

@Suite("the broker's rooms have walls")
struct RoomTests {
    /// Folder and structure.
    private static let rooms = [
        ("Access", "Access"), ("Durability", "Durability"), ("Keyspace", "Keyspace"),
        ("Matching", "Matching"),
    ]
    /// Both only ever fall.
    private static let hubFieldsMax = 35
    private static let hubFilesMax = 35

    private static func broker() throws -> [SourceFile] {
        try SourceTree.files(in: "Sources/PlugboardBroker")
    }

    /// The stored properties of the structure that a file is named after, as they are declared.
    private static func fields(of file: SourceFile) -> [String] {
        file.code.filter { line in
            line.hasPrefix("    ") && !line.hasPrefix("     ") && !line.hasSuffix("{")
                && line.contains(/^    (private\(set\) |private |fileprivate )?(var|let)\s/)
                && !line.contains(/\{.*\}$/)
        }
    }

    @Test("a room's fields are its own, at most twelve, and may be read at most", arguments: rooms)
    func fields(folder: String, name: String) throws {
        let path = "Sources/PlugboardBroker/\(folder)/\(name).swift"
        let file = try #require(try Self.broker().first { $0.path == path })
        let fields = Self.fields(of: file)
        #expect((1...12).contains(fields.count), "\(fields)")
        #expect(fields.allSatisfy { $0.contains("private") }, "\(fields)")
        #expect(!file.code.contains { $0.contains(/\b(hub|Hub)\b/) })
    }

    @Test("a room is not extended outside of its main file", arguments: rooms)
    func extensions(folder: String, name: String) throws {
        let others = try Self.broker().filter { $0.path != "Sources/PlugboardBroker/\(folder)/\(name).swift" }
        #expect(others.filter { $0.code.contains("extension \(name) {") }.map(\.path) == [])
    }

    @Test("the hub has no more fields, and no more files extend it, than it had")
    func hub() throws {
        let files = try Self.broker()
        let hub = try #require(files.first { $0.path.hasSuffix("/Hub/Hub.swift") })
        #expect(Self.fields(of: hub).count <= Self.hubFieldsMax)
        // Those that only look whether what always holds does are no part of its work.
        let extending = files.filter {
            $0.code.contains("extension Hub {") && !$0.path.contains("Invariants")
        }
        #expect(extending.count <= Self.hubFilesMax)
    }
}
