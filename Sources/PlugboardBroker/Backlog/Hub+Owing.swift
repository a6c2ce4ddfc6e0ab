// Owing: an event for an observer that can't be told at once is noted in its backlog, as a key or as a line.
// Nothing is sent here, because events are owed in the middle of a write.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Tells an observer an event, or owes it the event. For observers with a filter, a backlog, or a client
    /// that is behind.
    @inline(never)
    mutating func tellOrOwe(
        _ event: KeyEvent,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle,
        to subscription: SubscriptionHandle
    ) {
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        let hash = keyspace.hash(tail.key)
        let way = matching[subscription].way(of: event, hash, isBehind: sessions[session].isBehind)
        guard way == .direct, !isJudgedLater(event, for: subscription) else {
            return owe(event, tail, of: observable, to: subscription)
        }
        guard let line = line(event, tail, of: observable, for: subscription) else { return }
        delivery.append(line, to: session, &sessions)
        matching[subscription].backlog?.noteWindow(hash, subscription, delivery.eventNumber, &deadlines)
    }

    /// A short cut for nearly every update to a reader that has stopped: the key is owed already, and only
    /// its revision changes; or nothing passes, and the key only has to be owed. Returns false if there is
    /// more to do.
    @inline(__always)
    mutating func renewOwed(
        _ observable: ObservableHandle,
        _ revision: UInt64,
        to subscription: SubscriptionHandle
    ) -> Bool {
        guard let backlog = matching[subscription].backlog, backlog.isRenewed || backlog.isPausedPlainly
        else { return false }
        guard let owed = backlog.place(of: observable, &keyspace) else {
            guard backlog.isPausedPlainly, sessions[matching[subscription].session].isOpen
            else { return false }
            insight.count(steps: Self.stepsPerOwedEvent)
            let owed = OwedKey(observable, revision: revision, event: delivery.eventNumber)
            append(owed, to: subscription, backlog)
            return true
        }
        let isRenewed = backlog.renew(observable, at: owed, revision: revision, event: delivery.eventNumber)
        if isRenewed { insight.count(steps: Owing.stepsPerRenewed) }
        return isRenewed
    }

    /// Notes an event for later. `isGated` means that it waits at the gate of its key.
    mutating func owe(
        _ event: KeyEvent,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle,
        to subscription: SubscriptionHandle,
        isGated: Bool = false
    ) {
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        if event != .emit, matching[subscription].delivery == .all,
            !writeAwaited(observable, event, tail, of: subscription)
        {
            return noteFree(subscription)
        }
        guard isOwed(event, tail, observable, subscription) else { return }
        if matching[subscription].owedWay(of: event) == .key {
            oweKey(event, tail, observable, subscription, isGated)
        } else {
            queueLine(event, tail, observable, subscription, isGated)
        }
        noteFree(subscription)
    }

    /// The event may have let the subscription go on, because a key that is written again moves behind
    /// others. If the turn has done enough, this waits for its end.
    private mutating func noteFree(_ subscription: SubscriptionHandle) {
        let session = matching[subscription].session
        let wasBehind = sessions[session].isBehind
        noteReady(subscription)
        if !wasBehind, sessions[session].isBehind, !hasDoneEnough { delivery.noteFreed(session) }
    }

    /// Whether an event that has to wait is owed. Without a filter it is. With one, it is owed without asking
    /// the filter if its key is owed already, if a replay is still gathering keys, or if filters have cost
    /// this turn too much. Otherwise the filter decides.
    private mutating func isOwed(
        _ event: KeyEvent,
        _ tail: borrowing EventTail,
        _ observable: ObservableHandle,
        _ subscription: SubscriptionHandle
    ) -> Bool {
        guard matching[subscription].filter != nil else { return true }
        if isJudgedLater(event, for: subscription) { return true }
        if matching[subscription].owedWay(of: event) == .key, let backlog = matching[subscription].backlog,
            backlog.place(of: observable, &keyspace) != nil || backlog.replay?.gathers == true
        {
            return true
        }
        return delivery.concerns(event, from: tail.old, to: tail.value, matching[subscription].filter)
    }

    /// Whether an event is compared with an observer's filter later, when the observer is sent what it is
    /// owed. This is so if the turn has done enough. An observer that acknowledges is told at once, because
    /// others wait for it.
    private func isJudgedLater(_ event: KeyEvent, for subscription: SubscriptionHandle) -> Bool {
        hasDoneEnough && matching[subscription].filter != nil
            && matching[subscription].owedWay(of: event) == .key && !matching[subscription].acknowledges
    }

    // MARK: Keys

    @inline(never)
    private mutating func oweKey(
        _ event: KeyEvent,
        _ tail: borrowing EventTail,
        _ observable: ObservableHandle,
        _ subscription: SubscriptionHandle,
        _ isGated: Bool
    ) {
        let backlog = openBacklog(of: subscription).backlog
        insight.count(steps: Self.stepsPerOwedEvent)
        guard let place = backlog.place(of: observable, &keyspace) else {
            var owed = OwedKey(observable, revision: tail.revision, event: delivery.eventNumber)
            owed.isGated = isGated
            owed.wasSent =
                matching[subscription].filter.map {
                    FilteredLine.wasSent(observable, matching[subscription], $0, keyspace)
                } ?? false
            let needsOld = matching[subscription].kind.hasOld || matching[subscription].filter != nil
            let held = needsOld ? delivery.hold(tail.old) : nil
            return append(owed, holding: held, to: subscription, backlog)
        }
        // A key of the snapshot that is deleted before it was sent has never existed for this observer.
        if backlog.keys[place].isInitial, event == .delete {
            return Owing.forget(place, of: subscription, &keyspace, &matching, &sessions)
        }
        backlog.keys[place].isGated = isGated
        backlog.keys.note(unacknowledged: nil, at: place)
        backlog.keys.fold(place, revision: tail.revision, event: delivery.eventNumber)
    }

    /// With `delivery` "all", an observer may still be owed the value before this event, which is about to
    /// change. So its line is made now. Returns false if there is no room for it; then the event becomes a
    /// gap.
    private mutating func writeAwaited(
        _ observable: ObservableHandle,
        _ event: KeyEvent,
        _ tail: borrowing EventTail,
        of subscription: SubscriptionHandle
    ) -> Bool {
        guard let backlog = matching[subscription].backlog,
            let owed = backlog.place(of: observable, &keyspace), !backlog.keys[owed].isWritten
        else { return true }
        let catchup = openBacklog(of: subscription).catchup
        var line = ByteBuffer()
        let notes = backlog.keys.notes(at: owed)
        appendLine(of: backlog.keys[owed], lent: tail.old, notes, subscription, to: &line)
        let cost = LineQueue.cost(ofLine: line.count)
        guard catchup.queuedBytes + cost <= Limits.queueBytesMax else {
            dropAwaited(owed, observable, event, tail.revision, of: subscription, backlog)
            return false
        }
        backlog.keys.hold(HeldBytes(line.bytes), at: owed)
        backlog.keys[owed].isWritten = true
        catchup.queuedBytes += cost
        return true
    }

    /// There is no room for a line with an owed value. The value is read again from the journal, or the
    /// newest one is sent in its place.
    private mutating func dropAwaited(
        _ owed: OwedKeys.Place,
        _ observable: ObservableHandle,
        _ event: KeyEvent,
        _ revision: UInt64,
        of subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) {
        let before = journalPlace(of: event, observable)
        if before == nil {
            backlog.keys.renew(owed, revision: revision, event: delivery.eventNumber)
        } else {
            backlog.awaitGap()
            Owing.forget(owed, of: subscription, &keyspace, &matching, &sessions)
        }
        backlog.lines.drop(revision: revision, event: delivery.eventNumber, before: before)
        matching[subscription].filter?.unsentRevision = self.revision
    }

    private mutating func append(
        _ owed: OwedKey,
        holding held: HeldBytes? = nil,
        to subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) {
        Owing.append(
            owed,
            holding: held,
            to: subscription,
            backlog,
            &keyspace,
            matching,
            &sessions,
            &delivery,
            &access
        )
    }

    // MARK: Lines

    private mutating func queueLine(
        _ event: KeyEvent,
        _ tail: borrowing EventTail,
        _ observable: ObservableHandle,
        _ subscription: SubscriptionHandle,
        _ isGated: Bool
    ) {
        guard let place = self.line(event, tail, of: observable, for: subscription) else { return }
        let header = LineQueue.Header(
            tail.revision,
            event: delivery.eventNumber,
            keyHash: keyspace.hash(tail.key),
            observable: isGated ? observable : nil,
            count: place.count
        )
        let before = journalPlace(of: event, observable)
        guard let backlog = openQueue(for: header, of: subscription, before: before) else {
            matching[subscription].filter?.unsentRevision = revision
            return
        }
        if place.count >= Delivery.sharedBytesMin {
            backlog.lines.append(delivery.hold(place), header)
        } else {
            backlog.lines.append(delivery.log.bytes(of: place), header)
        }
    }

    /// Makes room for a line. Returns where to keep it, or adds it to the gap and returns nil.
    private mutating func openQueue(
        for header: LineQueue.Header,
        of subscription: SubscriptionHandle,
        before: Int? = nil
    ) -> Backlog? {
        let (backlog, catchup) = openBacklog(of: subscription)
        let cost = LineQueue.cost(ofLine: header.count)
        let hasRoom = catchup.queuedBytes + cost <= Limits.queueBytesMax && !backlog.lines.hasGap
        if hasRoom {
            catchup.queuedBytes += cost
        } else {
            backlog.lines.drop(revision: header.revision, event: header.event, before: before)
        }
        Excess.countOwed(to: matching[subscription].session, &access, &sessions, &delivery)
        return hasRoom ? backlog : nil
    }

    /// How many events of this revision come before this one in the journal; nil if it isn't there.
    private func journalPlace(of event: KeyEvent, _ observable: ObservableHandle) -> Int? {
        let isReserved = keyspace[observable].isReserved
        return durability.isReadBack(event, isReserved: isReserved) ? durability.eventsOfBatch : nil
    }

    /// Sends or queues a line for a subscription that isn't about a key's event.
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
        let header = LineQueue.Header(
            revision,
            event: delivery.eventNumber,
            keyHash: 0,
            observable: nil,
            count: line.count
        )
        openQueue(for: header, of: subscription)?.lines.append(line, header)
        noteReady(subscription)
    }

    /// Sends or queues a gap: lines that a tracer missed before they were made.
    mutating func tellOrQueue(_ gap: Gap, to subscription: SubscriptionHandle) {
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        if matching[subscription].isDirect, !sessions[session].isBehind {
            delivery.touch(session, &sessions)
            tellLagged(gap.dropped, gap, to: subscription)
            if sessions[session].outbox.count > Limits.highWaterBytes { sessions[session].noteUnread() }
            return
        }
        openBacklog(of: subscription).backlog.lines.drop(gap)
        noteReady(subscription)
    }

    // MARK: What is told of an event

    /// The place of an event's line for a subscription in the log; nil if the filter leaves it out.
    private mutating func line(
        _ event: KeyEvent,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle,
        for subscription: SubscriptionHandle
    ) -> ByteRange? {
        FilteredLine.find(event, tail, of: observable, subscription, keyspace, &matching, &delivery)
    }

    /// What it costs to owe an event of a key, in observers told.
    private static let stepsPerOwedEvent = 16
}
