// Observers that can't be told at once: what they are owed is noted, and told by
// `settle` as soon as nothing stands in the way.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Tells an observer that is anything but plain and up to date, or owes it the event.
    @inline(never)
    mutating func tellOrOwe(
        _ event: Event,
        _ tail: borrowing EventTail,
        of observable: ObservableReference?,
        to subscription: SubscriptionReference
    ) {
        let session = subscription.pointee.session
        guard session.pointee.isOpen else { return }
        let hash = keyHash(observable, tail)
        guard !session.pointee.isBehind, subscription.pointee.isFree(hash) else {
            return owe(event, tail, of: observable, to: subscription)
        }
        guard let line = line(event, tail, of: observable, for: subscription) else { return }
        touch(session)
        log.append(line, to: &session.pointee.outbox)
        if session.pointee.outbox.count > Limits.highWaterBytes { noteUnread(session) }
        noteWindow(of: subscription, hash)
    }

    /// What nearly every update is for a reader that has stopped: the key is owed already, and
    /// nothing but its revision changes. False where there is more to it.
    @inline(__always)
    func renewOwed(
        _ observable: ObservableReference,
        _ revision: UInt64,
        to subscription: SubscriptionReference
    ) -> Bool {
        guard let backlog = subscription.pointee.backlog, backlog.pointee.isRenewed,
            let owed = backlog.pointee.keys.find(observable), owed.pointee.isPlain
        else { return false }
        owed.pointee.skipped += owed.pointee.skipped < .max ? 1 : 0
        backlog.pointee.keys.renew(owed, revision: revision, event: log.eventNumber)
        return true
    }

    /// A session with too much unread is behind: from now on it is owed.
    @inline(never)
    func noteUnread(_ session: SessionReference) {
        let hasLeftOver = session.pointee.outbox.own.count > Limits.highWaterBytes
        if hasLeftOver || session.pointee.outbox.count > Limits.outboxBytesMax - Limits.lineBytesMax {
            session.pointee.isBehind = true
        }
    }

    /// Notes an event for later: a key by name, anything else as a line.
    mutating func owe(
        _ event: Event,
        _ tail: borrowing EventTail,
        of observable: ObservableReference?,
        to subscription: SubscriptionReference,
        isGated: Bool = false
    ) {
        let session = subscription.pointee.session
        guard session.pointee.isOpen else { return }
        if subscription.pointee.delivery == .all, event != .emit, let observable,
            !writeAwaited(observable, event, tail.revision, of: subscription)
        {
            return readyIfFree(subscription)
        }
        guard isOwed(event, tail, observable, subscription) else { return }
        subscription.pointee.makeBacklog()
        session.pointee.makeCatchup()
        if let observable, event != .emit, subscription.pointee.delivery == .latest {
            oweKey(event, tail, observable, subscription, isGated)
        } else {
            queueLine(event, tail, observable, subscription, isGated)
        }
        readyIfFree(subscription)
    }

    @inline(never)
    private mutating func oweKey(
        _ event: Event,
        _ tail: borrowing EventTail,
        _ observable: ObservableReference,
        _ subscription: SubscriptionReference,
        _ isGated: Bool
    ) {
        guard let backlog = subscription.pointee.backlog else { return }
        guard let owed = backlog.pointee.keys.find(observable) else {
            let needsOld = subscription.pointee.kind.hasOld || subscription.pointee.filter != nil
            let held = needsOld ? holdOld(tail) : nil
            let event = log.eventNumber
            var owed = OwedKey(observable: observable, revision: tail.revision, event: event, held: held)
            owed.isGated = isGated
            owed.wasSent = wasSent(observable, subscription)
            return appendOwed(owed, to: subscription)
        }
        // A key of the snapshot that goes before it was told was never there for this observer.
        if owed.pointee.isInitial, event == .delete { return forgetOwed(owed, of: subscription) }
        if !owed.pointee.isInitial, owed.pointee.skipped < .max { owed.pointee.skipped += 1 }
        owed.pointee.isGated = isGated
        if let names = owed.pointee.unacknowledged { HeldBytes.release(names) }
        owed.pointee.unacknowledged = nil
        backlog.pointee.keys.renew(owed, revision: tail.revision, event: log.eventNumber)
    }

    /// Owes one key more. A session that is owed too many is given up.
    mutating func appendOwed(_ owed: OwedKey, to subscription: SubscriptionReference) {
        guard let backlog = subscription.pointee.backlog,
            let catchup = subscription.pointee.session.pointee.catchup
        else { return }
        backlog.pointee.keys.append(owed)
        if owed.isAwaited { backlog.pointee.awaitedCount += 1 }
        catchup.pointee.owedCount += 1
        if catchup.pointee.owedCount > Limits.owedKeysMax {
            setAside(subscription.pointee.session, .slow)
        } else if access.counts, catchup.pointee.owedCount % Self.owedKeysPerCount == 0 {
            recountOwed(subscription.pointee.session)
        }
    }

    /// Takes a key out of what is owed. Its observable may be needed no longer.
    func forgetOwed(_ owed: UnsafeMutablePointer<OwedKey>, of subscription: SubscriptionReference) {
        guard let backlog = subscription.pointee.backlog else { return }
        if owed.pointee.isAwaited { backlog.pointee.awaitedCount -= 1 }
        let written = owed.pointee.writtenCost
        backlog.pointee.keys.remove(owed)
        subscription.pointee.session.pointee.catchup?.pointee.owedCount -= 1
        subscription.pointee.session.pointee.catchup?.pointee.queuedBytes -= written
    }

    /// Who is told all is still owed the value from before this event, as that is about to change:
    /// its line is made now. False where there is no room for that, so that the event is a gap.
    private mutating func writeAwaited(
        _ observable: ObservableReference,
        _ event: Event,
        _ revision: UInt64,
        of subscription: SubscriptionReference
    ) -> Bool {
        guard let backlog = subscription.pointee.backlog,
            let catchup = subscription.pointee.session.pointee.catchup,
            let owed = backlog.pointee.keys.find(observable), !owed.pointee.isWritten
        else { return true }
        var line = ByteBuffer()
        appendLine(of: owed, subscription, to: &line)
        let cost = LineQueue.cost(of: line.bytes)
        guard catchup.pointee.queuedBytes + cost <= Limits.queueBytesMax else {
            dropAwaited(owed, event, revision, of: subscription, backlog)
            return false
        }
        if let held = owed.pointee.held { HeldBytes.release(held) }
        owed.pointee.held = HeldBytes.make(line.bytes)
        owed.pointee.isWritten = true
        catchup.pointee.queuedBytes += cost
        return true
    }

    /// Of a value that there is no room for the newest will do: read again from the journal, or told
    /// in the newest one's place.
    private mutating func dropAwaited(
        _ owed: UnsafeMutablePointer<OwedKey>,
        _ event: Event,
        _ revision: UInt64,
        of subscription: SubscriptionReference,
        _ backlog: BacklogReference
    ) {
        let before = journalPlace(of: event, owed.pointee.observable)
        if before == nil {
            backlog.pointee.keys.renew(owed, revision: revision, event: log.eventNumber)
        } else {
            backlog.pointee.awaitsGap = true
            forgetOwed(owed, of: subscription)
        }
        backlog.pointee.lines.drop(revision: revision, event: log.eventNumber, before: before)
        subscription.pointee.filter?.unsentRevision = self.revision
    }

    /// The value before this event, kept once for all who are to be told of it later.
    private mutating func holdOld(_ tail: borrowing EventTail) -> HeldBytesReference? {
        let old = tail.old
        guard !old.isEmpty else { return nil }
        if let held = heldOld, heldEvent == log.eventNumber {
            HeldBytes.retain(held)
            return held
        }
        let held = HeldBytes.make(old)
        HeldBytes.retain(held)
        if let heldOld { HeldBytes.release(heldOld) }
        (heldOld, heldEvent) = (held, log.eventNumber)
        return held
    }

    private mutating func queueLine(
        _ event: Event,
        _ tail: borrowing EventTail,
        _ observable: ObservableReference?,
        _ subscription: SubscriptionReference,
        _ isGated: Bool
    ) {
        guard let backlog = subscription.pointee.backlog,
            let catchup = subscription.pointee.session.pointee.catchup
        else { return }
        guard let place = self.line(event, tail, of: observable, for: subscription) else { return }
        let line = log.bytes(of: place).kept
        let header = LineQueue.Header(
            revision: tail.revision,
            event: log.eventNumber,
            keyHash: keyHash(observable, tail),
            observable: isGated ? observable : nil,
            count: line.count
        )
        let before = journalPlace(of: event, observable)
        if !queue(line, header, backlog, catchup, before: before) {
            subscription.pointee.filter?.unsentRevision = revision
        }
        if access.counts { recountOwed(subscription.pointee.session) }
    }

    /// How many events of this revision lie before this one in the journal; nil where it isn't there.
    private func journalPlace(of event: Event, _ observable: ObservableReference?) -> Int? {
        isReadBack(event, observable) ? durability.eventsOfBatch : nil
    }

    /// Whether an event that there was no room for is read again from the journal.
    func isReadBack(_ event: Event, _ observable: ObservableReference?) -> Bool {
        durability.isKept && event != .emit && observable?.pointee.isReserved != true
    }

    /// Keeps a line where there is room for it; else its place is a gap, and this is false.
    @discardableResult
    private func queue(
        _ line: Span<UInt8>,
        _ header: LineQueue.Header,
        _ backlog: BacklogReference,
        _ catchup: CatchupReference,
        before: Int? = nil
    ) -> Bool {
        let cost = LineQueue.cost(of: line)
        let fits = catchup.pointee.queuedBytes + cost <= Limits.queueBytesMax
        guard fits, !backlog.pointee.lines.hasGap else {
            backlog.pointee.lines.drop(revision: header.revision, event: header.event, before: before)
            return false
        }
        catchup.pointee.queuedBytes += cost
        backlog.pointee.lines.append(line, header)
        return true
    }

    /// Tells a subscription a line that is about no event of a key, or queues it.
    mutating func tellOrQueue(
        _ line: Span<UInt8>,
        revision: UInt64,
        to subscription: SubscriptionReference
    ) {
        let session = subscription.pointee.session
        guard session.pointee.isOpen else { return }
        if subscription.pointee.isDirect, !session.pointee.isBehind {
            touch(session)
            openOwn(of: session)
            session.pointee.outbox.own.append(line)
            if session.pointee.outbox.count > Limits.highWaterBytes { noteUnread(session) }
            return
        }
        subscription.pointee.makeBacklog()
        session.pointee.makeCatchup()
        guard let backlog = subscription.pointee.backlog, let catchup = session.pointee.catchup else {
            return
        }
        let header = LineQueue.Header(
            revision: revision,
            event: log.eventNumber,
            keyHash: 0,
            observable: nil,
            count: line.count
        )
        queue(line, header, backlog, catchup)
        if access.counts { recountOwed(session) }
        readyIfFree(subscription)
    }

    /// A subscription that is owed something and waits for nothing but room joins those
    /// that `settle` goes through.
    mutating func readyIfFree(_ subscription: SubscriptionReference) {
        guard let backlog = subscription.pointee.backlog, !backlog.pointee.isReady,
            !backlog.pointee.isEmpty, !isBlocked(subscription, backlog)
        else { return }
        let session = subscription.pointee.session
        guard session.pointee.isOpen else { return }
        session.pointee.makeCatchup()
        let isPlain = subscription.pointee.delivery == .latest && subscription.pointee.filter == nil
        backlog.pointee.beginReady(isPlain: isPlain)
        session.pointee.catchup?.pointee.ready.append(subscription)
        session.pointee.isBehind = true
        touch(session)
    }

    private func keyHash(_ observable: ObservableReference?, _ tail: borrowing EventTail) -> UInt64 {
        if let observable { return observable.pointee.hash }
        return observables.hash(tail.keyPrefix)
    }

    /// Something other than room in the outbox stands in the way of what comes next.
    func isBlocked(_ subscription: SubscriptionReference, _ backlog: BacklogReference) -> Bool {
        if backlog.pointee.isBlocked { return true }
        guard !gates.isEmpty, let observable = frontObservable(of: subscription, backlog) else {
            return false
        }
        return gates.holds(observable, from: subscription.pointee.phase)
    }

    /// What comes next waits for the gate of this observable, if that is closed. An event of the journal
    /// that may not be seen waits for none: it is passed over, and nobody would say when that opens.
    func frontObservable(
        of subscription: SubscriptionReference,
        _ backlog: BacklogReference
    ) -> ObservableReference? {
        guard let replay = backlog.pointee.replay else { return backlog.pointee.frontObservable }
        let session = subscription.pointee.session
        return replay.withFrontKey { key in
            guard session.pointee.authorize(.subscribe, key) else { return nil }
            return observables.find(key, hash: observables.hash(key))
        } ?? nil
    }

    /// Keys that a client is owed in addition before that is counted, where it doesn't read.
    private static let owedKeysPerCount = 1_024

    /// A client that is owed more than can be kept is closed at the end of the turn.
    mutating func setAside(_ session: SessionReference, _ farewell: Farewell) {
        guard session.pointee.isOpen else { return }
        session.pointee.farewell = farewell
        slow.append(session)
    }
}
