// All error codes (SPEC.md, section 10). Clients compare them, so a code is never renamed. Later versions
// may add codes. A test compares them and their order with the table in the specification.

/// The name of an error in the `error` field.
public enum ErrorCode: String, CaseIterable, Sendable {
    case badJSON = "bad_json"
    case badUTF8 = "bad_utf8"
    case tooLong = "too_long"
    case tooDeep = "too_deep"
    case duplicateField = "duplicate_field"
    case unknownOperation = "unknown_op"
    case unknownField = "unknown_field"
    case missingField = "missing_field"
    case wrongType = "wrong_type"
    case badID = "bad_id"
    case badKey = "bad_key"
    case badPattern = "bad_pattern"
    case notFound = "not_found"
    case conflict = "conflict"
    case duplicateSubscription = "duplicate_sub"
    case unknownSubscription = "unknown_sub"
    case noProvider = "no_provider"
    case providerGone = "provider_gone"
    case timeout = "timeout"
    case forbidden = "forbidden"
    case limit = "limit"
    case storage = "storage"
    case stopping = "stopping"
}
