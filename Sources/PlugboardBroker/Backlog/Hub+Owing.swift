// Owing: an event for an observer that can't be told at once is noted in its backlog, as a key or as a line.
// Nothing is sent here, because events are owed in the middle of a write.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Tells an observer an event, or owes it the event. For observers with a filter, a backlog, or a client
    /// that is behind, and for events that wait at the gate of their key.
    @inline(never)
    mutating func tellOrOwe(
        _ news: borrowing WriteEvent, to subscription: SubscriptionHandle, isGated: Bool = false
    ) {
        if matching[subscription].isSharing, news.event != .emit {
            return oweShared(news, to: subscription, isGated: isGated)
        }
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        let expected = ExpectedEvent(news, number: delivery.eventNumber)
        let decision = decision(on: expected, for: subscription, isGated: isGated)
        if decision != .sent { return owe(news, to: subscription, as: decision, isGated: isGated) }
        guard let line = line(of: news, for: subscription) else { return }
        delivery.append(line, to: session, &sessions)
        guard let backlog = matching[subscription].backlog else { return }
        beginWindow(of: subscription, keyspace.hash(of: news.observable), backlog)
    }

    /// Notes an event for later, if it means anything to the observer.
    private mutating func owe(
        _ news: borrowing WriteEvent, to subscription: SubscriptionHandle, as decision: DeliveryDecision,
        isGated: Bool
    ) {
        if decision != .conflated, news.event != .emit, matching[subscription].delivery == .all,
            !writeAwaited(before: news, of: subscription)
        {
            return sendIfFree(subscription)
        }
        if decision == .filtered { return }
        guard decision == .conflated else {
            queueLine(news, to: subscription, isGated: isGated)
            return sendIfFree(subscription)
        }
        if mayShare(subscription, isGated: isGated) {
            // A slow one isn't told before others that came earlier.
            let session = matching[subscription].session
            if !matching[subscription].hasBacklog {
                sessions[session].makeBacklog().ready.append(subscription)
                markBehind(session)
            }
            matching.joinLane(subscription, at: delivery.eventNumber - 1)
            oweShared(news, to: subscription, isGated: isGated)
        } else {
            oweKey(news, to: subscription, isGated: isGated)
        }
        if matching[subscription].hasBacklog { sendIfFree(subscription) }
    }

    /// The event may have let the subscription go on, because a key that is written again moves behind
    /// others. If the turn has done enough, this waits for its end.
    private mutating func sendIfFree(_ subscription: SubscriptionHandle) {
        let session = matching[subscription].session
        let wasBehind = sessions[session].isBehind
        listIfReady(subscription)
        if !wasBehind, sessions[session].isBehind, !hasDoneEnough { delivery.addFreed(session) }
    }

    // MARK: Keys

    @inline(never)
    private mutating func oweKey(
        _ news: borrowing WriteEvent, to subscription: SubscriptionHandle, isGated: Bool
    ) {
        let backlog = openBacklog(of: subscription).backlog
        guard let place = backlog.keys.find(news.observable) else {
            insight.count(steps: Cost.owed)
            var owed = OwedKey(news.observable, revision: news.revision, event: delivery.eventNumber)
            owed.isGated = isGated
            if backlog.snapshot != nil {
                owed.knowledge = .nothing
                return news.event == .delete ? () : append(owed, to: subscription, backlog)
            }
            if let filter = matching[subscription].filter {
                if filter.mayHaveMissed(news.event, of: news.observable, keyspace) {
                    owed.knowledge = .unsure
                }
                owed.wasSent = matching[subscription].wasSent(news.observable, filter, keyspace)
            }
            var held: SharedBytes?
            // The value before it is kept, if the observer's line will need it. If there is no room for it, the observer
            // is told as if it had missed that value.
            if !owed.isMissed, matching[subscription].kind.hasOld || matching[subscription].filter != nil {
                let old = news.old(in: keyspace)
                if !old.isEmpty {
                    held = delivery.olds.hold(old, before: delivery.eventNumber)
                    if held == nil { owed.knowledge = .unsure }
                }
            }
            return append(owed, holding: held, to: subscription, backlog)
        }
        insight.count(steps: Cost.renewed)
        // A key of the snapshot that is deleted before it was sent has never existed for this observer.
        if backlog.keys[place].isInitial, news.event == .delete {
            return forget(place, of: subscription)
        }
        backlog.keys[place].isGated = isGated
        backlog.keys.set(unacknowledged: nil, at: place)
        backlog.keys.fold(place, revision: news.revision, event: delivery.eventNumber)
    }

    /// With `delivery` "all", an observer may still be owed the value before this event, which is about to
    /// change. So its line is made now. Returns false if there is no room for it; then the event becomes a
    /// gap.
    private mutating func writeAwaited(
        before news: borrowing WriteEvent, of subscription: SubscriptionHandle
    ) -> Bool {
        guard let backlog = matching[subscription].backlog,
            let owed = backlog.keys.find(news.observable), !backlog.keys[owed].isWritten
        else { return true }
        let sessionBacklog = openBacklog(of: subscription).sessionBacklog
        var line = ByteBuffer()
        let notes = backlog.keys.notes(at: owed)
        appendLine(of: backlog.keys[owed], notes, subscription, to: &line)
        let cost = PendingLines.cost(ofLine: line.count)
        if sessionBacklog.queuedBytes + cost <= Limits.queueBytesMax {
            backlog.keys.write(line.bytes, at: owed)
            sessionBacklog.queuedBytes += cost
            return true
        }
        // There is no room: the value is read again from the journal, or the newest one is sent in its place.
        if journalPlace(of: news) == nil {
            backlog.keys.renew(owed, revision: news.revision, event: delivery.eventNumber)
        } else {
            backlog.awaitsGap = true
            forget(owed, of: subscription)
        }
        drop(news, of: subscription, backlog)
        return false
    }

    /// Owes one more key. A session that is owed too many keys is dismissed.
    private mutating func append(
        _ owed: OwedKey,
        holding held: SharedBytes? = nil,
        to subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) {
        let place = backlog.keys.append(owed)
        if let held { backlog.keys.hold(held, at: place) }
        matching.reach.retain(owed.observable)
        countOwedKeys(1, to: matching[subscription].session)
    }

    /// A client that has left is owed nothing more, but its subscriptions end one after the other.
    private mutating func countOwedKeys(_ more: Int, to session: SessionHandle) {
        let count = sessions[session].countOwedKeys(more)
        guard sessions[session].isOpen else { return }
        if count > Limits.owedKeysMax || count % Self.keysPerCount < more { checkOwed(to: session) }
    }

    /// After so many more owed keys, those of a client that doesn't read are counted again.
    private static let keysPerCount = 1_024

    /// Owes a write that an observer missed. If the key is owed already, the newer write counts.
    mutating func owe(
        missed observable: ObservableHandle, revision: UInt64, to subscription: SubscriptionHandle
    ) {
        let backlog = openBacklog(of: subscription).backlog
        guard let owed = backlog.keys.find(observable) else {
            return append(OwedKey(observable, revision: revision, .unsure), to: subscription, backlog)
        }
        backlog.keys.markUnsure(owed)
        if backlog.keys[owed].revision < revision {
            backlog.keys.renew(owed, revision: revision, event: 0)
        }
    }

    /// Owes keys that were written before the observer was owed anything of them, the oldest first.
    mutating func owe(older keys: [OwedKey], to subscription: SubscriptionHandle) {
        let (backlog, sessionBacklog) = openBacklog(of: subscription)
        for key in keys { matching.reach.retain(key.observable) }
        backlog.keys.insert(keys)
        sessionBacklog.owedCount += keys.count
        checkOwed(to: matching[subscription].session)
    }

    mutating func checkOwed(to session: SessionHandle) {
        if sessions[session].backlog?.owedCount ?? 0 > Limits.owedKeysMax {
            delivery.setAside(session, .slow, &sessions)
        } else {
            countOwed(to: session)
        }
    }

    /// Removes an owed key. Its observable may not be needed any more.
    mutating func forget(_ place: ConflatedKeys.Place, of subscription: SubscriptionHandle) {
        let (backlog, sessionBacklog) = openBacklog(of: subscription)
        let written = backlog.keys.writtenBytes
        sessionBacklog.owedCount -= 1
        matching.reach.release(backlog.keys.remove(place).observable)
        sessionBacklog.queuedBytes -= written - backlog.keys.writtenBytes
    }

    /// A client is owed something. Until that is sent, its later events are owed, too.
    mutating func markBehind(_ session: SessionHandle) {
        sessions[session].isBehind = true
        delivery.touch(session, &sessions)
    }

    // MARK: Lines

    private mutating func queueLine(
        _ news: borrowing WriteEvent, to subscription: SubscriptionHandle, isGated: Bool
    ) {
        let known = matching[subscription].backlog
        if let backlog = known, backlog.lines.hasGap, matching[subscription].filter == nil {
            // Nothing finds room behind a gap, so no line is made.
            return drop(news, of: subscription, backlog)
        }
        guard let place = line(of: news, for: subscription) else { return }
        let backlog = openBacklog(of: subscription).backlog
        guard makeRoom(forLine: place.count, of: subscription) else {
            return drop(news, of: subscription, backlog)
        }
        let header = PendingLines.Header(
            revision: news.revision,
            event: delivery.eventNumber,
            keyHash: keyspace.hash(of: news.observable),
            observable: isGated ? news.observable : nil,
            count: place.count
        )
        if place.count >= Delivery.sharedBytesMin {
            backlog.lines.append(delivery.log.hold(place), header)
        } else {
            backlog.lines.append(delivery.log.bytes(of: place), header)
        }
    }

    /// Makes room for a line, if there is any, and no gap before it.
    private mutating func makeRoom(forLine count: Int, of subscription: SubscriptionHandle) -> Bool {
        let (backlog, sessionBacklog) = openBacklog(of: subscription)
        let cost = PendingLines.cost(ofLine: count)
        let hasRoom = sessionBacklog.queuedBytes + cost <= Limits.queueBytesMax && !backlog.lines.hasGap
        if hasRoom { sessionBacklog.queuedBytes += cost }
        countOwed(to: matching[subscription].session)
        return hasRoom
    }

    /// Adds an event to the gap, because there was no room for a line.
    private mutating func drop(
        _ news: borrowing WriteEvent, of subscription: SubscriptionHandle, _ backlog: Backlog
    ) {
        let before = journalPlace(of: news)
        backlog.lines.drop(revision: news.revision, event: delivery.eventNumber, before: before)
        matching[subscription].filter?.unsentRevision = revision
    }

    /// How many events of this revision come before this one in the journal; nil if it isn't there.
    private func journalPlace(of news: borrowing WriteEvent) -> Int? {
        let isReserved = keyspace[news.observable].isReserved
        return durability.isReadBack(news.event, isReserved: isReserved)
            ? durability.records.eventsOfBatch : nil
    }

    /// Sends or queues a line for a subscription that isn't about a key's event.
    mutating func tellOrQueue(_ line: Span<UInt8>, revision: UInt64, to subscription: SubscriptionHandle) {
        let session = matching[subscription].session
        guard sessions[session].isOpen else { return }
        if matching[subscription].isDirect, !sessions[session].isBehind {
            delivery.touch(session, &sessions)
            delivery.openOwn(of: session, &sessions)
            sessions[session].outbox.own.append(line)
            sessions[session].checkUnread()
            return
        }
        let header = PendingLines.Header(
            revision: revision, event: delivery.eventNumber, keyHash: 0, observable: nil, count: line.count
        )
        let backlog = openBacklog(of: subscription).backlog
        if makeRoom(forLine: line.count, of: subscription) {
            backlog.lines.append(line, header)
        } else {
            backlog.lines.drop(revision: revision, event: header.event, before: nil)
        }
        listIfReady(subscription)
    }

    /// Sends or queues a gap: lines that a tracer missed before they were made.
    mutating func tellOrQueue(_ gap: LostRange, to subscription: SubscriptionHandle) {
        guard sessions[matching[subscription].session].isOpen else { return }
        openBacklog(of: subscription).backlog.lines.drop(gap)
        review(subscription)
    }
}

// Sharing: readers of the same keys that are paused or slow are owed the ends of one list; see `Lane`. A slow one has
// no backlog before its turn comes to be told.

extension Hub {
    /// Whether a reader that is paused or slow only needs the newest value of each key, and isn't owed any yet. What
    /// holds back others is over soon. A client that may not see all keys doesn't share, because others may be owed more.
    @inline(__always)
    private func mayShare(_ subscription: SubscriptionHandle, isGated: Bool) -> Bool {
        let session = matching[subscription].session
        return matching[subscription].waitsLong(isBehind: sessions[session].isBehind && !isGated)
            && matching[subscription].filter == nil && !matching[subscription].kind.hasOld
            && matching[subscription].role == .observes && sessions[session].grant == nil
    }

    /// Notes an event for a reader that shares what it is owed.
    private mutating func oweShared(
        _ news: borrowing WriteEvent, to subscription: SubscriptionHandle, isGated: Bool
    ) {
        let (lag, session) = (matching[subscription].lag, matching[subscription].session)
        let noted = note(news, in: lag.lane, isGated: isGated)
        guard noted.before <= lag.told else {
            if matching[subscription].isHeldBack() { sendIfFree(subscription) }
            return
        }
        if noted.before > lag.fell {
            // It was told this key, which was written again.
            insight.count(steps: Cost.renewed)
            matching[subscription].backlog?.known[noted.place] = noted.writes
        }
        matching[subscription].lag.owedCount += 1
        countOwedKeys(1, to: session)
    }

    /// Notes an event for all readers of a lane.
    mutating func note(_ news: borrowing WriteEvent, in lane: LaneHandle, isGated: Bool) -> Lane.Noted {
        var owed = OwedKey(news.observable, revision: news.revision, event: delivery.eventNumber)
        owed.isGated = isGated
        let noted = matching.lanes[lane].add(owed)
        guard noted.isFirst else { return noted }
        insight.count(steps: noted.before == 0 ? Cost.owed : Cost.renewed)
        if noted.before == 0 { matching.reach.retain(news.observable) }
        forgetUnowed(in: lane)
        return noted
    }

    /// Call before a reader that shares moves on, leaves, or may go on when a key moves behind others.
    mutating func dissolveRuns() {
        countOwedToRuns()
        matching.lanes.countMove()
    }

    /// Counts what readers that stand in runs are owed since they were counted.
    mutating func countOwedToRuns() {
        for (reader, count) in matching.reach.takeUncounted() {
            insight.count(events: 1)
            matching[reader].lag.owedCount += count
            countOwedKeys(Int(count), to: matching[reader].session)
        }
    }

    /// A reader was told the first key that it shares with others. It moves on at `endTelling`.
    mutating func advance(
        _ place: ConflatedKeys.Place, in lag: Lag, to subscription: SubscriptionHandle, _ backlog: Backlog
    ) {
        backlog.known[place] = nil
        sessions[matching[subscription].session].backlog?.owedCount -= 1
        matching[subscription].lag.owedCount -= 1
        matching[subscription].lag.told = matching.lanes[lag.lane].keys[place].event
        matching[subscription].lag.next = matching.lanes[lag.lane].keys.place(after: place) ?? -1
    }

    /// A reader that was told some of what it shares moves on; it stood at `told`.
    mutating func endTelling(_ subscription: SubscriptionHandle, from told: UInt64) {
        let lag = matching[subscription].lag
        if lag.told == told { return }
        matching[subscription].lag.next = Lag.standing
        insight.count(steps: matching.lanes[lag.lane].stepsToMove(lag))
        matching.lanes[lag.lane].move(lag, from: told)
        forgetUnowed(in: lag.lane)
    }

    /// A reader that shared what it is owed needs it no more.
    mutating func stopSharing(_ subscription: SubscriptionHandle) {
        if !matching[subscription].isSharing { return }
        dissolveRuns()
        let lag = matching[subscription].lag
        matching[subscription].lag = Lag()
        matching[subscription].backlog?.known = [:]
        let sessionBacklog = sessions[matching[subscription].session].makeBacklog()
        sessionBacklog.owedCount -= Int(lag.owedCount)
        if !matching[subscription].hasBacklog { sessionBacklog.ready.remove(subscription) }
        insight.count(steps: matching.lanes[lag.lane].stepsToMove(lag))
        guard let keys = matching.lanes.leave(lag) else { return forgetUnowed(in: lag.lane) }
        let rest = Backlog()
        rest.keys = keys
        requests.abandon(rest)
    }

    /// Some of what nobody is owed any more is forgotten later, because this may be in the middle of a write. Each write
    /// takes more of it out of the lane than it adds.
    private mutating func forgetUnowed(in lane: LaneHandle) {
        guard matching.lanes[lane].hasUnowed else { return }
        let rest = Backlog()
        matching.lanes[lane].takeUnowed(into: &rest.keys)
        requests.abandon(rest)
    }
}
