// Subscriptions come and go. The reply, the snapshot, `synced` and the first live
// event are in that order because all of it happens within one request.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func subscribe(_ asked: AskedRequest) throws(Refusal) {
        let (options, session) = (requests.decoder.options, asked.session)
        let wanted = try requests.patterns(of: asked)
        try Access.checkPatterns(wanted, asked.line, sessions[session])
        let sub = try chooseSub(asked, patterns: wanted.count)
        for range in wanted { refreshOwnState(matching: range.bytes(of: asked.line)) }
        let filter = Filter(requests.decoder, asked.line, revision: revision)
        try access.checkKept(filter?.bytes ?? 0, of: sessions[session])
        let resumption = Resumption(asked, wanted, options)
        let beginning = resumption.beginning(keyspace, durability, access)
        var snapshot: ValueSnapshot?
        if beginning.isWhole, options.initial {
            snapshot = requests.prepare(
                asked,
                wanted,
                filter,
                &keyspace,
                &sessions,
                &delivery,
                &insight,
                deadlines
            )
            endFound()
            if snapshot == nil { return }
        }
        // What it knew before is not known here: only what it missed will have been told.
        if beginning.isResumed == true { filter?.unsentRevision = options.since }
        let subscription = try register(sub, wanted, filter, asked)
        throttle(subscription, milliseconds: options.every)
        let emits = resumption.countEmits(keyspace, sessions[session])
        replyRegistered(subscription, asked, isResumed: beginning.isResumed, emits)
        switch beginning {
        case .remembered:
            openBacklog(of: subscription).backlog.begin(at: revision, owingSynced: options.initial)
            owe(resumption.missed(keyspace, sessions[session]), to: subscription)
        case .kept(let place):
            openBacklog(of: subscription).backlog.begin(at: options.since, owingSynced: options.initial)
            beginReplay(subscription, from: place, after: options.since)
        case .fresh, .anew:
            guard let snapshot else { return }
            let isAnew = beginning.isResumed == false
            let gone = isAnew ? resumption.goneKeys(keyspace, sessions[session]) : []
            owe(snapshot, gone: gone, to: subscription)
        }
    }

    /// Owes the newest of each key that an observer missed, deleted ones too; then `synced`.
    private mutating func owe(_ missed: [History.Entry], to subscription: SubscriptionHandle) {
        for entry in missed {
            if entry.operation == .delete { keyspace.keepDeleter(entry.author, of: entry.observable) }
            oweMissed(entry.observable, revision: entry.revision, to: subscription)
        }
        review(subscription)
    }

    /// Owes the values of a snapshot, the oldest first, and among them the deletes of keys that are `gone`; then
    /// `synced`. Owed like anything else, so one of any size takes no more room than the outbox.
    private mutating func owe(
        _ snapshot: ValueSnapshot,
        gone: [History.Entry],
        to subscription: SubscriptionHandle
    ) {
        let (backlog, catchup) = openBacklog(of: subscription)
        backlog.begin(at: revision, owingSynced: true)
        backlog.takeOver(snapshot.backlog)
        insert(snapshot.ownValues(keyspace), to: backlog)
        for entry in gone { keyspace.keepDeleter(entry.author, of: entry.observable) }
        insert(gone.map { OwedKey($0.observable, revision: $0.revision, .unsure) }, to: backlog)
        catchup.owedCount += backlog.keys.count
        checkOwed(of: subscription)
        review(subscription)
    }

    private mutating func insert(_ owed: [OwedKey], to backlog: Backlog) {
        if owed.isEmpty { return }
        for key in owed { keyspace[key.observable].owedBy += 1 }
        backlog.keys.insert(owed)
    }

    /// Answers what a new subscription is called, from which revision on it is told, and where it
    /// asked for what it missed, whether that follows.
    mutating func replyRegistered(
        _ subscription: SubscriptionHandle,
        _ asked: AskedRequest,
        isResumed: Bool? = nil,
        _ emits: EmitCount? = nil
    ) {
        let session = asked.session
        if sessions[session].isBehind { awaitReply(subscription) }
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendStart(asked.request.operation, id: asked.id, to: &sessions[session].outbox.own)
        sessions[session].outbox.own.append(#","sub":"#)
        sessions[session].outbox.own.append(matching.sub(of: subscription))
        sessions[session].outbox.own.append(#","revision":"#)
        sessions[session].outbox.own.append(decimal: revision)
        if let isResumed {
            sessions[session].outbox.own.append(isResumed ? #","resumed":true"# : #","resumed":false"#)
        }
        emits?.append(to: &sessions[session].outbox.own)
        sessions[session].outbox.own.append("}\n")
    }

    /// A client that is behind is answered later, and told nothing of this subscription before.
    private mutating func awaitReply(_ subscription: SubscriptionHandle) {
        let (backlog, catchup) = openBacklog(of: subscription)
        backlog.awaitReply()
        catchup.unanswered.append(subscription)
    }

    mutating func unsubscribe(_ asked: AskedRequest) throws(Refusal) {
        let session = asked.session
        end(try asked.subscription(of: session, matching, sessions))
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendStart(.unsubscribe, id: asked.id, to: &sessions[session].outbox.own)
        sessions[session].outbox.own.append(#","sub":"#)
        sessions[session].outbox.own.append(asked.sub.bytes)
        sessions[session].outbox.own.append("}\n")
    }

    /// Takes a subscription out of the bus and frees it.
    mutating func end(_ subscription: SubscriptionHandle) {
        noteDemand(of: subscription, -1)
        charge(subscription, traced: insight.tracing.patterns(of: subscription).count, -1)
        if matching[subscription].isTracer, let ticket = insight.removeTracer(subscription) {
            deadlines.cancel(ticket)
        }
        writeOff(subscription)
        matching.detach(subscription, of: user(of: subscription), &keyspace)
        if matching[subscription].acknowledges { noteAcknowledged(subscription, upTo: .max) }
        let session = matching[subscription].session
        sessions[session].subscriptions.remove(subscription, &matching)
        if !matching[subscription].isDirect { sessions[session].indirectCount -= 1 }
        matching.remove(subscription)
    }

    /// The JSON of the sub that was asked for, or of the smallest free one.
    mutating func chooseSub(_ asked: AskedRequest, patterns count: Int) throws(Refusal) -> ByteBuffer {
        let session = asked.session
        try Access.checkSubscriptions(of: sessions[session], patterns: count)
        guard sessions[session].subscriptions.count < Limits.subscriptionsMax else {
            throw Refusal(.limit, "a client has at most \(Limits.subscriptionsMax) subscriptions")
        }
        if !asked.request.has(.sub) {
            var sub = ByteBuffer()
            sub.append(decimal: smallestFreeSub(of: session))
            return sub
        }
        let sub = asked.sub
        if hasSubscription(sub, session) { throw .duplicate(sub, asked.request) }
        return sub
    }

    private func hasSubscription(_ sub: borrowing ByteBuffer, _ session: SessionHandle) -> Bool {
        matching.find(sub.bytes, in: sessions[session].subscriptions) != nil
    }

    private mutating func smallestFreeSub(of session: SessionHandle) -> UInt64 {
        var digits = ByteBuffer()
        while true {
            let number = sessions[session].subscriptions.lowestFree
            digits.removeAll()
            digits.append(decimal: number)
            guard hasSubscription(digits, session) else { return number }
            sessions[session].subscriptions.noteTaken(number)
        }
    }

    mutating func register(
        _ sub: borrowing ByteBuffer,
        _ wanted: [ByteRange],
        _ filter: Filter?,
        _ asked: AskedRequest
    ) throws(Refusal) -> SubscriptionHandle {
        let session = asked.session
        let subscription = matching.add(sub.bytes, of: session, requests.decoder.options, filter)
        try attach(subscription, to: wanted, asked.line, of: sessions[session].peer.user)
        sessions[session].subscriptions.insert(subscription, &matching)
        if !matching[subscription].isDirect { sessions[session].indirectCount += 1 }
        charge(subscription, traced: 0)
        noteDemand(of: subscription, 1)
        return subscription
    }

    /// A subscription has begun, or is about to end.
    private mutating func noteDemand(of subscription: SubscriptionHandle, _ change: Int) {
        if supervision.onDemand.isEmpty { return }
        supervision.noteDemand(of: subscription, change, keyspace, matching, &sessions, &delivery, &deadlines)
    }

    /// Has a subscription observe what it wants, or frees it where keys would visit too many nodes.
    private mutating func attach(
        _ subscription: SubscriptionHandle,
        to wanted: [ByteRange],
        _ line: Span<UInt8>,
        of user: UInt32
    ) throws(Refusal) {
        insight.count(steps: wanted.count * Self.stepsPerPattern)
        for range in wanted {
            matching.attach(subscription, of: user, to: range.bytes(of: line), &keyspace)
        }
        guard matching.steps(of: user) > Limits.patternStepsMax else { return }
        matching.detach(subscription, of: user, &keyspace)
        matching.remove(subscription)
        throw Refusal(.limit, Self.tooManySteps, hint: Pattern.fewerSteps)
    }

    /// What a pattern costs that comes, in observers that are told an event meanwhile.
    private static let stepsPerPattern = 256

    private static let tooManySteps =
        "with these patterns, finding who observes a key could take more than \(Limits.patternStepsMax) steps"

    private func user(of subscription: SubscriptionHandle) -> UInt32 {
        sessions[matching[subscription].session].peer.user
    }

    /// Counts what a subscription has the broker remember; `sign` is -1 when it ends.
    func charge(_ subscription: SubscriptionHandle, traced: Int, _ sign: Int = 1) {
        let session = matching[subscription].session
        access.charge(sessions[session], for: matching[subscription], traced: traced, sign)
    }
}
