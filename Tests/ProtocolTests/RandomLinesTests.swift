// Whatever is asked, the schema describes each line of the broker. The validator of these
// tests checks that, and in the long suite one that isn't ours.

import Foundation
import PlugboardPosix
import TestSupport
import Testing

@Suite("random requests", .oneAtATime)
struct RandomLinesTests {
    /// A Python with `jsonschema`, if `.ci/long` found one.
    private static let python = SocketPath.variable("PLUGBOARD_PYTHON")

    @Test("each reply to them, and each event from them, is in the schema")
    func lines() throws {
        let requests = LongSuite.count(18_000, quick: 1_200)
        let lines = try Self.lines(answering: requests)
        let schema = try ProtocolSchema()
        var kinds: Set<String> = []
        for line in Set(lines) {
            let problem = schema.problem(output: line)
            #expect(problem == nil, "\(String(decoding: line.prefix(600), as: UTF8.self)): \(problem ?? "")")
            kinds.insert(String(decoding: line.prefix { $0 != UInt8(ascii: ",") }, as: UTF8.self))
        }
        #expect(kinds.count >= LongSuite.count(48, quick: 36), "\(kinds.sorted())")
        for operation in Set(RandomRequests.operations) where operation != "nope" && LongSuite.isOn {
            #expect(kinds.contains(#"{"ok":"\#(operation)""#), "\(operation)")
        }
        LongSuite.print(
            "random requests: \(requests), with \(lines.count) lines, \(kinds.count) kinds of them"
        )
        if LongSuite.isOn, let python = Self.python { try Self.validate(lines, with: python) }
    }

    /// Three clients take turns. One that has sent very much begins again.
    private static func lines(answering count: Int) throws -> [[UInt8]] {
        let broker = try RunningBroker()
        var random = RandomRequests(seed: 12)
        var lines: [[UInt8]] = []
        var peers = try (0..<3).map { _ in try LinePeer(path: broker.path) }
        for turn in 0..<(count / 20) {
            let place = turn % peers.count
            for _ in 0..<20 { try peers[place].send(random.next() + "\n") }
            try readOn(peers[place], to: turn, &lines)
            guard turn % 40 >= 37 else { continue }
            try peers[place].send(#"{"op":"goodbye"}"# + "\n")
            while let line = try peers[place].line() { lines.append(line) }
            peers[place] = try LinePeer(path: broker.path)
        }
        return lines
    }

    /// Everything up to the reply to a barrier.
    private static func readOn(_ peer: LinePeer, to turn: Int, _ lines: inout [[UInt8]]) throws {
        let id = "\"barrier \(turn)\""
        try peer.send(#"{"op":"sync","id":\#(id)}"# + "\n")
        let start = Array(#"{"ok":"sync","id":\#(id)"#.utf8)
        repeat {
            guard let line = try peer.line() else { throw LinePeer.Problem.failed("the broker closed") }
            lines.append(line)
        } while lines.last?.starts(with: start) != true
    }

    private static func validate(_ lines: [[UInt8]], with python: String) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pb-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(lines.joined(separator: [0x0A]) + [0x0A]).write(to: file)
        let script = ProtocolFolder.package.appendingPathComponent(".ci/schema.py").path
        let validator = try TestProgram.run(python, [script, file.path])
        #expect(validator.status == 0, "\(validator.output)")
        LongSuite.print("jsonschema: \(validator.output.split(separator: "\n").last ?? "")")
    }
}
