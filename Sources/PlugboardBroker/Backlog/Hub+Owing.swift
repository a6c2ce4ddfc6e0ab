// Owing: an event for an observer that can't be told at once is noted in its backlog, a key by name and
// anything else as a line. Nothing is told here: an event is owed in the middle of a write.

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
        let isLater = observable != nil && isJudgedLater(event, for: subscription)
        guard !sessions[session].isBehind, matching[subscription].isFree(hash), !isLater else {
            return owe(event, tail, of: observable, to: subscription)
        }
        guard let line = line(event, tail, of: observable, for: subscription) else { return }
        delivery.append(line, to: session, &sessions)
        noteWindow(of: subscription, hash)
    }

    /// What nearly every update is for a reader that has stopped: the key is owed already, and
    /// nothing but its revision changes. Or nothing passes, and the key is just owed from now on. False where
    /// there is more to it.
    @inline(__always)
    mutating func renewOwed(
        _ observable: ObservableHandle,
        _ revision: UInt64,
        to subscription: SubscriptionHandle
    ) -> Bool {
        guard let backlog = matching[subscription].backlog, backlog.isRenewed || backlog.isPausedPlainly
        else { return false }
        guard let owed = place(of: observable, in: backlog) else {
            guard backlog.isPausedPlainly, sessions[matching[subscription].session].isOpen
            else { return false }
            insight.count(steps: Self.stepsPerOwedEvent)
            let owed = OwedKey(observable, revision: revision, event: delivery.eventNumber)
            appendOwed(owed, to: subscription, backlog)
            return true
        }
        guard backlog.keys[owed].isPlain else { return false }
        backlog.keys.fold(owed, revision: revision, event: delivery.eventNumber)
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

    /// Notes an event for later. `isGated`: it waits at the gate of its key.
    mutating func owe(
        _ event: Event,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle?,
        to subscription: SubscriptionHandle,
        isGated: Bool = false
    ) {
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        let key = event == .emit ? nil : observable
        let isAll = matching[subscription].delivery == .all
        if isAll, let key, !writeAwaited(key, event, tail.revision, of: subscription) {
            return noteFree(subscription)
        }
        guard isOwed(event, tail, key, subscription) else { return }
        if !isAll, let key {
            oweKey(event, tail, key, subscription, isGated)
        } else {
            queueLine(event, tail, observable, subscription, isGated)
        }
        noteFree(subscription)
    }

    /// Another event may have let a subscription go on: a key that is written again moves behind others. In a
    /// turn that has done enough, what is free waits for its end.
    private mutating func noteFree(_ subscription: SubscriptionHandle) {
        let session = matching[subscription].session
        let wasBehind = sessions[session].isBehind
        noteReady(subscription)
        if !wasBehind, sessions[session].isBehind, !hasDoneEnough { delivery.noteFreed(session) }
    }

    /// An event that has to wait is owed: of a key that is owed already every one counts, as it does
    /// while it is still read which keys are, and where filters have cost this turn too much; and what is
    /// queued as a line is judged when that is made.
    private mutating func isOwed(
        _ event: Event,
        _ tail: borrowing EventTail,
        _ key: ObservableHandle?,
        _ subscription: SubscriptionHandle
    ) -> Bool {
        guard matching[subscription].filter != nil else { return true }
        if key != nil, isJudgedLater(event, for: subscription) { return true }
        if let key, matching[subscription].delivery == .latest, let backlog = matching[subscription].backlog,
            place(of: key, in: backlog) != nil || backlog.replay?.gathers == true
        {
            return true
        }
        return delivery.concerns(event, from: tail.old, to: tail.value, matching[subscription].filter)
    }

    /// Whether an event is held against an observer's filter when that is told what it is owed: the turn has
    /// done enough, and others wait. Who acknowledges is told at once, as others wait for that.
    private func isJudgedLater(_ event: Event, for subscription: SubscriptionHandle) -> Bool {
        hasDoneEnough && event != .emit && matching[subscription].filter != nil
            && matching[subscription].delivery == .latest && !matching[subscription].acknowledges
    }

    // MARK: Keys

    @inline(never)
    private mutating func oweKey(
        _ event: Event,
        _ tail: borrowing EventTail,
        _ observable: ObservableHandle,
        _ subscription: SubscriptionHandle,
        _ isGated: Bool
    ) {
        let backlog = openBacklog(of: subscription).backlog
        insight.count(steps: Self.stepsPerOwedEvent)
        guard let place = place(of: observable, in: backlog) else {
            var owed = OwedKey(observable, revision: tail.revision, event: delivery.eventNumber)
            owed.isGated = isGated
            owed.wasSent = wasSent(observable, subscription)
            let needsOld = matching[subscription].kind.hasOld || matching[subscription].filter != nil
            let held = needsOld ? delivery.hold(tail.old) : nil
            return appendOwed(owed, holding: held, to: subscription, backlog)
        }
        // A key of the snapshot that goes before it was told was never there for this observer.
        if backlog.keys[place].isInitial, event == .delete { return forgetOwed(place, of: subscription) }
        backlog.keys[place].isGated = isGated
        backlog.keys.note(unacknowledged: nil, at: place)
        backlog.keys.fold(place, revision: tail.revision, event: delivery.eventNumber)
    }

    /// Owes one key more. A session that is owed too many is given up.
    mutating func appendOwed(
        _ owed: OwedKey,
        holding held: HeldBytes? = nil,
        to subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) {
        let place = backlog.keys.append(owed)
        if let held { backlog.keys.hold(held, at: place) }
        keyspace[owed.observable].owedBy += 1
        let catchup = sessions[matching[subscription].session].makeCatchup()
        catchup.owedCount += 1
        if catchup.owedCount > Limits.owedKeysMax || catchup.owedCount % Self.owedKeysPerCount == 0 {
            checkOwed(of: subscription)
        }
    }

    /// Counts what a session is owed, and gives it up where that is too much.
    mutating func checkOwed(of subscription: SubscriptionHandle) {
        let session = matching[subscription].session
        if sessions[session].catchup?.owedCount ?? 0 > Limits.owedKeysMax {
            delivery.setAside(session, .slow, &sessions)
        } else {
            recountOwed(session)
        }
    }

    /// Takes a key out of what is owed. Its observable may be needed no longer.
    mutating func forgetOwed(_ place: OwedKeys.Place, of subscription: SubscriptionHandle) {
        let (backlog, catchup) = openBacklog(of: subscription)
        catchup.owedCount -= 1
        catchup.queuedBytes -= backlog.keys.writtenCost(of: place)
        keyspace[backlog.keys.remove(place).observable].owedBy -= 1
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
            let owed = place(of: observable, in: backlog), !backlog.keys[owed].isWritten
        else { return true }
        let catchup = openBacklog(of: subscription).catchup
        var line = ByteBuffer()
        appendLine(of: backlog.keys[owed], backlog.keys.notes(at: owed), subscription, to: &line)
        let cost = LineQueue.cost(ofLine: line.count)
        guard catchup.queuedBytes + cost <= Limits.queueBytesMax else {
            dropAwaited(owed, observable, event, revision, of: subscription, backlog)
            return false
        }
        backlog.keys.hold(HeldBytes(line.bytes), at: owed)
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
            backlog.awaitGap()
            forgetOwed(owed, of: subscription)
        }
        backlog.lines.drop(revision: revision, event: delivery.eventNumber, before: before)
        matching[subscription].filter?.unsentRevision = self.revision
    }

    // MARK: Lines

    private mutating func queueLine(
        _ event: Event,
        _ tail: borrowing EventTail,
        _ observable: ObservableHandle?,
        _ subscription: SubscriptionHandle,
        _ isGated: Bool
    ) {
        guard let place = self.line(event, tail, of: observable, for: subscription) else { return }
        let line = delivery.log.bytes(of: place).kept
        let shared = line.count >= Delivery.sharedBytesMin ? delivery.hold(place) : nil
        let gate = isGated ? observable : nil
        let hash = keyHash(observable, tail)
        let before = journalPlace(of: event, observable)
        if !queue(line, shared, revision: tail.revision, hash, gate, to: subscription, before: before) {
            matching[subscription].filter?.unsentRevision = revision
        }
    }

    /// Keeps a line, or counts it where there is no room. Returns whether it was kept.
    @discardableResult
    private mutating func queue(
        _ line: Span<UInt8>,
        _ shared: HeldBytes? = nil,
        revision: UInt64,
        _ keyHash: UInt64,
        _ gate: ObservableHandle?,
        to subscription: SubscriptionHandle,
        before: Int? = nil
    ) -> Bool {
        let (backlog, catchup) = openBacklog(of: subscription)
        defer { recountOwed(matching[subscription].session) }
        let event = delivery.eventNumber
        let cost = LineQueue.cost(ofLine: line.count)
        guard catchup.queuedBytes + cost <= Limits.queueBytesMax, !backlog.lines.hasGap else {
            backlog.lines.drop(revision: revision, event: event, before: before)
            return false
        }
        catchup.queuedBytes += cost
        let count = line.count
        let header = LineQueue.Header(
            revision,
            event: event,
            keyHash: keyHash,
            observable: gate,
            count: count
        )
        if let shared { backlog.lines.append(shared, header) } else { backlog.lines.append(line, header) }
        return true
    }

    /// How many events of this revision lie before this one in the journal; nil where it isn't there.
    private func journalPlace(of event: Event, _ observable: ObservableHandle?) -> Int? {
        let isReserved = observable.map { keyspace[$0].isReserved } ?? false
        return durability.isReadBack(event, isReserved: isReserved) ? durability.eventsOfBatch : nil
    }

    /// Tells a subscription a line that is about no event of a key, or queues it.
    mutating func tellOrQueue(_ line: Span<UInt8>, revision: UInt64, to subscription: SubscriptionHandle) {
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        if matching[subscription].isDirect, !sessions[session].isBehind {
            delivery.touch(session, &sessions)
            delivery.openOwn(of: session, &sessions)
            sessions[session].outbox.own.append(line)
            if sessions[session].outbox.count > Limits.highWaterBytes { sessions[session].noteUnread() }
            return
        }
        queue(line, revision: revision, 0, nil, to: subscription)
        noteReady(subscription)
    }

    /// A tracer missed lines before they were made.
    mutating func tellOrQueue(_ gap: Gap, to subscription: SubscriptionHandle) {
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        if matching[subscription].isDirect, !sessions[session].isBehind {
            delivery.touch(session, &sessions)
            appendLagged(gap.dropped, gap.first, gap.last, to: subscription)
            if sessions[session].outbox.count > Limits.highWaterBytes { sessions[session].noteUnread() }
            return
        }
        openBacklog(of: subscription).backlog.lines.drop(gap)
        noteReady(subscription)
    }

    // MARK: What is told of an event

    /// Where an event's line for a subscription stands in the log; nil where it is told nothing.
    private mutating func line(
        _ event: Event,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle?,
        for subscription: SubscriptionHandle
    ) -> ByteRange? {
        let (text, kind) = (matching[subscription].text, matching[subscription].kind)
        var telling = Telling.event
        if let filter = matching[subscription].filter {
            let wasSent = observable.map { self.wasSent($0, subscription) } ?? false
            telling = delivery.telling(event, tail, wasSent: wasSent, filter)
        }
        switch telling {
        case .nothing: return nil
        case .event: return delivery.line(event, tail, kind, for: &matching[text])
        case .leaving, .change:
            return delivery.ownLine(event, tail, telling, kind, for: matching[text])
        }
    }

    /// Whether the observer was sent the value that a key has, and will not be sent another first; of
    /// one who asked for no differences, whether it might have been.
    private func wasSent(_ observable: ObservableHandle, _ subscription: SubscriptionHandle) -> Bool {
        guard let filter = matching[subscription].filter else { return false }
        guard filter.tellsDifferences else { return keyspace[observable].revision > filter.hiddenRevision }
        guard keyspace[observable].revision > filter.unsentRevision else { return false }
        return matching[subscription].backlog?.keys.find(observable) == nil
    }

    private func keyHash(_ observable: ObservableHandle?, _ tail: borrowing EventTail) -> UInt64 {
        if let observable { return keyspace.hash(of: observable) }
        return keyspace.hash(tail.key)
    }

    /// What owing an event of a key costs, in observers that are told it meanwhile.
    private static let stepsPerOwedEvent = 16

    /// Keys that a client is owed in addition before that is counted, where it doesn't read.
    private static let owedKeysPerCount = 1_024
}
