// Telling what is owed: from the front, as long as there is room in the outbox. Lines are made here from the
// state as it is now, so that what was folded is told once. The one place where a backlog changes its state
// from or to `.room`.

import PlugboardMemory
import PlugboardWire

// MARK: States

extension Hub {
    /// What a subscription with a backlog waits for.
    func state(of subscription: SubscriptionHandle, _ backlog: Backlog) -> Backlog.State {
        let session = matching[subscription].session
        return backlog.state(from: matching[subscription].phase, of: sessions[session], phases, keyspace)
    }

    /// After something that may have changed a subscription's state: gives its backlog up where it needs
    /// none, or tells at once as much as there is room for. What is left for the end of the turn has others
    /// of the same client wait, and what comes for them be folded.
    mutating func review(_ subscription: SubscriptionHandle) {
        dropEmptyBacklog(of: subscription)
        guard let backlog = matching[subscription].backlog else { return }
        let session = matching[subscription].session
        if !backlog.isPaused, backlog.replay?.isReading == true { noteBehind(session) }
        let isFirst = !sessions[session].isBehind
        noteReady(subscription)
        if isFirst, sessions[session].isBehind { settle(session) }
    }

    /// A subscription that waits for nothing but room joins those that `settle` goes through.
    mutating func noteReady(_ subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog, !backlog.isReady,
            case .room = state(of: subscription, backlog),
            sessions[matching[subscription].session].isOpen
        else { return }
        let isPlain = matching[subscription].delivery == .latest && matching[subscription].filter == nil
        backlog.beginReady(isPlain: isPlain)
        openBacklog(of: subscription).catchup.ready.append(subscription)
        noteBehind(matching[subscription].session)
    }

    /// Until a client was told what is owed to it, what comes for it is owed, too.
    mutating func noteBehind(_ session: SessionHandle) {
        sessions[session].isBehind = true
        delivery.touch(session, &sessions)
    }

    /// Makes sure that a subscription, and its session, has a place for what it is owed.
    @discardableResult
    mutating func openBacklog(of subscription: SubscriptionHandle) -> (backlog: Backlog, catchup: Catchup) {
        sessions.openBacklog(of: subscription, &matching)
    }

    /// Gives that place up when nothing is owed and nothing has to wait.
    private mutating func dropEmptyBacklog(of subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog, !backlog.isNeeded else { return }
        releaseBacklog(of: subscription)
    }

    private mutating func releaseBacklog(of subscription: SubscriptionHandle) {
        matching[subscription].releaseBacklog()
        let session = matching[subscription].session
        if matching[subscription].isDirect { sessions[session].indirectCount -= 1 }
        sessions[session].dropEmptyCatchup()
    }

    /// Forgets what a subscription is owed, and its rhythm.
    mutating func writeOff(_ subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog else { return }
        if let ticket = backlog.window?.ticket { deadlines.cancel(ticket) }
        endReplay(of: subscription)
        if matching[subscription].delivery == .latest, backlog.keys.count > Self.forgottenAtOnceMax {
            // Many are forgotten some at a time. None of these is a line that was made.
            openBacklog(of: subscription).catchup.owedCount -= backlog.keys.count
            requests.abandon(backlog)
        } else {
            writeOffKeys(of: subscription)
        }
        openBacklog(of: subscription).catchup.forget(subscription, backlog)
        releaseBacklog(of: subscription)
    }
}

extension Hub {
    /// So many keys that were owed are forgotten at once.
    private static let forgottenAtOnceMax = 64

    /// Forgets the keys that a subscription is owed, one at least. Returns false where that is enough for
    /// now.
    @discardableResult
    mutating func writeOffKeys(of subscription: SubscriptionHandle, until effortEnd: UInt64 = .max) -> Bool {
        guard let backlog = matching[subscription].backlog else { return true }
        while let owed = backlog.keys.front {
            let observable = backlog.keys[owed].observable
            forgetOwed(owed, of: subscription)
            keyspace.removeIfUnneeded(observable)
            insight.count(steps: Self.stepsPerOwedKey)
            if effort > effortEnd { return backlog.keys.isEmpty }
        }
        return true
    }

    /// What forgetting a key that is owed costs, in observers that are told an event meanwhile.
    private static let stepsPerOwedKey = 4
}

// MARK: Telling

extension Hub {
    /// Adds what a session is owed to its outbox until that is filled or nothing is left.
    mutating func settle(_ session: SessionHandle) {
        guard let catchup = sessions[session].catchup else {
            sessions[session].isBehind = false
            return
        }
        delivery.beginExamining()
        let before = sessions[session].outbox.count
        var turns = 0
        while !catchup.ready.isEmpty, sessions[session].outbox.count < Limits.lowWaterBytes * 2,
            !delivery.judge.hasExaminedEnough
        {
            if catchup.turn >= catchup.ready.count { catchup.turn = 0 }
            turns += 1
            let subscription = catchup.ready[catchup.turn]
            delivery.openOwn(of: session, &sessions)
            if settle(subscription) {
                catchup.turn += 1
            } else {
                catchup.ready.removeSwapping(at: catchup.turn)
                matching[subscription].backlog?.endReady()
                dropEmptyBacklog(of: subscription)
            }
        }
        let bytes = max(0, sessions[session].outbox.count - before)
        insight.count(steps: bytes / Self.bytesPerStep + turns * Self.stepsPerTurn)
        if sessions[session].isHeld { releaseDeferred(session, catchup) }
        if catchup.ready.isEmpty, !sessions[session].isHeld, !catchup.isReading(matching) {
            sessions[session].isBehind = false
        }
        sessions[session].dropEmptyCatchup()
    }

    /// So many bytes of lines are made while one observer is told an event.
    private static let bytesPerStep = 32
    /// What it costs that a subscription has its turn.
    private static let stepsPerTurn = 4

    /// One subscription's share of a turn. Returns whether it waits for nothing but more room.
    private mutating func settle(_ subscription: SubscriptionHandle) -> Bool {
        guard let backlog = matching[subscription].backlog else { return false }
        let session = matching[subscription].session
        let end = sessions[session].outbox.count + Limits.lowWaterBytes / 4
        while case .room = state(of: subscription, backlog) {
            if sessions[session].outbox.count >= end || delivery.judge.hasExaminedEnough { return true }
            if tellNext(subscription, backlog) { backlog.noteStep() }
        }
        return false
    }

    /// Tells what comes next. Returns whether that is a step for one who is paused: `synced` is none, nor
    /// a key of which there is nothing to tell any more.
    private mutating func tellNext(_ subscription: SubscriptionHandle, _ backlog: Backlog) -> Bool {
        switch backlog.next {
        case .nothing: return false
        case .synced:
            tellSynced(subscription, backlog)
            return false
        case .replayed: tellReplayed(subscription, backlog)
        case .key(let owed):
            let isTold = tellKey(owed, subscription, backlog)
            if !isTold, matching[subscription].filter == nil { delivery.notePassedOver() }
            return isTold
        case .line: tellLine(subscription, backlog)
        case .gap: if let gap = backlog.takeGap() { tell(gap, subscription, backlog) }
        }
        return true
    }

    /// Tells an owed key as it is now; false where the observer has nothing to be told of it.
    private mutating func tellKey(
        _ place: OwedKeys.Place,
        _ subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) -> Bool {
        let (owed, notes) = (backlog.keys[place], backlog.keys.notes(at: place))
        let session = matching[subscription].session
        let before = sessions[session].outbox.own.count
        if owed.isWritten {
            if let line = notes.held { sessions[session].outbox.own.append(line.bytes) }
        } else {
            var buffer = sessions.takeOwn(of: session)
            appendLine(of: owed, notes, subscription, to: &buffer)
            sessions.giveBack(buffer, to: session)
        }
        let isTold = sessions[session].outbox.own.count > before
        if isTold {
            backlog.noteTold(owed.revision)
            noteWindow(of: subscription, keyspace.hash(of: owed.observable))
        }
        forgetOwed(place, of: subscription)
        keyspace.removeIfUnneeded(owed.observable)
        return isTold
    }

    /// The line of an owed key as it is now; none where the observer has nothing to be told of it.
    mutating func appendLine(
        of owed: OwedKey,
        _ notes: OwedNotes,
        _ subscription: SubscriptionHandle,
        to buffer: inout ByteBuffer
    ) {
        var tail = keyspace.tail(of: owed.observable, isInitial: owed.isInitial)
        if let held = notes.held { tail.old = held.bytes.kept }
        tail.skipped = owed.skipped
        tail.revision = owed.revision
        var ending = ByteBuffer()
        deadlines.appendEnd(of: keyspace.bond(of: owed.observable), to: &ending)
        if let names = notes.unacknowledged { ending.append(names.bytes) }
        tail.ending = ending.bytes.kept
        let event: Event = keyspace[owed.observable].hasValue ? .update : .delete
        // What was there at the start and is gone by now was never there for this observer.
        if event == .delete, owed.isInitial { return }
        let telling = delivery.telling(
            owed: event,
            tail,
            since: notes.held,
            wasSent: owed.wasSent,
            isMissed: owed.isMissed,
            matching[subscription].filter
        )
        if case .nothing = telling { return }
        let (text, kind) = (matching[subscription].text, matching[subscription].kind)
        TurnLog.append(event, tail, telling, delivery.judge.change, kind, for: matching[text], to: &buffer)
    }

    private mutating func tellLine(_ subscription: SubscriptionHandle, _ backlog: Backlog) {
        guard let header = backlog.lines.frontHeader else { return }
        let session = matching[subscription].session
        sessions[session].outbox.own.append(backlog.lines.front)
        backlog.noteTold(header.revision)
        noteWindow(of: subscription, header.keyHash)
        sessions[session].catchup?.queuedBytes -= backlog.lines.removeFront()
    }

    /// What was dropped is read again from the journal; what that doesn't have is said to be missing.
    private mutating func tell(_ gap: Gap, _ subscription: SubscriptionHandle, _ backlog: Backlog) {
        let place = gap.isKept ? durability.beginReading(after: gap.keptFirst - 1) : nil
        let dropped = place == nil ? gap.dropped : gap.lost
        if dropped > 0 { appendLagged(dropped, gap.first, gap.last, to: subscription) }
        guard let place else { return backlog.noteTold(max(backlog.lastRevision, gap.last)) }
        beginReplay(subscription, from: place, after: gap.keptFirst - 1, skipping: gap.keptBefore)
    }

    /// Says how many lines are missing, and between which revisions.
    mutating func appendLagged(
        _ dropped: UInt64,
        _ first: UInt64,
        _ last: UInt64,
        to subscription: SubscriptionHandle
    ) {
        let session = matching[subscription].session
        delivery.openOwn(of: session, &sessions)
        EventEncoder.appendLagged(
            sub: matching.sub(of: subscription),
            dropped: dropped,
            first: first,
            last: last,
            to: &sessions[session].outbox.own
        )
    }

    /// The snapshot is complete. What is still owed is newer than it.
    private mutating func tellSynced(_ subscription: SubscriptionHandle, _ backlog: Backlog) {
        let isAll = backlog.keys.isEmpty && backlog.lines.isEmpty
        EventEncoder.appendSynced(
            sub: matching.sub(of: subscription),
            revision: isAll ? revision : backlog.lastRevision,
            to: &sessions[matching[subscription].session].outbox.own
        )
        backlog.noteSynced()
    }

    /// A reply that waited follows as soon as everything up to its revision was told.
    private mutating func releaseDeferred(_ session: SessionHandle, _ catchup: Catchup) {
        let until = catchup.deferredUntil
        if catchup.isReading(upTo: until, matching) { return }
        for subscription in catchup.ready.all {
            if let next = matching[subscription].backlog?.nextRevision, next <= until { return }
        }
        delivery.openOwn(of: session, &sessions)
        sessions[session].outbox.own.append(catchup.deferred.bytes)
        catchup.deferred.releaseMemory()
        sessions[session].isHeld = false
        // The new subscriptions whose replies were just queued may be told something.
        while let subscription = catchup.unanswered.popLast() {
            matching[subscription].backlog?.answered()
            review(subscription)
        }
    }
}

// MARK: Rhythm

extension Hub {
    /// Gives a subscription its rhythm.
    mutating func throttle(_ subscription: SubscriptionHandle, milliseconds: UInt32) {
        guard milliseconds > 0 else { return }
        openBacklog(of: subscription).backlog.window = Window(milliseconds: milliseconds)
    }

    /// Notes that a throttled subscription was told of a key: a deadline for each that was told
    /// something lately.
    mutating func noteWindow(of subscription: SubscriptionHandle, _ keyHash: UInt64) {
        guard let backlog = matching[subscription].backlog, let span = backlog.window?.span else {
            return
        }
        let now = deadlines.now
        backlog.window?.note(keyHash, at: now)
        guard backlog.window?.isTicking == false else { return }
        backlog.window?.open(event: delivery.eventNumber)
        backlog.window?.ticket = deadlines.add(at: now + span, .window(subscription))
    }

    /// A window ends: what is owed passes. Where something was told meanwhile, another one follows, a
    /// whole span behind that.
    mutating func endWindow(of subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog, let window = backlog.window else { return }
        backlog.window?.ticket = nil
        let end = window.lastTold + window.span
        if deadlines.now < end {
            backlog.window?.age()
            backlog.window?.ticket = deadlines.add(at: end, .window(subscription))
        } else {
            backlog.window?.forget()
        }
        // What was told before the last tick may be told again, though another line came behind it.
        review(subscription)
    }
}
