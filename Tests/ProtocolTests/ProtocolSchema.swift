// Checks lines in both directions with `protocol/schema.json`.

import TestSupport

/// The schema of the protocol's lines.
final class ProtocolSchema {
    private let requests: SchemaValidator
    private let outputs: SchemaValidator

    init() throws {
        let root = try JSONNode(try ProtocolFolder.bytes("schema.json"))
        requests = try SchemaValidator(root)
        outputs = try SchemaValidator(root, isClosed: true)
    }

    /// Why a line isn't a request; nil if it is. Asks the complete schema as well, which must
    /// agree.
    func problem(request line: [UInt8]) throws -> String? {
        try requests.problem(try JSONNode(line), by: "#/$defs/request")
    }

    /// Why the broker shouldn't have written this line; nil if it may. Members that the schema
    /// doesn't list are problems, because everything that the broker says must be described.
    func problem(output line: [UInt8]) -> String? {
        do {
            let node = try JSONNode(line)
            return try Self.sortingProblem(node) ?? outputs.problem(node, by: "#/$defs/output")
        } catch {
            return "\(error)"
        }
    }

    /// How every client sorts its lines: exactly one of three members, and it comes first.
    private static func sortingProblem(_ line: JSONNode) -> String? {
        guard case .object(let members, _) = line.content else { return "no object" }
        let kinds = members.indices.filter { ["ok", "error", "event"].contains(members[$0].name) }
        return kinds == [0] ? nil : "not exactly one of ok, error and event, or not first"
    }

    /// Codes for requests with a wrong shape, which the schema sees too.
    static let shapeCodes: Set = [
        "unknown_op", "unknown_field", "missing_field", "wrong_type", "bad_id", "bad_key", "bad_pattern",
        "forbidden",
    ]
}
