// Compares the tables of parts, conditions and differences with the functions of the wire
// library.

import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@Suite("vectors of parts, conditions and differences")
struct PartVectorTests {
    @Test("a pointer names the part in the table")
    func pointers() throws {
        for row in try VectorTable("pointers.tsv", columns: 3...3).rows {
            let part = try Parts.part(row.bytes(1), of: row.bytes(0))
            #expect(try part == (row.columns[2] == "-" ? nil : row.bytes(2)), "\(row)")
        }
    }

    @Test("named parts are told as in the table")
    func fields() throws {
        for row in try VectorTable("fields.tsv", columns: 4...4).rows {
            let old = row.columns[1] == "-" ? nil : try row.bytes(1)
            let told = try Parts.changes(row.bytes(0), from: old, to: row.bytes(2))
            #expect(try told == (row.columns[3] == "-" ? nil : row.bytes(3)), "\(row)")
        }
    }

    @Test("conditions hold, or don't")
    func conditions() throws {
        for row in try VectorTable("conditions.tsv", columns: 3...3).rows {
            #expect(["yes", "no"].contains(row.columns[2]), "\(row)")
            #expect(try Parts.hold(row.bytes(0), for: row.bytes(1)) == (row.columns[2] == "yes"), "\(row)")
        }
    }

    @Test("a difference is the patch in the table, and gives the new value")
    func differences() throws {
        for row in try VectorTable("differences.tsv", columns: 3...3).rows {
            let (old, new) = (try row.bytes(0), try row.bytes(1))
            let patch = Parts.patch(from: old, to: new)
            #expect(try patch == (row.columns[2] == "-" ? nil : row.bytes(2)), "\(row)")
            guard let patch else { continue }
            #expect(Parts.areEqual(Wire.merged(patch, into: old), new), "\(row)")
        }
    }

    @Test("an invalid row is refused with its code", arguments: ["n_fields.tsv", "n_conditions.tsv"])
    func refusals(_ table: String) throws {
        for row in try VectorTable(table, columns: 2...2).rows {
            let text = try row.bytes(1)
            try Wire.validate(text)
            do throws(Refusal) {
                if table == "n_fields.tsv" { _ = try Parts.set(text) } else { _ = try Parts.conditions(text) }
                Issue.record("\(row) was taken")
            } catch {
                #expect(error.code.rawValue == row.columns[0], "\(row)")
            }
        }
    }
}

/// The same functions with arrays.
private enum Parts {
    static func set(_ array: [UInt8]) throws(Refusal) -> JSONPointerSet {
        try withBytes(array) { bytes throws(Refusal) in try JSONPointerSet(array: bytes, at: 0) }
    }

    static func conditions(_ text: [UInt8]) throws(Refusal) -> Conditions {
        try withBytes(text) { bytes throws(Refusal) in try Conditions(where: bytes, at: 0) }
    }

    static func part(_ pointer: [UInt8], of value: [UInt8]) throws -> [UInt8]? {
        let pointers = try set([UInt8(ascii: "[")] + pointer + [UInt8(ascii: "]")])
        return withBytes(value) { value in pointers.withParts(of: value) { $0.has(0) ? Array($0[0]) : nil } }
    }

    static func changes(_ array: [UInt8], from old: [UInt8]?, to new: [UInt8]) throws -> [UInt8]? {
        let pointers = try set(array)
        var comparer = JSONComparer()
        var buffer = ByteBuffer()
        let isTold = withBytes(new) { new in
            guard let old else {
                return pointers.appendChanges(from: Span(), to: new, into: &buffer, using: &comparer)
            }
            return withBytes(old) {
                pointers.appendChanges(from: $0, to: new, into: &buffer, using: &comparer)
            }
        }
        // In an event, the members come after others.
        return isTold ? [UInt8(ascii: "{")] + Array(buffer.bytes[1...]) + [UInt8(ascii: "}")] : nil
    }

    static func hold(_ text: [UInt8], for value: [UInt8]) throws -> Bool {
        let conditions = try conditions(text)
        var comparer = JSONComparer()
        return withBytes(value) { conditions.hold(for: $0, using: &comparer) }
    }

    static func patch(from old: [UInt8], to new: [UInt8]) -> [UInt8]? {
        var comparer = JSONComparer()
        var buffer = ByteBuffer()
        let isPatch = withBytes(old) { old in
            withBytes(new) { MergeDifference.append(from: old, to: $0, into: &buffer, using: &comparer) }
        }
        return isPatch ? Array(buffer.bytes) : nil
    }

    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        var comparer = JSONComparer()
        return withBytes(left) { left in withBytes(right) { comparer.areEqual(left, $0, .spelling) } }
    }
}
