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
    @inlinable
    public var isWrite: Bool {
        switch self {
        case .publish, .emit, .patch, .delete, .batch: true
        default: false
        }
    }

    /// Whether it may stand in a batch.
    var isBatchable: Bool { isWrite && self != .batch }

    /// Whether its fields are tied to each other by more than being there.
    var hasRules: Bool { self == .subscribe || self == .hello }

    /// What must be there beside `op`.
    @inline(__always)
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
    @inline(__always)
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
        if let name = NameWord(bytes) {
            self.init(name)
        } else if Self.subscribe.name.equals(bytes) {
            self = .subscribe
        } else if Self.unsubscribe.name.equals(bytes) {
            self = .unsubscribe
        } else {
            return nil
        }
    }

    /// The operation with a name of up to eight bytes.
    @inline(__always)
    init?(_ name: NameWord) {
        switch name {
        case NameWord("publish"): self = .publish
        case NameWord("emit"): self = .emit
        case NameWord("patch"): self = .patch
        case NameWord("delete"): self = .delete
        case NameWord("get"): self = .get
        case NameWord("batch"): self = .batch
        case NameWord("sync"): self = .sync
        case NameWord("keys"): self = .keys
        case NameWord("hello"): self = .hello
        case NameWord("help"): self = .help
        default: return nil
        }
    }
}
