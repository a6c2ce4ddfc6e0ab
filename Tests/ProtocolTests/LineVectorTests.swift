// Sends the tables of lines in `protocol/vectors/` to a real broker. Whatever a line is,
// the broker answers the next one.

import PlugboardPosix
import TestSupport
import Testing

@Suite("vectors of lines", .someAtATime)
struct LineVectorTests {
    private static let barrier = #"{"op":"sync","id":"barrier"}"#
    private static let passed = #"{"ok":"sync","id":"barrier","#

    @Test("an accepted line gets the reply of the table", arguments: RunningBroker.pollers)
    func accepts(_ poller: PollerKind) throws {
        let broker = try RunningBroker(poller: poller)
        let schema = try ProtocolSchema()
        for row in try VectorTable("y_lines.tsv", columns: 2...2).rows {
            let line = try row.bytes(0)
            try Self.expect(row, broker, schema)
            guard line.first == UInt8(ascii: "{") else { continue }
            #expect(try schema.problem(request: line) == nil, "\(row)")
        }
    }

    @Test(
        "a refused line gets the error of the table, and the next line its answer",
        arguments: RunningBroker.pollers
    )
    func refuses(_ poller: PollerKind) throws {
        let broker = try RunningBroker(poller: poller)
        let schema = try ProtocolSchema()
        let rows = try VectorTable("n_lines.tsv", columns: 2...3).rows
        for row in rows { try Self.expect(row, broker, schema) }
        // Refused means that nothing was done.
        let peer = try broker.connect()
        try peer.send("sync\n")
        #expect(try peer.line().map { String(decoding: $0, as: UTF8.self) } == #"{"ok":"sync","revision":0}"#)
    }

    @Test("the schema refuses exactly the refused lines whose mistake it can see")
    func fitsSchema() throws {
        let schema = try ProtocolSchema()
        for row in try VectorTable("n_lines.tsv", columns: 2...3).rows {
            guard let code = try Expectation(row.columns[1]).errorCode else { continue }
            let isBlind = row.columns.count == 3
            if isBlind { #expect(row.columns[2] == "valid", "\(row)") }
            guard let node = try? JSONNode(try row.bytes(0)) else {
                #expect(["bad_json", "bad_utf8", "too_deep", "too_long"].contains(code), "\(row)")
                continue
            }
            if ["too_deep", "too_long"].contains(code) { continue }
            let problem = try schema.problem(request: node.bytes)
            #expect((problem == nil) == isBlind, "\(row)")
        }
    }

    @Test("typed words get the same answers as the JSON request that they mean")
    func equalsShorthand() throws {
        let (typedBroker, requestBroker) = (try RunningBroker(), try RunningBroker())
        let (typed, requested) = (try typedBroker.connect(), try requestBroker.connect())
        for row in try VectorTable("y_shorthand.tsv", columns: 2...2).rows {
            let answers = try Self.answers(to: try row.bytes(0), from: typed).map(Self.timeless)
            let wanted = try Self.answers(to: try row.bytes(1), from: requested).map(Self.timeless)
                .map { row.columns[1].contains(#""id":1"#) ? $0.replacing(#","id":1,"#, with: ",") : $0 }
            #expect(answers == wanted, "\(row)")
            #expect(!answers.isEmpty, "\(row)")
        }
    }

    @Test("a typed mistake gets the error of the table")
    func refusesShorthand() throws {
        let broker = try RunningBroker()
        let schema = try ProtocolSchema()
        for row in try VectorTable("n_shorthand.tsv", columns: 2...2).rows {
            try Self.expect(row, broker, schema)
        }
    }

    /// Sends the first column on a connection of its own, and expects the second.
    private static func expect(
        _ row: VectorTable.Row, _ broker: RunningBroker, _ schema: ProtocolSchema
    ) throws {
        let peer = try broker.connect()
        try peer.send(try row.bytes(0) + [0x0A])
        try peer.send(barrier + "\n")
        if row.columns[1] != "-" {
            let line = try peer.line() ?? []
            let got = String(decoding: line, as: UTF8.self)
            #expect(try Expectation(row.columns[1]).mismatch(line) == nil, "\(row)\ngot \(got)")
            #expect(schema.problem(output: line) == nil, "\(row)")
        }
        let last = try peer.line().map { String(decoding: $0, as: UTF8.self) }
        #expect(last?.hasPrefix(passed) == true, "\(row)\nand then: \(last ?? "the end")")
    }

    /// An answer without its moments, because two brokers have different ones.
    private static func timeless(_ answer: String) -> String {
        answer.replacing(/"when":"[^"]*"/, with: #""when":"…""#)
    }

    private static func answers(to line: [UInt8], from peer: LinePeer) throws -> [String] {
        try peer.send(line + [0x0A])
        try peer.send(barrier + "\n")
        var answers: [String] = []
        while let answer = try peer.line().map({ String(decoding: $0, as: UTF8.self) }) {
            if answer.hasPrefix(passed) { return answers }
            answers.append(answer)
        }
        return answers + ["the end"]
    }
}
