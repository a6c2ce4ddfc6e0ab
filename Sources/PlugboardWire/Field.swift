// The names that an envelope may hold. Each fits a machine word, so a
// name is told from the others by comparing integers.

/// A field of a request.
@frozen
public enum Field: UInt8, CaseIterable, Sendable {
    case operation, id, key, value, ifRevision, cause, writes, name, keys, after, limit, sub
    case initial, old, values, about

    /// How the field is spelled.
    public var name: StaticString {
        switch self {
        case .operation: "op"
        case .id: "id"
        case .key: "key"
        case .value: "value"
        case .ifRevision: "if"
        case .cause: "cause"
        case .writes: "writes"
        case .name: "name"
        case .keys: "keys"
        case .after: "after"
        case .limit: "limit"
        case .sub: "sub"
        case .initial: "initial"
        case .old: "old"
        case .values: "values"
        case .about: "about"
        }
    }

    /// The field with this name.
    @inline(__always)
    init?(_ name: NameWord) {
        switch name {
        case NameWord("op"): self = .operation
        case NameWord("id"): self = .id
        case NameWord("key"): self = .key
        case NameWord("value"): self = .value
        case NameWord("if"): self = .ifRevision
        case NameWord("cause"): self = .cause
        case NameWord("writes"): self = .writes
        case NameWord("name"): self = .name
        case NameWord("keys"): self = .keys
        case NameWord("after"): self = .after
        case NameWord("limit"): self = .limit
        case NameWord("sub"): self = .sub
        case NameWord("initial"): self = .initial
        case NameWord("old"): self = .old
        case NameWord("values"): self = .values
        case NameWord("about"): self = .about
        default: return nil
        }
    }
}

/// A name of up to eight bytes as one word, so that names are compared at once.
struct NameWord: Equatable {
    let word: UInt64

    @inline(__always)
    init(word: UInt64) {
        self.word = word
    }

    /// The word of a literal; the compiler computes it.
    @inline(__always)
    init(_ name: StaticString) {
        var word: UInt64 = 0
        for index in 0..<min(name.utf8CodeUnitCount, 8) {
            word |= UInt64(name.utf8Start[index]) << UInt64(index * 8)
        }
        self.word = word
    }

    /// The word of some bytes; nil where they are more than a word or hold a zero.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= 8, !bytes.contains(0) else { return nil }
        var word: UInt64 = 0
        for (index, byte) in bytes.enumerated() { word |= UInt64(byte) << UInt64(index * 8) }
        self.word = word
    }

    static func ~= (pattern: NameWord, value: NameWord) -> Bool {
        pattern.word == value.word
    }
}

/// A set of fields in one machine word.
public struct FieldSet: OptionSet, Sendable {
    public let rawValue: UInt32

    @inlinable
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    @inlinable
    func has(_ field: Field) -> Bool { rawValue & 1 << UInt32(field.rawValue) != 0 }

    @inline(__always)
    func with(_ field: Field) -> FieldSet { FieldSet(rawValue: rawValue | 1 << UInt32(field.rawValue)) }

    /// The fields in the order of their declaration.
    public var fields: [Field] { Field.allCases.filter { has($0) } }
}

extension StaticString {
    /// Whether these bytes spell this literal.
    @inline(__always)
    func equals(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count == utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where bytes[index] != utf8Start[index] { return false }
        return true
    }

    /// The literal as a string, for messages.
    var text: String { description }
}
