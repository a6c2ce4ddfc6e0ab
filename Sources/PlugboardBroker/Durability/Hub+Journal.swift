// Between the bus and its journal: each commit is recorded where it is made, room for it is
// certain before it is made, and what a journal holds becomes the state again.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

extension Hub {
    /// Records a value that was just kept.
    @inline(__always)
    mutating func record(
        _ observable: ObservableHandle,
        _ value: Span<UInt8>,
        _ request: Request,
        _ reason: EventReason?
    ) {
        if keyspace[observable].isReserved { return durability.pass(revision) }
        var commit = Commit(
            keyPrefix: keyspace[observable].keyPrefix,
            revision: revision,
            value: value,
            by: keyspace.authors.recorded(keyspace[observable].writer),
            cause: request.cause,
            reason: reason
        )
        if request.isBounded { bind(&commit, as: request) }
        durability.record(commit)
    }

    mutating func recordDelete(
        of observable: ObservableHandle,
        by author: AuthorHandle,
        _ cause: WriteCause,
        _ reason: EventReason?
    ) {
        if keyspace[observable].isReserved { return durability.pass(revision) }
        let commit = Commit(
            keyPrefix: keyspace[observable].keyPrefix,
            revision: revision,
            value: Span(),
            by: keyspace.authors[author].by,
            cause: cause,
            reason: reason
        )
        durability.record(commit)
    }

    private func bind(_ commit: inout Commit, as request: Request) {
        commit.isWhileConnected = request.has(.whileConnected)
        if request.has(.timeToLive) {
            commit.expires = deadlines.timeOfDay + request.timeToLive
        }
    }

    /// Makes sure that a write of a key can be kept, or refuses it. The broker's own keys are not kept.
    @inline(never)
    mutating func makeRoom(for bytes: Int, _ key: Span<UInt8>) throws(Refusal) {
        if Key.isReserved(key) { return }
        try durability.makeRoom(for: bytes, isBatch: false, revision: revision)
    }

    /// Tells who looks after the broker of trouble with the journal.
    mutating func warn(storage message: String) {
        insight.warn(
            storage: message,
            revision: revision,
            at: deadlines.timeOfDay
        )
        if insight.isWatched { tellWarnings() }
    }

    // MARK: Durable

    /// Answers a write, once the disk has it where that was asked for.
    @inline(__always)
    mutating func replyWritten(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) {
        if request.isDurable { return awaitDisk(request, line, session) }
        guard request.wantsReply else { return }
        if request.operation != .add { return replyDone(request, line, session) }
        let sum = lastSum
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendAdded(
            id: request.id.bytes(of: line),
            revision: revision,
            sum: sum,
            to: &sessions[session].outbox.own
        )
    }

    private var lastSum: Span<UInt8> {
        @_lifetime(immortal)
        get { requests.sum.bytes(of: requests.merged.bytes).kept }
    }

    private mutating func awaitDisk(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) {
        sessions[session].awaitedWrites += 1
        durability.awaitDisk(
            request.operation,
            from: sessions[session],
            isTold: request.wantsReply,
            revision: revision,
            id: request.id.bytes(of: line),
            sum: request.operation == .add ? lastSum : Span()
        )
    }

    /// Answers what waited for the disk. Clients that have left get nothing.
    mutating func answerDurable(upTo mark: JournalMark) {
        var id = ByteBuffer()
        var sum = ByteBuffer()
        let before = durability.waitingCount
        defer { durability.noteAnswered(before - durability.waitingCount) }
        while let reply = durability.nextReply(upTo: mark, id: &id, sum: &sum) {
            guard let session = sessions.find(slot: Int(reply.slot), client: reply.client) else { continue }
            sessions[session].awaitedWrites -= 1
            guard reply.isTold else {
                delivery.touch(session, &sessions)
                continue
            }
            var line = delivery.takeLine()
            if sum.isEmpty {
                ReplyEncoder.appendDone(reply.operation, id: id.bytes, revision: reply.revision, to: &line)
            } else {
                ReplyEncoder.appendAdded(id: id.bytes, revision: reply.revision, sum: sum.bytes, to: &line)
            }
            send(line, to: session)
        }
    }

    // MARK: Restoring

    /// Before the first record of an earlier broker.
    mutating func beginRestoring() {
        keyspace.beginRestoring()
    }

    /// Takes a record of an earlier broker into an empty bus.
    mutating func restore(
        _ record: RecordLine,
        _ line: Span<UInt8>,
        _ restored: inout RestoredAuthors
    ) {
        let key = record.key.bytes(of: line)
        let hash = keyspace.hash(key)
        let known = keyspace.find(key, hash: hash)
        let account = record.user.map { access.restoredAccount(of: $0) }
        let (name, origin) = (record.by.bytes(of: line), record.origin.bytes(of: line))
        let author = restored.author(name, from: origin, account, &keyspace)
        guard record.kind == .update else {
            return forgetRestored(known ?? keyspace.insert(key, hash: hash), record, author)
        }
        let observable = known ?? keyspace.insert(key, hash: hash, valueCount: record.value.count)
        durability.noteGrowth(keyspace[observable].growth(to: record.value.count))
        if access.counts { charge(observable, count: record.value.count, to: author) }
        let value = record.value.bytes(of: line)
        keyspace.set(observable, value, revision: record.revision, cause: record.cause, writer: author)
        remember(.publish, observable, author, record)
        keyspace[observable].marks.reason = record.reason
        if record.isWhileConnected || record.expires > 0 || keyspace[observable].marks.bond != nil {
            restoreLifetime(of: observable, record)
        }
    }

    private mutating func forgetRestored(
        _ observable: ObservableHandle,
        _ record: RecordLine,
        _ author: AuthorHandle
    ) {
        if keyspace[observable].hasValue {
            unbind(observable)
            durability.noteGrowth(-keyspace[observable].recordBytes)
            if access.counts { discharge(observable) }
        }
        keyspace.removeValue(of: observable, cause: record.cause, writer: author)
        keyspace[observable].marks.reason = record.reason
        remember(.delete, observable, author, record)
    }

    /// The history goes on where an earlier broker's writes are known one by one: behind the
    /// snapshot. Of a patch the journal has the result.
    private mutating func remember(
        _ operation: Operation,
        _ observable: ObservableHandle,
        _ author: AuthorHandle,
        _ record: RecordLine
    ) {
        if !record.isOfSnapshot { keyspace.restore(operation, observable, author, record) }
    }

    /// A connection that a value was to last as long as has ended with the broker; time went on.
    private mutating func restoreLifetime(of observable: ObservableHandle, _ record: RecordLine) {
        unbind(observable)
        if record.isWhileConnected {
            let legacy = keyspace.makeLegacy()
            _ = keyspace.bind(observable, to: legacy)
            _ = keyspace.end(legacy)
            return
        }
        guard record.expires > 0 else { return }
        // Where the clock was set back meanwhile, it is no longer than was left when it was written.
        let now = max(deadlines.timeOfDay, record.when)
        let bond = keyspace.bind(observable, to: nil)
        let time = Deadlines.time(
            milliseconds: record.expires > now ? record.expires - now : 0,
            after: deadlines.now
        )
        keyspace.note(
            deadlines.add(at: time, .expiry(bond: bond, revision: record.revision)),
            ofBondAt: bond
        )
    }

    /// After the last: ends what ended with the earlier broker. Of its writes up to
    /// `snapshotRevision` only what was left of them is known.
    mutating func endRestoring(snapshotRevision: UInt64) {
        keyspace.endRestoring(snapshotRevision: snapshotRevision)
        deleteEnded(goingOnAt: 0)
    }
}

/// The writers that a journal names, none of whom is connected any more.
struct RestoredAuthors: ~Copyable {
    private var known: [[UInt8]: AuthorHandle] = [:]
    /// Most records are by who wrote the one before.
    private var last: AuthorHandle?

    init() {}

    /// The author with a name and an origin, given as JSON, and of a user where that is counted.
    mutating func author(
        _ name: Span<UInt8>,
        from origin: Span<UInt8>,
        _ account: UserAccount? = nil,
        _ keyspace: inout Keyspace
    ) -> AuthorHandle {
        if let last, origin.isEmpty, keyspace.authors[last].name.isEqual(to: name),
            keyspace.authors[last].origin.isEmpty, keyspace.authors[last].presence.account === account
        {
            return last
        }
        var key = Array(name) + Array(origin)
        if let account { key += [0] + Array("\(account.user)".utf8) }
        let author = known[key] ?? Self.make(name, origin, account, &keyspace)
        known[key] = author
        last = author
        return author
    }

    /// No more will be asked for: each stays for as long as a value or the history names it.
    consuming func release(_ keyspace: inout Keyspace) {
        for author in known.values { keyspace.release(author) }
    }

    private static func make(
        _ name: Span<UInt8>,
        _ origin: Span<UInt8>,
        _ account: UserAccount?,
        _ keyspace: inout Keyspace
    ) -> AuthorHandle {
        let presence = Presence(client: 0, account: account)
        presence.end()
        let characters = JSONText.characters(name.count < 2 ? Span() : name[1..<(name.count - 1)])
        return keyspace.makeAuthor(name: characters.span, origin: origin, presence: presence)
    }
}
