// Sends older events from the journal. Other threads read the files, and each subscription sends its events
// in turn, as there is room. Until then the subscription waits, and so do the replies of its session.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

/// Sends subscriptions older events from the journal.
enum Replaying {
    /// Begins to send a subscription the events after a revision, except the first ones of the next revision
    /// that it knows (`skipping`).
    static func begin(
        _ subscription: SubscriptionHandle,
        from place: ReadPlace,
        after revision: UInt64,
        skipping: Int = 0,
        _ keyspace: borrowing Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ durability: inout Durability
    ) {
        let (backlog, catchup) = sessions.openBacklog(of: subscription, &matching)
        backlog.replay = Replay(
            durability.beginReplay(of: subscription),
            from: place,
            patterns: matching[subscription].allPatterns(keyspace),
            after: revision,
            skipping: skipping,
            upTo: keyspace.revision,
            gathers: matching[subscription].delivery == .latest
        )
        catchup.replaying.append(subscription)
        Owing.noteBehind(matching[subscription].session, &sessions, &delivery)
    }

    /// Sends the next event of a replay, if a piece is there. Returns the hash of its key; nil if the event
    /// wasn't sent.
    static func tellNext(
        of replay: Replay,
        to subscription: SubscriptionHandle,
        _ backlog: Backlog,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) -> UInt64? {
        guard let (entry, bytes) = replay.popNext() else { return nil }
        defer { backlog.noteTold(entry.record.revision) }
        let event = entry.place.bytes(of: bytes.span)
        return tell(entry.record, event, replay, subscription, keyspace, matching, &sessions, &delivery)
    }

    /// A piece is done. Asks for the next one if there is one that can be read, and returns true.
    static func asksForNext(_ replay: Replay, _ durability: inout Durability) -> Bool {
        guard let next = replay.finishPiece() else { return false }
        durability.endReading(at: replay.place, goingOnAt: next)
        replay.place = next
        replay.isReading = true
        durability.askForNext(replay.number)
        return true
    }

    /// Ends the replay of a subscription.
    static func end(
        of subscription: SubscriptionHandle,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ durability: inout Durability
    ) {
        guard let backlog = matching[subscription].backlog, let replay = backlog.replay else { return }
        durability.endReading(at: replay.place)
        durability.endReplay(replay.number)
        backlog.replay = nil
        sessions.openBacklog(of: subscription, &matching).catchup.replaying.remove(subscription)
    }

    // MARK: One event

    private static func tell(
        _ record: RecordLine,
        _ event: Span<UInt8>,
        _ replay: Replay,
        _ subscription: SubscriptionHandle,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) -> UInt64? {
        let session = matching[subscription].session
        let key = record.key.bytes(of: event)
        guard sessions[session].authorize(.subscribe, key) else { return nil }
        let kind: KeyEvent = record.kind == .delete ? .delete : .update
        // Work space, taken out meanwhile so that no event allocates memory.
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
        let filter = matching[subscription].filter
        let telling = delivery.telling(
            owed: kind,
            tail,
            since: nil,
            wasSent: false,
            isMissed: true,
            filter
        )
        let hash = keyspace.hash(key)
        guard replay.isNews(telling, kind, of: hash, filter) else { return nil }
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
        return hash
    }

    // MARK: The newest of each key

    /// Owes a subscription the newest value of each key in a piece.
    static func gather(
        _ replay: Replay,
        for subscription: SubscriptionHandle,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ access: inout Access
    ) {
        var restored = RestoredAuthors()
        while let (entry, bytes) = replay.popNext() {
            let (record, event) = (entry.record, entry.place.bytes(of: bytes.span))
            let key = record.key.bytes(of: event)
            guard sessions[matching[subscription].session].authorize(.subscribe, key) else { continue }
            let observable = keyspace.findOrInsert(key)
            if record.kind == .delete, !keyspace[observable].hasValue {
                let (name, origin) = (record.by.bytes(of: event), record.origin.bytes(of: event))
                let deleter = restored.author(name, from: origin, nil, &keyspace)
                keyspace.keepDeleter(deleter, of: observable)
                keyspace.set(record.reason, cause: record.cause, of: observable)
            }
            Owing.append(
                missed: observable,
                revision: record.revision,
                to: subscription,
                &keyspace,
                &matching,
                &sessions,
                &delivery,
                &access
            )
        }
        restored.release(&keyspace)
    }

    // MARK: What can't be read

    /// A file was removed while somebody read very slowly, or is damaged. Tells the observer from which
    /// revision on events are missing, and owes it the newest value of each key.
    static func noteUnreadable(
        _ replay: Replay,
        of subscription: SubscriptionHandle,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ access: inout Access,
        _ deadlines: borrowing Deadlines
    ) {
        let first = max(replay.after, matching[subscription].backlog?.lastRevision ?? 0) + 1
        let dropped = replay.upTo - min(replay.upTo, first) + 1
        let last = max(first, replay.upTo)
        Owing.appendLagged(dropped, first, last, to: subscription, matching, &sessions, &delivery)
        guard replay.gathers else { return }
        let clearance = sessions[matching[subscription].session].clearance
        for observable in KeySearch.all(replay.patterns, for: clearance, in: keyspace, deadlines)
        where keyspace[observable].revision > replay.after
            && keyspace[observable].revision <= replay.upTo
        {
            Owing.append(
                missed: observable,
                revision: keyspace[observable].revision,
                to: subscription,
                &keyspace,
                &matching,
                &sessions,
                &delivery,
                &access
            )
        }
    }
}
