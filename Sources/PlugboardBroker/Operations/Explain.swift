// What a write would do, without doing it: its refusal, or the observers that would be told, and what would
// happen to the event on its way to each.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func explain(_ asked: AskedRequest) throws(Refusal) {
        guard let write = requests.decoder.writes.first else {
            throw Refusal(.missingField, "explain needs \"write\"")
        }
        let refusal = refusal(of: AskedRequest(write, asked.line, from: asked.session))
        let key = write.key.bytes(of: asked.line)
        var reply = beginReply(to: asked)
        reply.append(member: "op", text: write.operation.name)
        reply.append(#","key":"#)
        JSONText.append(key, to: &reply)
        if let refusal {
            // The key of a refused write may be malformed, so nothing else is said about it.
            reply.append(#","refused":{"#)
            reply.append(member: "error", text: Array(refusal.code.rawValue.utf8).span, isFirst: true)
            ReplyEncoder.appendDetails(of: refusal, to: &reply)
            reply.append("}")
        } else {
            let (event, observable) = (EventKind(write.operation), keyspace.find(key))
            var value = ByteBuffer()
            if write.operation.combines {
                requests.exchangeResults(&value)
            } else if event != .delete {
                value.append(write.value.bytes(of: asked.line))
            }
            let expected = ExpectedEvent(
                event, of: observable, hash: keyspace.hash(key), to: value.bytes,
                number: delivery.judge.numberExpected()
            )
            let isSeen = sessions[asked.session].authorize(.subscribe, key)
            appendOutcomes(of: expected, key, isSeen: isSeen, to: &reply)
        }
        finish(reply, to: asked.session)
    }

    private mutating func appendOutcomes(
        of expected: borrowing ExpectedEvent, _ key: Span<UInt8>, isSeen: Bool, to reply: inout ByteBuffer
    ) {
        let listed = listObservers(of: key, expected.observable, isSeen: isSeen)
        reply.append(member: "effect", text: expected.event.rawValue)
        reply.append(member: "revision", expected.event == .emit ? revision : revision + 1)
        if !expected.value.isEmpty { reply.append(member: "value", json: expected.value) }
        let outcomes = outcomes(of: expected, for: listed, of: matching.found.all)
        reply.append(#","observers":["#)
        for (place, subscription) in listed.enumerated() {
            reply.append(place == 0 ? "{" : ",{")
            appendObserver(subscription, of: key, to: &reply)
            append(outcomes[place], to: &reply)
            reply.append("}")
        }
        reply.append(matching.found.count > Limits.listedObserversMax ? #"],"more":true"# : "]")
        // If the client may not see the key, it doesn't learn either whether anybody observes it.
        if isSeen, matching.found.isEmpty { reply.append(expected.event.nobodysNote) }
    }
}

extension EventKind {
    @inline(__always)
    init(_ operation: Operation) {
        switch operation {
        case .emit: self = .emit
        case .delete: self = .delete
        default: self = .update
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
        let patterns = wanted.map { Array($0.bytes(of: asked.line)) }
        let tracer = Tracer(subscription, of: session, patterns, onlyCalls: options.onlyCalls)
        tracer.limit = Self.traceLimit(asked.request, options)
        guard insight.tracing.add(tracer) else {
            matching.remove(subscription)
            let steps = "finding who traces a key could take more than \(Limits.patternStepsMax) steps"
            throw Refusal(.limit, "with these patterns, \(steps)", hint: Pattern.fewerSteps)
        }
        sessions[session].subscriptions.insert(subscription, &matching)
        matching[subscription].role = .traces
        reply(subscription, asked)
        updateDemand(of: subscription, 1)
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
