// Compares the tables of values, keys, patterns, matches and patches with a real broker,
// and with the functions of the wire library behind it.

import PlugboardWire
import TestSupport
import Testing

@Suite("vectors of values, keys, patterns and patches", .someAtATime)
struct ValueVectorTests {
    @Test("an accepted value comes back byte for byte")
    func keepsValues() throws {
        let asker = try Asker()
        for row in try VectorTable("y_values.tsv", columns: 1...1).rows {
            let value = try row.bytes(0)
            #expect(try asker.publish(value) == nil, "\(row)")
            #expect(try asker.value() == value, "\(row)")
            #expect(throws: Never.self, "\(row)") { try Wire.validate(value) }
        }
    }

    @Test("a refused value is refused with its code")
    func refusesValues() throws {
        let asker = try Asker()
        for row in try VectorTable("n_values.tsv", columns: 2...2).rows {
            let value = try row.bytes(1)
            #expect(try asker.publish(value) == row.columns[0], "\(row)")
            #expect(Wire.code(of: value) == row.columns[0], "\(row)")
        }
        #expect(try asker.ask(#"{"op":"sync"}"#) == #"{"ok":"sync","revision":0}"#)
    }

    @Test("valid keys are accepted, and others aren't", arguments: ["y_keys.tsv", "n_keys.tsv"])
    func judgesKeys(_ table: String) throws {
        let asker = try Asker()
        let isKey = table.hasPrefix("y_")
        for row in try VectorTable(table, columns: 1...1).rows {
            let literal = try row.bytes(0)
            let code = try asker.code(Array(#"{"op":"get","key":"#.utf8) + literal + Array("}".utf8))
            #expect(code == (isKey ? "not_found" : "bad_key"), "\(row)")
            let key = try Self.characters(literal)
            #expect((Wire.keyFault(key) == nil) == isKey, "\(row)")
        }
    }

    @Test("valid patterns are accepted, and others aren't", arguments: ["y_patterns.tsv", "n_patterns.tsv"])
    func judgesPatterns(_ table: String) throws {
        let asker = try Asker()
        let isPattern = table.hasPrefix("y_")
        for row in try VectorTable(table, columns: 1...1).rows {
            let literal = try row.bytes(0)
            for field in [#"{"op":"subscribe","initial":false,"key":"#, #"{"op":"keys","key":"#] {
                let code = try asker.code(Array(field.utf8) + literal + Array("}".utf8))
                #expect(code == (isPattern ? nil : "bad_pattern"), "\(row)")
            }
            #expect((Wire.patternFault(try Self.characters(literal)) == nil) == isPattern, "\(row)")
        }
    }

    @Test("the schema describes the same keys and patterns")
    func describesKeys() throws {
        let schema = try ProtocolSchema()
        for (table, op) in [("keys.tsv", "get"), ("patterns.tsv", "keys")] {
            for isGood in [true, false] {
                for row in try VectorTable((isGood ? "y_" : "n_") + table, columns: 1...1).rows {
                    let literal = try row.bytes(0)
                    // A schema can't count bytes if there are few characters with too many bytes.
                    let text = try JSONNode(literal).string ?? ""
                    if text.unicodeScalars.count <= 256, text.utf8.count > 256 { continue }
                    let line = Array(#"{"op":"\#(op)","key":"#.utf8) + literal + Array("}".utf8)
                    #expect((try schema.problem(request: line) == nil) == isGood, "\(row)")
                }
            }
        }
    }

    @Test("a pattern matches the keys it should, in the library and on the bus")
    func matches() throws {
        let asker = try Asker()
        for row in try VectorTable("matches.tsv", columns: 3...3).rows {
            let (pattern, key, matches) = (row.columns[0], row.columns[1], row.columns[2] == "yes")
            #expect(matches || row.columns[2] == "no", "\(row)")
            #expect(Wire.matches(pattern, key) == matches, "\(row)")
            // Only the broker writes keys with a $ token, so the bus can't test them.
            if Wire.isReserved(key) { continue }
            #expect(try asker.hears(key, through: pattern) == matches, "\(row)")
            #expect(try asker.lists(key, by: pattern) == matches, "\(row)")
        }
    }

    @Test("a merge patch gives the result of the table, in the library and on the bus")
    func patches() throws {
        let asker = try Asker()
        for row in try VectorTable("merge_patches.tsv", columns: 3...3).rows {
            let target = row.columns[0] == "-" ? nil : try row.bytes(0)
            let (patch, result) = (try row.bytes(1), try row.bytes(2))
            #expect(Wire.merged(patch, into: target) == result, "\(row)")
            _ = try asker.ask(#"{"op":"delete","id":1,"key":"k"}"#)
            if let target { #expect(try asker.publish(target) == nil, "\(row)") }
            let line = Array(#"{"op":"patch","id":1,"key":"k","value":"#.utf8) + patch + Array("}".utf8)
            #expect(try asker.code(line) == nil, "\(row)")
            #expect(try asker.value() == result, "\(row)")
        }
    }

    @Test("a patch of a part gives the result of the table, or is refused as it says")
    func patchesParts() throws {
        let asker = try Asker()
        for row in try VectorTable("part_patches.tsv", columns: 4...4).rows {
            _ = try asker.ask(#"{"op":"delete","id":1,"key":"k"}"#)
            if row.columns[0] != "-" { #expect(try asker.publish(try row.bytes(0)) == nil, "\(row)") }
            let head = Array(#"{"op":"patch","id":1,"key":"k","value":"#.utf8) + (try row.bytes(1))
            let line = head + Array(#","field":"#.utf8) + (try row.bytes(2)) + Array("}".utf8)
            let (before, code) = (try asker.value(), try asker.code(line))
            if ["conflict", "too_deep"].contains(row.columns[3]) {
                #expect(try code == row.columns[3] && asker.value() == before, "\(row)")
            } else {
                #expect(try code == nil && asker.value() == row.bytes(3), "\(row)")
            }
        }
    }

    @Test("a number is added exactly, to a value or to a part of it, or refused as the table says")
    func adds() throws {
        let asker = try Asker()
        for row in try VectorTable("sums.tsv", columns: 4...4).rows {
            _ = try asker.ask(#"{"op":"delete","id":1,"key":"k"}"#)
            if row.columns[0] != "-" { #expect(try asker.publish(try row.bytes(0)) == nil, "\(row)") }
            let field = row.columns[2] == "-" ? [] : Array(#","field":"#.utf8) + (try row.bytes(2))
            let line = Array(#"{"op":"add","id":1,"key":"k","value":"#.utf8) + (try row.bytes(1)) + field
            let code = try asker.code(line + Array("}".utf8))
            if ["conflict", "limit"].contains(row.columns[3]) {
                #expect(code == row.columns[3], "\(row)")
            } else {
                #expect(try code == nil && asker.value() == row.bytes(3), "\(row)")
            }
        }
    }

    private static func characters(_ literal: [UInt8]) throws -> [UInt8] {
        Array(try JSONNode(literal).string?.utf8 ?? "".utf8)
    }
}

/// A client that asks one thing after the other, with its own broker.
private struct Asker {
    private let broker: RunningBroker
    private let peer: LinePeer

    init() throws {
        broker = try RunningBroker()
        peer = try broker.connect()
    }

    func ask(_ line: [UInt8]) throws -> [UInt8] {
        try peer.send(line + [0x0A])
        return try peer.line() ?? []
    }

    func ask(_ line: String) throws -> String {
        String(decoding: try ask(Array(line.utf8)), as: UTF8.self)
    }

    /// The error code of the reply to a line; nil if it is done.
    func code(_ line: [UInt8]) throws -> String? {
        try JSONNode(try ask(line))["error"]?.string
    }

    /// Publishes a value at `k`; returns the code of the refusal.
    func publish(_ value: [UInt8]) throws -> String? {
        try code(Array(#"{"op":"publish","id":1,"key":"k","value":"#.utf8) + value + Array("}".utf8))
    }

    /// The value at `k`.
    func value() throws -> [UInt8]? {
        try JSONNode(try ask(Array(#"{"op":"get","key":"k"}"#.utf8)))["value"]?.bytes
    }

    /// Whether a subscription to the pattern gets the key.
    func hears(_ key: String, through pattern: String) throws -> Bool {
        let opened = try ask(#"{"op":"subscribe","sub":"s","initial":false,"key":"\#(pattern)"}"#)
        #expect(opened.hasPrefix(#"{"ok":"subscribe""#))
        let first = try ask(#"{"op":"emit","id":1,"key":"\#(key)","value":0}"#)
        let isTold = first.hasPrefix(#"{"event":"emit","sub":"s","#)
        if isTold { #expect(try peer.line()?.starts(with: #"{"ok":"emit""#.utf8) == true) }
        #expect(try ask(#"{"op":"unsubscribe","sub":"s"}"#) == #"{"ok":"unsubscribe","sub":"s"}"#)
        return isTold
    }

    /// Whether `keys` with the pattern lists the key, and a new subscription begins with it.
    func lists(_ key: String, by pattern: String) throws -> Bool {
        _ = try ask(#"{"op":"publish","id":1,"key":"\#(key)","value":0}"#)
        let isListed = try ask(#"{"op":"keys","key":"\#(pattern)"}"#).contains(#"{"key":"\#(key)","#)
        _ = try ask(#"{"op":"subscribe","sub":"s","key":"\#(pattern)"}"#)
        let first = try peer.line() ?? []
        let begins = first.starts(with: #"{"event":"update","sub":"s","key":"\#(key)","#.utf8)
        if begins { #expect(try peer.line()?.starts(with: #"{"event":"synced""#.utf8) == true) }
        _ = try ask(#"{"op":"unsubscribe","sub":"s"}"#)
        #expect(isListed == begins)
        _ = try ask(#"{"op":"delete","id":1,"key":"\#(key)"}"#)
        return isListed
    }
}
