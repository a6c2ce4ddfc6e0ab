// The names that an envelope may hold. Told apart by length and first letter, then
// compared whole: no hashing and no copying on the way of each line.

/// A field of a request.
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
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let candidate = Self.candidate(bytes), candidate.name.equals(bytes) else { return nil }
        self = candidate
    }

    @inline(__always)
    private static func candidate(_ bytes: UnsafeRawBufferPointer) -> Field? {
        guard bytes.count >= 2 else { return nil }
        let first = bytes[0]
        switch bytes.count {
        case 2:
            return first == UInt8(ascii: "o")
                ? .operation : bytes[1] == UInt8(ascii: "d") ? .id : .ifRevision
        case 3: return first == UInt8(ascii: "k") ? .key : first == UInt8(ascii: "s") ? .sub : .old
        case 4: return first == UInt8(ascii: "k") ? .keys : .name
        case 5: return candidateOfFive(bytes)
        case 6: return first == UInt8(ascii: "w") ? .writes : .values
        case 7: return .initial
        default: return nil
        }
    }

    private static func candidateOfFive(_ bytes: UnsafeRawBufferPointer) -> Field? {
        switch bytes[0] {
        case UInt8(ascii: "v"): .value
        case UInt8(ascii: "c"): .cause
        case UInt8(ascii: "l"): .limit
        case UInt8(ascii: "a"): bytes[1] == UInt8(ascii: "f") ? .after : .about
        default: nil
        }
    }
}

/// A set of fields in one machine word.
public struct FieldSet: OptionSet, Sendable {
    public let rawValue: UInt32

    @inlinable
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    @inline(__always)
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
