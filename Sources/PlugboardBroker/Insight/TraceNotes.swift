// Notes what happens to a write, for those who trace it, before observers are told.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Notes a write or a call, if a tracer wants it and there is room. `rest` is its line from the writer on.
    @discardableResult
    mutating func trace(_ operation: Operation, of key: Span<UInt8>, _ rest: borrowing ByteBuffer) -> Bool {
        let visits = insight.tracing.find(key, isCall: operation == .call, sessions)
        insight.count(steps: visits * Cost.tracer)
        let resting = insight.tracing.note(operation, key, rest.bytes, revision: revision)
        for tracer in resting ?? [] {
            let end = tracer.limit?.end ?? 0
            tracer.limit?.ticket = deadlines.add(at: end, .trace(tracer.subscription))
        }
        return resting != nil
    }

    func traceText(_ author: AuthorHandle, _ cause: WriteCause, _ reason: EventReason? = nil) -> ByteBuffer {
        var text = ByteBuffer()
        text.append(keyspace.authors[author].by)
        EventEncoder.appendReason(reason, to: &text)
        cause.append(to: &text)
        return text
    }

    @inline(never)
    mutating func traceEvent(of news: borrowing WriteEvent) {
        let observable = news.observable
        let key = Array(keyspace[observable].key)
        guard trace(news.operation, of: key.span, traceText(news.author, news.cause, news.reason)) else {
            return
        }
        refreshObservers(of: observable)
        let observers = matching.reach.observers(of: observable).subscriptions
        let listed = observers.prefix(Limits.listedObserversMax)
        insight.count(steps: listed.count * Cost.outcome)
        let open = listed.filter { sessions[matching[$0].session].isOpen && matching[$0].hasBegun }
        let expected = ExpectedEvent(news, number: delivery.judge.numberExpected())
        let outcomes = outcomes(of: expected, for: open, of: observers)
        var traced: [TracedObserver] = []
        for (subscription, outcome) in zip(open, outcomes) {
            var text = ByteBuffer()
            text.append("{")
            appendSource(of: subscription, to: &text)
            append(outcome, to: &text)
            let client = sessions[matching[subscription].session].client
            let isSent = outcome.decision == .sent
            traced.append(TracedObserver(text: Array(text.bytes), client: client, isSent: isSent))
        }
        insight.tracing.append(traced, hasMore: listed.count < observers.count)
    }

    // MARK: Calls: when one is sent to its server, and when it is over

    mutating func traceEvent(of call: PendingCall, _ outcome: CallOutcome) {
        guard insight.tracing.isOnForCalls else { return }
        var text = traceText(sessions[call.caller].author(&keyspace), call.cause)
        text.append(#","call":""#)
        text.append(decimal: call.number)
        text.append("\"")
        if let server = call.service?.session {
            text.append(#","server":{"#)
            sessions[server].appendSource(keyspace, to: &text)
            text.append("}")
        }
        outcome.append(call.error, to: &text)
        let span = deadlines.now - min(deadlines.now, call.start)
        if outcome.isEnd { text.append(member: "microseconds", span / 1000) }
        trace(.call, of: call.key.span, text)
    }

    mutating func traceEvent(unserved asked: AskedRequest) {
        guard insight.tracing.isOnForCalls else { return }
        var text = traceText(sessions[asked.session].author(&keyspace), asked.request.cause)
        CallOutcome.failed.append(ErrorCode.noProvider.rawValue, to: &text)
        trace(.call, of: asked.key, text)
    }
}
