// How a subscription comes and goes: its name, what it observes, its replies. What it is sent is up to the
// operation.

import PlugboardMemory
import PlugboardWire

/// Makes and ends subscriptions.
enum NewSubscription {
    /// What each pattern of a new subscription costs, in observers told. A filter costs a step for each byte.
    private static let stepsPerPattern = 256

    /// The `sub` of the request as JSON, or else the smallest free number.
    static func chooseSub(
        _ asked: AskedRequest,
        patterns count: Int,
        _ matching: borrowing Matching,
        _ sessions: inout SessionTable
    ) throws(Refusal) -> ByteBuffer {
        let session = asked.session
        try Access.checkSubscriptions(of: sessions[session], patterns: count)
        guard sessions[session].subscriptions.count < Limits.subscriptionsMax else {
            throw Refusal(.limit, "a client has at most \(Limits.subscriptionsMax) subscriptions")
        }
        guard asked.request.has(.sub) else { return smallestFreeSub(of: session, matching, &sessions) }
        let sub = asked.sub
        if has(sub, session, matching, sessions) { throw .duplicate(sub, asked.request) }
        return sub
    }

    private static func has(
        _ sub: borrowing ByteBuffer,
        _ session: SessionHandle,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable
    ) -> Bool {
        matching.find(sub.bytes, in: sessions[session].subscriptions) != nil
    }

    private static func smallestFreeSub(
        of session: SessionHandle,
        _ matching: borrowing Matching,
        _ sessions: inout SessionTable
    ) -> ByteBuffer {
        var digits = ByteBuffer()
        while true {
            let number = sessions[session].subscriptions.lowestFree
            digits.removeAll()
            digits.append(decimal: number)
            guard has(digits, session, matching, sessions) else { return digits }
            sessions[session].subscriptions.noteTaken(number)
        }
    }

    /// Makes a subscription that observes its patterns. If keys would then visit too many nodes, makes none
    /// and throws.
    static func begin(
        _ sub: borrowing ByteBuffer,
        _ wanted: [ByteRange],
        _ filter: Filter?,
        _ asked: AskedRequest,
        _ options: RequestOptions,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ insight: inout Insight
    ) throws(Refusal) -> SubscriptionHandle {
        let session = asked.session
        let user = sessions[session].peer.user
        let subscription = matching.add(sub.bytes, of: session, options, filter)
        insight.count(steps: wanted.count * Self.stepsPerPattern + (filter?.bytes ?? 0))
        for range in wanted {
            matching.attach(subscription, of: user, to: range.bytes(of: asked.line), &keyspace)
        }
        guard matching.steps(of: user) <= Limits.patternStepsMax else {
            matching.detach(subscription, of: user, &keyspace)
            matching.remove(subscription)
            throw Refusal(.limit, Self.tooManySteps, hint: Pattern.fewerSteps)
        }
        sessions[session].subscriptions.insert(subscription, &matching)
        if !matching[subscription].isDirect { sessions[session].indirectCount += 1 }
        if options.every > 0 {
            let backlog = sessions.openBacklog(of: subscription, &matching).backlog
            backlog.window = Window(milliseconds: options.every)
        }
        return subscription
    }

    private static let tooManySteps =
        "with these patterns, finding who observes a key could take more than \(Limits.patternStepsMax) steps"

    /// Replies with the name of a new subscription, the revision from which on it gets events, and whether
    /// what it missed follows, if it asked for that. A client that is behind gets the reply later, and no
    /// event of this subscription before it.
    static func reply(
        _ subscription: SubscriptionHandle,
        _ asked: AskedRequest,
        at revision: UInt64,
        isResumed: Bool? = nil,
        emits: EmitCount? = nil,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        let session = asked.session
        if sessions[session].isBehind {
            let (backlog, catchup) = sessions.openBacklog(of: subscription, &matching)
            backlog.awaitReply()
            catchup.unanswered.append(subscription)
        }
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
    /// Replies that a subscription has ended.
    static func replyEnded(
        _ asked: AskedRequest,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        let session = asked.session
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendStart(.unsubscribe, id: asked.id, to: &sessions[session].outbox.own)
        sessions[session].outbox.own.append(#","sub":"#)
        sessions[session].outbox.own.append(asked.sub.bytes)
        sessions[session].outbox.own.append("}\n")
    }
}
