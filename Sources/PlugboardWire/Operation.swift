// The operations and which fields each takes: the table behind decoding, errors,
// `help` and "did you mean".

/// What a request asks for.
public enum Operation: UInt8, CaseIterable, Sendable {
    case hello, publish, emit, patch, delete, batch, get, keys, subscribe, unsubscribe, sync, help

    /// How the operation is spelled.
    public var name: StaticString {
        switch self {
        case .hello: "hello"
        case .publish: "publish"
        case .emit: "emit"
        case .patch: "patch"
        case .delete: "delete"
        case .batch: "batch"
        case .get: "get"
        case .keys: "keys"
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .sync: "sync"
        case .help: "help"
        }
    }

    /// Writes succeed silently where no `id` asks for a reply.
    public var isWrite: Bool {
        switch self {
        case .publish, .emit, .patch, .delete, .batch: true
        default: false
        }
    }

    /// Whether it may stand in a batch.
    var isBatchable: Bool { isWrite && self != .batch }

    /// What must be there beside `op`.
    public var required: FieldSet {
        let none = FieldSet()
        switch self {
        case .hello: return none.with(.name)
        case .publish, .emit, .patch: return none.with(.key).with(.value)
        case .delete, .get: return none.with(.key)
        case .batch: return none.with(.writes)
        case .unsubscribe: return none.with(.sub)
        case .keys, .subscribe, .sync, .help: return none
        }
    }

    /// What may be there; `op` and `id` always may.
    public var allowed: FieldSet {
        let common = required.with(.operation).with(.id)
        switch self {
        case .publish, .patch, .delete: return common.with(.ifRevision).with(.cause)
        case .emit: return common.with(.cause)
        case .keys: return common.with(.key).with(.after).with(.limit)
        case .subscribe: return subscribeFields(common)
        case .help: return common.with(.about)
        default: return common
        }
    }

    private func subscribeFields(_ common: FieldSet) -> FieldSet {
        common.with(.key).with(.keys).with(.sub).with(.initial).with(.old).with(.values)
    }

    /// The operation with this name.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        guard let candidate = Self.candidate(bytes), candidate.name.equals(bytes) else { return nil }
        self = candidate
    }

    @inline(__always)
    private static func candidate(_ bytes: UnsafeRawBufferPointer) -> Operation? {
        guard let first = bytes.first else { return nil }
        switch bytes.count {
        case 7: return .publish
        case 3: return .get
        case 4: return candidateOfFour(first)
        case 5: return candidateOfFive(first)
        case 6: return .delete
        case 9: return .subscribe
        case 11: return .unsubscribe
        default: return nil
        }
    }

    private static func candidateOfFour(_ first: UInt8) -> Operation? {
        switch first {
        case UInt8(ascii: "e"): .emit
        case UInt8(ascii: "k"): .keys
        case UInt8(ascii: "s"): .sync
        default: .help
        }
    }

    private static func candidateOfFive(_ first: UInt8) -> Operation? {
        switch first {
        case UInt8(ascii: "p"): .patch
        case UInt8(ascii: "b"): .batch
        default: .hello
        }
    }
}
