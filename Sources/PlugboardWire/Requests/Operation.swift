// The operations and their names. Decoding, errors, `help` and "did you mean" use this table and that of
// `OperationFields`. Each operation has exactly one name.

import PlugboardMemory

/// What a request asks the broker to do.
public enum Operation: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case hello, publish, emit, patch, add, delete, batch, get, keys, subscribe, unsubscribe
    case pause, resume, step, acknowledge, will, goodbye, disconnect, serve, unserve, call, answer
    case who, why, trace, explain, sync, help

    public var name: StaticString {
        switch self {
        case .hello: "hello"
        case .publish: "publish"
        case .emit: "emit"
        case .patch: "patch"
        case .add: "add"
        case .delete: "delete"
        case .batch: "batch"
        case .get: "get"
        case .keys: "keys"
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .pause: "pause"
        case .resume: "resume"
        case .step: "step"
        case .acknowledge: "ack"
        case .will: "will"
        case .goodbye: "goodbye"
        case .disconnect: "disconnect"
        case .serve: "serve"
        case .unserve: "unserve"
        case .call: "call"
        case .answer: "return"
        case .who: "who"
        case .why: "why"
        case .trace: "trace"
        case .explain: "explain"
        case .sync: "sync"
        case .help: "help"
        }
    }

    /// Whether it changes values or emits one.
    @inlinable
    public var isWrite: Bool {
        switch self {
        case .publish, .emit, .patch, .add, .delete, .batch: true
        default: false
        }
    }

    /// Whether success gets a reply only if the request has an `id`. Clients often send very many of
    /// these requests and don't want as many replies.
    @inlinable
    public var isSilent: Bool {
        switch self {
        case .publish, .emit, .patch, .add, .delete, .batch, .answer: true
        default: false
        }
    }

    /// Whether it makes the new value from the present one.
    @inlinable
    public var combines: Bool { self == .patch || self == .add }

    /// Whether a batch may contain it.
    var isBatchable: Bool { isWrite && self != .batch }

    /// Whether it suffices to check which fields are there. Other operations need the slower check.
    @inline(__always)
    var isPlain: Bool {
        switch self {
        case .publish, .emit, .patch, .delete, .batch, .get, .keys, .sync, .help: true
        case .call, .serve, .unserve: true
        default: false
        }
    }

    /// The operation with this name; nil if there is none.
    public init?(_ bytes: Span<UInt8>) {
        if let name = NameWord(bytes) {
            self.init(name)
        } else if bytes.isEqual(to: Self.subscribe.name) {
            self = .subscribe
        } else if bytes.isEqual(to: Self.unsubscribe.name) {
            self = .unsubscribe
        } else if bytes.isEqual(to: Self.disconnect.name) {
            self = .disconnect
        } else {
            return nil
        }
    }

    /// The operation with this name of up to eight bytes; nil if there is none.
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
        default: self.init(rare: name)
        }
    }

    private init?(rare name: NameWord) {
        switch name {
        case NameWord("add"): self = .add
        case NameWord("call"): self = .call
        case NameWord("return"): self = .answer
        case NameWord("ack"): self = .acknowledge
        case NameWord("serve"): self = .serve
        case NameWord("unserve"): self = .unserve
        case NameWord("pause"): self = .pause
        case NameWord("resume"): self = .resume
        case NameWord("step"): self = .step
        case NameWord("will"): self = .will
        case NameWord("goodbye"): self = .goodbye
        case NameWord("who"): self = .who
        case NameWord("why"): self = .why
        case NameWord("trace"): self = .trace
        case NameWord("explain"): self = .explain
        default: return nil
        }
    }
}
