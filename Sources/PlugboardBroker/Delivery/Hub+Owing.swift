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
        of observable: ObservableHandle?,
        to subscription: SubscriptionHandle
    ) {
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        let hash = keyHash(observable, tail)
        guard !sessions[session].isBehind, matching[subscription].isFree(hash) else {
            return owe(event, tail, of: observable, to: subscription)
        }
        guard let line = line(event, tail, of: observable, for: subscription) else { return }
        delivery.append(line, to: session, &sessions)
        noteWindow(of: subscription, hash)
    }

    /// What nearly every update is for a reader that has stopped: the key is owed already, and
    /// nothing but its revision changes. False where there is more to it.
    @inline(__always)
    mutating func renewOwed(
        _ observable: ObservableHandle,
        _ revision: UInt64,
        to subscription: SubscriptionHandle
    ) -> Bool {
        guard let backlog = matching[subscription].backlog, backlog.isRenewed,
            let owed = place(of: observable, in: backlog), backlog.keys[owed].isPlain
        else { return false }
        backlog.keys[owed].countSkipped()
        backlog.keys.renew(owed, revision: revision, event: delivery.eventNumber)
        return true
    }

    /// Where a key stands among those that an observer is owed, if it does.
    @inline(__always)
    mutating func place(of observable: ObservableHandle, in backlog: Backlog) -> OwedKeys.Place? {
        let hint = keyspace[observable].owedPlace
        guard let place = backlog.keys.find(observable, hint: hint) else { return nil }
        if place != hint { keyspace[observable].owedPlace = place }
        return place
    }

    /// Notes an event for later: a key by name, anything else as a line.
    mutating func owe(
        _ event: Event,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle?,
        to subscription: SubscriptionHandle,
        isGated: Bool = false
    ) {
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        if matching[subscription].delivery == .all, event != .emit, let observable,
            !writeAwaited(observable, event, tail.revision, of: subscription)
        {
            return noteFree(subscription)
        }
        guard isOwed(event, tail, observable, subscription) else { return }
        makeBacklog(of: subscription)
        sessions[session].makeCatchup()
        if let observable, event != .emit, matching[subscription].delivery == .latest {
            oweKey(event, tail, observable, subscription, isGated)
        } else {
            queueLine(event, tail, observable, subscription, isGated)
        }
        noteFree(subscription)
    }

    /// Another event may have let a subscription go on: a key that is written again moves behind others.
    private mutating func noteFree(_ subscription: SubscriptionHandle) {
        let session = matching[subscription].session
        let wasBehind = sessions[session].isBehind
        readyIfFree(subscription)
        if !wasBehind, sessions[session].isBehind { delivery.noteFreed(session) }
    }

    @inline(never)
    private mutating func oweKey(
        _ event: Event,
        _ tail: borrowing EventTail,
        _ observable: ObservableHandle,
        _ subscription: SubscriptionHandle,
        _ isGated: Bool
    ) {
        guard let backlog = matching[subscription].backlog else { return }
        guard let owed = place(of: observable, in: backlog) else {
            let needsOld =
                matching[subscription].kind.hasOld || matching[subscription].filter != nil
            let held = needsOld ? delivery.hold(tail.old) : nil
            let hash = keyspace[observable].hash
            var owed = OwedKey(
                observable,
                hash,
                revision: tail.revision,
                event: delivery.eventNumber,
                held: held
            )
            owed.isGated = isGated
            owed.wasSent = wasSent(observable, subscription)
            return appendOwed(owed, to: subscription)
        }
        // A key of the snapshot that goes before it was told was never there for this observer.
        if backlog.keys[owed].isInitial, event == .delete { return forgetOwed(owed, of: subscription) }
        if !backlog.keys[owed].isInitial { backlog.keys[owed].countSkipped() }
        backlog.keys[owed].isGated = isGated
        backlog.keys[owed].unacknowledged = nil
        backlog.keys.renew(owed, revision: tail.revision, event: delivery.eventNumber)
    }

    /// Owes one key more. A session that is owed too many is given up.
    mutating func appendOwed(_ owed: OwedKey, to subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog,
            let catchup = sessions[matching[subscription].session].catchup
        else { return }
        backlog.keys.append(owed)
        keyspace[owed.observable].owedBy += 1
        if owed.isAwaited { backlog.awaitedCount += 1 }
        catchup.owedCount += 1
        if catchup.owedCount > Limits.owedKeysMax {
            delivery.setAside(matching[subscription].session, .slow, &sessions)
        } else if access.counts, catchup.owedCount % Self.owedKeysPerCount == 0 {
            recountOwed(matching[subscription].session)
        }
    }

    /// Takes a key out of what is owed. Its observable may be needed no longer.
    mutating func forgetOwed(_ place: OwedKeys.Place, of subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog else { return }
        let owed = backlog.keys.remove(place)
        keyspace[owed.observable].owedBy -= 1
        if owed.isAwaited { backlog.awaitedCount -= 1 }
        let written = owed.writtenCost
        sessions[matching[subscription].session].catchup?.owedCount -= 1
        sessions[matching[subscription].session].catchup?.queuedBytes -= written
    }

    /// Who is told all is still owed the value from before this event, as that is about to change:
    /// its line is made now. False where there is no room for that, so that the event is a gap.
    private mutating func writeAwaited(
        _ observable: ObservableHandle,
        _ event: Event,
        _ revision: UInt64,
        of subscription: SubscriptionHandle
    ) -> Bool {
        guard let backlog = matching[subscription].backlog,
            let catchup = sessions[matching[subscription].session].catchup,
            let owed = place(of: observable, in: backlog), !backlog.keys[owed].isWritten
        else { return true }
        var line = ByteBuffer()
        appendLine(of: backlog.keys[owed], subscription, to: &line)
        let cost = LineQueue.cost(ofLine: line.count)
        guard catchup.queuedBytes + cost <= Limits.queueBytesMax else {
            dropAwaited(owed, observable, event, revision, of: subscription, backlog)
            return false
        }
        backlog.keys[owed].held = HeldBytes(line.bytes)
        backlog.keys[owed].isWritten = true
        catchup.queuedBytes += cost
        return true
    }

    /// Of a value that there is no room for the newest will do: read again from the journal, or told
    /// in the newest one's place.
    private mutating func dropAwaited(
        _ owed: OwedKeys.Place,
        _ observable: ObservableHandle,
        _ event: Event,
        _ revision: UInt64,
        of subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) {
        let before = journalPlace(of: event, observable)
        if before == nil {
            backlog.keys.renew(owed, revision: revision, event: delivery.eventNumber)
        } else {
            backlog.awaitsGap = true
            forgetOwed(owed, of: subscription)
        }
        backlog.lines.drop(revision: revision, event: delivery.eventNumber, before: before)
        matching[subscription].filter?.unsentRevision = self.revision
    }

    private mutating func queueLine(
        _ event: Event,
        _ tail: borrowing EventTail,
        _ observable: ObservableHandle?,
        _ subscription: SubscriptionHandle,
        _ isGated: Bool
    ) {
        guard let backlog = matching[subscription].backlog,
            let catchup = sessions[matching[subscription].session].catchup
        else { return }
        guard let place = self.line(event, tail, of: observable, for: subscription) else { return }
        let line = delivery.log.bytes(of: place).kept
        let header = LineQueue.Header(
            revision: tail.revision,
            event: delivery.eventNumber,
            keyHash: keyHash(observable, tail),
            observable: isGated ? observable : nil,
            count: line.count
        )
        let before = journalPlace(of: event, observable)
        if !queue(line, header, backlog, catchup, before: before) {
            matching[subscription].filter?.unsentRevision = revision
        }
        if access.counts { recountOwed(matching[subscription].session) }
    }

    /// How many events of this revision lie before this one in the journal; nil where it isn't there.
    private func journalPlace(of event: Event, _ observable: ObservableHandle?) -> Int? {
        isReadBack(event, observable) ? durability.eventsOfBatch : nil
    }

    /// Whether an event that there was no room for is read again from the journal.
    func isReadBack(_ event: Event, _ observable: ObservableHandle?) -> Bool {
        durability.isKept && event != .emit && observable.map({ keyspace[$0].isReserved }) != true
    }

    /// Keeps a line where there is room for it; else its place is a gap, and this is false.
    @discardableResult
    private func queue(
        _ line: Span<UInt8>,
        _ header: LineQueue.Header,
        _ backlog: Backlog,
        _ catchup: Catchup,
        before: Int? = nil
    ) -> Bool {
        let cost = LineQueue.cost(ofLine: line.count)
        let fits = catchup.queuedBytes + cost <= Limits.queueBytesMax
        guard fits, !backlog.lines.hasGap else {
            backlog.lines.drop(revision: header.revision, event: header.event, before: before)
            return false
        }
        catchup.queuedBytes += cost
        backlog.lines.append(line, header)
        return true
    }

    /// Tells a subscription a line that is about no event of a key, or queues it.
    mutating func tellOrQueue(
        _ line: Span<UInt8>,
        revision: UInt64,
        to subscription: SubscriptionHandle
    ) {
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        if matching[subscription].isDirect, !sessions[session].isBehind {
            delivery.touch(session, &sessions)
            delivery.openOwn(of: session, &sessions)
            sessions[session].outbox.own.append(line)
            if sessions[session].outbox.count > Limits.highWaterBytes { sessions[session].noteUnread() }
            return
        }
        makeBacklog(of: subscription)
        sessions[session].makeCatchup()
        guard let backlog = matching[subscription].backlog, let catchup = sessions[session].catchup
        else {
            return
        }
        let header = LineQueue.Header(
            revision: revision,
            event: delivery.eventNumber,
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
    mutating func readyIfFree(_ subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog, !backlog.isReady,
            !backlog.isEmpty, !isBlocked(subscription, backlog)
        else { return }
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        sessions[session].makeCatchup()
        let isPlain =
            matching[subscription].delivery == .latest && matching[subscription].filter == nil
        backlog.beginReady(isPlain: isPlain)
        sessions[session].catchup?.ready.append(subscription)
        sessions[session].isBehind = true
        delivery.touch(session, &sessions)
    }

    private func keyHash(_ observable: ObservableHandle?, _ tail: borrowing EventTail) -> UInt64 {
        if let observable { return keyspace[observable].hash }
        return keyspace.hash(tail.keyPrefix)
    }

    /// Something other than room in the outbox stands in the way of what comes next.
    func isBlocked(_ subscription: SubscriptionHandle, _ backlog: Backlog) -> Bool {
        if backlog.isBlocked { return true }
        guard !phases.isEmpty, let observable = frontObservable(of: subscription, backlog) else {
            return false
        }
        return phases.holds(observable, from: matching[subscription].phase)
    }

    /// What comes next waits for the gate of this observable, if that is closed. An event of the journal
    /// that may not be seen waits for none: it is passed over, and nobody would say when that opens.
    func frontObservable(
        of subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) -> ObservableHandle? {
        guard let replay = backlog.replay else { return backlog.frontObservable }
        let session = matching[subscription].session
        return replay.withFrontKey { key in
            guard sessions[session].authorize(.subscribe, key) else { return nil }
            return keyspace.find(key)
        } ?? nil
    }

    /// Keys that a client is owed in addition before that is counted, where it doesn't read.
    private static let owedKeysPerCount = 1_024
}
