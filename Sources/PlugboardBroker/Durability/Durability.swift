// Keeps the writes of a broker: the records of the present turn, the journal that they are written to,
// replies that wait for the disk, and subscriptions that read the journal. Owned by the hub. Without a
// journal, nothing is recorded and everything has room. It knows no key: callers pass the content of a
// record, and a waiting reply names its client by number. What always holds: a record is added only when room
// for it is certain. Replies are sent in the order of their writes. The bytes of all values' records are
// counted only here.

import PlugboardJournal
import PlugboardMemory
import PlugboardPosix
import PlugboardWire

struct Durability: ~Copyable {
    private static let tickNanoseconds: UInt64 = 1_000_000_000
    private let inPlace = InPlace()
    var records = RecordBuffer()
    private(set) var journal: JournalWriter?
    /// A snapshot of the values in memory, while it is being made.
    var copy: StateCopy?
    private var tickTime: UInt64 = 0
    var replies = DurableReplies()
    /// The error after which the journal can't go on, because half a record may be in its file; nil if there
    /// is none. It is found during a request, and thrown at the next write.
    private var failure: (any Error)?

    // MARK: Recording

    mutating func makeRoom(needed: Int, revision: UInt64) -> Bool {
        guard failure == nil, let journal else { return false }
        do {
            return try journal.makeRoom(&records, needed: needed, revision: revision)
        } catch {
            failure = error
            return false
        }
    }

    // MARK: Durable replies

    /// Throws unless a client may make a durable write. `awaited` is how many of its durable writes wait
    /// already.
    func checkDurable(awaited: UInt16) throws(Refusal) {
        guard records.isKept else {
            throw Refusal(
                .storage,
                "nothing can be durable here: this broker has no journal",
                hint: "leave \"durable\" out, or start the broker without --memory"
            )
        }
        if let journal, journal.isGone, !journal.hasFile() {
            throw Refusal(.storage, "nothing can be durable now: \(gone)", hint: Self.goneHint)
        }
        guard awaited < Limits.durablesMax else {
            throw Refusal(
                .limit, "at most \(Limits.durablesMax) durable writes of a client wait for the disk"
            )
        }
    }

    private static let goneHint =
        "put it back, or save the values with plugboard dump and start the broker anew"
    private var gone: String { "the journal's file is gone from \(journal?.place ?? "its folder")" }

    /// The answer to a durable write that was made, but is only in a file that is gone.
    var goneRefusal: Refusal {
        Refusal(.storage, "the write was made, but ends with the broker: \(gone)", hint: Self.goneHint)
    }

    /// What a person is told of that.
    var goneWarning: String {
        "\(gone): what is written ends with the broker, and durable writes are refused; \(Self.goneHint)"
    }

    /// Why no other broker can take over what is kept: it would find another folder, or none. Nil if one can.
    var obstacle: String? {
        guard let journal, !journal.hasFile() else { return nil }
        return "\(gone), where the next broker would look for it; \(Self.goneHint)"
    }

    /// Whether everything that was recorded up to now is on disk, and no reply waits. A durable request that has
    /// written nothing is then answered at once.
    var isOnDisk: Bool { replies.isEmpty && journal?.isSynced(upTo: records.commits) == true }

    // MARK: The journal

    /// Whether no commit waits to be written and the disk has not failed. On a disk without any room, the first line of
    /// the journal's file may wait: it says nothing of what clients are told.
    @inline(__always) var isWritten: Bool {
        failure == nil && (records.isEmpty || journal?.hasWritten(upTo: records.commits) == true)
    }

    /// Continues a journal that has been read, with the records that were made meanwhile.
    mutating func begin(_ journal: JournalWriter?, _ records: consuming RecordBuffer) {
        let live = self.records.liveBytes
        self.journal = journal
        self.records = records
        self.records.liveBytes = live
    }

    mutating func write(revision: UInt64) throws {
        if let failure { throw failure }
        try journal?.flush(&records, revision: revision)
    }

    @inline(__always) var isCopying: Bool { copy != nil }

    /// So much of it waits to be written that no more is copied now.
    var isCopyHeldUp: Bool {
        switch copy {
        case .some(let copy): copy.isHeldUp
        case .none: false
        }
    }

    /// Asks for a sync if durable writes wait for one, if the last sync is done, and if enough writes have
    /// gathered.
    mutating func askForSync(_ time: TimeSource) throws {
        if replies.isEmpty { return replies.countAsked() }
        guard isGathering, replies.hasGathered(at: time.nanoseconds()) else { return }
        replies.countAsked()
        try journal?.wantSync(for: replies.count)
    }

    /// Whether durable writes are being gathered: replies wait for a sync that nobody has asked for yet, and all records
    /// are written. The loop must not wait then, because the shortest wait takes longer.
    var isGathering: Bool { replies.wantsSync && isWritten && journal?.isSyncing == false }

    /// Whether the journal's own thread has finished something.
    var hasNews: Bool { journal?.hasNews == true }
    /// When the journal is looked after next; nil if there is nothing to do.
    var nextTick: UInt64? {
        if hasNews { return 0 }
        return journal?.wantsTick == true ? tickTime : nil
    }

    /// Does the journal's work of once a second. Returns false if there is none, or it isn't time.
    mutating func tick(_ time: TimeSource) throws -> Bool {
        guard let journal, journal.wantsTick else { return false }
        let now = time.nanoseconds()
        guard now >= tickTime else { return false }
        tickTime = now + Self.tickNanoseconds
        try journal.tick(&records)
        return true
    }

    /// Whether an event that finds no room is read again from the journal. Reserved keys are not in it.
    func isReadBack(_ event: EventKind, isReserved: Bool) -> Bool {
        records.isKept && event != .emit && !isReserved
    }

    /// Call it when the disk has failed. From then on, nothing is kept.
    mutating func loseJournal() {
        copy.take()?.abandon()
        journal?.noteFailure()
        failure = nil
        begin(nil, RecordBuffer())
    }

    /// Writes the last line, and returns when everything is on disk.
    mutating func close(revision: UInt64) throws {
        guard let journal else { return }
        copy.take()?.abandon()
        do {
            try journal.close(&records, revision: revision)
        } catch {
            journal.noteFailure()
            throw error
        }
    }
}
