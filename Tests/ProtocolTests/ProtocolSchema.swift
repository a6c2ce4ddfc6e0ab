// `protocol/schema.json`, asked about lines in both directions.

/// The schema of the protocol's lines.
final class ProtocolSchema {
    private let requests: SchemaValidator
    private let outputs: SchemaValidator

    init() throws {
        let root = try JSONNode(try ProtocolFolder.bytes("schema.json"))
        requests = try SchemaValidator(root)
        outputs = try SchemaValidator(root, isClosed: true)
    }

    /// Why a request isn't one, or nil. Asks the whole schema as well, which has to agree.
    func problem(request line: [UInt8]) throws -> String? {
        try requests.problem(try JSONNode(line), by: "#/$defs/request")
    }

    /// Why the broker shouldn't have written this line, or nil. Members that the schema
    /// doesn't list count as problems: what the broker says has to be described.
    func problem(output line: [UInt8]) -> String? {
        do {
            return try outputs.problem(try JSONNode(line), by: "#/$defs/output")
        } catch {
            return "\(error)"
        }
    }

    /// Codes that say a request has the wrong shape, which the schema sees too.
    static let shapeCodes: Set = [
        "unknown_op", "unknown_field", "missing_field", "wrong_type", "bad_id", "bad_key", "bad_pattern",
        "forbidden",
    ]
}
