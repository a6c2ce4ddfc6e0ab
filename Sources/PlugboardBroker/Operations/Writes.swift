// Single writes and batches. Each is checked completely before anything changes. Then the observers are told,
// the value is kept, and the writer gets its reply. So every event up to a reply's revision is before it in
// the writer's own outbox.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func write(_ asked: AskedRequest) throws(Refusal) {
        let planned = try plan(asked)
        if asked.request.isDurable {
            try durability.checkDurable(awaited: sessions[asked.session].awaitedWrites)
        }
        try make(planned, asked, reason: nil)
        replyWritten(asked)
    }

    /// Makes a publish, like nearly all writes. Its author and often the place of its key are known already.
    /// `write` would do the same in more steps.
    @inline(always)
    mutating func publish(_ waiting: WaitingPublish, _ line: Span<UInt8>, _ writer: Writer) throws(Refusal) {
        let (request, session) = (waiting.request, writer.session)
        let key = request.key.bytes(of: line)
        let planned = try plan(waiting, line, writer)
        if request.isDurable { try durability.checkDurable(awaited: sessions[session].awaitedWrites) }
        let value = request.value.bytes(of: line)
        if !durability.records.hasRoom(for: value.count) { try makeRoom(for: value.count, key) }
        keyspace.advance()
        let observable =
            planned.observable
            ?? keyspace.insert(key, hash: planned.hash, valueCount: value.count)
        let author = writer.author ?? sessions[session].author(&keyspace)
        set(.publish, observable, value, request, session, author, nil, isUnobserved: planned.isUnobserved)
        if request.isDurable {
            replyWritten(AskedRequest(request, line, from: session))
        } else if request.wantsReply {
            replyDone(.publish, id: request.id.bytes(of: line), to: session)
        }
    }

    /// Makes a write that fits the state, or throws and changes nothing.
    mutating func make(_ planned: PlannedWrite, _ asked: AskedRequest, reason: EventReason?) throws(Refusal) {
        let request = asked.request
        var planned = planned
        if request.operation.combines {
            requests.removeResults()
            try combine(&planned, asked)
        }
        if request.operation != .emit {
            let bytes = request.operation.combines ? requests.results.count : request.value.count
            if !durability.records.hasRoom(for: bytes) {
                do throws(Refusal) {
                    try makeRoom(for: bytes, asked.key)
                } catch {
                    // A delete makes room, so it may use some of the room that is kept back.
                    guard request.operation == .delete, durability.records.hasOwnRoom else { throw error }
                }
            }
            keyspace.advance()
        }
        commit(planned, asked, reason)
    }

    mutating func writeBatch(_ asked: AskedRequest) throws(Refusal) {
        for index in requests.decoder.writes.indices where requests.decoder.writes[index].readsValue {
            endExpired(requests.decoder.writes[index].key.bytes(of: asked.line))
        }
        defer { requests.batch.removeAll(keepingCapacity: true) }
        try planBatch(asked)
        if asked.request.isDurable {
            try durability.checkDurable(awaited: sessions[asked.session].awaitedWrites)
        }
        let bytes = asked.line.count + requests.results.count
        let author = keyspace.authors.recorded(sessions[asked.session].author(&keyspace)).count
        let needed = RecordBuffer.needed(forBatch: bytes, writes: requests.batch.count, author: author)
        if !durability.records.hasRoom(needed: needed) { try makeRoom(needed: needed) }
        if requests.decoder.writes.contains(where: { $0.operation != .emit }) { keyspace.advance() }
        durability.records.beginBatch(revision: revision)
        for index in requests.batch.indices {
            let write = AskedRequest(requests.decoder.writes[index], asked.line, from: asked.session)
            var planned = requests.batch[index]
            // An earlier write of the batch may have made or removed its observable.
            planned.observable = keyspace.find(write.key, hash: planned.hash)
            commit(planned, write, nil)
        }
        countOwedToRuns()
        durability.records.endBatch()
        replyWritten(asked)
    }

    /// Checks a write against the state, and makes nothing.
    @inline(never)
    mutating func plan(_ asked: AskedRequest) throws(Refusal) -> PlannedWrite {
        if asked.request.readsValue { endExpired(asked.key) }
        return try check(asked)
    }

    /// The same for a publish. For nearly all of them, only the key has to be looked up, so they should cost
    /// no more.
    @inline(always)
    private mutating func plan(
        _ waiting: WaitingPublish, _ line: Span<UInt8>, _ writer: Writer
    ) throws(Refusal) -> PlannedWrite {
        if !writer.isGuarded, !waiting.request.has(.ifRevision),
            let observable = keyspace.find(
                waiting.request.key.bytes(of: line), probablyIn: waiting.slot, or: requests.group.lastSlot
            ),
            !keyspace[observable].isReserved
        {
            requests.group.lastSlot = observable.slot
            let isUnobserved = matching.reach.isUnobserved(observable)
            return PlannedWrite(hash: 0, observable: observable, isUnobserved: isUnobserved)
        }
        return try plan(AskedRequest(waiting.request, line, from: writer.session))
    }

    private mutating func commit(_ planned: PlannedWrite, _ asked: AskedRequest, _ reason: EventReason?) {
        guard asked.request.operation.combines else {
            return commit(planned, asked, value: asked.request.value.bytes(of: asked.line), reason)
        }
        var results = ByteBuffer()
        requests.exchangeResults(&results)
        commit(planned, asked, value: planned.result.bytes(of: results.bytes), reason)
        requests.exchangeResults(&results)
    }

    /// Makes a checked write. `value` is the key's new value, or what is emitted.
    private mutating func commit(
        _ planned: PlannedWrite, _ asked: AskedRequest, value: Span<UInt8>, _ reason: EventReason?
    ) {
        let (operation, cause) = (asked.request.operation, asked.request.cause)
        let client = sessions[asked.session].author(&keyspace)
        let hasOrigin = asked.request.has(.origin)
        let author =
            hasOrigin ? keyspace.authors.author(client, from: asked.request.origin(of: asked.line)) : client
        switch operation {
        case .emit: emit(asked, planned, by: author, reason)
        case .delete:
            if let observable = planned.observable {
                if keyspace[observable].isReserved { dropReport(observable) }
                delete(observable, by: author, cause: cause, reason: reason)
            }
        default:
            let observable =
                planned.observable
                ?? keyspace.insert(asked.key, hash: planned.hash, valueCount: value.count)
            set(operation, observable, value, asked.request, asked.session, author, reason)
        }
        if hasOrigin { keyspace.authors.release(author) }
    }

    /// Its parameters stay single: as one value they would stand in memory, which costs a publish to a key that nobody
    /// observes a twentieth of its instructions.
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
        if !isUnobserved || insight.tracing.isOn {
            let news = WriteEvent(operation, of: observable, revision, to: value, by: author, cause, reason)
            if request.isBounded { announce(news, endingAs: request) } else { announce(news) }
        }
        if access.countsKeys { keyspace.charge(observable, count: value.count, to: author) }
        if durability.isCopying { copyEarly(observable) }
        let change = keyspace.set(observable, value, cause: cause, writer: author)
        if !change.isReserved { durability.records.liveBytes += change.growth }
        remember(History.Entry(operation, observable, author, revision, cause, reason))
        if reason != nil || request.isBounded || change.hasMarks {
            renewLifetime(of: observable, request, reason, session)
        }
        if durability.records.isKept {
            record(
                WriteEvent(operation, of: observable, revision, to: value, by: author, cause, reason), request
            )
        }
    }

    mutating func delete(
        _ observable: ObservableHandle, by author: AuthorHandle, cause: WriteCause, reason: EventReason?
    ) {
        let news = WriteEvent(.delete, of: observable, revision, to: Span(), by: author, cause, reason)
        announce(news)
        if !keyspace[observable].isReserved {
            durability.records.liveBytes -= keyspace[observable].recordBytes
        }
        if access.countsKeys { keyspace.discharge(observable) }
        removeValue(of: observable, by: author, cause)
        keyspace.unbind(observable, &deadlines)
        keyspace.set(reason, of: observable)
        remember(History.Entry(.delete, observable, author, revision, cause, reason))
        if durability.records.isKept { record(news) }
    }

    /// Removes a value. While somebody is owed the delete, its author stays.
    mutating func removeValue(of observable: ObservableHandle, by author: AuthorHandle, _ cause: WriteCause) {
        if durability.isCopying { copyEarly(observable) }
        let isOwed = matching.reach.owedBy(observable) > 0
        keyspace.removeValue(of: observable, cause: cause, writer: isOwed ? author : nil)
    }

    @inline(never)
    private mutating func emit(
        _ asked: AskedRequest, _ planned: PlannedWrite, by author: AuthorHandle, _ reason: EventReason?
    ) {
        let (key, cause) = (asked.key, asked.request.cause)
        keyspace.emits.append(key, at: revision)
        var known = planned.observable
        // If a pattern matches the key, somebody gets the emit, and the history remembers it.
        if known == nil, !matching.find(key, nil, sessions).isEmpty {
            known = keyspace.insert(key, hash: planned.hash)
        }
        guard let observable = known else {
            if insight.tracing.isOn { trace(.emit, of: key, traceText(author, cause, reason)) }
            return
        }
        let value = asked.request.value.bytes(of: asked.line)
        let news = WriteEvent(.emit, of: observable, revision, to: value, by: author, cause, reason)
        announce(news)
        // The key may have been made for somebody who isn't told emits yet.
        guard matching.hasBegunObserver(of: observable) else { return matching.forget(observable, &keyspace) }
        remember(History.Entry(.emit, observable, author, revision, cause, reason))
    }

    @inline(always)
    mutating func remember(_ entry: History.Entry) {
        keyspace.remember(entry)
        if entry.cause.isNamed { insight.warnings.countReturns(&keyspace) }
    }

    /// Makes room in the journal for a write of a key, or refuses it. The broker's own keys are not kept.
    @inline(never)
    private mutating func makeRoom(for bytes: Int, _ key: Span<UInt8>) throws(Refusal) {
        if !Key.isReserved(key) { try makeRoom(needed: RecordBuffer.neededAlone(for: bytes)) }
    }

    // MARK: Recording

    /// Records a write that was just made. A delete has no value. Of the broker's own keys, only the revision
    /// is recorded.
    @inline(__always)
    private mutating func record(_ news: borrowing WriteEvent, _ request: Request? = nil) {
        let observable = news.observable
        if keyspace[observable].isReserved { return durability.records.append(passedRevision: revision) }
        var commit = Commit(
            key: keyspace[observable].key,
            revision: revision,
            value: news.value,
            by: keyspace.authors.recorded(news.author, isDelete: news.value.isEmpty)
        )
        (commit.cause, commit.reason, commit.when) = (news.cause, news.reason, keyspace.history.milliseconds)
        if let request, request.has(.whileConnected) {
            commit.isWhileConnected = true
            commit.grace = keyspace.bond(of: observable)?.milliseconds ?? 0
        }
        if let request, request.has(.timeToLive) {
            commit.expires = deadlines.timeOfDay + request.timeToLive
            // The same by a clock that nobody can set.
            commit.end = deadlines.end(in: request.timeToLive)
        }
        durability.records.append(commit)
    }

    /// Replies to a write: when it is on disk if it is durable, and otherwise now.
    private mutating func replyWritten(_ asked: AskedRequest) {
        let (request, session) = (asked.request, asked.session)
        if request.isDurable, !durability.isOnDisk {
            sessions[session].awaitedWrites += 1
            let reply = DurableReplies.Waiting(
                request.operation, from: session, isTold: request.wantsReply, revision: revision
            )
            let (mark, sum) = (durability.records.commits, requests.sum(after: request.operation))
            durability.replies.add(reply, upTo: mark, id: asked.id, sum: sum)
        } else if request.wantsReply {
            delivery.openReply(to: session, &sessions)
            ReplyEncoder.appendDone(
                request.operation,
                id: asked.id,
                revision: revision,
                sum: requests.sum(after: request.operation),
                to: &sessions[session].outbox.own
            )
        }
    }
}

// The checks of a write: its key, rights, the quota and `if`. Also calculates the result of a patch or a sum.
// Changes nothing of the state.

struct PlannedWrite: BitwiseCopyable {
    /// The hash of its key. Not used if there is an observable already.
    let hash: UInt64
    var observable: ObservableHandle?
    /// It is certain that nobody observes the key.
    var isUnobserved = false
    /// Where the new value of a patch or a sum is in `requests.results`.
    var result = ByteRange.none
}

extension Hub {
    private mutating func check(_ asked: AskedRequest) throws(Refusal) -> PlannedWrite {
        let (request, line, session) = (asked.request, asked.line, asked.session)
        let hash = keyspace.hash(asked.key)
        let observable = keyspace.find(asked.key, hash: hash)
        if observable == nil { try Key.check(request.key, line) }
        let isReserved = observable.map { keyspace[$0].isReserved } ?? Key.isReserved(asked.key)
        // The supervisor may write its own reserved keys; nobody else may write any.
        if isReserved { try supervision.checkOwn(request, line, sessions[session]) }
        let current = observable.map { keyspace[$0].revision } ?? 0
        if sessions[session].isGuarded {
            try access.checkWrite(request, line, sessions[session])
            if request.operation == .publish { try checkRoom(asked, observable, request.value.count) }
        }
        if request.has(.ifRevision), request.ifRevision != current { throw .conflict(request, current) }
        if request.operation == .delete, current == 0 {
            throw .notFound(request, line, for: sessions[session].grant, &keyspace)
        }
        let isUnobserved = observable.map { matching.reach.isUnobserved($0) } ?? false
        return PlannedWrite(hash: hash, observable: observable, isUnobserved: isUnobserved)
    }

    private func checkRoom(
        _ asked: AskedRequest, _ observable: ObservableHandle?, _ count: Int
    ) throws(Refusal) {
        guard sessions[asked.session].isGuarded else { return }
        let growth = growth(by: asked, observable, count)
        try access.account(of: sessions[asked.session]).checkRoom(keys: growth.keys, kept: growth.kept)
    }

    /// What a value of `count` bytes would add to its writer's account.
    private func growth(
        by asked: AskedRequest, _ observable: ObservableHandle?, _ count: Int
    ) -> (keys: Int, kept: Int) {
        let bytes = asked.request.key.count + Author.bytes(of: asked.request.origin(of: asked.line)) + count
        guard let observable, keyspace[observable].hasValue,
            keyspace.account(of: observable) === sessions[asked.session].grant?.account
        else { return (1, bytes) }
        return (0, bytes - keyspace.chargedBytes(of: observable))
    }

    /// Makes the new value of a patch or a sum, in `requests.results`.
    mutating func combine(_ planned: inout PlannedWrite, _ asked: AskedRequest) throws(Refusal) {
        let (request, observable) = (asked.request, planned.observable)
        let value = keyspace.value(of: observable)
        insight.count(steps: value.count / Cost.bytesChangedPerStep)
        do throws(Refusal) {
            planned.result = try requests.combine(asked, with: value)
        } catch {
            throw error.ofPart(request, at: observable.map { keyspace[$0].revision } ?? 0)
        }
        let count = planned.result.count
        guard count <= Limits.valueBytesMax else { throw Refusal(valueOf: count, at: request.value.start) }
        try checkRoom(asked, observable, count)
    }
}

// Batches. Before the first write is made, all writes are checked, and all patches and sums are calculated.
// So a batch is made whole or not at all, as one revision.

extension Hub {
    /// Checks all writes of a batch, and leaves the plans in `requests.batch`.
    private mutating func planBatch(_ asked: AskedRequest) throws(Refusal) {
        let line = asked.line
        requests.removeResults()
        let isGuarded = sessions[asked.session].isGuarded
        let account = access.account(of: sessions[asked.session])
        let before = account.used
        // Each write counts when the following ones are checked.
        defer { account.used = before }
        // Deletes make room for the other writes, wherever they stand.
        for write in isGuarded ? requests.decoder.writes : [] where write.operation == .delete {
            guard let observable = keyspace.find(write.key.bytes(of: line)), keyspace[observable].hasValue,
                keyspace.account(of: observable) === account
            else { continue }
            account.used.keys -= 1
            account.used.kept -= keyspace.chargedBytes(of: observable)
        }
        var written: Set<[UInt8]> = []
        var changedBytes = 0
        for index in requests.decoder.writes.indices {
            let write = AskedRequest(requests.decoder.writes[index], line, from: asked.session)
            do throws(Refusal) {
                var planned = try check(write)
                if write.request.operation != .emit, !written.insert(Array(write.key)).inserted {
                    throw Self.writtenTwice(write.request, line)
                }
                let combines = write.request.operation.combines
                if combines {
                    changedBytes += keyspace.value(of: planned.observable).count
                    guard changedBytes <= Limits.outboxBytesMax else {
                        let most = "at most \(Limits.outboxBytesMax) bytes"
                        throw Refusal(.limit, "the values that a batch patches or adds to have \(most)")
                    }
                    try combine(&planned, write)
                }
                requests.batch.append(planned)
                guard isGuarded, combines || write.request.operation == .publish else { continue }
                let count = combines ? planned.result.count : write.request.value.count
                let growth = growth(by: write, planned.observable, count)
                account.used.keys += growth.keys
                account.used.kept += growth.kept
            } catch {
                throw Self.badKey(from: index, requests.decoder.writes, line) ?? error.ofWrite(index)
            }
        }
    }

    /// The refusal of the first malformed key among a refused write and those after it. Of several mistakes,
    /// a malformed key is reported first, and a conflict with the state later.
    private static func badKey(from index: Int, _ writes: [Request], _ line: Span<UInt8>) -> Refusal? {
        for (index, write) in writes.enumerated().dropFirst(index) {
            do throws(Refusal) {
                try Key.check(write.key, line)
            } catch {
                return error.ofWrite(index)
            }
        }
        return nil
    }

    private static func writtenTwice(_ write: Request, _ line: Span<UInt8>) -> Refusal {
        let message = "\"\(write.key.excerpt(of: line))\" is written twice in this batch"
        return Refusal(
            .conflict, message, hint: "a batch is one revision: write each key once", at: write.key.start
        )
    }
}

// A will, or disconnect action: a write that is made when its client's connection ends. `Hub.writeWill` makes
// it, in `Hub+Lifetimes.swift`.

extension Hub {
    mutating func keepWill(_ asked: AskedRequest) throws(Refusal) {
        let session = asked.session
        if let write = requests.decoder.writes.first {
            try Key.checkWritable(write, asked.line)
            if sessions[session].isGuarded { try access.checkWrite(write, asked.line, sessions[session]) }
            let before = sessions[session].lease.flatMap { keyspace.lifetimes.leases[$0].will }
            let account = access.account(of: sessions[session])
            let will = try Will(write, in: asked.line, of: account, insteadOf: before)
            let lease = sessions[session].makeLease(&keyspace)
            keyspace.lifetimes.leases[lease].will = will
        } else {
            dropWill(of: session)
        }
        replyDone(.will, id: asked.id, to: session)
    }

    mutating func dropWill(of session: SessionHandle) {
        if let lease = sessions[session].lease { keyspace.lifetimes.leases[lease].will = nil }
    }
}
