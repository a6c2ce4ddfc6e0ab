// Sends older events from the journal to one subscription. It needs this if it was away longer than memory
// remembers, or if it is told all and there was no room. With `latest`, the keys are gathered first, because
// each is sent once. With `all`, every event is sent as the journal has it.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

final class Replay {
    /// What is read next. Its number is the subscription's.
    var request: ReadRequest
    /// Keys are owed as they are read, and sent when all is read.
    let gathers: Bool
    /// The next piece is requested, or will be when its client is served: by then everything that it may contain was
    /// written.
    var isReading = true
    var isAsked = false
    /// The hashes of keys that no longer match or are gone, as the observer was told. A key that matches
    /// again is removed here.
    private var left: Set<UInt64> = []
    /// The last revision of which all was sent.
    private var told: UInt64
    private var piece: ReadPiece?
    /// The events of the piece that the client may see. Only these are owed.
    private var entries: [RecordBatch.Entry] = []
    /// The bytes that it counts: its lines, and their members.
    var pieceBytes: Int {
        piece.map {
            $0.records.bytes.count + $0.records.entries.count * MemoryLayout<RecordBatch.Entry>.stride
        } ?? 0
    }
    private var next = 0
    /// Work space for the author of an event.
    private var by = ByteBuffer()

    init(_ request: ReadRequest, gathers: Bool) {
        (self.request, self.gathers, told) = (request, gathers, request.after)
    }

    var readyCount: Int { gathers ? 0 : entries.count - next }

    var frontRevision: UInt64 { nextEntry?.record.revision ?? told + 1 }

    /// Lends the work space for an event's author, or takes it back.
    func swapAuthor(_ by: inout ByteBuffer) { swap(&self.by, &by) }

    func withFrontKey<Result>(_ body: (Span<UInt8>) -> Result) -> Result? {
        guard let entry = nextEntry, let bytes = piece?.records.bytes else { return nil }
        return body(entry.record.key.bytes(of: entry.place.bytes(of: bytes.span)))
    }

    func take(_ piece: ReadPiece, where isSeen: (Span<UInt8>) -> Bool) {
        (isReading, isAsked) = (false, false)
        let bytes = piece.records.bytes
        entries = piece.records.entries.filter {
            isSeen($0.record.key.bytes(of: $0.place.bytes(of: bytes.span)))
        }
        self.piece = piece
        next = 0
    }

    func popNext() -> (entry: RecordBatch.Entry, bytes: [UInt8])? {
        guard let entry = nextEntry, let piece else { return nil }
        next += 1
        if !gathers { told = entry.record.revision }
        return (entry, piece.records.bytes)
    }

    /// Whether an event is news for the observer: if it knows that the key has left or is gone, it isn't told
    /// again that the key has left.
    func isNews(_ telling: FilterResult, _ kind: EventKind, of keyHash: UInt64, _ filter: Filter?) -> Bool {
        guard filter?.conditions != nil else { return true }
        if kind != .delete, telling != .leaving {
            left.remove(keyHash)
            return true
        }
        return left.insert(keyHash).inserted || kind == .delete
    }

    private var nextEntry: RecordBatch.Entry? {
        next < entries.count ? entries[next] : nil
    }

    /// Ends a piece. Returns where the next one begins; nil if it was the last, or if reading has failed.
    func finishPiece() -> (next: ReadPlace?, hasFailed: Bool) {
        defer { (piece, entries, next) = (nil, [], 0) }
        let hasFailed = piece?.hasFailed ?? false
        return (hasFailed ? nil : piece?.next, hasFailed)
    }
}

// Sends older events from the journal. Other threads read the files, and each subscription sends its events
// in turn, as there is room. Until then the subscription waits, and so do the replies of its session.

extension Hub {
    /// Begins to send a subscription the events after a revision, except the first ones of the next revision
    /// that it knows (`skipping`).
    mutating func replay(
        to subscription: SubscriptionHandle, from place: ReadPlace, after revision: UInt64, skipping: Int = 0
    ) {
        let (backlog, sessionBacklog) = openBacklog(of: subscription)
        let request = ReadRequest(
            number: subscription.word, place: place, after: revision, skipping: skipping,
            upTo: keyspace.revision, patterns: matching[subscription].allPatterns(keyspace)
        )
        backlog.replay = Replay(request, gathers: matching[subscription].delivery == .latest)
        sessionBacklog.replaying.append(subscription)
        delivery.touch(matching[subscription].session, &sessions)
    }

    /// Reads the next pieces for a client, once everything that they may contain was written.
    func read(for session: SessionHandle) {
        guard let journal = durability.journal, let backlog = sessions[session].backlog else { return }
        for place in backlog.replaying.indices {
            let subscription = backlog.replaying[place]
            guard let replay = matching[subscription].backlog?.replay, replay.isReading, !replay.isAsked
            else { continue }
            replay.isAsked = true
            journal.read(replay.request)
        }
    }

    /// Sends the next event of a replay, if a piece is there. Returns false if the observer isn't told of it.
    mutating func tellNext(
        of replay: Replay, to subscription: SubscriptionHandle, _ backlog: Backlog
    ) -> Bool {
        guard let (entry, bytes) = replay.popNext() else { return false }
        let told = tell(entry.record, entry.place.bytes(of: bytes.span), replay, to: subscription)
        backlog.advance(entry.record.revision)
        goOn(with: replay, of: subscription)
        guard let told else { return false }
        insight.count(events: 1)
        beginWindow(of: subscription, told, backlog)
        return true
    }

    /// If all of a piece was sent, asks for the next one, or ends the replay.
    private mutating func goOn(with replay: Replay, of subscription: SubscriptionHandle) {
        if replay.readyCount > 0 { return }
        let (backlog, sessionBacklog) = openBacklog(of: subscription)
        sessionBacklog.gatheredBytes -= replay.pieceBytes
        let (next, hasFailed) = replay.finishPiece()
        if let next {
            durability.journal?.endReading(at: replay.request.place, goingOnAt: next)
            replay.request.place = next
            replay.isReading = true
            return delivery.touch(matching[subscription].session, &sessions)
        }
        if hasFailed { tellUnreadable(replay, to: subscription) }
        if replay.gathers { backlog.keys.sort() }
        backlog.advance(replay.request.upTo)
        endReplay(of: subscription)
    }

    mutating func endReplay(of subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog, let replay = backlog.replay else { return }
        durability.journal?.endReading(at: replay.request.place)
        let sessionBacklog = openBacklog(of: subscription).sessionBacklog
        sessionBacklog.gatheredBytes -= replay.pieceBytes
        backlog.replay = nil
        sessionBacklog.replaying.remove(subscription)
    }

    // MARK: One event

    /// Returns the hash of the key; nil if the event wasn't sent.
    private mutating func tell(
        _ record: RecordLine, _ event: Span<UInt8>, _ replay: Replay, to subscription: SubscriptionHandle
    ) -> UInt64? {
        let session = matching[subscription].session
        let key = record.key.bytes(of: event)
        guard sessions[session].authorize(.subscribe, key) else { return nil }
        let kind: EventKind = record.kind == .delete ? .delete : .update
        // Work space, taken out meanwhile so that no event allocates memory.
        var by = ByteBuffer()
        replay.swapAuthor(&by)
        defer { replay.swapAuthor(&by) }
        by.removeAll()
        by.append(#","by":"#)
        by.append(record.by.bytes(of: event))
        if !record.origin.isEmpty { EventEncoder.appendOrigin(record.origin.bytes(of: event), to: &by) }
        var tail = EventTail(
            key: key,
            revision: record.revision,
            value: record.kind == .delete ? Span() : record.value.bytes(of: event),
            by: by.bytes,
            cause: record.cause,
            reason: record.reason
        )
        tail.when = record.seconds
        let filter = matching[subscription].filter
        let telling = delivery.judge.tellingMissed(kind, tail.value, filter)
        let hash = keyspace.hash(key)
        guard replay.isNews(telling, kind, of: hash, filter) else { return nil }
        delivery.openOwn(of: session, &sessions)
        let text = matching[subscription].text
        let form = OwnForm(kind, telling, ObserverEntry.words(text, matching[subscription].kind))
        form.append(tail, delivery.judge.change, for: matching[text], to: &sessions[session].outbox.own)
        return hash
    }

    // MARK: The newest of each key

    mutating func take(_ piece: ReadPiece) {
        let subscription = SubscriptionHandle(word: piece.number)
        guard matching.contains(subscription), let replay = matching[subscription].backlog?.replay
        else { return }
        let session = matching[subscription].session
        replay.take(piece) { sessions[session].authorize(.subscribe, $0) }
        openBacklog(of: subscription).sessionBacklog.gatheredBytes += replay.pieceBytes
        if replay.gathers { gather(replay, for: subscription) }
        goOn(with: replay, of: subscription)
        countOwed(to: session)
        delivery.touch(session, &sessions)
        review(subscription)
    }

    /// Owes a subscription the newest value of each key in a piece.
    private mutating func gather(_ replay: Replay, for subscription: SubscriptionHandle) {
        var restored = RestoredAuthors()
        while let (entry, bytes) = replay.popNext() {
            let (record, event) = (entry.record, entry.place.bytes(of: bytes.span))
            let key = record.key.bytes(of: event)
            let observable = keyspace.findOrInsert(key)
            // It may have been deleted again since the subscription began.
            let owed = matching[subscription].backlog.flatMap { $0.keys.revision(of: observable) } ?? 0
            if record.kind == .delete, owed <= record.revision, !keyspace[observable].hasValue,
                !keyspace.knowsDelete(after: record.seconds, of: observable, isInOrder: owed > 0)
            {
                let (name, origin) = (record.by.bytes(of: event), record.origin.bytes(of: event))
                let deleter = restored.author(name, from: origin, nil, &keyspace)
                keyspace.keepDeleter(deleter, of: observable)
                keyspace[observable].when = record.seconds
                keyspace.set(record.reason, cause: record.cause, of: observable)
            }
            owe(missed: observable, revision: record.revision, to: subscription)
            insight.count(steps: Cost.owed)
        }
        restored.release(&keyspace)
    }

    // MARK: What can't be read

    /// A file was removed while somebody read very slowly, or is damaged. Tells the observer from which
    /// revision on events are missing, and owes it the newest value of each key.
    private mutating func tellUnreadable(_ replay: Replay, to subscription: SubscriptionHandle) {
        let first = max(replay.request.after, matching[subscription].backlog?.lastRevision ?? 0) + 1
        let dropped = replay.request.upTo - min(replay.request.upTo, first) + 1
        tellLagged(dropped, first, max(first, replay.request.upTo), to: subscription)
        guard replay.gathers else { return }
        let grant = sessions[matching[subscription].session].grant
        for observable in KeySearch.all(replay.request.patterns, for: grant, in: keyspace, deadlines)
        where keyspace[observable].revision > replay.request.after
            && keyspace[observable].revision <= replay.request.upTo
        {
            owe(missed: observable, revision: keyspace[observable].revision, to: subscription)
        }
    }
}
