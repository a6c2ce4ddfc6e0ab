// Subscriptions come and go. The reply, the snapshot, `synced` and the first live
// event are in that order because all of it happens within one request.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func subscribe(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let wanted = try patterns(of: request, line)
        try access.checkPatterns(wanted, line, sessions[session])
        let sub = try chooseSub(request, patterns: wanted.count, line, session)
        for range in wanted { refreshOwnState(matching: range.bytes(of: line)) }
        let filter = Filter(requests.decoder, line, revision: revision)
        try access.checkKept(filter?.bytes ?? 0, of: sessions[session])
        let beginning = beginning(request, wanted, line)
        var snapshot: ValueSnapshot?
        if beginning.isWhole, requests.decoder.options.initial {
            snapshot = prepareSnapshot(of: wanted, filter, request, line, session)
            if snapshot == nil { return }
        }
        // What it knew before is not known here: only what it missed will have been told.
        if beginning.isResumed == true { filter?.unsentRevision = requests.decoder.options.since }
        let subscription = try register(sub, wanted, filter, line, session)
        throttle(subscription, milliseconds: requests.decoder.options.every)
        let emits = countEmits(of: wanted, request, line, session)
        replyRegistered(subscription, request, line, isResumed: beginning.isResumed, emits)
        switch beginning {
        case .remembered: oweMissed(of: wanted, line, subscription)
        case .kept(let place):
            let (since, initial) = (requests.decoder.options.since, requests.decoder.options.initial)
            openBacklog(of: subscription).backlog.begin(at: since, owingSynced: initial)
            beginReplay(subscription, from: place, after: since)
        case .fresh, .anew:
            guard let snapshot else { return }
            let isAnew = beginning.isResumed == false
            let gone = isAnew ? goneKeys(of: wanted, request, line, for: session) : []
            owe(snapshot, gone: gone, to: subscription)
        }
    }

    /// Answers what a new subscription is called, from which revision on it is told, and where it
    /// asked for what it missed, whether that follows.
    mutating func replyRegistered(
        _ subscription: SubscriptionHandle,
        _ request: Request,
        _ line: Span<UInt8>,
        isResumed: Bool? = nil,
        _ emits: EmitCount? = nil
    ) {
        let session = matching[subscription].session
        if sessions[session].isBehind { awaitReply(subscription) }
        delivery.openReply(to: session, &sessions)
        let id = request.id.bytes(of: line)
        ReplyEncoder.appendStart(request.operation, id: id, to: &sessions[session].outbox.own)
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

    mutating func unsubscribe(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let sub = Self.subText(request, line)
        end(try subscription(request, line, of: session))
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendStart(
            .unsubscribe,
            id: request.id.bytes(of: line),
            to: &sessions[session].outbox.own
        )
        sessions[session].outbox.own.append(#","sub":"#)
        sessions[session].outbox.own.append(sub.bytes)
        sessions[session].outbox.own.append("}\n")
    }

    /// Takes a subscription out of the bus and frees it.
    mutating func end(_ subscription: SubscriptionHandle) {
        if !supervision.onDemand.isEmpty { noteDemand(of: subscription, -1) }
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

    /// The patterns of a request, each of them well-formed and none twice.
    func patterns(of request: Request, _ line: Span<UInt8>) throws(Refusal) -> [ByteRange] {
        if request.has(.key) {
            try Pattern.check(request.key, line)
            return [request.key]
        }
        var wanted: [ByteRange] = []
        for range in requests.decoder.patterns {
            try Pattern.check(range, line)
            let bytes = range.bytes(of: line)
            if !Self.contains(bytes, among: wanted, of: line) { wanted.append(range) }
        }
        return wanted
    }

    private static func contains(
        _ pattern: Span<UInt8>,
        among wanted: [ByteRange],
        of line: Span<UInt8>
    ) -> Bool {
        for range in wanted where range.bytes(of: line).isEqual(to: pattern) { return true }
        return false
    }

    /// The JSON of the sub that was asked for, or of the smallest free one.
    mutating func chooseSub(
        _ request: Request,
        patterns count: Int,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) -> ByteBuffer {
        try access.checkSubscriptions(of: sessions[session], patterns: count)
        guard sessions[session].subscriptions.count < Limits.subscriptionsMax else {
            throw Refusal(.limit, "a client has at most \(Limits.subscriptionsMax) subscriptions")
        }
        if !request.has(.sub) {
            var sub = ByteBuffer()
            sub.append(decimal: smallestFreeSub(of: session))
            return sub
        }
        let sub = Self.subText(request, line)
        if hasSubscription(sub, session) { throw .duplicate(sub, request) }
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

    static func subText(_ request: Request, _ line: Span<UInt8>) -> ByteBuffer {
        var text = ByteBuffer()
        let bytes = request.sub.bytes(of: line)
        if request.subIsInteger { text.append(bytes) } else { JSONText.append(bytes, to: &text) }
        return text
    }

    mutating func register(
        _ sub: borrowing ByteBuffer,
        _ wanted: [ByteRange],
        _ filter: Filter?,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) -> SubscriptionHandle {
        let subscription = matching.add(sub.bytes, of: session, requests.decoder.options, filter)
        try attach(subscription, to: wanted, line, of: sessions[session].peer.user)
        sessions[session].subscriptions.insert(subscription, &matching)
        if !matching[subscription].isDirect { sessions[session].indirectCount += 1 }
        charge(subscription, traced: 0)
        if !supervision.onDemand.isEmpty { noteDemand(of: subscription, 1) }
        return subscription
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
        throw Refusal(.limit, Self.tooManySteps, hint: Self.fewerSteps)
    }

    /// What a pattern costs that comes, in observers that are told an event meanwhile.
    private static let stepsPerPattern = 256

    private static let tooManySteps =
        "with these patterns, finding who observes a key could take more than \(Limits.patternStepsMax) steps"
    static let fewerSteps = "patterns whose * stand at ever different places take many; ** takes one"

    private func user(of subscription: SubscriptionHandle) -> UInt32 {
        sessions[matching[subscription].session].peer.user
    }

    /// Counts what a subscription has the broker remember; `sign` is -1 when it ends.
    func charge(_ subscription: SubscriptionHandle, traced: Int, _ sign: Int = 1) {
        let session = matching[subscription].session
        access.charge(sessions[session], for: matching[subscription], traced: traced, sign)
    }
}
