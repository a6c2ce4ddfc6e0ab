// The names of fields, and sets of fields. Each name fits in one machine word, so the decoder finds a
// field by comparing integers. A set fits in one word, too.

/// A field of a request. There are at most 64, one for each bit of a `FieldSet`.
@frozen
public enum Field: UInt8, CaseIterable, Sendable {
    case operation, id, key, value, ifRevision, cause, whileConnected, timeToLive, writes, name
    case keys, after, limit, sub, initial, old, values, fields, difference, condition, delivery, every
    case phase, acknowledges, revision, client, count, write, timeout, call, error, about, durable
    case since, epoch, field, emits, origin

    public var name: StaticString {
        switch self {
        case .operation: "op"
        case .id: "id"
        case .key: "key"
        case .value: "value"
        case .ifRevision: "if"
        case .cause: "cause"
        case .whileConnected: "while"
        case .timeToLive: "ttl"
        case .writes: "writes"
        case .name: "name"
        case .keys: "keys"
        case .after: "after"
        case .limit: "limit"
        case .sub: "sub"
        case .initial: "initial"
        case .old: "old"
        case .values: "values"
        case .fields: "fields"
        case .difference: "diff"
        case .condition: "where"
        case .delivery: "delivery"
        case .every: "every"
        case .phase: "phase"
        case .acknowledges: "ack"
        case .revision: "revision"
        case .client: "client"
        case .count: "count"
        case .write: "write"
        case .timeout: "timeout"
        case .call: "call"
        case .error: "error"
        case .about: "about"
        case .durable: "durable"
        case .since: "since"
        case .epoch: "epoch"
        case .field: "field"
        case .emits: "emits"
        case .origin: "origin"
        }
    }

    /// The field with this name; nil if there is none.
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
        case NameWord("sub"): self = .sub
        default: self.init(rare: name)
        }
    }

    private init?(rare name: NameWord) {
        switch name {
        case NameWord("call"): self = .call
        case NameWord("revision"): self = .revision
        case NameWord("while"): self = .whileConnected
        case NameWord("ttl"): self = .timeToLive
        case NameWord("name"): self = .name
        case NameWord("keys"): self = .keys
        case NameWord("after"): self = .after
        case NameWord("limit"): self = .limit
        case NameWord("initial"): self = .initial
        case NameWord("old"): self = .old
        case NameWord("values"): self = .values
        case NameWord("fields"): self = .fields
        case NameWord("diff"): self = .difference
        case NameWord("where"): self = .condition
        case NameWord("delivery"): self = .delivery
        case NameWord("every"): self = .every
        case NameWord("phase"): self = .phase
        case NameWord("ack"): self = .acknowledges
        case NameWord("client"): self = .client
        case NameWord("count"): self = .count
        case NameWord("write"): self = .write
        case NameWord("timeout"): self = .timeout
        case NameWord("error"): self = .error
        case NameWord("about"): self = .about
        case NameWord("durable"): self = .durable
        case NameWord("since"): self = .since
        case NameWord("epoch"): self = .epoch
        case NameWord("field"): self = .field
        case NameWord("emits"): self = .emits
        case NameWord("origin"): self = .origin
        default: return nil
        }
    }
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
