// Sends what is owed, the oldest first, as long as there is room in the outbox. Lines are made here from the
// present state, so that folded updates are sent once. Only here, a backlog enters or leaves `.room`.

import PlugboardMemory
import PlugboardWire

extension Hub {
    // MARK: States

    /// What a subscription with a backlog waits for.
    func state(of subscription: SubscriptionHandle, _ backlog: Backlog) -> Backlog.State {
        if backlog.awaitsReply || backlog.snapshot != nil { return .reply }
        if backlog.isPaused, backlog.steps == 0 { return .pause }
        let (gated, isHeld): (ObservableHandle?, Bool?)
        switch backlog.next(matching.firstKey(of: subscription)) {
        case .nothing: return .nothing
        case .synced, .gap: return .room
        case .replayed:
            if backlog.replay?.readyCount == 0 { return .journal }
            if phases.isEmpty { return .room }
            let session = matching[subscription].session
            // An event that this client may not see is skipped, so it doesn't wait for a phase. Nobody would
            // tell it when that phase ends.
            let found = backlog.replay?.withFrontKey {
                sessions[session].authorize(.subscribe, $0) ? keyspace.find($0) : nil
            }
            (gated, isHeld) = (found ?? nil, false)
        case .key(let owed):
            gated = owed.isGated ? owed.observable : nil
            isHeld = backlog.window?.holds(keyspace.hash(of: owed.observable), event: owed.event)
        case .line(let header):
            gated = header.observable
            isHeld = backlog.window?.holds(header.keyHash, event: header.event)
        }
        if let gated, phases.holds(gated, from: matching[subscription].phase) { return .phase(gated) }
        return isHeld == true ? .window : .room
    }

    /// Call after anything that may have changed a subscription's state. Gives up a backlog that isn't needed
    /// any more, or sends at once as much as there is room for. If it waited for the end of the turn, other
    /// subscriptions of the client would have to wait, too, and their events would be folded.
    mutating func review(_ subscription: SubscriptionHandle) {
        dropEmptyBacklog(of: subscription)
        guard let backlog = matching[subscription].backlog else { return }
        let session = matching[subscription].session
        if !backlog.isPaused, backlog.replay?.isReading == true {
            markBehind(session)
        }
        let isFirst = !sessions[session].isBehind
        listIfReady(subscription)
        if isFirst, sessions[session].isBehind { settle(session) }
    }

    /// Lists a subscription for `settle` if it waits only for room.
    mutating func listIfReady(_ subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog, !backlog.isReady,
            case .room = state(of: subscription, backlog),
            sessions[matching[subscription].session].isOpen
        else { return }
        backlog.isReady = true
        openBacklog(of: subscription).sessionBacklog.ready.append(subscription)
        markBehind(matching[subscription].session)
    }

    /// The backlog of a subscription and the catch-up of its session; makes them if there are none.
    @discardableResult
    mutating func openBacklog(of subscription: SubscriptionHandle) -> (
        backlog: Backlog, sessionBacklog: SessionBacklog
    ) {
        let session = matching[subscription].session
        if matching[subscription].isDirect { sessions[session].indirectCount += 1 }
        let isSlow = matching[subscription].isSharing && !matching[subscription].hasBacklog
        let backlog = matching[subscription].makeBacklog()
        if isSlow { backlog.isReady = true }
        return (backlog, sessions[session].makeBacklog())
    }

    private mutating func dropEmptyBacklog(of subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog, matching[subscription].lag.owedCount == 0
        else { return }
        stopSharing(subscription)
        if !backlog.isNeeded { releaseBacklog(of: subscription) }
    }

    private mutating func releaseBacklog(of subscription: SubscriptionHandle) {
        matching[subscription].releaseBacklog()
        let session = matching[subscription].session
        if matching[subscription].isDirect { sessions[session].indirectCount -= 1 }
        sessions[session].dropEmptyBacklog()
    }

    mutating func writeOff(_ subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog else {
            stopSharing(subscription)
            return sessions[matching[subscription].session].dropEmptyBacklog()
        }
        if let ticket = backlog.window?.ticket { deadlines.cancel(ticket) }
        endReplay(of: subscription)
        stopSharing(subscription)
        openBacklog(of: subscription).sessionBacklog.forget(subscription, backlog)
        releaseBacklog(of: subscription)
        requests.abandon(backlog)
    }

    // MARK: Sending

    /// Adds what a session is owed to its outbox, until that is full, nothing is left, or others should have their
    /// turn.
    mutating func settle(_ session: SessionHandle) {
        guard let sessionBacklog = sessions[session].backlog else {
            sessions[session].isBehind = false
            return
        }
        delivery.judge.beginExamining()
        // How many in a row could be sent nothing before the present event is over.
        var (steps, held) = (0, 0)
        while held < sessionBacklog.ready.count, sessions[session].outbox.count < Limits.lowWaterBytes * 2,
            !delivery.judge.hasExaminedEnough, steps < Cost.settledMax
        {
            let before = sessions[session].outbox.count
            if sessionBacklog.turn >= sessionBacklog.ready.count { sessionBacklog.turn = 0 }
            let subscription = sessionBacklog.ready[sessionBacklog.turn]
            delivery.openOwn(of: session, &sessions)
            let waits = settle(subscription)
            let bytes = max(0, sessions[session].outbox.count - before)
            if waits {
                sessionBacklog.turn += 1
                held = bytes == 0 ? held + 1 : 0
            } else {
                sessionBacklog.ready.removeSwapping(at: sessionBacklog.turn)
                matching[subscription].backlog?.isReady = false
                // Steps end with what was owed, even if no line came of it.
                if matching[subscription].owesNothing { matching[subscription].backlog?.steps = 0 }
                dropEmptyBacklog(of: subscription)
            }
            steps += Cost.share + bytes / Cost.bytesOwedPerStep
        }
        insight.count(steps: steps)
        releaseDeferred(session, sessionBacklog)
        if sessionBacklog.ready.isEmpty, sessionBacklog.deferred.isEmpty, !sessionBacklog.isReading(matching)
        {
            sessions[session].isBehind = false
        }
        sessions[session].dropEmptyBacklog()
    }

    /// Gives one subscription its share. Returns whether it now waits only for more room.
    private mutating func settle(_ subscription: SubscriptionHandle) -> Bool {
        if matching[subscription].isSharing {
            openBacklog(of: subscription)
            dissolveRuns()
        }
        guard let backlog = matching[subscription].backlog else { return false }
        let (session, told) = (matching[subscription].session, matching[subscription].lag.told)
        let end = sessions[session].outbox.count + Limits.lowWaterBytes / 4
        var isReady = false
        while !isReady, case .room = state(of: subscription, backlog) {
            isReady = sessions[session].outbox.count >= end || delivery.judge.hasExaminedEnough
            // A gap isn't told in the middle of a write, whose event may still fall into it.
            if delivery.isWithinEvent, case .gap = backlog.next(matching.firstKey(of: subscription)) {
                isReady = true
            }
            if !isReady, tellNext(subscription, backlog), backlog.steps > 0 { backlog.steps -= 1 }
        }
        endTelling(subscription, from: told)
        return isReady
    }

    /// Sends what comes next. Returns whether that is a step for a paused subscription. `synced` is no step,
    /// and neither is a key about which there is nothing to send any more.
    private mutating func tellNext(_ subscription: SubscriptionHandle, _ backlog: Backlog) -> Bool {
        switch backlog.next(matching.firstKey(of: subscription)) {
        case .nothing: return false
        case .synced:
            tellSynced(subscription, backlog)
            return false
        case .replayed:
            let isTold = backlog.replay.map { tellNext(of: $0, to: subscription, backlog) } ?? false
            if !isTold { delivery.judge.countSkipped() }
            return isTold
        case .key:
            let isTold = tellKey(subscription, backlog)
            if !isTold, matching[subscription].filter == nil { delivery.judge.countSkipped() }
            return isTold
        case .line(let header):
            let session = matching[subscription].session
            backlog.lines.appendFront(to: &sessions[session].outbox.own)
            backlog.advance(header.revision)
            beginWindow(of: subscription, header.keyHash, backlog)
            sessions[session].backlog?.queuedBytes -= backlog.lines.removeFront()
            return true
        case .gap:
            backlog.awaitsGap = false
            return backlog.lines.takeGap().map { tell($0, subscription, backlog) } ?? false
        }
    }

    /// Sends an owed key as it is now. Returns false if there is nothing to send about it.
    private mutating func tellKey(_ subscription: SubscriptionHandle, _ backlog: Backlog) -> Bool {
        let (lag, session) = (matching[subscription].lag, matching[subscription].session)
        let isSharing = matching[subscription].isSharing
        guard let place = isSharing ? matching.lanes[lag.lane].firstPlace(for: lag) : backlog.keys.front
        else { return false }
        let known = backlog.known[place]
        let owed =
            isSharing ? matching.lanes[lag.lane].owed(place, to: lag, knowing: known) : backlog.keys[place]
        let notes = isSharing ? matching.lanes[lag.lane].keys.notes(at: place) : backlog.keys.notes(at: place)
        let before = sessions[session].outbox.own.count
        if owed.isWritten {
            if let line = notes.held { sessions[session].outbox.own.append(line.bytes.span) }
        } else {
            var buffer = sessions.takeOwn(of: session)
            appendLine(of: owed, notes, subscription, to: &buffer)
            sessions.giveBack(buffer, to: session)
        }
        let isTold = sessions[session].outbox.own.count > before
        if isTold {
            backlog.advance(owed.revision)
            beginWindow(of: subscription, keyspace.hash(of: owed.observable), backlog)
        }
        if isSharing {
            advance(place, in: lag, to: subscription, backlog)
        } else {
            forget(place, of: subscription)
            matching.forget(owed.observable, &keyspace)
        }
        return isTold
    }

    /// Appends the line of an owed key as it is now. Appends nothing if there is nothing to say about it.
    mutating func appendLine(
        of owed: OwedKey, _ notes: OwedNotes, _ subscription: SubscriptionHandle, to buffer: inout ByteBuffer
    ) {
        var tail = EventTail(owed.observable, keyspace, isInitial: owed.isInitial)
        let old = notes.held?.bytes ?? []
        if notes.held != nil { tail.old = old.span }
        tail.skipped = owed.skipped
        tail.revision = owed.revision
        var ending = ByteBuffer()
        deadlines.appendEnd(of: keyspace.bond(of: owed.observable), to: &ending)
        notes.unacknowledged?.append(to: &ending)
        tail.ending = ending.bytes
        let event: EventKind = keyspace[owed.observable].hasValue ? .update : .delete
        // A key of the snapshot that is gone by now, or may not be seen, has never existed for this observer.
        let session = matching[subscription].session
        let isSeen = event == .update && sessions[session].authorize(.subscribe, tail.key)
        if owed.isInitial, !isSeen { return }
        var telling = FilterResult.event
        let filter = matching[subscription].filter
        if owed.isMissed {
            telling = delivery.judge.tellingMissed(event, tail.value, filter)
        } else if let filter {
            let number = notes.held == nil ? nil : tail.revision
            let change = JudgedChange(event: event, number: number, held: notes.held, wasSent: owed.wasSent)
            telling = delivery.judge.telling(change, tail, filter)
        }
        if case .nothing = telling { return }
        let text = matching[subscription].text
        let form = OwnForm(event, telling, ObserverEntry.words(text, matching[subscription].kind))
        form.append(tail, delivery.judge.change, for: matching[text], to: &buffer)
    }

    /// Reads dropped events again from the journal. Those that it doesn't have are reported as missing. Returns whether there
    /// are any.
    private mutating func tell(
        _ gap: LostRange, _ subscription: SubscriptionHandle, _ backlog: Backlog
    ) -> Bool {
        guard gap.isKept, let place = durability.journal?.beginReading(after: gap.keptFirst - 1) else {
            tellLagged(gap.dropped, gap.first, gap.last, to: subscription)
            backlog.advance(gap.last)
            return true
        }
        if gap.lost > 0 { tellLagged(gap.lost, gap.lostFirst, gap.lostLast, to: subscription) }
        replay(to: subscription, from: place, after: gap.keptFirst - 1, skipping: gap.keptBefore)
        return gap.lost > 0
    }

    mutating func tellLagged(
        _ dropped: UInt64, _ first: UInt64, _ last: UInt64, to subscription: SubscriptionHandle
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

    /// The snapshot is complete. What is still owed is newer. In the middle of a write, so are its events.
    private mutating func tellSynced(_ subscription: SubscriptionHandle, _ backlog: Backlog) {
        let isAll =
            backlog.keys.isEmpty && backlog.lines.isEmpty && matching[subscription].lag.owedCount == 0
            && delivery.freed.isEmpty
        EventEncoder.appendSynced(
            sub: matching.sub(of: subscription),
            revision: isAll ? revision : backlog.lastRevision,
            to: &sessions[matching[subscription].session].outbox.own
        )
        backlog.owesSynced = false
    }

    /// Queues the lines that waited, as far as everything that comes before them was sent.
    private mutating func releaseDeferred(_ session: SessionHandle, _ sessionBacklog: SessionBacklog) {
        guard let until = sessionBacklog.deferred.until, !sessionBacklog.isReading(upTo: until, matching)
        else { return }
        var end = sessionBacklog.isReading(matching) ? until &+ 1 : .max
        for subscription in sessionBacklog.ready.all {
            guard let next = nextRevision(of: subscription) else { continue }
            if next <= until { return }
            end = min(end, next)
        }
        delivery.openOwn(of: session, &sessions)
        sessionBacklog.deferred.release(before: end, to: &sessions[session].outbox.own)
        if sessionBacklog.deferred.hasOwn { return }
        // The new subscriptions whose replies were just queued may get events now.
        while let subscription = sessionBacklog.unanswered.popLast() {
            matching[subscription].backlog?.awaitsReply = false
            review(subscription)
        }
    }

    // MARK: Rhythm

    /// Notes that a throttled subscription was told about a key. There is one deadline for each subscription
    /// that was told something lately.
    mutating func beginWindow(of subscription: SubscriptionHandle, _ keyHash: UInt64, _ backlog: Backlog) {
        guard let span = backlog.window?.span else { return }
        let now = deadlines.now
        backlog.window?.add(keyHash, at: now)
        guard backlog.window?.isTicking == false else { return }
        backlog.window?.openEvent = delivery.eventNumber
        backlog.window?.ticket = deadlines.add(at: now + span, .window(subscription))
    }

    /// Ends a window: owed events pass. If something was sent meanwhile, another window follows, until a
    /// whole span after that.
    mutating func endWindow(of subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog, let window = backlog.window else { return }
        let end = window.lastTold + window.span
        let isOver = deadlines.now >= end
        backlog.window?.ticket = isOver ? nil : deadlines.add(at: end, .window(subscription))
        backlog.window?.forget(all: isOver)
        // Keys that were sent before the previous tick may be sent again, even if lines of other keys came
        // later.
        review(subscription)
    }
}
