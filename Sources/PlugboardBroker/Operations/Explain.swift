// What a write would do, without doing it: its refusal, or the observers that would be told, and what would
// happen to the event on its way to each.

import PlugboardMemory
import PlugboardWire

/// `explain`.
enum Explain {
    /// `value` is the key's new value, and `refusal` says why the write would be refused. Returns the cost in
    /// observers told.
    static func perform(
        _ asked: AskedRequest,
        _ write: Request,
        _ value: Span<UInt8>,
        _ refusal: Refusal?,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ phases: borrowing Phases,
        _ durability: borrowing Durability,
        _ isSelective: Bool
    ) -> Int {
        let key = write.key.bytes(of: asked.line)
        delivery.openReply(to: asked.session, &sessions)
        var reply = sessions.takeOwn(of: asked.session)
        ReplyEncoder.appendStart(.explain, id: asked.id, to: &reply)
        reply.append(#","op":""#)
        reply.append(write.operation.name)
        reply.append(#"","key":"#)
        JSONText.append(key, to: &reply)
        var steps = 0
        if let refusal {
            // The key of a refused write may be malformed, so nothing else is said about it.
            reply.append(#","refused":{"error":""#)
            reply.append(string: refusal.code.rawValue)
            reply.append("\"")
            ReplyEncoder.appendDetails(of: refusal, to: &reply)
            reply.append("}")
        } else {
            let (event, observable) = (KeyEvent(write.operation), keyspace.find(key))
            let isSeen = sessions[asked.session].authorize(.subscribe, key)
            steps = matching.list(key, observable, keyspace, sessions, isSelective, isSeen: isSeen)
            append(event, of: keyspace.revision, to: value, &reply)
            let listed = matching.listed(sessions)
            let outcomes = Outcome.all(
                of: event,
                key,
                to: value,
                for: listed,
                of: matching.found.all,
                keyspace,
                matching,
                sessions,
                &delivery,
                phases,
                durability
            )
            reply.append(#","observers":["#)
            for (index, subscription) in listed.enumerated() {
                reply.append(index == 0 ? "{" : ",{")
                Who.append(subscription, of: key, keyspace, matching, sessions, to: &reply)
                outcomes[index].append(keyspace, matching, sessions, to: &reply)
                reply.append("}")
            }
            reply.append(matching.found.count > Limits.listedObserversMax ? #"],"more":true"# : "]")
            // If the client may not see the key, it doesn't learn either whether anybody observes it.
            if isSeen, matching.found.isEmpty { reply.append(event.nobodysNote) }
        }
        reply.append("}\n")
        sessions.giveBack(reply, to: asked.session)
        return steps
    }

    private static func append(
        _ event: KeyEvent, of revision: UInt64, to value: Span<UInt8>, _ buffer: inout ByteBuffer
    ) {
        buffer.append(#","effect":""#)
        buffer.append(event.name)
        buffer.append(#"","revision":"#)
        buffer.append(decimal: event == .emit ? revision : revision + 1)
        if value.isEmpty { return }
        buffer.append(#","value":"#)
        buffer.append(value)
    }
}

extension KeyEvent {
    /// The event of a write.
    @inline(__always)
    init(_ operation: Operation) {
        switch operation {
        case .emit: self = .emit
        case .delete: self = .delete
        default: self = .update
        }
    }

    var name: StaticString {
        switch self {
        case .update: "update"
        case .emit: "emit"
        case .delete: "delete"
        }
    }

    fileprivate var nobodysNote: StaticString {
        switch self {
        case .update: #","note":"nobody observes this key: it is kept for whoever asks or subscribes later""#
        case .emit: #","note":"nobody observes this key, and an emit is not kept: nobody would ever know""#
        case .delete: #","note":"nobody observes this key: it would just be gone""#
        }
    }
}

// A subscription to what the bus does: what happens to each write and each call. Traces are sent at the end
// of the turn, after the observers' lines. Their lines are no writes, so they cause no further traces.

extension Hub {
    mutating func trace(_ asked: AskedRequest) throws(Refusal) {
        let (session, options) = (asked.session, requests.decoder.options)
        let wanted = try requests.patterns(of: asked)
        try Access.checkPatterns(wanted, asked.line, sessions[session])
        let sub = try chooseSub(asked, patterns: wanted.count)
        let subscription = matching.add(sub.bytes, of: session, options, nil)
        sessions[session].subscriptions.insert(subscription, &matching)
        matching[subscription].role = .traces
        let patterns = wanted.map { Array($0.bytes(of: asked.line)) }
        let limit = Self.traceLimit(asked.request, options)
        insight.addTracer(subscription, of: session, patterns, limit, onlyCalls: options.onlyCalls)
        reply(subscription, asked)
        noteWeight(of: subscription, 1)
    }

    /// How many events a trace gets in a time, if the request limits that.
    private static func traceLimit(_ request: Request, _ options: RequestOptions) -> TraceLimit? {
        guard request.has(.limit) || request.has(.every) else { return nil }
        return TraceLimit(
            events: request.has(.limit) ? options.limit : TraceLimit.eventsDefault,
            milliseconds: request.has(.every) ? options.every : TraceLimit.millisecondsDefault
        )
    }
}
