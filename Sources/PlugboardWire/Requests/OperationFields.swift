// The fields that each operation needs and takes. Decoding, `help` and hints use this table.
// `EnvelopeCheck` has the rules about several fields, and about the content of a field.

extension Operation {
    /// The fields that it must have besides `op`.
    @inline(__always)
    public var required: FieldSet {
        let none = FieldSet()
        switch self {
        case .hello: return none.with(.name)
        case .publish, .emit, .patch, .add: return none.with(.key).with(.value)
        case .delete, .get, .serve, .unserve, .call, .who, .why: return none.with(.key)
        case .batch: return none.with(.writes)
        case .unsubscribe, .pause, .resume, .step: return none.with(.sub)
        case .acknowledge: return none.with(.sub).with(.revision)
        case .disconnect: return none.with(.client)
        case .answer: return none.with(.call)
        case .explain: return none.with(.write)
        case .keys, .subscribe, .will, .goodbye, .trace, .sync, .help: return none
        }
    }

    /// The fields of a plain line besides an optional `id`. Empty if the operation is never plain.
    @inline(__always)
    var plainFields: FieldSet {
        let key = FieldSet().with(.operation).with(.key)
        switch self {
        case .publish, .emit, .patch, .call: return key.with(.value)
        case .delete, .get: return key
        case .sync: return FieldSet().with(.operation)
        default: return FieldSet()
        }
    }

    /// The fields that it may have, with `op` and `id`.
    @inline(__always)
    public var allowed: FieldSet {
        let common = required.with(.operation).with(.id)
        switch self {
        case .publish:
            return common.with(.ifRevision).with(.cause).with(.origin).with(.whileConnected)
                .with(.timeToLive).with(.durable)
        case .add:
            return common.with(.ifRevision).with(.cause).with(.origin).with(.whileConnected)
                .with(.timeToLive).with(.durable).with(.field)
        case .patch:
            return common.with(.ifRevision).with(.cause).with(.origin).with(.durable).with(.field)
        case .delete: return common.with(.ifRevision).with(.cause).with(.origin).with(.durable)
        case .emit: return common.with(.cause).with(.origin)
        case .keys: return common.with(.key).with(.after).with(.limit)
        case .help: return common.with(.about)
        case .batch: return common.with(.durable)
        default: return rarelyAllowed(common)
        }
    }

    private func rarelyAllowed(_ common: FieldSet) -> FieldSet {
        switch self {
        case .subscribe: subscribeFields(common)
        case .pause, .resume: common.with(.client)
        case .step: common.with(.count).with(.client)
        case .will: common.with(.write)
        case .call: common.with(.value).with(.timeout).with(.cause)
        case .answer: common.with(.value).with(.error)
        case .why: common.with(.limit)
        case .trace: common.with(.key).with(.keys).with(.sub).with(.limit).with(.every)
        default: common
        }
    }

    private func subscribeFields(_ common: FieldSet) -> FieldSet {
        common.with(.key).with(.keys).with(.sub).with(.initial).with(.old).with(.values)
            .with(.fields).with(.difference).with(.condition).with(.delivery).with(.every)
            .with(.phase).with(.acknowledges).with(.since).with(.epoch).with(.emits)
    }
}
