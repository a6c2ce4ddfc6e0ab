// Reading again what was missed: the journal's files are read beside the loop, and what
// comes of that is told by turns, as there is room. Until it was told, the subscription
// waits, and with it the replies of its session.

import PlugboardMemory
import PlugboardJournal
import PlugboardWire

extension Hub {
    /// Tells a subscription again what was written after a revision, passing over so many events
    /// of the next one.
    mutating func beginReplay(
        _ subscription: SubscriptionHandle,
        from place: ReadPlace,
        after revision: UInt64,
        skipping: Int = 0
    ) {
        let (backlog, catchup) = openBacklog(of: subscription)
        backlog.replay = Replay(
            durability.beginReplay(of: subscription),
            from: place,
            patterns: patterns(of: subscription),
            after: revision,
            skipping: skipping,
            upTo: self.revision,
            gathers: matching[subscription].delivery == .latest
        )
        catchup.replaying.append(subscription)
        noteBehind(matching[subscription].session)
    }

    /// Takes a piece of the journal for who asked, if it is still there.
    mutating func take(_ piece: ReadPiece) {
        guard let subscription = durability.replaying(piece.number),
            let replay = matching[subscription].backlog?.replay
        else { return }
        replay.take(piece)
        if replay.gathers {
            gather(replay, for: subscription)
            goOn(replay, of: subscription)
        } else if replay.readyCount == 0 {
            goOn(replay, of: subscription)
        }
        delivery.touch(matching[subscription].session, &sessions)
        review(subscription)
    }

    /// Tells the next event of a replay.
    mutating func tellReplayed(_ subscription: SubscriptionHandle, _ backlog: Backlog) {
        guard let replay = backlog.replay else { return }
        if let (entry, bytes) = replay.popNext() {
            tellReplayed(entry.record, entry.place.bytes(of: bytes.span), replay, subscription)
            backlog.noteTold(max(backlog.lastRevision, entry.record.revision))
        }
        if replay.readyCount == 0 { goOn(replay, of: subscription) }
    }

    /// Forgets the replay of a subscription.
    mutating func endReplay(of subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog, let replay = backlog.replay else { return }
        durability.endReading(at: replay.place)
        durability.endReplay(replay.number)
        backlog.replay = nil
        openBacklog(of: subscription).catchup.replaying.remove(subscription)
    }

    /// A session has nothing to be told before more of the journal is read.
    func awaitsJournal(_ session: SessionHandle) -> Bool {
        guard let catchup = sessions[session].catchup else { return false }
        return catchup.ready.isEmpty && catchup.isReading(matching)
    }

    // MARK: Piece by piece

    /// A piece is done with: asks for the next, or ends the replay.
    private mutating func goOn(_ replay: Replay, of subscription: SubscriptionHandle) {
        let (next, hasFailed) = replay.finishPiece()
        if let next, !hasFailed {
            durability.endReading(at: replay.place, goingOnAt: next)
            replay.place = next
            replay.isReading = true
            return durability.askForNext(replay.number)
        }
        if hasFailed { noteUnreadable(replay, of: subscription) }
        if replay.gathers { matching[subscription].backlog?.keys.sort() }
        endReplay(of: subscription)
    }

    private mutating func tellReplayed(
        _ record: RecordLine,
        _ event: Span<UInt8>,
        _ replay: Replay,
        _ subscription: SubscriptionHandle
    ) {
        let session = matching[subscription].session
        let key = record.key.bytes(of: event)
        guard sessions[session].authorize(.subscribe, key) else { return }
        let kind: Event = record.kind == .delete ? .delete : .update
        // Work space, taken out meanwhile: nothing is allocated for each event.
        var by = ByteBuffer()
        replay.swapAuthor(&by)
        defer { replay.swapAuthor(&by) }
        by.removeAll()
        by.append(#","by":"#)
        by.append(record.by.bytes(of: event))
        if !record.origin.isEmpty { EventEncoder.appendOrigin(record.origin.bytes(of: event), to: &by) }
        let tail = EventTail(
            key: key,
            revision: record.revision,
            value: record.kind == .delete ? Span() : record.value.bytes(of: event),
            by: by.bytes,
            cause: record.cause,
            reason: record.reason
        )
        let telling = delivery.telling(
            owed: kind,
            tail,
            since: nil,
            wasSent: false,
            isMissed: true,
            matching[subscription].filter
        )
        let hash = keyspace.hash(key)
        guard replay.isNews(telling, kind, of: hash, matching[subscription].filter) else { return }
        delivery.openOwn(of: session, &sessions)
        let (text, form) = (matching[subscription].text, matching[subscription].kind)
        TurnLog.append(
            kind,
            tail,
            telling,
            delivery.judge.change,
            form,
            for: matching[text],
            to: &sessions[session].outbox.own
        )
        insight.count(events: 1)
        noteWindow(of: subscription, hash)
    }

    // MARK: The newest of each key

    private mutating func gather(_ replay: Replay, for subscription: SubscriptionHandle) {
        var restored = RestoredAuthors()
        while let (entry, bytes) = replay.popNext() {
            gather(entry.record, entry.place.bytes(of: bytes.span), subscription, &restored)
        }
        restored.release(&keyspace)
    }

    private mutating func gather(
        _ record: RecordLine,
        _ event: Span<UInt8>,
        _ subscription: SubscriptionHandle,
        _ restored: inout RestoredAuthors
    ) {
        let key = record.key.bytes(of: event)
        guard sessions[matching[subscription].session].authorize(.subscribe, key) else { return }
        let observable = keyspace.findOrInsert(key)
        if record.kind == .delete, !keyspace[observable].hasValue {
            let (name, origin) = (record.by.bytes(of: event), record.origin.bytes(of: event))
            let deleter = restored.author(name, from: origin, nil, &keyspace)
            keyspace.keepDeleter(deleter, of: observable)
            keyspace[observable].cause = record.cause
            keyspace[observable].marks.reason = record.reason
        }
        oweMissed(observable, revision: record.revision, to: subscription)
    }

    /// Owes a write that an observer missed; of a key that it is owed already, the newer one.
    mutating func oweMissed(
        _ observable: ObservableHandle,
        revision: UInt64,
        to subscription: SubscriptionHandle
    ) {
        let backlog = openBacklog(of: subscription).backlog
        guard let owed = place(of: observable, in: backlog) else {
            return appendOwed(OwedKey(observable, revision: revision, .unsure), to: subscription, backlog)
        }
        backlog.keys.noteMissed(owed)
        if backlog.keys[owed].revision < revision {
            backlog.keys.renew(owed, revision: revision, event: 0)
        }
    }

    // MARK: What can't be read

    /// A file went while somebody read very slowly, or is damaged: says from where on, and of
    /// each key tells the newest that there is.
    private mutating func noteUnreadable(_ replay: Replay, of subscription: SubscriptionHandle) {
        let session = matching[subscription].session
        let first = max(replay.after, matching[subscription].backlog?.lastRevision ?? 0) + 1
        let dropped = replay.upTo - min(replay.upTo, first) + 1
        appendLagged(dropped, first, max(first, replay.upTo), to: subscription)
        guard replay.gathers else { return }
        let clearance = sessions[session].clearance
        for observable in KeySearch.all(replay.patterns, for: clearance, in: keyspace)
        where keyspace[observable].revision > replay.after
            && keyspace[observable].revision <= replay.upTo
        {
            oweMissed(observable, revision: keyspace[observable].revision, to: subscription)
        }
    }

    /// The patterns of a subscription.
    private func patterns(of subscription: SubscriptionHandle) -> [[UInt8]] {
        let exact = matching[subscription].keys.all.map { Array(keyspace[$0.observable].key) }
        return exact
            + matching[subscription].patterns.map { place in
                var pattern = ByteBuffer()
                place.node.appendPattern(to: &pattern)
                return Array(pattern.bytes)
            }
    }
}
