// Reading again what was missed: the journal's files are read beside the loop, and what
// comes of that is told by turns, as there is room. Until it was told, the subscription
// waits, and with it the replies of its session.

import PlugboardMemory
import PlugboardJournal
import PlugboardWire

extension Hub {
    /// How a new subscription begins.
    enum Beginning {
        case fresh
        /// With what the history knows that it missed.
        case remembered
        /// With what the journal has of it, from there on.
        case kept(ReadPlace)
        /// With all there is, as it isn't known what it missed.
        case anew

        var isResumed: Bool? {
            switch self {
            case .fresh: nil
            case .remembered, .kept: true
            case .anew: false
            }
        }
    }

    /// Tells a subscription again what was written after a revision, passing over so many events
    /// of the next one.
    mutating func beginReplay(
        _ subscription: SubscriptionReference,
        from place: ReadPlace,
        after revision: UInt64,
        skipping: Int = 0
    ) {
        let session = subscription.pointee.session
        subscription.pointee.makeBacklog()
        session.pointee.makeCatchup()
        subscription.pointee.backlog?.pointee.replay = Replay(
            replays.begin(subscription),
            from: place,
            patterns: Self.patterns(of: subscription),
            after: revision,
            skipping: skipping,
            upTo: self.revision,
            gathers: subscription.pointee.delivery == .latest
        )
        session.pointee.catchup?.pointee.replaying.append(subscription)
        session.pointee.isBehind = true
        touch(session)
    }

    /// Takes a piece of the journal for who asked, if it is still there.
    mutating func take(_ piece: ReadPiece) {
        guard let subscription = replays.subscriptions[piece.number],
            let replay = subscription.pointee.backlog?.pointee.replay
        else { return }
        replay.take(piece)
        if replay.gathers {
            gather(replay, for: subscription.pointee.session)
            goOn(replay, of: subscription)
        } else if replay.readyCount == 0 {
            goOn(replay, of: subscription)
        }
        subscription.pointee.dropEmptyBacklog()
        touch(subscription.pointee.session)
        readyIfFree(subscription)
    }

    /// Tells the next event of a replay.
    mutating func appendReplayed(_ subscription: SubscriptionReference, _ backlog: BacklogReference) {
        guard let replay = backlog.pointee.replay else { return }
        if let (entry, bytes) = replay.popNext() {
            appendReplayed(entry.record, entry.place.bytes(of: bytes.span), replay, subscription)
            backlog.pointee.lastRevision = max(backlog.pointee.lastRevision, entry.record.revision)
        }
        if replay.readyCount == 0 { goOn(replay, of: subscription) }
    }

    /// Forgets the replay of a subscription.
    mutating func endReplay(of subscription: SubscriptionReference) {
        guard let backlog = subscription.pointee.backlog, let replay = backlog.pointee.replay else { return }
        while let owed = replay.gathered.front {
            let observable = owed.pointee.observable
            replay.gathered.remove(owed)
            removeIfUnneeded(observable)
        }
        durability.endReading(at: replay.place)
        replays.end(replay.number)
        backlog.pointee.replay = nil
        if let catchup = subscription.pointee.session.pointee.catchup,
            let place = catchup.pointee.replaying.elements.firstIndex(of: subscription)
        {
            catchup.pointee.replaying.removeSwapping(at: place)
        }
    }

    /// A subscription goes on: where a piece of the journal is on its way to it, the replies of its
    /// session wait again.
    mutating func waitForReplay(of subscription: SubscriptionReference) {
        guard subscription.pointee.backlog?.pointee.replay?.isReading == true else { return }
        subscription.pointee.session.pointee.isBehind = true
        touch(subscription.pointee.session)
    }

    /// A session has nothing to be told before more of the journal is read.
    func awaitsJournal(_ session: SessionReference) -> Bool {
        guard let catchup = session.pointee.catchup else { return false }
        return catchup.pointee.ready.isEmpty && catchup.pointee.isReading()
    }

    // MARK: Piece by piece

    /// A piece is done with: asks for the next, or ends the replay.
    private mutating func goOn(_ replay: Replay, of subscription: SubscriptionReference) {
        let (next, hasFailed) = replay.finishPiece()
        if let next, !hasFailed {
            durability.endReading(at: replay.place, goingOnAt: next)
            replay.place = next
            replay.isReading = true
            return replays.ask(replay.number)
        }
        if hasFailed { noteUnreadable(replay, of: subscription) }
        if replay.gathers { oweGathered(replay, subscription) }
        endReplay(of: subscription)
    }

    private mutating func appendReplayed(
        _ record: RecordLine,
        _ event: Span<UInt8>,
        _ replay: Replay,
        _ subscription: SubscriptionReference
    ) {
        let session = subscription.pointee.session
        let key = record.key.bytes(of: event)
        guard session.pointee.authorize(.subscribe, key) else { return }
        let kind: Event = record.kind == .delete ? .delete : .update
        // Work space, taken out meanwhile: nothing is allocated for each event.
        var keyPrefix = ByteBuffer()
        var by = ByteBuffer()
        replay.swapTexts(&keyPrefix, &by)
        defer { replay.swapTexts(&keyPrefix, &by) }
        keyPrefix.removeAll()
        by.removeAll()
        EventEncoder.appendKeyPrefix(key, to: &keyPrefix)
        by.append(#","by":"#)
        by.append(record.by.bytes(of: event))
        let tail = EventTail(
            keyPrefix: keyPrefix.bytes,
            revision: record.revision,
            value: record.kind == .delete ? Span() : record.value.bytes(of: event),
            by: by.bytes,
            cause: record.cause,
            reason: record.reason
        )
        let hash = observables.hash(key)
        let telling = tellingMissed(kind, tail, subscription)
        guard replay.isNews(telling, kind, of: hash, subscription.pointee.filter) else { return }
        openOwn(of: session)
        TurnLog.append(kind, tail, telling, change.bytes, for: subscription, to: &session.pointee.outbox.own)
        own.events &+= 1
        noteWindow(of: subscription, hash)
    }

    // MARK: The newest of each key

    private mutating func gather(_ replay: Replay, for session: SessionReference) {
        var authors = RestoredAuthors()
        while let (entry, bytes) = replay.popNext() {
            gather(entry.record, entry.place.bytes(of: bytes.span), replay, session, &authors)
        }
    }

    private mutating func gather(
        _ record: RecordLine,
        _ event: Span<UInt8>,
        _ replay: Replay,
        _ session: SessionReference,
        _ authors: inout RestoredAuthors
    ) {
        let key = record.key.bytes(of: event)
        guard session.pointee.authorize(.subscribe, key) else { return }
        let hash = observables.hash(key)
        let observable = observables.find(key, hash: hash) ?? observables.insert(key, hash: hash)
        if record.kind == .delete, !observable.pointee.hasValue {
            observable.pointee.keepDeleter(authors.author(record.by.bytes(of: event)))
            observable.pointee.cause = record.cause
            observable.pointee.marks.reason = record.reason
        }
        if let owed = replay.gathered.find(observable) {
            if owed.pointee.skipped < .max { owed.pointee.skipped += 1 }
            return replay.gathered.renew(owed, revision: record.revision, event: 0)
        }
        replay.gathered.append(OwedKey(observable: observable, revision: record.revision, .unsure))
    }

    /// Owes what was gathered, and behind it what has come since.
    private mutating func oweGathered(_ replay: Replay, _ subscription: SubscriptionReference) {
        guard let backlog = subscription.pointee.backlog,
            let catchup = subscription.pointee.session.pointee.catchup
        else { return }
        let owedBefore = backlog.pointee.keys.count
        var awaitedCount = replay.gathered.count
        while let later = backlog.pointee.keys.front {
            var owed = later.pointee
            if let held = owed.held { HeldBytes.retain(held) }
            if let names = owed.unacknowledged { HeldBytes.retain(names) }
            if let missed = replay.gathered.find(owed.observable) {
                let skipped = UInt64(owed.skipped) + UInt64(missed.pointee.skipped) + 1
                owed.skipped = UInt32(clamping: skipped)
                owed.knowledge = .unsure
                replay.gathered.remove(missed)
            } else if owed.isAwaited {
                awaitedCount += 1
            }
            replay.gathered.append(owed)
            backlog.pointee.keys.remove(later)
        }
        swap(&backlog.pointee.keys, &replay.gathered)
        catchup.pointee.owedCount += backlog.pointee.keys.count - owedBefore
        backlog.pointee.awaitedCount = awaitedCount
        if catchup.pointee.owedCount > Limits.owedKeysMax { setAside(subscription.pointee.session, .slow) }
    }

    // MARK: What can't be read

    /// A file went while somebody read very slowly, or is damaged: says from where on, and of
    /// each key tells the newest that there is.
    private mutating func noteUnreadable(_ replay: Replay, of subscription: SubscriptionReference) {
        let session = subscription.pointee.session
        let first = max(replay.after, subscription.pointee.backlog?.pointee.lastRevision ?? 0) + 1
        openOwn(of: session)
        EventEncoder.appendLagged(
            sub: subscription.pointee.text.pointee.sub,
            dropped: replay.upTo - min(replay.upTo, first) + 1,
            first: first,
            last: max(first, replay.upTo),
            to: &session.pointee.outbox.own
        )
        guard replay.gathers else { return }
        for observable in currentValues(of: replay.patterns, for: session)
        where observable.pointee.revision > replay.after && observable.pointee.revision <= replay.upTo {
            let revision = observable.pointee.revision
            if let owed = replay.gathered.find(observable) {
                replay.gathered.renew(owed, revision: revision, event: 0)
            } else {
                replay.gathered.append(OwedKey(observable: observable, revision: revision, .unsure))
            }
        }
    }

    /// The patterns of a subscription.
    private static func patterns(of subscription: SubscriptionReference) -> [[UInt8]] {
        let exact = subscription.pointee.keys.elements.map { Array($0.observable.pointee.key) }
        return exact
            + subscription.pointee.patterns.elements.map { place in
                var pattern = ByteBuffer()
                place.node._withUnsafeGuaranteedRef { $0.appendPattern(to: &pattern) }
                return Array(pattern.bytes)
            }
    }
}
