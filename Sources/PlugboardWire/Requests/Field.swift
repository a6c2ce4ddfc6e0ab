// The fields of requests, and sets of fields. A set fits in one machine word.

/// A field of a request. There are at most 64, one for each bit of a `FieldSet`.
@frozen
public enum Field: UInt8, CaseIterable, Sendable {
    case operation, id, key, value, ifRevision, cause, whileConnected, timeToLive, writes, name
    case keys, after, limit, sub, initial, old, values, fields, difference, condition, delivery, every
    case phase, acknowledges, revision, client, count, write, timeout, call, error, about, durable
    case since, epoch, field, emits, origin, only, spare, grace, when

    public var name: StaticString { row.name }

    /// The field with this name; nil if there is none.
    @inline(__always)
    init?(_ name: NameWord) {
        guard let place = Self.table.place(of: name) else { return nil }
        self.init(rawValue: place)
    }

    /// Whether a name begins with `x-`, so that the broker ignores the member.
    static func isExtension(_ name: Span<UInt8>) -> Bool { name.starts(with: StaticString("x-").bytes) }

    private static let table = NameTable(allCases.map(\.name))
}

/// A set of fields, with a bit for each.
public struct FieldSet: BitwiseCopyable, OptionSet, Sendable {
    public let rawValue: UInt64

    @inlinable
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    @inlinable
    @inline(__always)
    public func has(_ field: Field) -> Bool { rawValue & 1 &<< UInt64(field.rawValue) != 0 }

    @inline(__always)
    func with(_ field: Field) -> FieldSet { FieldSet(rawValue: rawValue | 1 &<< UInt64(field.rawValue)) }

    /// The fields in the order of `Field`'s cases.
    public var fields: [Field] { Field.allCases.filter { has($0) } }
}
