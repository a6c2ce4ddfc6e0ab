// Single writes. Each is checked whole before anything changes; then observers are
// told, then the value is kept, then the writer is answered, so that a reply with a
// revision means that everything up to it lies before it in the writer's own outbox.

import PlugboardMemory
import PlugboardWire

extension Hub {
    @inline(__always)
    mutating func write(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        try write(request, line, hash: observables.hash(request.key.bytes(of: line)), session)
    }

    /// The same, with the key's hash at hand.
    @inline(__always)
    mutating func write(
        _ request: Request,
        _ line: Span<UInt8>,
        hash: UInt64,
        _ session: SessionReference
    ) throws(Refusal) {
        let planned = try plan(request, line, hash: hash, session)
        if request.isDurable { try durability.checkDurable(awaited: session.pointee.awaitedWrites) }
        try make(planned, request, line, session, reason: nil)
        replyWritten(request, line, session)
    }

    /// Makes a write that fits the state, or throws having changed nothing.
    @inline(__always)
    mutating func make(
        _ planned: PlannedWrite,
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference,
        reason: EventReason?
    ) throws(Refusal) {
        if request.operation == .patch { try mergePatch(planned, request, line, session) }
        let bytes = request.operation == .patch ? scratch.count : request.value.count
        if request.operation != .emit {
            if !durability.hasRoom(for: bytes) {
                do throws(Refusal) {
                    try makeRoom(for: bytes, request.key.bytes(of: line))
                } catch {
                    // What is deleted makes room, so that it may take some that is kept back.
                    guard request.operation == .delete, durability.hasOwnRoom else { throw error }
                }
            }
            revision += 1
        }
        let value = request.operation == .patch ? scratch.bytes.kept : request.value.bytes(of: line)
        commit(planned, request, value: value, line, session, reason: reason)
    }

    /// Checks a write against the state, changing nothing.
    mutating func plan(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) -> PlannedWrite {
        try plan(request, line, hash: observables.hash(request.key.bytes(of: line)), session)
    }

    /// The same, with the key's hash at hand.
    @inline(__always)
    private mutating func plan(
        _ request: Request,
        _ line: Span<UInt8>,
        hash: UInt64,
        _ session: SessionReference
    ) throws(Refusal) -> PlannedWrite {
        let key = request.key.bytes(of: line)
        let observable = observables.find(key, hash: hash)
        if let observable {
            if observable.pointee.isReserved { try checkOwn(request, line, session) }
        } else {
            try checkNew(request, line, session)
        }
        if session.pointee.isGuarded {
            try access.checkWrite(request, line, session)
            if request.operation == .publish {
                try access.checkQuota(key, observable, count: request.value.count, session)
            }
        }
        let current = observable?.pointee.revision ?? 0
        if request.has(.ifRevision), request.ifRevision != current { throw Self.conflict(request, current) }
        if request.operation == .delete, current == 0 { throw notFound(request, line, session) }
        return PlannedWrite(hash: hash, observable: observable)
    }

    /// Makes a checked write real. `value` is what the key gets, or what is emitted.
    @inline(__always)
    mutating func commit(
        _ planned: PlannedWrite,
        _ request: Request,
        value: Span<UInt8>,
        _ line: Span<UInt8>,
        _ session: SessionReference,
        reason: EventReason?
    ) {
        let key = request.key.bytes(of: line)
        switch request.operation {
        case .emit: emit(key, planned, value, request.cause, session, reason)
        case .delete:
            guard let observable = planned.observable else { return }
            if observable.pointee.isReserved { dropReport(observable) }
            delete(observable, by: session.pointee.author, cause: request.cause, reason: reason)
        default:
            let observable =
                planned.observable
                ?? observables.insert(key, hash: planned.hash, valueCount: value.count)
            set(observable, value, request, session, reason)
        }
    }

    /// What is kept of a key, if it is known at all.
    @_lifetime(immortal)
    static func value(of observable: ObservableReference?) -> Span<UInt8> {
        guard let observable else { return Span() }
        return observable.pointee.value
    }

    /// Leaves the merged value in `scratch`.
    mutating func mergePatch(
        _ planned: PlannedWrite,
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        scratch.removeAll()
        MergePatch.apply(
            request.value.bytes(of: line),
            to: Self.value(of: planned.observable),
            into: &scratch
        )
        guard scratch.count > Limits.valueBytesMax else {
            let key = request.key.bytes(of: line)
            return try access.checkQuota(key, planned.observable, count: scratch.count, session)
        }
        let message =
            "the patched value would have \(scratch.count) bytes, a value has at most \(Limits.valueBytesMax)"
        throw Refusal(.limit, message, at: request.value.start)
    }

    @inline(__always)
    private mutating func set(
        _ observable: ObservableReference,
        _ value: Span<UInt8>,
        _ request: Request,
        _ session: SessionReference,
        _ reason: EventReason?
    ) {
        let author = session.pointee.author
        let cause = request.cause
        if tracing.isOn {
            noteTrace(request.operation, reason, observable, to: value, by: author, cause: cause)
        }
        let revision = revision
        tellNews(.update, of: observable, to: value, by: author, cause, reason)
        if !observable.pointee.isReserved {
            if !observable.pointee.hasValue { keyCount += 1 }
            durability.noteGrowth(observable.pointee.growth(to: value.count))
        }
        if access.counts { access.charge(observable, count: value.count, to: author) }
        observable.pointee.set(value, revision: revision, cause: cause, writer: author)
        note(request.operation, observable, author, cause)
        if reason != nil || request.isBounded || !observable.pointee.marks.isEmpty {
            renewLifetime(of: observable, request, reason, session)
        }
        if durability.isKept { record(observable, value, request, reason) }
    }

    /// Deletes the value of a key under the present revision.
    mutating func delete(
        _ observable: ObservableReference,
        by author: AuthorReference,
        cause: WriteCause,
        reason: EventReason?
    ) {
        if tracing.isOn { noteTrace(.delete, reason, observable, to: Span(), by: author, cause: cause) }
        tellNews(.delete, of: observable, to: Span(), by: author, cause, reason)
        if !observable.pointee.isReserved {
            keyCount -= 1
            durability.noteGrowth(-observable.pointee.recordBytes)
        }
        if access.counts { access.discharge(observable) }
        observable.pointee.removeValue(cause: cause, writer: author)
        unbind(observable)
        observable.pointee.marks.reason = reason
        note(.delete, observable, author, cause)
        if let reason { history.note(reason) }
        if durability.isKept { recordDelete(of: observable, by: author, cause, reason) }
        history.keep(observable)
    }

    @inline(never)
    private mutating func emit(
        _ key: Span<UInt8>,
        _ planned: PlannedWrite,
        _ value: Span<UInt8>,
        _ cause: WriteCause,
        _ session: SessionReference,
        _ reason: EventReason?
    ) {
        let author = session.pointee.author
        guard let observable = planned.observable ?? observableToEmit(key, planned.hash) else {
            if tracing.isOn { noteTrace(ofUnheard: key, reason, by: author, cause: cause) }
            return
        }
        if tracing.isOn { noteTrace(.emit, reason, observable, to: value, by: author, cause: cause) }
        tellNews(.emit, of: observable, to: value, by: author, cause, reason)
        if observable.pointee.observers.isEmpty { return }
        note(.emit, observable, author, cause)
        if let reason { history.note(reason) }
        if !observable.pointee.hasValue { history.keep(observable) }
    }

    /// Makes the observable of a key that nobody has named yet, if a pattern matches it: then
    /// somebody is told, and the history remembers.
    private mutating func observableToEmit(
        _ key: Span<UInt8>,
        _ hash: UInt64
    ) -> ObservableReference? {
        matches.removeAll()
        patterns.match(key, into: &matches)
        if isSelective { dropForbidden(key) }
        return matches.isEmpty ? nil : observables.insert(key, hash: hash)
    }

    /// Remembers a write that was just made.
    @inline(__always)
    private mutating func note(
        _ operation: Operation,
        _ observable: ObservableReference,
        _ author: AuthorReference,
        _ cause: WriteCause
    ) {
        history.append(operation, observable, author, revision: revision, cause: cause)
        if cause.isNamed { noteReturns() }
    }

    /// Lets go of a key that has neither a value nor an observer of its own, unless the
    /// history still points to it.
    mutating func removeIfUnneeded(_ observable: ObservableReference) {
        guard !observable.pointee.isNeeded, observable.pointee.generation == 0 else { return }
        observables.remove(observable)
    }
}

/// A write that was checked and can no longer fail.
struct PlannedWrite: BitwiseCopyable {
    let hash: UInt64
    /// Nil: nobody has named this key yet.
    let observable: ObservableReference?
}
