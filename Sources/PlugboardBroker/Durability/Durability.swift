// What is kept, and when that is certain: the records of the turn under way, the journal that they
// are written to, and the replies that wait for the disk.
// Owns all three; without a journal nothing is recorded and everything has room. It knows no
// key and no client: what a record says is told to it, and whose reply comes is answered by number.
// What always holds: a record is added only after room for it was certain; replies leave in the
// order of their writes; the bytes that values come to are counted here and nowhere else.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

/// The room of the journal.
struct Durability: ~Copyable {
    private var records = RecordBuffer()
    private var journal: JournalWriter?
    private var replies = DurableReplies()
    /// Why the journal can't go on, found in the middle of a request: half a record may be in its file.
    private var failure: (any Error)?

    init() {
        records.liveBytes = 0
    }

    // MARK: Recording

    /// Somebody keeps what is written.
    @inline(__always) var isKept: Bool { records.isKept }
    /// Bytes that a record of each value would come to, about.
    var liveBytes: Int { records.liveBytes ?? 0 }
    /// Whether what the broker itself writes is certain to find room: the end of a value.
    var hasOwnRoom: Bool { records.hasOwnRoom }
    /// Events that the batch under way has so far.
    var eventsOfBatch: Int { records.eventsOfBatch }

    /// Whether a commit whose values come to `bytes` is certain to find room.
    @inline(__always)
    func hasRoom(for bytes: Int) -> Bool { records.hasRoom(for: bytes) }

    /// Makes sure that a record with `bytes` of values can be kept, or refuses it: then nothing has
    /// changed. A batch needs more for the same bytes.
    @inline(never)
    mutating func makeRoom(for bytes: Int, isBatch: Bool, revision: UInt64) throws(Refusal) {
        let needed = isBatch ? RecordBuffer.needed(for: bytes) : RecordBuffer.neededAlone(for: bytes)
        do {
            if failure == nil, let journal,
                try journal.makeRoom(&records, needed: needed, revision: revision)
            {
                return
            }
        } catch {
            failure = error
        }
        throw Refusal(
            .storage,
            "the disk under the journal is full: nothing was written",
            hint: "it works again when there is room"
        )
    }

    /// The records of all values come to so many bytes more, or fewer.
    @inline(__always)
    mutating func noteGrowth(_ bytes: Int) {
        records.liveBytes? += bytes
    }

    @inline(__always)
    mutating func record(_ commit: borrowing Commit) {
        records.append(commit)
    }

    /// A revision was taken for something that isn't kept.
    mutating func pass(_ revision: UInt64) {
        records.append(passedRevision: revision)
    }

    /// What is recorded up to `endBatch` is kept whole or not at all.
    mutating func beginBatch(revision: UInt64) {
        if records.isKept { records.beginBatch(revision: revision) }
    }

    mutating func endBatch() {
        if records.isKept { records.endBatch() }
    }

    mutating func endTurn() {
        records.endTurn()
    }

    // MARK: Durable replies

    /// Throws unless a write of a client, of which so many wait already, can be durable here and now.
    func checkDurable(awaited: UInt16) throws(Refusal) {
        guard records.isKept else {
            throw Refusal(
                .storage,
                "nothing can be durable here: this broker has no journal",
                hint: "leave \"durable\" out, or start the broker without --memory"
            )
        }
        guard awaited < Limits.durablesMax else {
            throw Refusal(
                .limit,
                "at most \(Limits.durablesMax) durable writes of a client wait for the disk"
            )
        }
    }

    /// Has a reply wait until the disk has all that was recorded up to now.
    mutating func awaitDisk(
        _ operation: Operation,
        from session: borrowing Session,
        isTold: Bool,
        revision: UInt64,
        id: Span<UInt8>
    ) {
        let reply = DurableReplies.Waiting(
            operation,
            client: session.client,
            isTold: isTold,
            slot: session.slot,
            idCount: id.count,
            revision: revision,
            mark: records.commits
        )
        replies.add(reply, id: id)
    }

    /// How many replies wait.
    var waitingCount: Int { replies.count }

    /// Takes the next reply that need not wait any more, and copies its `id`.
    mutating func nextReply(upTo mark: JournalMark, id: inout ByteBuffer) -> DurableReplies.Waiting? {
        replies.next(upTo: mark, id: &id)
    }

    /// So many were answered: their clients may write again.
    mutating func noteAnswered(_ count: Int) {
        replies.noteAnswered(count)
    }

    // MARK: The journal

    var hasJournal: Bool { journal != nil }
    /// Nothing waits to be written.
    @inline(__always) var isWritten: Bool { records.isEmpty && failure == nil }

    /// Records from here on.
    mutating func begin(_ records: consuming RecordBuffer) {
        let live = liveBytes
        self.records = records
        self.records.liveBytes = live
    }

    /// Goes on with a journal that was read, and with what was recorded while it was.
    mutating func begin(_ journal: JournalWriter, _ records: consuming RecordBuffer) throws {
        begin(records)
        try journal.settle(&self.records)
        self.journal = journal
    }

    /// Writes what was recorded. Returns whether a file has ended, so that it is time for a snapshot.
    mutating func write(revision: UInt64) throws -> Bool {
        guard let journal else { return false }
        if let failure { throw failure }
        try journal.flush(&records, revision: revision)
        return journal.hasEndedSegment
    }

    /// Has a snapshot made of the values that `body` gives, if it is time for one.
    func compact(keys: Int, _ body: ((Commit) throws -> Void) throws -> Void) {
        journal?.compact(keys: keys, live: liveBytes, body)
    }

    /// Asks for what durable writes wait for, once the last of that is done and they have gathered.
    mutating func askForSync(at now: () -> UInt64) throws {
        guard let journal else { return }
        if replies.isEmpty { return replies.noteAsked() }
        guard replies.wantsSync, !journal.isSyncing, replies.hasGathered(at: now()) else { return }
        replies.noteAsked()
        try journal.wantSync(for: replies.count)
    }

    /// Durable writes are gathered, which takes less time than a wait can be told.
    var isGathering: Bool {
        guard replies.wantsSync, let journal else { return false }
        return !journal.isSyncing
    }

    /// Replies wait for a sync that is not asked for yet, and all is written.
    var mayAskForSync: Bool { replies.wantsSync && records.isEmpty }

    /// Something was done beside the loop.
    var hasNews: Bool { journal?.hasNews ?? false }
    /// The journal is to be looked after once a second.
    var wantsTick: Bool { journal?.wantsTick ?? false }

    mutating func takeNews() throws -> [JournalNews] {
        try journal?.takeNews(&records) ?? []
    }

    mutating func tick() throws {
        try journal?.tick(&records)
    }

    /// Begins to read again what was written after a revision; nil where that is not known.
    func beginReading(after revision: UInt64) -> ReadPlace? { journal?.beginReading(after: revision) }

    func endReading(at place: ReadPlace, goingOnAt next: ReadPlace? = nil) {
        journal?.endReading(at: place, goingOnAt: next)
    }

    func read(_ request: ReadRequest) {
        journal?.read(request)
    }

    /// Nothing can be promised any more: keeps nothing from here on.
    mutating func loseJournal() {
        journal?.noteFailure()
        journal = nil
        failure = nil
        begin(RecordBuffer())
    }

    /// Replies wait in their order, and sessions count their own.
    func checkInvariants(
        _ living: borrowing Living,
        _ sessions: borrowing SessionTable
    ) throws(BrokenInvariant) {
        try replies.checkInvariants(living, sessions)
    }

    /// The last line, and all of it on disk.
    mutating func close(revision: UInt64) throws {
        guard let journal else { return }
        do {
            try journal.close(&records, revision: revision)
        } catch {
            journal.noteFailure()
            throw error
        }
    }
}
