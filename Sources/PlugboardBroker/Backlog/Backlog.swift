// What one subscription is owed, and what it waits for. A reader that is slow, paused or throttled, that
// waits for a phase, for its snapshot or for the journal, is one thing: it is owed the newest value of each
// key, and gets it when nothing stands in the way. Owned by its subscription; most never have one.

import PlugboardWire

/// The waiting side of one subscription.
final class Backlog {
    /// What is told next.
    enum Next { case nothing, synced, replayed, key(OwedKeys.Place), line, gap }

    /// A subscription without a backlog is told at once. One that has it is in the first of these states that
    /// fits. Whatever changes its state says so by a verb here, and then has the hub `review` it.
    ///
    /// | state      | because                                                 | left by                   |
    /// |------------|---------------------------------------------------------|---------------------------|
    /// | `.reply`   | its `subscribe` is not answered yet                     | `answered`                |
    /// | `.pause`   | `pause`                                                 | `resume`, `step`          |
    /// | `.nothing` | nothing is owed                                         | an event; then see below  |
    /// | `.journal` | what it missed is being read there                      | a piece was read          |
    /// | `.phase`   | what comes next waits at the gate of its key            | the gate opens            |
    /// | `.window`  | what comes next is of a key told within `every`         | the window's deadline     |
    /// | `.room`    | none of these: its client's outbox is full, or was      | it was told all           |
    ///
    /// In `.room` and no other state it is listed as ready in its client's `Catchup`, and the end of a turn
    /// tells it what comes next. In `.nothing` without a rhythm it needs no backlog any more, and is direct
    /// again.
    enum State { case reply, pause, nothing, journal, phase(ObservableHandle), window, room }

    /// The keys and the lines that are owed.
    var keys = OwedKeys()
    var lines = LineQueue()
    /// The rhythm of a subscription with `every`.
    var window: Window?
    /// What is told first, from the journal.
    var replay: Replay?
    /// Some of what comes before `synced` is in the gap of `lines`, and read again from the journal.
    private(set) var awaitsGap = false
    /// `synced` is to follow when nothing is owed any more that comes before it.
    private(set) var owesSynced = false
    /// The revision of the last line that was sent, or of the beginning, for `synced`.
    private(set) var lastRevision: UInt64 = 0
    /// Its `subscribe` is answered later, and nothing may be told ahead of that.
    private(set) var awaitsReply = false
    /// Held until `resume`, but for so many lines.
    private(set) var isPaused = false
    private(set) var steps = 0
    /// In `.room`, and listed as such.
    private(set) var isReady = false
    /// Ready, and of an update to a key that is owed already only the revision has to be noted.
    private(set) var isRenewed = false
    /// Paused, and of an update to any key nothing else has to be noted than that it is owed.
    private(set) var isPausedPlainly = false

    init() {
        // Any number that differs from backlog to backlog.
        keys.filledMax -= Int(bitPattern: ObjectIdentifier(self)) >> 6 & 63
    }

    var isEmpty: Bool { keys.isEmpty && lines.isEmpty && !owesSynced && replay == nil }

    /// Keys and lines that it is owed, as far as they are known.
    var owedCount: Int { keys.count + lines.count + (replay?.readyCount ?? 0) }

    /// It must last, whether anything is owed or not.
    var isNeeded: Bool { !isEmpty || awaitsReply || isPaused || window != nil }

    /// An event of a key may be told at once, if its client isn't behind.
    func isFree(_ keyHash: UInt64) -> Bool {
        isEmpty && !isPaused && !awaitsReply && window?.holds(keyHash) != true
    }

    // MARK: The machine

    /// Of a key and a line the one whose event came first is told first: one revision may have
    /// several of both, as a batch has.
    var next: Next {
        if replay != nil { return .replayed }
        if owesSynced, keys.awaitedCount == 0, !awaitsGap { return .synced }
        if let owed = keys.front, keys[owed].event <= lines.frontEvent ?? .max { return .key(owed) }
        if lines.isEmpty { return .nothing }
        return lines.frontHeader == nil ? .gap : .line
    }

    /// What a subscription of a phase and a client waits for.
    func state(
        from phase: UInt8,
        of session: borrowing Session,
        _ phases: borrowing Phases,
        _ keyspace: borrowing Keyspace
    ) -> State {
        if awaitsReply { return .reply }
        if isPaused, steps == 0 { return .pause }
        let next = next
        if case .nothing = next { return .nothing }
        if case .replayed = next, replay?.readyCount == 0 { return .journal }
        if !phases.isEmpty, let observable = gated(next, session, keyspace),
            phases.holds(observable, from: phase)
        {
            return .phase(observable)
        }
        return isHeld(next, keyspace) ? .window : .room
    }

    /// The key at whose gate something waits, if that is closed.
    private func gated(
        _ next: Next,
        _ session: borrowing Session,
        _ keyspace: borrowing Keyspace
    ) -> ObservableHandle? {
        switch next {
        case .nothing, .synced, .gap: nil
        case .replayed:
            // An event that may not be seen waits for no gate: it is passed over, and nobody would say when
            // that opens.
            replay?.withFrontKey { session.authorize(.subscribe, $0) ? keyspace.find($0) : nil } ?? nil
        case .key(let owed): keys[owed].isGated ? keys[owed].observable : nil
        case .line: lines.frontHeader?.observable
        }
    }

    /// The rhythm holds it.
    private func isHeld(_ next: Next, _ keyspace: borrowing Keyspace) -> Bool {
        guard let window else { return false }
        switch next {
        case .nothing, .synced, .gap, .replayed: return false
        case .key(let owed):
            return window.holds(keyspace.hash(of: keys[owed].observable), event: keys[owed].event)
        case .line: return lines.frontHeader.map { window.holds($0.keyHash, event: $0.event) } ?? false
        }
    }

    /// The revision of what comes next.
    var nextRevision: UInt64? {
        switch next {
        case .nothing: nil
        case .synced: lastRevision
        case .replayed: replay?.frontRevision
        case .key(let owed): keys[owed].revision
        case .line, .gap: lines.frontRevision
        }
    }

    // MARK: Changes of state

    /// Whatever comes is owed. `isPlain`: the newest value of each key is told, and as it is.
    func pause(isPlain: Bool) { (isPaused, isPausedPlainly) = (true, isPlain) }

    func resume() { (isPaused, isPausedPlainly, steps) = (false, false, 0) }

    /// Lets so many lines pass that are owed; none that are still to come.
    func step(_ count: Int) { (isPausedPlainly, steps) = (false, min(count, owedCount)) }

    func awaitReply() { awaitsReply = true }

    func answered() { awaitsReply = false }

    /// It may go on. `isPlain`: the newest value of each key is told, and as it is.
    func beginReady(isPlain: Bool) { (isReady, isRenewed) = (true, isPlain) }

    /// It is done, or must wait. Steps are for what was owed, even where it came to nothing.
    func endReady() {
        (isReady, isRenewed) = (false, false)
        if isEmpty { steps = 0 }
    }

    /// A subscription begins, with all up to a revision before `synced`.
    func begin(at revision: UInt64, owingSynced: Bool) {
        (lastRevision, owesSynced) = (revision, owingSynced)
    }

    /// A line was told.
    func noteTold(_ revision: UInt64) { lastRevision = revision }

    /// A line of those that may pass although it is paused.
    func noteStep() { if isPaused, steps > 0 { steps -= 1 } }

    func noteSynced() { owesSynced = false }

    /// A value that comes before `synced` is read again from the journal, in the place of the gap.
    func awaitGap() { awaitsGap = true }

    /// A key is owed no more. Its observable may be needed no longer.
    func takeBack(_ place: OwedKeys.Place, _ keyspace: inout Keyspace) {
        let observable = keys.remove(place).observable
        keyspace[observable].owedBy -= 1
        keyspace.removeIfUnneeded(observable)
    }

    /// Takes over the keys that were owed before there was a subscription.
    func takeOver(_ other: Backlog) { swap(&keys, &other.keys) }

    /// Takes the gap out, to be told or read again.
    func takeGap() -> Gap? {
        awaitsGap = false
        return lines.takeGap()
    }
}

extension Backlog {
    private static var always: Invariants { Invariants(of: "Backlog") }

    /// What it counts is what it has. Counts in `owedBy` whom each key is owed to.
    func checkInvariants(
        _ living: borrowing Living,
        _ keyspace: borrowing Keyspace,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        try keys.checkInvariants(living, keyspace, isSorted: replay?.gathers != true, &owedBy)
        try lines.checkInvariants()
        try Self.always.hold("a gap that is awaited is there", !awaitsGap || lines.hasGap)
        try Self.always.hold("only what is ready is renewed in passing", !isRenewed || isReady)
        try Self.always.hold("only what is paused is stepped", steps == 0 || isPaused)
        let isHeld = !isPausedPlainly || isPaused && steps == 0
        try Self.always.hold("nothing passes where all is just owed", isHeld)
    }

    /// Bytes that it keeps of lines.
    var lineBytes: Int {
        lines.byteCount + keys.writtenCost
    }
}
