// What one subscription is owed, and what it waits for. A subscription may be slow, paused or throttled, or
// wait for a phase, its snapshot or the journal. All of these work alike: it is owed the newest value of each
// key, and gets it when nothing stands in the way. Owned by its subscription; most never have one.

import PlugboardWire

/// What is owed to one subscription.
final class Backlog {
    /// What is sent next.
    enum Next { case nothing, synced, replayed, key(OwedKeys.Place), line, gap }

    /// A subscription without a backlog gets events at once. With one, it is in the first of these states
    /// that applies. To change its state, call a method of this class, and then have the hub `review` it.
    ///
    /// | state      | because                                                 | left by                   |
    /// |------------|---------------------------------------------------------|---------------------------|
    /// | `.reply`   | its `subscribe` is not answered yet                     | `answered`                |
    /// | `.pause`   | `pause`                                                 | `resume`, `step`          |
    /// | `.nothing` | nothing is owed                                         | an event; then see below  |
    /// | `.journal` | what it missed is being read from the journal           | a piece was read          |
    /// | `.phase`   | an earlier phase has not acknowledged what comes next   | it has, or time is up     |
    /// | `.window`  | what comes next is of a key sent within `every`         | the window's deadline     |
    /// | `.room`    | none of these: its client's outbox is or was full       | all of it was sent        |
    ///
    /// In `.room`, and in no other state, it is in the list of ready subscriptions in its client's `Catchup`,
    /// and the end of a turn sends what comes next. In `.nothing`, it gives up its backlog and is direct
    /// again, unless it has a window.
    enum State { case reply, pause, nothing, journal, phase(ObservableHandle), window, room }

    /// The keys and the lines that are owed.
    var keys = OwedKeys()
    var lines = LineQueue()
    /// The window of a subscription with `every`.
    var window: Window?
    /// What is sent first, from the journal.
    var replay: Replay?
    /// Some of what comes before `synced` is in the gap of `lines`, and is read again from the journal.
    private(set) var awaitsGap = false
    /// `synced` follows once nothing that comes before it is owed any more.
    private(set) var owesSynced = false
    /// Up to this revision everything was sent, except the rest of a batch: that of the start, or of the last line
    /// that was sent if it is newer.
    private(set) var lastRevision: UInt64 = 0
    /// Its `subscribe` isn't answered yet, and nothing may be sent before the answer.
    private(set) var awaitsReply = false
    /// Held until `resume`, except for `steps` lines.
    private(set) var isPaused = false
    private(set) var steps = 0
    /// In `.room`, and listed as ready.
    private(set) var isReady = false
    /// It is ready, and an update to a key that is owed already only changes that key's revision.
    private(set) var isRenewed = false
    /// It is paused, and an update to any key only has to be noted as owed.
    private(set) var isPausedPlainly = false

    init() {
        // A number that differs from backlog to backlog.
        keys.filledMax -= Int(bitPattern: ObjectIdentifier(self)) >> 6 & 63
    }

    var isEmpty: Bool { keys.isEmpty && lines.isEmpty && !owesSynced && replay == nil }

    /// How many keys and lines it is owed, as far as is known.
    var owedCount: Int { keys.count + lines.count + (replay?.readyCount ?? 0) }

    /// It must stay, even if nothing is owed.
    var isNeeded: Bool { !isEmpty || awaitsReply || isPaused || window != nil }

    /// Whether an event of this key may be sent at once, unless its client is behind.
    func isFree(_ keyHash: UInt64) -> Bool {
        isEmpty && !isPaused && !awaitsReply && window?.holds(keyHash) != true
    }

    // MARK: The machine

    /// Of the first owed key and the first line, the one with the earlier event is next. Revisions can't
    /// decide this, because a batch has several of both in one revision.
    var next: Next {
        if replay != nil { return .replayed }
        if owesSynced, keys.awaitedCount == 0, !awaitsGap { return .synced }
        if let owed = keys.front, keys[owed].event <= lines.frontEvent ?? .max { return .key(owed) }
        if lines.isEmpty { return .nothing }
        return lines.frontHeader == nil ? .gap : .line
    }

    /// The present state of a subscription with this phase and this client.
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

    /// The key whose phases hold back what comes next; nil if it can't be held back.
    private func gated(
        _ next: Next,
        _ session: borrowing Session,
        _ keyspace: borrowing Keyspace
    ) -> ObservableHandle? {
        switch next {
        case .nothing, .synced, .gap: nil
        case .replayed:
            // An event that this client may not see is skipped, so it doesn't wait for a phase. Nobody would
            // tell it when that phase ends.
            replay?.withFrontKey { session.authorize(.subscribe, $0) ? keyspace.find($0) : nil } ?? nil
        case .key(let owed): keys[owed].isGated ? keys[owed].observable : nil
        case .line: lines.frontHeader?.observable
        }
    }

    /// Whether the window holds back what comes next.
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

    /// From now on, events are owed. `isPlain` means that only the newest value of each key is sent,
    /// unchanged.
    func pause(isPlain: Bool) { (isPaused, isPausedPlainly) = (true, isPlain) }

    func resume() { (isPaused, isPausedPlainly, steps) = (false, false, 0) }

    /// Lets up to `count` owed lines pass, but no later ones.
    func step(_ count: Int) { (isPausedPlainly, steps) = (false, min(count, owedCount)) }

    func awaitReply() { awaitsReply = true }

    func answered() { awaitsReply = false }

    /// Nothing stands in its way. `isPlain` means that only the newest value of each key is sent, unchanged.
    func beginReady(isPlain: Bool) { (isReady, isRenewed) = (true, isPlain) }

    /// Nothing is left, or something stands in its way. Steps end with what was owed, even if no line came of
    /// it.
    func endReady() {
        (isReady, isRenewed) = (false, false)
        if isEmpty { steps = 0 }
    }

    /// Starts a subscription. `synced` is sent after everything up to this revision.
    func begin(at revision: UInt64, owingSynced: Bool) {
        (lastRevision, owesSynced) = (revision, owingSynced)
    }

    /// A line was sent.
    func noteTold(_ revision: UInt64) { lastRevision = max(lastRevision, revision) }

    /// A line was sent. If the subscription is paused, that was a step.
    func noteStep() { if isPaused, steps > 0 { steps -= 1 } }

    func noteSynced() { owesSynced = false }

    /// A value that comes before `synced` will be read from the journal, in place of the gap.
    func awaitGap() { awaitsGap = true }

    /// Stops owing a key, and removes its observable if nothing else needs it.
    func takeBack(_ place: OwedKeys.Place, _ keyspace: inout Keyspace) {
        let observable = keys.remove(place).observable
        keyspace[observable].owedBy -= 1
        keyspace.removeIfUnneeded(observable)
    }

    /// The place of a key if it is owed.
    @inline(__always)
    func place(of observable: ObservableHandle, _ keyspace: inout Keyspace) -> OwedKeys.Place? {
        let hint = keyspace[observable].owedPlace
        guard let place = keys.find(observable, hint: hint) else { return nil }
        if place != hint { keyspace[observable].owedPlace = place }
        return place
    }

    /// Renews a key that is owed at this place already, if only its revision changes. Otherwise returns false.
    func renew(_ observable: ObservableHandle, at place: OwedKeys.Place, revision: UInt64, event: UInt64)
        -> Bool
    {
        guard isRenewed || isPausedPlainly else { return false }
        return keys.foldPlainly(observable, at: place, revision: revision, event: event)
    }

    /// Some observers didn't acknowledge a key that waited at its gate. Its lines will name them.
    func note(_ naming: inout LateNaming, of observable: ObservableHandle, _ keyspace: inout Keyspace) {
        lines.note(&naming, of: observable)
        guard let owed = place(of: observable, &keyspace), keys[owed].isGated else { return }
        let before = keys.notes(at: owed).unacknowledged
        keys.note(unacknowledged: naming.names(at: keys[owed].revision, after: before), at: owed)
    }

    /// Notes that a throttled subscription was told about a key. There is one deadline for each subscription
    /// that was told something lately.
    func noteWindow(
        _ keyHash: UInt64,
        _ subscription: SubscriptionHandle,
        _ event: UInt64,
        _ deadlines: inout Deadlines
    ) {
        guard let span = window?.span else { return }
        let now = deadlines.now
        window?.note(keyHash, at: now)
        guard window?.isTicking == false else { return }
        window?.open(event: event)
        window?.ticket = deadlines.add(at: now + span, .window(subscription))
    }

    /// Owes keys that aren't owed yet.
    func insert(_ owed: [OwedKey], _ keyspace: inout Keyspace) {
        if owed.isEmpty { return }
        for key in owed { keyspace[key.observable].owedBy += 1 }
        keys.insert(owed)
    }

    /// Takes over the keys that were owed before the subscription existed.
    func takeOver(_ other: Backlog) { swap(&keys, &other.keys) }

    /// Takes the gap out, to be sent or read again.
    func takeGap() -> Gap? {
        awaitsGap = false
        return lines.takeGap()
    }
}

extension Backlog {
    private static var always: Invariants { Invariants(of: "Backlog") }

    /// Its counts and flags agree with its content. Adds to `owedBy` how often each key is owed.
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

    /// The bytes of the lines that it keeps.
    var lineBytes: Int {
        lines.byteCount + keys.writtenCost
    }
}
