// A subscription to what the bus does: what becomes of each write and each call. A trace is told at the end of
// the turn, when the observers have been sent theirs. The lines of a trace are no writes, so they cause none.

import PlugboardMemory
import PlugboardWire

/// `trace`.
enum StartTrace {
    /// Returns the new subscription.
    static func perform(
        _ asked: AskedRequest,
        _ requests: borrowing Requests,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: inout Insight
    ) throws(Refusal) -> SubscriptionHandle {
        let (session, options) = (asked.session, requests.decoder.options)
        let wanted = try requests.patterns(of: asked)
        try Access.checkPatterns(wanted, asked.line, sessions[session])
        let sub = try NewSubscription.chooseSub(asked, patterns: wanted.count, matching, &sessions)
        let subscription = matching.add(sub.bytes, of: session, options, nil)
        sessions[session].subscriptions.insert(subscription, &matching)
        matching[subscription].isTracer = true
        let patterns = wanted.map { Array($0.bytes(of: asked.line)) }
        insight.addTracer(subscription, of: session, patterns, limit(asked.request, options))
        NewSubscription.reply(subscription, asked, at: keyspace.revision, &matching, &sessions, &delivery)
        return subscription
    }

    /// How many events a trace has in a time, if the request says so.
    private static func limit(_ request: Request, _ options: RequestOptions) -> TraceLimit? {
        guard request.has(.limit) || request.has(.every) else { return nil }
        return TraceLimit(
            events: request.has(.limit) ? options.limit : TraceLimit.eventsDefault,
            milliseconds: request.has(.every) ? options.every : TraceLimit.millisecondsDefault
        )
    }
}
