// Why bytes are not JSON. The scanner throws it, and it becomes a `Refusal`. It allocates nothing,
// because its reason is a static string.

/// The first thing wrong with a text that should be JSON (RFC 8259).
public struct JSONFailure: Error, Equatable, Sendable {
    public enum Kind: Sendable {
        /// Not the grammar of RFC 8259.
        case syntax
        /// Not UTF-8 (RFC 3629), or an escaped surrogate without its partner.
        case encoding
        /// Nested deeper than `Limits.depthMax`.
        case depth
    }

    public let kind: Kind
    /// The byte offset of the failure.
    public let offset: Int
    /// What the scanner expected, for a person.
    public let reason: StaticString

    init(_ kind: Kind, at offset: Int, _ reason: StaticString) {
        self.kind = kind
        self.offset = offset
        self.reason = reason
    }

    public static func == (left: JSONFailure, right: JSONFailure) -> Bool {
        left.kind == right.kind && left.offset == right.offset
    }
}
