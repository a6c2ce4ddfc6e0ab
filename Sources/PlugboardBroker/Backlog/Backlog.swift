// What one subscription is owed, and what it waits for. A subscription may be slow, paused or throttled, or
// wait for a phase, its snapshot or the journal. All of these work alike: it is owed the newest value of each
// key, and gets it when nothing stands in the way. Owned by its subscription; most never have one.

import PlugboardMemory
import PlugboardWire

final class Backlog {
    enum Next { case nothing, synced, replayed, key(OwedKey), line(PendingLines.Header), gap }

    /// A subscription without a backlog gets events at once, or shares what it is owed until its turn comes to be
    /// told (`Lane`). With one, it is in the first of these states that applies. After a change of state, have the
    /// hub `review` it.
    ///
    /// | state      | because                                                 | left by                   |
    /// |------------|---------------------------------------------------------|---------------------------|
    /// | `.reply`   | its `subscribe` is not answered yet                     | the answer                |
    /// | `.pause`   | `pause`                                                 | `resume`, `step`          |
    /// | `.nothing` | nothing is owed                                         | an event; then see below  |
    /// | `.journal` | what it missed is being read from the journal           | a piece was read          |
    /// | `.phase`   | an earlier phase has not acknowledged what comes next   | it has, or time is up     |
    /// | `.window`  | what comes next is of a key sent within `every`         | the window's deadline     |
    /// | `.room`    | none of these: its client's outbox is or was full       | all of it was sent        |
    ///
    /// In `.room`, and in no other state, it is in the list of ready subscriptions in its client's `SessionBacklog`,
    /// and the end of a turn sends what comes next. In `.nothing`, it gives up its backlog and is direct
    /// again, unless it has a window.
    enum State { case reply, pause, nothing, journal, phase(ObservableHandle), window, room }

    /// The keys that are owed, if they aren't in a lane, and the lines.
    var keys = ConflatedKeys()
    var lines = PendingLines()
    /// How often keys in its lane had been written when it was told them, if they were written again since.
    var known: [ConflatedKeys.Place: UInt32] = [:]
    var window: Window?
    /// What is sent first, from the journal.
    var replay: Replay?
    /// Some of what comes before `synced` is in the gap of `lines`, and is read again from the journal.
    var awaitsGap = false
    /// `synced` follows once nothing that comes before it is owed any more.
    var owesSynced = false
    /// Up to this revision everything was sent, except the rest of a batch: that of the start, or of the last line
    /// that was sent if it is newer.
    private(set) var lastRevision: UInt64 = 0
    /// Its `subscribe` isn't answered yet, and nothing may be sent before the answer.
    var awaitsReply = false
    /// Its `subscribe` was put off: the values that come first are still looked for. Until then it is owed neither emits
    /// nor deletes.
    var snapshot: ValueSnapshot?
    /// From now on events are owed, until `resume`, except for `steps` lines: steps that something else holds back
    /// still pass, but no later lines.
    var isPaused = false
    var steps = 0
    /// In `.room`, and listed as ready.
    var isReady = false

    init() {
        // A number that differs from backlog to backlog.
        keys.filledMax -= Int(bitPattern: ObjectIdentifier(self)) >> 6 & 63
    }

    /// Nothing is owed but what is in its lane.
    var isEmpty: Bool { keys.isEmpty && lines.isEmpty && !owesSynced && replay == nil && snapshot == nil }

    /// How many keys and lines it is owed besides those in its lane, as far as is known.
    var owedCount: Int { keys.count + lines.count + (replay?.readyCount ?? 0) }

    /// How many bytes that count which it will be sent, but that aren't keys or lines yet.
    var gatheredBytes: Int { (snapshot?.foundBytes ?? 0) + (replay?.pieceBytes ?? 0) }

    /// How many bytes its lines count, with those of owed keys that were made already.
    var lineBytes: Int { lines.byteCount + keys.writtenBytes }

    /// It must stay, even if nothing is owed.
    var isNeeded: Bool { !isEmpty || awaitsReply || isPaused || window != nil }

    /// Whether an event of this key may be sent at once, unless its client is behind.
    func isFree(_ keyHash: UInt64) -> Bool {
        isEmpty && !isPaused && !awaitsReply && window?.holds(keyHash) != true
    }

    // MARK: The machine

    /// Of the first owed key and the first line, the one with the earlier event is next. Revisions can't
    /// decide this, because a batch has several of both in one revision.
    func next(_ first: OwedKey?) -> Next {
        if replay != nil { return .replayed }
        if owesSynced, keys.awaitedCount == 0, !awaitsGap { return .synced }
        if let first, first.event <= lines.frontEvent ?? .max { return .key(first) }
        if let header = lines.frontHeader { return .line(header) }
        return lines.hasGap ? .gap : .nothing
    }

    func nextRevision(_ first: OwedKey?) -> UInt64? {
        switch next(first) {
        case .nothing: nil
        case .synced: lastRevision
        case .replayed: replay?.frontRevision
        case .key(let owed): owed.revision
        case .line(let header): header.revision
        case .gap: lines.gap?.first
        }
    }

    // MARK: Changes of state

    func resume() { (isPaused, steps) = (false, 0) }

    /// Starts a subscription. `synced` is sent after everything up to this revision.
    func begin(at revision: UInt64, owingSynced: Bool) {
        (lastRevision, owesSynced) = (revision, owingSynced)
    }

    func advance(_ revision: UInt64) { lastRevision = max(lastRevision, revision) }

    /// Some observers didn't acknowledge a key that waited at its gate. Its lines will name them.
    func addLateNames(_ naming: inout LateNaming, of observable: ObservableHandle) {
        lines.addLateNames(&naming, of: observable)
        keys.addLateNames(&naming, of: observable)
    }

    /// Takes out the keys that are owed.
    func takeOut() -> Backlog {
        let taken = Backlog()
        swap(&keys, &taken.keys)
        return taken
    }
}

extension Backlog: Checked {
    /// Its counts and flags agree with its content. Adds to `owedBy` how often each key is owed.
    func checkInvariants(
        _ keyspace: borrowing Keyspace, _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        try keys.checkInvariants(keyspace, isSorted: replay?.gathers != true, &owedBy)
        try lines.checkInvariants()
        try Self.always.hold("a gap that is awaited is there", !awaitsGap || lines.hasGap)
        try Self.always.hold("only what is paused is stepped", steps == 0 || isPaused)
    }
}

// What a whole session has to catch up with: which of its subscriptions are ready, and a reply that waits for
// them. Exists only while there is something.

final class SessionBacklog {
    /// Subscriptions that are owed something and wait only for room.
    var ready = List<SubscriptionHandle>()
    /// Whose turn it is in `ready`.
    var turn = 0
    var deferred = DeferredLines()
    /// Subscriptions whose `subscribe` is answered in `deferred`. They begin after that.
    var unanswered = List<SubscriptionHandle>()
    var replaying = List<SubscriptionHandle>()
    /// The bytes of the lines that all its subscriptions keep.
    var queuedBytes = 0
    /// How many keys are owed to all its subscriptions.
    var owedCount = 0
    /// The bytes of what their snapshots have found, and of pieces of the journal that wait for them.
    var gatheredBytes = 0
    /// The `id` of its goodbye, which is answered after everything that was asked before; empty if it has none. Nil
    /// if it hasn't said goodbye, or was answered.
    var goodbye: [UInt8]?
    /// The request that was put off.
    var request: DeferredRequest?

    /// Whether a subscription that isn't paused waits for a piece of the journal with events up to a
    /// revision.
    func isReading(upTo revision: UInt64 = .max, _ matching: borrowing Matching) -> Bool {
        for place in replaying.indices {
            guard let backlog = matching[replaying[place]].backlog, !backlog.isPaused else { continue }
            if let replay = backlog.replay, replay.isReading, replay.frontRevision <= revision { return true }
        }
        return false
    }

    /// Whether nothing can be sent before more of the journal is read.
    func awaitsJournal(_ matching: borrowing Matching) -> Bool { ready.isEmpty && isReading(matching) }

    /// A subscription ends, so what it is owed counts no more.
    func forget(_ subscription: SubscriptionHandle, _ backlog: Backlog) {
        queuedBytes -= backlog.lineBytes
        owedCount -= backlog.keys.count
        gatheredBytes -= backlog.gatheredBytes
        if backlog.isReady { ready.remove(subscription) }
        if backlog.awaitsReply { unanswered.remove(subscription) }
    }

    var isEmpty: Bool { !hasUnread && request == nil }

    /// Something waits for the client to read it, or will.
    var hasUnread: Bool {
        !ready.isEmpty || !deferred.isEmpty || queuedBytes > 0 || owedCount > 0 || gatheredBytes > 0
            || !unanswered.isEmpty || !replaying.isEmpty || goodbye != nil
    }
}

extension SessionBacklog: Checked {
    func checkInvariants(of session: SessionHandle, _ hub: borrowing Hub) throws(BrokenInvariant) {
        let client = "client \(hub.sessions[session].client)"
        let subscriptions = hub.sessions[session].subscriptions.list.all
        let backlogs = subscriptions.compactMap { hub.matching[$0].backlog }
        let owed = subscriptions.reduce(0) { $0 + Int(hub.matching[$1].lag.owedCount) }
        let ownOwed = backlogs.reduce(0) { $0 + $1.keys.count }
        try Self.always.agree("it counts the keys that are owed", owedCount, owed + ownOwed, of: client)
        let gathered = backlogs.reduce(0) { $0 + $1.gatheredBytes }
        try Self.always.agree("it counts what was gathered", gatheredBytes, gathered, of: client)
        let queued = backlogs.reduce(0) { $0 + $1.lineBytes }
        try Self.always.agree("it counts the bytes that are queued", queuedBytes, queued, of: client)
        let areReplaying = replaying.has(subscriptions.filter { hub.matching[$0].backlog?.replay != nil })
        try Self.always.hold("it lists what is told again, each once", areReplaying, of: client)
        // A client that leaves is sent nothing more. Its lists are cleared at once, its subscriptions end one by one.
        guard hub.sessions[session].isOpen else { return }
        let areListed = ready.has(
            subscriptions.filter { hub.matching[$0].backlog?.isReady ?? hub.matching[$0].isSharing })
        try Self.always.hold("it lists what is ready, each once", areListed, of: client)
        let areUnanswered = unanswered.has(
            subscriptions.filter { hub.matching[$0].backlog?.awaitsReply == true })
        try Self.always.hold("it lists what is unanswered, each once", areUnanswered, of: client)
    }
}

extension List<SubscriptionHandle> {
    /// Whether it has these, each once, in any order.
    fileprivate func has(_ subscriptions: [SubscriptionHandle]) -> Bool {
        count == subscriptions.count && Set(all) == Set(subscriptions)
    }
}

/// Replies, calls and answers to a client that is behind, in their order. Each is sent after everything that the client
/// was owed when it came, and not after what it was owed since: otherwise calls could keep each other back for ever.
struct DeferredLines: ~Copyable {
    /// Lines in a row that wait for the same.
    private struct Piece: BitwiseCopyable {
        let until: UInt64
        /// Whether they reply to the client's own lines.
        let isOwn: Bool
        var count: Int
    }

    private var bytes = ByteBuffer()
    private var pieces = List<Piece>()
    private var ownPieces = 0

    var isEmpty: Bool { pieces.isEmpty }
    /// How many bytes wait.
    var count: Int { bytes.count }
    /// Whether a reply to the client's own lines waits. Then its next lines wait for that.
    var hasOwn: Bool { ownPieces > 0 }
    /// Up to this revision all that is owed comes before the first ones; nil if there are none.
    var until: UInt64? { pieces.isEmpty ? nil : pieces[0].until }

    mutating func append(_ lines: Span<UInt8>, until revision: UInt64, isOwn: Bool) {
        bytes.append(lines)
        if let last = pieces.last, last.until == revision, last.isOwn == isOwn {
            pieces[pieces.count - 1].count += lines.count
        } else {
            pieces.append(Piece(until: revision, isOwn: isOwn, count: lines.count))
            if isOwn { ownPieces += 1 }
        }
    }

    /// Moves those that wait for nothing from `revision` on to a buffer.
    mutating func release(before revision: UInt64, to buffer: inout ByteBuffer) {
        var (first, released) = (0, 0)
        while first < pieces.count, pieces[first].until < revision {
            released += pieces[first].count
            if pieces[first].isOwn { ownPieces -= 1 }
            first += 1
        }
        buffer.append(bytes.bytes[..<released])
        pieces.removeFirst(first)
        bytes.removeFirst(released)
        if isEmpty { removeAll() }
    }

    mutating func removeAll() {
        bytes.releaseMemory()
        pieces.removeAll()
        ownPieces = 0
    }
}

// When a subscription with `every` may get the next line of a key. Keys that were sent lately are remembered
// by their hash. Any other key is sent at once. A remembered key is owed until the window ends, and all later
// events with it, so that the order holds. Two sets that take turns forget old keys without a clock for each. If there is
// no room for more keys, all of them count as remembered.

struct Window: Checked {
    /// Nanoseconds between two lines of one key.
    let span: UInt64
    /// Keys sent since the last tick, and since the tick before.
    private var told: Set<UInt64> = []
    private var toldBefore: Set<UInt64> = []
    private(set) var lastTold: UInt64 = 0
    /// The next tick; nil if none is coming. Then nothing is held back.
    var ticket: DeadlineTicket?
    /// Events up to this one pass, although a tick is coming.
    var openEvent: UInt64 = 0
    /// A key was sent that isn't remembered: it was owed since before the window.
    private var isOverfull = false

    init(milliseconds: UInt32) {
        span = UInt64(milliseconds) * 1_000_000
    }

    var isTicking: Bool { ticket != nil }

    func holds(_ keyHash: UInt64, event: UInt64 = .max) -> Bool {
        isTicking && event > openEvent
            && (isFull || told.contains(keyHash) || toldBefore.contains(keyHash))
    }

    private var isFull: Bool { told.count >= Limits.windowKeysMax }

    mutating func add(_ keyHash: UInt64, at now: UInt64) {
        if isFull { isOverfull = true } else { told.insert(keyHash) }
        lastTold = now
    }

    /// Forgets keys that were sent before the previous tick, or all.
    mutating func forget(all: Bool) {
        if isOverfull, !all { return }
        (told, toldBefore, isOverfull) = ([], all ? [] : told, false)
    }
}
