// Single writes. Each is checked whole before anything changes; then observers are
// told, then the value is kept, then the writer is answered, so that a reply with a
// revision means that everything up to it lies before it in the writer's own outbox.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func write(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let planned = try plan(request, line, session)
        if request.isDurable { try durability.checkDurable(awaited: sessions[session].awaitedWrites) }
        try make(planned, request, line, session, reason: nil)
        replyWritten(request, line, session)
    }

    /// Makes a publish, as nearly all writes are, with what is known of it: the key's hash, and who
    /// publishes. `write` would do the same in more steps.
    @inline(always)
    mutating func publish(
        _ request: Request,
        _ line: Span<UInt8>,
        hash: UInt64,
        _ session: SessionHandle,
        isGuarded: Bool,
        by author: AuthorHandle?
    ) throws(Refusal) {
        let key = request.key.bytes(of: line)
        let planned = try plan(.publish, request, key, line, hash: hash, session, isGuarded: isGuarded)
        if request.isDurable { try durability.checkDurable(awaited: sessions[session].awaitedWrites) }
        let value = request.value.bytes(of: line)
        if !durability.hasRoom(for: value.count) { try makeRoom(for: value.count, key) }
        keyspace.advance()
        let observable =
            planned.observable ?? keyspace.insert(key, hash: hash, valueCount: value.count)
        let writer = author ?? sessions[session].author(&keyspace)
        set(.publish, observable, value, request, session, writer, nil, isUnobserved: planned.isUnobserved)
        if request.isDurable {
            replyWritten(request, line, session)
        } else if request.wantsReply {
            replyDone(request, line, session)
        }
    }

    /// Makes a write that fits the state, or throws having changed nothing.
    mutating func make(
        _ planned: PlannedWrite,
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle,
        reason: EventReason?
    ) throws(Refusal) {
        if request.operation.combines { try combine(planned, request, line, session) }
        let bytes = request.operation.combines ? requests.merged.count : request.value.count
        if request.operation != .emit {
            if !durability.hasRoom(for: bytes) {
                do throws(Refusal) {
                    try makeRoom(for: bytes, request.key.bytes(of: line))
                } catch {
                    // What is deleted makes room, so that it may take some that is kept back.
                    guard request.operation == .delete, durability.hasOwnRoom else { throw error }
                }
            }
            keyspace.advance()
        }
        let value = request.operation.combines ? requests.merged.bytes.kept : request.value.bytes(of: line)
        commit(planned, request, value: value, line, session, reason: reason)
    }

    /// Why a write would be refused; nil where it would not. What a patch or a sum comes to is left in
    /// `requests.merged`.
    mutating func refusal(of write: Request, in asked: AskedRequest) -> Refusal? {
        do throws(Refusal) {
            let planned = try plan(write, asked.line, asked.session)
            if write.operation.combines { try combine(planned, write, asked.line, asked.session) }
            return nil
        } catch {
            return error
        }
    }

    /// Checks a write against the state, changing nothing.
    mutating func plan(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) -> PlannedWrite {
        let key = request.key.bytes(of: line)
        let isGuarded = sessions[session].isGuarded
        let hash = keyspace.hash(key)
        return try plan(request.operation, request, key, line, hash: hash, session, isGuarded: isGuarded)
    }

    /// The same, with the key, its hash, and whether its writer's rights have to be looked at.
    @inline(always)
    private mutating func plan(
        _ operation: Operation,
        _ request: Request,
        _ key: Span<UInt8>,
        _ line: Span<UInt8>,
        hash: UInt64,
        _ session: SessionHandle,
        isGuarded: Bool
    ) throws(Refusal) -> PlannedWrite {
        let observable = keyspace.find(key, hash: hash)
        var current: UInt64 = 0
        var isUnobserved = false
        if let observable {
            let known = keyspace[observable].standing(asOf: matching.generation)
            current = known.revision
            isUnobserved = known.isUnobserved
            if known.isReserved { try supervision.checkOwn(request, line, sessions[session]) }
        } else {
            try checkNew(request, line, session)
        }
        if isGuarded {
            try access.checkWrite(request, line, sessions[session])
            if operation == .publish {
                try checkQuota(request, line, observable, count: request.value.count, session)
            }
        }
        if request.has(.ifRevision), request.ifRevision != current { throw .conflict(request, current) }
        if operation == .delete, current == 0 {
            throw .notFound(request, line, for: sessions[session].clearance, &keyspace)
        }
        return PlannedWrite(hash: hash, observable: observable, isUnobserved: isUnobserved)
    }

    /// Throws unless a key that nobody has named yet may be written; the supervisor may also write its own.
    @inline(never)
    private func checkNew(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        try Key.check(request.key, line)
        if Key.isReserved(request.key.bytes(of: line)) {
            try supervision.checkOwn(request, line, sessions[session])
        }
    }

    /// Makes a checked write real. `value` is what the key gets, or what is emitted.
    mutating func commit(
        _ planned: PlannedWrite,
        _ request: Request,
        value: Span<UInt8>,
        _ line: Span<UInt8>,
        _ session: SessionHandle,
        reason: EventReason?
    ) {
        let author = sessions[session].author(&keyspace)
        guard request.has(.origin) else {
            return commit(planned, request, value: value, line, session, author, reason)
        }
        let elsewhere = keyspace.author(author, from: request.origin(of: line))
        commit(planned, request, value: value, line, session, elsewhere, reason)
        keyspace.release(elsewhere)
    }

    /// The same in the name of an author.
    private mutating func commit(
        _ planned: PlannedWrite,
        _ request: Request,
        value: Span<UInt8>,
        _ line: Span<UInt8>,
        _ session: SessionHandle,
        _ author: AuthorHandle,
        _ reason: EventReason?
    ) {
        let key = request.key.bytes(of: line)
        switch request.operation {
        case .emit: emit(key, planned, value, request.cause, author, reason)
        case .delete:
            guard let observable = planned.observable else { return }
            if keyspace[observable].isReserved { dropReport(observable) }
            delete(observable, by: author, cause: request.cause, reason: reason)
        default:
            let observable =
                planned.observable
                ?? keyspace.insert(key, hash: planned.hash, valueCount: value.count)
            set(request.operation, observable, value, request, session, author, reason)
        }
    }

    /// Throws where a value of `count` bytes would be too much for its writer's user.
    private mutating func checkQuota(
        _ request: Request,
        _ line: Span<UInt8>,
        _ observable: ObservableHandle?,
        count: Int,
        _ session: SessionHandle
    ) throws(Refusal) {
        guard let account = sessions[session].clearance?.account else { return }
        let own = observable.flatMap {
            keyspace[$0].hasValue && keyspace.account(of: $0) === account
                ? keptBytes(of: $0) : nil
        }
        let bytes = request.key.count + Author.bytes(of: request.origin(of: line)) + count
        try access.checkQuota(account, keys: own == nil ? 1 : 0, bytes: bytes - (own ?? 0))
    }

    /// What of a key that has a value is counted for its writer's user.
    func keptBytes(of observable: ObservableHandle) -> Int {
        keyspace[observable].keptBytes + keyspace.authors.originBytes(keyspace[observable].writer)
    }

    /// A value is about to take the place of another, or of none.
    @inline(never)
    func charge(_ observable: ObservableHandle, count: Int, to author: AuthorHandle) {
        discharge(observable)
        guard !keyspace[observable].isReserved, let account = keyspace.authors.account(author) else { return }
        account.keys += 1
        account.kept += keyspace[observable].key.count + keyspace.authors[author].origin.count + count
    }

    /// A value is about to go.
    @inline(never)
    func discharge(_ observable: ObservableHandle) {
        guard keyspace[observable].hasValue, !keyspace[observable].isReserved,
            let account = keyspace.account(of: observable)
        else { return }
        account.keys -= 1
        account.kept -= keptBytes(of: observable)
    }

    /// Makes the new value of a patch or a sum from the present one, in `requests.merged`.
    mutating func combine(
        _ planned: PlannedWrite,
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let (change, value) = (request.value.bytes(of: line), keyspace.value(of: planned.observable))
        let field = request.field.bytes(of: line)
        do throws(Refusal) {
            if request.operation == .patch {
                try requests.merge(change, atField: field, of: value)
            } else {
                try requests.add(change, toField: field, of: value)
            }
        } catch {
            throw error.ofPart(request, at: planned.observable.map { keyspace[$0].revision } ?? 0)
        }
        let count = requests.merged.count
        guard count > Limits.valueBytesMax else {
            return try checkQuota(request, line, planned.observable, count: count, session)
        }
        let message =
            "the new value would have \(count) bytes, a value has at most \(Limits.valueBytesMax)"
        throw Refusal(.limit, message, at: request.value.start)
    }

    @inline(always)
    private mutating func set(
        _ operation: Operation,
        _ observable: ObservableHandle,
        _ value: Span<UInt8>,
        _ request: Request,
        _ session: SessionHandle,
        _ author: AuthorHandle,
        _ reason: EventReason?,
        isUnobserved: Bool = false
    ) {
        let cause = request.cause
        if insight.isTracing {
            noteTrace(operation, reason, observable, to: value, by: author, cause: cause)
        }
        if !isUnobserved {
            if request.isBounded {
                tellBounded(request, observable, to: value, by: author, reason)
            } else {
                tellNews(.update, of: observable, to: value, by: author, cause, reason)
            }
        }
        if access.counts { charge(observable, count: value.count, to: author) }
        let change = keyspace.set(observable, value, cause: cause, writer: author)
        if !change.isReserved { durability.noteGrowth(change.growth) }
        note(operation, observable, author, cause)
        if reason != nil || request.isBounded || change.hasMarks {
            renewLifetime(of: observable, request, reason, session)
        }
        if durability.isKept { record(observable, value, request, reason) }
    }

    /// Deletes the value of a key under the present revision.
    mutating func delete(
        _ observable: ObservableHandle,
        by author: AuthorHandle,
        cause: WriteCause,
        reason: EventReason?
    ) {
        if insight.isTracing { noteTrace(.delete, reason, observable, to: Span(), by: author, cause: cause) }
        tellNews(.delete, of: observable, to: Span(), by: author, cause, reason)
        if !keyspace[observable].isReserved {
            durability.noteGrowth(-keyspace[observable].recordBytes)
        }
        if access.counts { discharge(observable) }
        keyspace.removeValue(of: observable, cause: cause, writer: author)
        unbind(observable)
        keyspace[observable].marks.reason = reason
        note(.delete, observable, author, cause)
        if let reason { keyspace.note(reason) }
        if durability.isKept { recordDelete(of: observable, by: author, cause, reason) }
        keyspace.keepForHistory(observable)
    }

    @inline(never)
    private mutating func emit(
        _ key: Span<UInt8>,
        _ planned: PlannedWrite,
        _ value: Span<UInt8>,
        _ cause: WriteCause,
        _ author: AuthorHandle,
        _ reason: EventReason?
    ) {
        keyspace.note(emitTo: key)
        guard let observable = planned.observable ?? observableToEmit(key, planned.hash) else {
            if insight.isTracing { noteTrace(ofUnheard: key, reason, by: author, cause: cause) }
            return
        }
        if insight.isTracing { noteTrace(.emit, reason, observable, to: value, by: author, cause: cause) }
        tellNews(.emit, of: observable, to: value, by: author, cause, reason)
        if keyspace[observable].observers.isEmpty { return }
        note(.emit, observable, author, cause)
        if let reason { keyspace.note(reason) }
        if !keyspace[observable].hasValue { keyspace.keepForHistory(observable) }
    }

    /// Makes the observable of a key that nobody has named yet, if a pattern matches it: then
    /// somebody is told, and the history remembers.
    private mutating func observableToEmit(
        _ key: Span<UInt8>,
        _ hash: UInt64
    ) -> ObservableHandle? {
        matching.find(key, nil, keyspace, sessions, isSelective: isSelective)
        return matching.found.isEmpty ? nil : keyspace.insert(key, hash: hash)
    }

    /// Remembers a write that was just made.
    @inline(always)
    private mutating func note(
        _ operation: Operation,
        _ observable: ObservableHandle,
        _ author: AuthorHandle,
        _ cause: WriteCause
    ) {
        keyspace.note(operation, observable, author, cause)
        if cause.isNamed { insight.noteReturns(&keyspace) }
    }
}

/// A write that was checked and can no longer fail.
struct PlannedWrite: BitwiseCopyable {
    let hash: UInt64
    /// Nil: nobody has named this key yet.
    let observable: ObservableHandle?
    /// It is certain that nobody is to be told.
    var isUnobserved = false
}
