// The checks of a write: its key, rights, the quota and `if`. Also calculates the result of a patch or a sum.
// Changes nothing of the state.

import PlugboardMemory
import PlugboardWire

/// A write that was checked and can no longer fail.
struct PlannedWrite: BitwiseCopyable {
    /// The hash of its key. Not used if there is an observable already.
    let hash: UInt64
    /// Nil if the key has no observable yet.
    let observable: ObservableHandle?
    /// It is certain that nobody observes the key.
    var isUnobserved = false
}

/// The checks of a write.
enum WriteCheck {
    static func plan(
        _ asked: AskedRequest,
        _ keyspace: inout Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        _ access: borrowing Access,
        _ supervision: borrowing Supervision
    ) throws(Refusal) -> PlannedWrite {
        let (request, session) = (asked.request, asked.session)
        let line = asked.line
        let hash = keyspace.hash(asked.key)
        let observable = keyspace.find(asked.key, hash: hash)
        var current: UInt64 = 0
        var isUnobserved = false
        if let observable {
            let known = keyspace[observable].standing(asOf: matching.generation)
            current = known.revision
            isUnobserved = known.isUnobserved
            if known.isReserved { try supervision.checkOwn(request, line, sessions[session]) }
        } else {
            try Key.check(request.key, line)
            // The supervisor may write its own reserved keys; nobody else may write any.
            if Key.isReserved(asked.key) { try supervision.checkOwn(request, line, sessions[session]) }
        }
        if sessions[session].isGuarded {
            try access.checkWrite(request, line, sessions[session])
            if request.operation == .publish {
                let count = request.value.count
                try checkQuota(request, line, observable, count: count, sessions[session], keyspace, access)
            }
        }
        if request.has(.ifRevision), request.ifRevision != current { throw .conflict(request, current) }
        if request.operation == .delete, current == 0 {
            throw .notFound(request, line, for: sessions[session].clearance, &keyspace)
        }
        return PlannedWrite(hash: hash, observable: observable, isUnobserved: isUnobserved)
    }

    /// Throws if a value of `count` bytes would exceed the quota of its writer's user.
    private static func checkQuota(
        _ request: Request,
        _ line: Span<UInt8>,
        _ observable: ObservableHandle?,
        count: Int,
        _ session: borrowing Session,
        _ keyspace: borrowing Keyspace,
        _ access: borrowing Access
    ) throws(Refusal) {
        guard let account = session.clearance?.account else { return }
        var own: Int?
        if let observable, keyspace[observable].hasValue, keyspace.account(of: observable) === account {
            own = KeyCharge.bytes(of: observable, keyspace)
        }
        let bytes = request.key.count + Author.bytes(of: request.origin(of: line)) + count
        try access.checkQuota(account, keys: own == nil ? 1 : 0, bytes: bytes - (own ?? 0))
    }

    /// Calculates the new value of a patch or a sum from the current one, into `requests.merged`.
    static func combine(
        _ planned: PlannedWrite,
        _ asked: AskedRequest,
        _ requests: inout Requests,
        _ keyspace: borrowing Keyspace,
        _ session: borrowing Session,
        _ access: borrowing Access
    ) throws(Refusal) {
        let (request, observable) = (asked.request, planned.observable)
        let line = asked.line
        let (change, value) = (request.value.bytes(of: line), keyspace.value(of: observable))
        let field = request.field.bytes(of: line)
        do throws(Refusal) {
            if request.operation == .patch {
                try requests.merge(change, atField: field, of: value)
            } else {
                try requests.add(change, toField: field, of: value)
            }
        } catch {
            var revision: UInt64 = 0
            if let observable { revision = keyspace[observable].revision }
            throw error.ofPart(request, at: revision)
        }
        let count = requests.merged.count
        guard count > Limits.valueBytesMax else {
            return try checkQuota(request, line, observable, count: count, session, keyspace, access)
        }
        throw Refusal(valueOf: count, at: request.value.start)
    }
}
