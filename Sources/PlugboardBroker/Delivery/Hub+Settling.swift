// Telling what is owed: from the front, as long as there is room in the outbox. Lines
// are made here from the state as it is now, so that what was folded is told once.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Values that are held against filters in one go, and told to nobody: in bytes, as some
    /// are long. About a millisecond.
    static let examinedBytesMax = 1_048_576
    /// What looking at a value costs at least, in the same measure.
    private static let examinedBytesMin = 256

    /// Adds what a session is owed to its outbox until that is filled or nothing is left.
    /// The end of a turn calls it, for sessions whose outbox has drained.
    mutating func settle(_ session: SessionReference) {
        guard let catchup = session.pointee.catchup else {
            session.pointee.isBehind = false
            return
        }
        examinedBytes = 0
        while !catchup.pointee.ready.isEmpty, session.pointee.outbox.count < Limits.lowWaterBytes * 2,
            examinedBytes < Self.examinedBytesMax
        {
            if catchup.pointee.turn >= catchup.pointee.ready.count { catchup.pointee.turn = 0 }
            let place = catchup.pointee.turn
            let subscription = catchup.pointee.ready.elements[place]
            openOwn(of: session)
            settle(subscription)
            if isDone(subscription) {
                catchup.pointee.ready.removeSwapping(at: place)
                finish(subscription)
            } else {
                catchup.pointee.turn += 1
            }
        }
        if session.pointee.isHeld { releaseDeferred(session, catchup) }
        if catchup.pointee.ready.isEmpty, !session.pointee.isHeld, !catchup.pointee.isReading() {
            session.pointee.isBehind = false
        }
        session.pointee.dropEmptyCatchup()
    }

    /// One subscription's share of a turn.
    private mutating func settle(_ subscription: SubscriptionReference) {
        guard let backlog = subscription.pointee.backlog else { return }
        let session = subscription.pointee.session
        let end = session.pointee.outbox.count + Limits.lowWaterBytes / 4
        while !isBlocked(subscription, backlog), session.pointee.outbox.count < end,
            examinedBytes < Self.examinedBytesMax
        {
            guard appendNext(subscription, backlog) else { return }
        }
    }

    /// Adds what comes next, if anything does.
    private mutating func appendNext(
        _ subscription: SubscriptionReference,
        _ backlog: BacklogReference
    ) -> Bool {
        switch backlog.pointee.front {
        case .nothing: return false
        case .synced:
            appendSynced(subscription, backlog)
            return true
        case .replayed: appendReplayed(subscription, backlog)
        case .key(let owed):
            let examined = Self.examinedBytes(owed.pointee.observable)
            // A key of which there is nothing to tell any more is no step.
            guard appendOwedLine(owed, subscription, backlog) else {
                examinedBytes += examined
                return true
            }
        case .line: appendQueuedLine(subscription, backlog)
        }
        if backlog.pointee.isPaused, backlog.pointee.steps > 0 { backlog.pointee.steps -= 1 }
        return true
    }

    static func examinedBytes(_ observable: ObservableReference) -> Int {
        observable.pointee.value.count + examinedBytesMin
    }

    /// Tells an owed key as it is now; false where the observer has nothing to be told of it.
    private mutating func appendOwedLine(
        _ owed: UnsafeMutablePointer<OwedKey>,
        _ subscription: SubscriptionReference,
        _ backlog: BacklogReference
    ) -> Bool {
        let observable = owed.pointee.observable
        defer {
            forgetOwed(owed, of: subscription)
            removeIfUnneeded(observable)
        }
        let session = subscription.pointee.session
        let before = session.pointee.outbox.own.count
        if owed.pointee.isWritten {
            if let line = owed.pointee.held { session.pointee.outbox.own.append(line.pointee.bytes) }
        } else {
            appendLine(of: owed, subscription, to: &session.pointee.outbox.own)
        }
        guard session.pointee.outbox.own.count > before else { return false }
        backlog.pointee.lastRevision = owed.pointee.revision
        noteWindow(of: subscription, observable.pointee.hash)
        return true
    }

    /// The line of an owed key as it is now; none where the observer has nothing to be told of it.
    mutating func appendLine(
        of owed: UnsafeMutablePointer<OwedKey>,
        _ subscription: SubscriptionReference,
        to buffer: inout ByteBuffer
    ) {
        let observable = owed.pointee.observable
        var tail = Self.tail(of: observable, isInitial: owed.pointee.isInitial)
        if let held = owed.pointee.held { tail.old = held.pointee.bytes }
        tail.skipped = owed.pointee.skipped
        tail.revision = owed.pointee.revision
        if let names = owed.pointee.unacknowledged { tail.unacknowledged = names.pointee.bytes }
        let event: Event = observable.pointee.hasValue ? .update : .delete
        // What was there at the start and is gone by now was never there for this observer.
        if event == .delete, owed.pointee.isInitial { return }
        let telling =
            owed.pointee.isMissed
            ? tellingMissed(event, tail, subscription)
            : self.telling(event, tail, wasSent: owed.pointee.wasSent, subscription)
        if case .nothing = telling { return }
        TurnLog.append(event, tail, telling, change.bytes, for: subscription, to: &buffer)
    }

    private mutating func appendQueuedLine(
        _ subscription: SubscriptionReference,
        _ backlog: BacklogReference
    ) {
        let session = subscription.pointee.session
        guard let line = backlog.pointee.lines.front else {
            if let gap = backlog.pointee.lines.gap { close(gap, of: subscription, backlog) }
            return
        }
        session.pointee.outbox.own.append(line)
        backlog.pointee.lastRevision = backlog.pointee.lines.frontRevision ?? revision
        if let keyHash = backlog.pointee.lines.frontKeyHash { noteWindow(of: subscription, keyHash) }
        session.pointee.catchup?.pointee.queuedBytes -= backlog.pointee.lines.removeFront()
    }

    /// What was dropped is read again from the journal; what that doesn't have is said to be missing.
    private mutating func close(
        _ gap: Gap,
        of subscription: SubscriptionReference,
        _ backlog: BacklogReference
    ) {
        backlog.pointee.lines.closeGap()
        backlog.pointee.awaitsGap = false
        let place = gap.isKept ? durability.beginReading(after: gap.keptFirst - 1) : nil
        let dropped = place == nil ? gap.dropped : gap.lost
        if dropped > 0 {
            EventEncoder.appendLagged(
                sub: subscription.pointee.text.pointee.sub,
                dropped: dropped,
                first: gap.first,
                last: gap.last,
                to: &subscription.pointee.session.pointee.outbox.own
            )
        }
        guard let place else {
            backlog.pointee.lastRevision = max(backlog.pointee.lastRevision, gap.last)
            return
        }
        beginReplay(subscription, from: place, after: gap.keptFirst - 1, skipping: gap.keptBefore)
    }

    /// The snapshot is complete. What is still owed is newer than it.
    private mutating func appendSynced(_ subscription: SubscriptionReference, _ backlog: BacklogReference) {
        let isAll = backlog.pointee.keys.isEmpty && backlog.pointee.lines.isEmpty
        EventEncoder.appendSynced(
            sub: subscription.pointee.text.pointee.sub,
            revision: isAll ? revision : backlog.pointee.lastRevision,
            to: &subscription.pointee.session.pointee.outbox.own
        )
        backlog.pointee.owesSynced = false
    }

    private func isDone(_ subscription: SubscriptionReference) -> Bool {
        guard let backlog = subscription.pointee.backlog else { return true }
        return backlog.pointee.isEmpty || isBlocked(subscription, backlog)
    }

    private func finish(_ subscription: SubscriptionReference) {
        if let backlog = subscription.pointee.backlog {
            backlog.pointee.endReady()
            // Steps are for what was owed, even where it came to nothing.
            if backlog.pointee.isEmpty { backlog.pointee.steps = 0 }
        }
        subscription.pointee.dropEmptyBacklog()
    }

    /// A reply that waited follows as soon as everything up to its revision was told.
    private mutating func releaseDeferred(_ session: SessionReference, _ catchup: CatchupReference) {
        let until = catchup.pointee.deferredUntil
        if catchup.pointee.isReading(upTo: until) { return }
        for subscription in catchup.pointee.ready.elements {
            if let front = subscription.pointee.backlog?.pointee.frontRevision, front <= until { return }
        }
        openOwn(of: session)
        session.pointee.outbox.own.append(catchup.pointee.deferred.bytes)
        catchup.pointee.deferred.releaseMemory()
        session.pointee.isHeld = false
        beginAnswered(catchup)
    }

    /// The new subscriptions whose replies were just queued may be told something.
    private mutating func beginAnswered(_ catchup: CatchupReference) {
        while let subscription = catchup.pointee.unanswered.popLast() {
            subscription.pointee.backlog?.pointee.awaitsReply = false
            subscription.pointee.dropEmptyBacklog()
            readyIfFree(subscription)
        }
    }
}
