// What a write would do, without doing it: its refusal, or the observers that would be told, and what would
// happen to the event on its way to each.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func explain(_ asked: AskedRequest) throws(Refusal) {
        guard let write = requests.decoder.writes.first else {
            throw Refusal(.missingField, "explain needs \"write\"")
        }
        var refusal: Refusal?
        requests.removeResults()
        do throws(Refusal) {
            let asked = AskedRequest(write, asked.line, from: asked.session)
            var planned = try plan(asked)
            if write.operation.combines { try combine(&planned, asked) }
        } catch {
            refusal = error
        }
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
            let observers = findObservers(of: key, observable, isSeen: isSeen)
            reply.append(member: "effect", text: event.rawValue)
            reply.append(member: "revision", event == .emit ? revision : revision + 1)
            if !expected.value.isEmpty { reply.append(member: "value", json: expected.value) }
            let outcomes = outcomes(of: expected, for: observers.named, of: observers.all)
            appendObservers(observers, of: key, to: &reply) { append(outcomes[$0], to: &$1) }
            // If the client may not see the key, it doesn't learn either whether anybody observes it.
            if isSeen, observers.all.isEmpty { reply.append(event.nobodysNote) }
        }
        finish(reply, to: asked.session)
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
        let (isCounted, isTimed) = (asked.request.has(.limit), asked.request.has(.every))
        if isCounted || isTimed {
            tracer.limit = TraceLimit(
                events: isCounted ? options.limit : TraceLimit.eventsDefault,
                milliseconds: isTimed ? options.every : TraceLimit.millisecondsDefault
            )
        }
        guard insight.tracing.add(tracer) else {
            matching.remove(subscription)
            throw .steps("traces", these: "these patterns")
        }
        sessions[session].subscriptions.insert(subscription, &matching)
        matching[subscription].role = .traces
        reply(subscription, asked)
        updateDemand(of: subscription, 1)
    }
}
