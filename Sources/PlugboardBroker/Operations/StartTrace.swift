// A subscription to what the bus does: what happens to each write and each call. Traces are sent at the end
// of the turn, after the observers' lines. Their lines are no writes, so they cause no further traces.

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
        matching[subscription].role = .traces
        let patterns = wanted.map { Array($0.bytes(of: asked.line)) }
        let limit = limit(asked.request, options)
        insight.addTracer(subscription, of: session, patterns, limit, onlyCalls: options.onlyCalls)
        NewSubscription.reply(subscription, asked, at: keyspace.revision, &matching, &sessions, &delivery)
        return subscription
    }

    /// How many events a trace gets in a time, if the request limits that.
    private static func limit(_ request: Request, _ options: RequestOptions) -> TraceLimit? {
        guard request.has(.limit) || request.has(.every) else { return nil }
        return TraceLimit(
            events: request.has(.limit) ? options.limit : TraceLimit.eventsDefault,
            milliseconds: request.has(.every) ? options.every : TraceLimit.millisecondsDefault
        )
    }
}
