// A debugger for notifications: pauses, steps and resumes a subscription. It may be one's own, another
// client's of the same user, or one that the policy allows. A paused subscription is owed events like a slow
// one.

import PlugboardMemory
import PlugboardWire

/// `pause`, `resume` and `step`.
enum Control {
    /// Returns the subscription, which may have to go on now.
    static func perform(
        _ asked: AskedRequest,
        _ options: RequestOptions,
        _ keyspace: borrowing Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: borrowing Insight
    ) throws(Refusal) -> SubscriptionHandle {
        let subscription = try target(of: asked, options.client, keyspace, matching, sessions, insight)
        switch asked.request.operation {
        case .pause:
            let isPlain =
                matching[subscription].delivery == .latest && matching[subscription].filter == nil
                && !matching[subscription].kind.hasOld
            sessions.openBacklog(of: subscription, &matching).backlog.pause(isPlain: isPlain)
        case .resume: matching[subscription].backlog?.resume()
        default:
            // Only owed lines pass, not later ones.
            guard let backlog = matching[subscription].backlog, backlog.isPaused else {
                throw notPaused(String(matching.sub(of: subscription)), asked.request)
            }
            backlog.step(options.count)
        }
        // The reply counts what is owed before anything passes.
        delivery.openReply(to: asked.session, &sessions)
        ReplyEncoder.appendControl(
            asked.request.operation,
            id: asked.id,
            sub: matching.sub(of: subscription),
            client: asked.request.has(.client) ? options.client : nil,
            owed: matching[subscription].backlog?.owedCount ?? 0,
            to: &sessions[asked.session].outbox.own
        )
        return subscription
    }

    /// The subscription that a request names, of this client or of the client that it names.
    private static func target(
        of asked: AskedRequest,
        _ client: UInt64,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        _ insight: borrowing Insight
    ) throws(Refusal) -> SubscriptionHandle {
        let session = asked.session
        guard asked.request.has(.client) else {
            return try asked.subscription(of: session, matching, sessions)
        }
        guard sessions[session].isGuarded else {
            return try asked.subscription(of: sessions.find(client, for: session), matching, sessions)
        }
        // Whether there is no such subscription or no right to it, the refusal is the same.
        if let owner = sessions.find(client: client),
            let found = matching.find(asked.sub.bytes, in: sessions[owner].subscriptions),
            owner == session || isControllable(found, by: sessions[session], keyspace, matching, insight)
        {
            return found
        }
        let message = "client \(client) has no such subscription that this client may act on"
        throw Refusal(.notFound, message, hint: "the broker's --policy says who may control what")
    }

    private static func isControllable(
        _ subscription: SubscriptionHandle,
        by session: borrowing Session,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ insight: borrowing Insight
    ) -> Bool {
        for place in matching[subscription].keys.all
        where !session.authorize(.control, keyspace[place.observable].key) {
            return false
        }
        var pattern = ByteBuffer()
        for place in matching[subscription].patterns {
            pattern.removeAll()
            place.node.appendPattern(to: &pattern)
            if !session.authorizeAll(.control, pattern.bytes) { return false }
        }
        guard matching[subscription].isTracer else { return true }
        for pattern in insight.tracing.patterns(of: subscription)
        where !session.authorizeAll(.control, pattern.span) {
            return false
        }
        return true
    }

    private static func notPaused(_ sub: String, _ request: Request) -> Refusal {
        var refusal = Refusal(.conflict, "subscription \(sub) is not paused", hint: "pause it first")
        refusal.offset = request.sub.start
        return refusal
    }
}
