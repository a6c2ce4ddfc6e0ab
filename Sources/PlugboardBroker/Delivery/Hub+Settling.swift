// Telling what is owed: from the front, as long as there is room in the outbox. Lines
// are made here from the state as it is now, so that what was folded is told once.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Adds what a session is owed to its outbox until that is filled or nothing is left.
    /// The end of a turn calls it, for sessions whose outbox has drained.
    mutating func settle(_ session: SessionHandle) {
        guard let catchup = sessions[session].catchup else {
            sessions[session].isBehind = false
            return
        }
        judge.beginExamining()
        while !catchup.ready.isEmpty, sessions[session].outbox.count < Limits.lowWaterBytes * 2,
            !judge.hasExaminedEnough
        {
            if catchup.turn >= catchup.ready.count { catchup.turn = 0 }
            let place = catchup.turn
            let subscription = catchup.ready[place]
            delivery.openOwn(of: session, &sessions)
            settle(subscription)
            if isDone(subscription) {
                catchup.ready.removeSwapping(at: place)
                finish(subscription)
            } else {
                catchup.turn += 1
            }
        }
        if sessions[session].isHeld { releaseDeferred(session, catchup) }
        if catchup.ready.isEmpty, !sessions[session].isHeld, !catchup.isReading(matching) {
            sessions[session].isBehind = false
        }
        sessions[session].dropEmptyCatchup()
    }

    /// One subscription's share of a turn.
    private mutating func settle(_ subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog else { return }
        let session = matching[subscription].session
        let end = sessions[session].outbox.count + Limits.lowWaterBytes / 4
        while !isBlocked(subscription, backlog), sessions[session].outbox.count < end,
            !judge.hasExaminedEnough
        {
            guard appendNext(subscription, backlog) else { return }
        }
    }

    /// Adds what comes next, if anything does.
    private mutating func appendNext(
        _ subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) -> Bool {
        switch backlog.front {
        case .nothing: return false
        case .synced:
            appendSynced(subscription, backlog)
            return true
        case .replayed: appendReplayed(subscription, backlog)
        case .key(let owed):
            let examined = Judge.cost(of: keyspace[backlog.keys[owed].observable].value)
            // A key of which there is nothing to tell any more is no step.
            guard appendOwedLine(owed, subscription, backlog) else {
                judge.noteExamined(examined)
                return true
            }
        case .line: appendQueuedLine(subscription, backlog)
        }
        if backlog.isPaused, backlog.steps > 0 { backlog.steps -= 1 }
        return true
    }

    /// Tells an owed key as it is now; false where the observer has nothing to be told of it.
    private mutating func appendOwedLine(
        _ place: OwedKeys.Place,
        _ subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) -> Bool {
        let owed = backlog.keys[place]
        let observable = owed.observable
        defer {
            forgetOwed(place, of: subscription)
            keyspace.removeIfUnneeded(observable)
        }
        let session = matching[subscription].session
        let before = sessions[session].outbox.own.count
        if owed.isWritten {
            if let line = owed.held { sessions[session].outbox.own.append(line.bytes) }
        } else {
            var buffer = sessions.takeOwn(of: session)
            appendLine(of: owed, subscription, to: &buffer)
            sessions.giveBack(buffer, to: session)
        }
        guard sessions[session].outbox.own.count > before else { return false }
        backlog.lastRevision = owed.revision
        noteWindow(of: subscription, keyspace[observable].hash)
        return true
    }

    /// The line of an owed key as it is now; none where the observer has nothing to be told of it.
    mutating func appendLine(
        of owed: OwedKey,
        _ subscription: SubscriptionHandle,
        to buffer: inout ByteBuffer
    ) {
        var tail = keyspace.tail(of: owed.observable, isInitial: owed.isInitial)
        if let held = owed.held { tail.old = held.bytes.kept }
        tail.skipped = owed.skipped
        tail.revision = owed.revision
        if let names = owed.unacknowledged { tail.unacknowledged = names.bytes.kept }
        let event: Event = keyspace[owed.observable].hasValue ? .update : .delete
        // What was there at the start and is gone by now was never there for this observer.
        if event == .delete, owed.isInitial { return }
        let telling =
            owed.isMissed
            ? judge.tellingMissed(event, tail.value, matching[subscription].filter)
            : judge.telling(event, tail, wasSent: owed.wasSent, matching[subscription].filter)
        if case .nothing = telling { return }
        let (text, kind) = (matching[subscription].text, matching[subscription].kind)
        TurnLog.append(event, tail, telling, judge.change, kind, for: matching[text], to: &buffer)
    }

    private mutating func appendQueuedLine(
        _ subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) {
        let session = matching[subscription].session
        guard let header = backlog.lines.frontHeader else {
            if let gap = backlog.lines.gap { close(gap, of: subscription, backlog) }
            return
        }
        sessions[session].outbox.own.append(backlog.lines.front)
        backlog.lastRevision = header.revision
        noteWindow(of: subscription, header.keyHash)
        sessions[session].catchup?.queuedBytes -= backlog.lines.removeFront()
    }

    /// What was dropped is read again from the journal; what that doesn't have is said to be missing.
    private mutating func close(
        _ gap: Gap,
        of subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) {
        backlog.lines.closeGap()
        backlog.awaitsGap = false
        let place = gap.isKept ? durability.beginReading(after: gap.keptFirst - 1) : nil
        let dropped = place == nil ? gap.dropped : gap.lost
        if dropped > 0 {
            EventEncoder.appendLagged(
                sub: matching.sub(of: subscription),
                dropped: dropped,
                first: gap.first,
                last: gap.last,
                to: &sessions[matching[subscription].session].outbox.own
            )
        }
        guard let place else {
            backlog.lastRevision = max(backlog.lastRevision, gap.last)
            return
        }
        beginReplay(subscription, from: place, after: gap.keptFirst - 1, skipping: gap.keptBefore)
    }

    /// The snapshot is complete. What is still owed is newer than it.
    private mutating func appendSynced(_ subscription: SubscriptionHandle, _ backlog: Backlog) {
        let isAll = backlog.keys.isEmpty && backlog.lines.isEmpty
        EventEncoder.appendSynced(
            sub: matching.sub(of: subscription),
            revision: isAll ? revision : backlog.lastRevision,
            to: &sessions[matching[subscription].session].outbox.own
        )
        backlog.owesSynced = false
    }

    private func isDone(_ subscription: SubscriptionHandle) -> Bool {
        guard let backlog = matching[subscription].backlog else { return true }
        return backlog.isEmpty || isBlocked(subscription, backlog)
    }

    private mutating func finish(_ subscription: SubscriptionHandle) {
        if let backlog = matching[subscription].backlog {
            backlog.endReady()
            // Steps are for what was owed, even where it came to nothing.
            if backlog.isEmpty { backlog.steps = 0 }
        }
        dropEmptyBacklog(of: subscription)
    }

    /// A reply that waited follows as soon as everything up to its revision was told.
    private mutating func releaseDeferred(_ session: SessionHandle, _ catchup: Catchup) {
        let until = catchup.deferredUntil
        if catchup.isReading(upTo: until, matching) { return }
        for subscription in catchup.ready.all {
            if let front = matching[subscription].backlog?.frontRevision, front <= until { return }
        }
        delivery.openOwn(of: session, &sessions)
        sessions[session].outbox.own.append(catchup.deferred.bytes)
        catchup.deferred.releaseMemory()
        sessions[session].isHeld = false
        beginAnswered(catchup)
    }

    /// The new subscriptions whose replies were just queued may be told something.
    private mutating func beginAnswered(_ catchup: Catchup) {
        while let subscription = catchup.unanswered.popLast() {
            matching[subscription].backlog?.awaitsReply = false
            dropEmptyBacklog(of: subscription)
            readyIfFree(subscription)
        }
    }
}
