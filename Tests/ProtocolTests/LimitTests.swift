// Cases that need more than a line or two: limits of a connection, and the tables of the
// specification compared with the code.

import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@Suite("limits and tables", .someAtATime)
struct LimitTests {
    @Test("the greeting announces the limits of the specification's table, and no others")
    func announcesLimits() throws {
        let broker = try RunningBroker()
        let greeting = try JSONNode(try LinePeer(path: broker.path).line() ?? [])
        let announced = greeting["limits"]?.members?.map { "\($0.name) \($0.value.text)" } ?? []
        let rows = try Self.table(under: "## 9. Limits").map { "\($0[0]) \($0[1])" }
        #expect(Set(announced) == Set(rows))
        #expect(announced.count == rows.count)
        #expect(announced == Limits.announced.map { "\($0.name) \($0.value)" })
    }

    @Test("the specification explains each feature of the greeting, in its order, and no others")
    func explainsFeatures() throws {
        let broker = try RunningBroker()
        let greeting = try JSONNode(try LinePeer(path: broker.path).line() ?? [])
        let announced = greeting["features"]?.elements?.compactMap(\.string) ?? []
        let rows = try Self.table(under: "## 2. What the broker says").filter { $0.count == 2 }
        let explained = rows.map { $0[0] }.filter { !["ok", "error", "event"].contains($0) }
        #expect(explained == announced)
        #expect(announced == ProtocolVersion.features)
    }

    @Test("integers are refused at the bounds that the specification's table says, in every operation")
    func takesIntegers() throws {
        let broker = try RunningBroker()
        let rows = try Self.table(under: "## 3. Requests and replies").compactMap(IntegerRow.init)
        let fields = Set(rows.map(\.field))
        #expect(fields.count == rows.count)
        for operation in PlugboardWire.Operation.allCases {
            for row in rows where operation.allowed.fields.contains(where: { "\($0.name)" == row.field }) {
                for trial in row.trials {
                    let peer = try broker.connect()
                    // A write without an id is only answered if it is refused.
                    try peer.send(row.request(operation, trial.value) + "\nsync\n")
                    let reply = try JSONNode(try peer.line() ?? [])
                    let code = reply["error"]?.string
                    let isRefused = ["wrong_type", "limit", "bad_id"].contains(code)
                    let isRight = trial.code.map { $0 == code } ?? !isRefused
                    #expect(isRight, "\(row.request(operation, trial.value)) got \(reply.text)")
                }
            }
        }
    }

    /// A row of the table of integers.
    private struct IntegerRow {
        let field: String
        private let range: ClosedRange<Int>
        private let code: String

        init?(_ columns: [String]) {
            guard columns.count == 3 else { return nil }
            let bounds = columns[1].replacing("−", with: "-").wholeMatch(of: #/(-?\d+) to (-?\d+)/#)
            guard let bounds, let low = Int(bounds.1), let high = Int(bounds.2) else { return nil }
            (field, range, code) = (columns[0], low...high, columns[2])
        }

        /// Values at the bounds and beyond them, each with the code of the refusal.
        var trials: [(value: String, code: String?)] {
            let type = field == "id" ? "bad_id" : "wrong_type"
            let isWhole = range.upperBound == Int(Limits.integerMax)
            return [
                ("\(range.lowerBound)", nil), ("\(range.upperBound)", nil),
                ("\(range.lowerBound - 1)", code), ("\(range.upperBound + 1)", isWhole ? type : code),
                ("\(Limits.integerMax + 1)", type), ("1.0", type), ("1e0", type), ("true", type),
            ]
        }

        /// The example of an operation with a value for this field.
        func request(_ operation: PlugboardWire.Operation, _ value: String) -> String {
            let example = try? JSONNode(OperationHelp.of(operation).example)
            let others = example?.members?.filter { $0.name != field } ?? []
            let members = others.map { "\"\($0.name)\":\($0.value.text)" } + ["\"\(field)\":\(value)"]
            return "{\(members.joined(separator: ","))}"
        }
    }

    @Test("the specification's table of errors has each code once, in the code's order")
    func listsCodes() throws {
        let codes = try Self.table(under: "## 10. Errors").map { $0[0] }
        #expect(codes == ErrorCode.allCases.map(\.rawValue))
    }

    @Test("each error code of this version occurs in a transcript or a table of vectors")
    func showsEachCode() throws {
        let reserved: Set = ["storage", "stopping"]
        let files = try ProtocolFolder.transcripts()
        let text = try files.map { try ProtocolFolder.text($0) }.joined()
        for code in ErrorCode.allCases.map(\.rawValue) where !reserved.contains(code) {
            #expect(text.contains(#"< {"error":"\#(code)","#), "\(code)")
        }
        for operation in PlugboardWire.Operation.allCases {
            #expect(files.contains("transcripts/\(operation.name).txt"), "\(operation.name)")
        }
    }

    @Test("only lines over the limit, again and again, end with bye")
    func endsOverlong() throws {
        let broker = try RunningBroker()
        let (peer, patient) = (try broker.connect(), try broker.connect())
        let long = [UInt8](repeating: 0x78, count: Limits.lineBytesMax + 1) + [0x0A]
        // One good line between them, and the count begins again.
        let half = Limits.overlongLinesMax / 2 + 1
        for index in 1...(2 * half) {
            try patient.send(long)
            if index == half { try patient.send("#\n") }
        }
        for _ in 0..<Limits.overlongLinesMax { try peer.send(long) }
        for _ in 0..<Limits.overlongLinesMax { try Self.expect(#"{"error":"too_long","#, from: peer) }
        try peer.send(long)
        try Self.expect(#"{"error":"too_long","#, from: peer)
        try Self.expect(#"{"event":"bye","reason":"too_long","message":"#, from: peer)
        #expect(try peer.line() == nil)
        for _ in 1...(2 * half) { try Self.expect(#"{"error":"too_long","#, from: patient) }
        try patient.send("sync\n")
        try Self.expect(#"{"ok":"sync","#, from: patient)
    }

    @Test("an observer that doesn't read gets the newest value later, and nobody else notices")
    func foldsForSlow() throws {
        let broker = try RunningBroker()
        let schema = try ProtocolSchema()
        let (slow, brisk, writer) = (try broker.connect(), try broker.connect(), try broker.connect())
        for peer in [slow, brisk] {
            try peer.send(#"{"op":"subscribe","key":"big","initial":false}"# + "\n")
            try Self.expect(#"{"ok":"subscribe","#, from: peer)
        }
        let value = String(repeating: "v", count: 1_000_000)
        // The kernel's buffers hold some of it before the broker's outbox fills.
        let count = Limits.outboxBytesMax / 1_000_000 + 8
        for index in 1...count {
            try writer.send(#"{"op":"publish","id":\#(index),"key":"big","value":"\#(value)"}"# + "\n")
            try Self.expect(#"{"ok":"publish","id":\#(index),"#, from: writer)
            try Self.expect(#"{"event":"update","sub":1,"key":"big","revision":\#(index),"#, from: brisk)
        }
        try slow.send("sync\n")
        var (last, received): ([UInt8], Int) = ([], 0)
        while let line = try slow.line(), !line.starts(with: #"{"ok":"sync""#.utf8) {
            (last, received) = (line, received + 1)
        }
        #expect(schema.problem(output: last) == nil)
        #expect(last.starts(with: #"{"event":"update","sub":1,"key":"big","revision":\#(count),"#.utf8))
        #expect(try JSONNode(last)["skipped"] != nil)
        #expect(received < count)
    }

    @Test("the current values always come completely, however many and however late they are read")
    func sparesSnapshots() throws {
        let broker = try RunningBroker()
        let (writer, late) = (try broker.connect(), try broker.connect())
        let value = String(repeating: "v", count: 1_000_000)
        let count = Limits.outboxBytesMax / 1_000_000 + 8
        for index in 1...count {
            try writer.send(#"{"op":"publish","id":1,"key":"big.\#(index)","value":"\#(value)"}"# + "\n")
            try Self.expect(#"{"ok":"publish","#, from: writer)
        }
        try late.send("subscribe big.*\n")
        // Live events after an unread snapshot count only for themselves.
        try writer.send(#"{"op":"publish","id":2,"key":"big.1","value":"now"}"# + "\n")
        try Self.expect(#"{"ok":"publish","id":2,"#, from: writer)
        try Self.expect(#"{"ok":"subscribe","sub":1,"#, from: late)
        for index in 1...count {
            let line = try late.line() ?? []
            let start = #"{"event":"update","sub":1,"key":"big.\#(index)","revision":\#(index),"#
            if line.starts(with: start.utf8) { continue }
            // The subscription may have come after the last write.
            #expect(line.starts(with: #"{"event":"update","sub":1,"key":"big."#.utf8))
        }
    }

    @Test("thousands of lines in one packet are answered one by one, in their order")
    func answersMany() throws {
        let broker = try RunningBroker()
        let peer = try broker.connect()
        let count = 5_000
        let lines = (1...count).map {
            $0 % 3 == 0
                ? "get k" : $0 % 3 == 1 ? #"{"op":"publish","id":\#($0),"key":"k","value":\#($0)}"# : "{"
        }
        try peer.send(lines.joined(separator: "\n") + "\n")
        for index in 1...count {
            switch index % 3 {
            case 0: try Self.expect(#"{"ok":"get","key":"k","revision":\#(index / 3),"#, from: peer)
            case 1:
                try Self.expect(#"{"ok":"publish","id":\#(index),"revision":\#(index / 3 + 1)}"#, from: peer)
            default: try Self.expect(#"{"error":"bad_json","line":\#(index),"at":1,"#, from: peer)
            }
        }
    }

    @Test("a new broker is a new epoch, the same for all of its clients")
    func changesEpoch() throws {
        func epoch(_ broker: RunningBroker) throws -> String? {
            try JSONNode(try LinePeer(path: broker.path).line() ?? [])["epoch"]?.string
        }
        let (first, second) = (try RunningBroker(), try RunningBroker())
        #expect(try epoch(first) == epoch(first))
        #expect(try epoch(first) != epoch(second))
    }

    @Test("a broker that stops says bye to everyone and closes")
    func saysGoodbye() throws {
        let broker = try RunningBroker()
        let schema = try ProtocolSchema()
        let peers = try (0..<3).map { _ in try broker.connect() }
        try peers[0].send("subscribe **\n")
        try Self.expect(#"{"ok":"subscribe","#, from: peers[0])
        try Self.expect(#"{"event":"synced","#, from: peers[0])
        broker.stop()
        for peer in peers {
            let line = try peer.line() ?? []
            #expect(line.starts(with: #"{"event":"bye","reason":"stopping","message":"#.utf8))
            #expect(schema.problem(output: line) == nil)
            #expect(try peer.line() == nil)
        }
    }

    private static func expect(_ start: String, from peer: LinePeer) throws {
        let line = try peer.line()
        let isThere = line?.starts(with: start.utf8) == true
        #expect(isThere, "\(start) … came as \(String(decoding: line?.prefix(200) ?? [], as: UTF8.self))")
    }

    /// The rows of a table in SPEC.md, without backquotes around the first column.
    private static func table(under heading: String) throws -> [[String]] {
        let page = try ProtocolFolder.text("SPEC.md")
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0 == heading })
        return lines[start...].dropFirst().prefix { !$0.hasPrefix("## ") }
            .filter { $0.hasPrefix("| `") }
            .map { row in
                row.split(separator: "|").map {
                    $0.trimmingPrefix(" ").split(separator: " ").joined(separator: " ").replacing(
                        "`", with: ""
                    )
                }
            }
    }
}
