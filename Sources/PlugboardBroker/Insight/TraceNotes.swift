// Notes what happens to a write before observers are told, and tells those who trace it when all were served.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Notes a write or a call, if a tracer wants it and there is room. `rest` is its line from the writer on.
    @discardableResult
    mutating func trace(_ operation: Operation, of key: Span<UInt8>, _ rest: borrowing ByteBuffer) -> Bool {
        let visits = insight.tracing.find(key, isCall: operation == .call, sessions)
        insight.count(steps: visits * Cost.tracer)
        if insight.tracing.found.isEmpty { return false }
        if insight.tracing.isFull {
            for tracer in insight.tracing.found { drop(revision, for: tracer) }
            return false
        }
        for tracer in insight.tracing.note(operation, key, rest.bytes, revision: revision) {
            let end = tracer.limit?.end ?? 0
            tracer.limit?.ticket = deadlines.add(at: end, .trace(tracer.subscription))
        }
        return true
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

    // MARK: Telling

    /// Tells tracers what happened in a turn. After too many bytes, lines are dropped and counted.
    mutating func tell(_ traced: TracedTurn, until effortEnd: UInt64) {
        var traced = traced
        var line = delivery.takeLine()
        while effort <= effortEnd, let (note, tracer, rests) = traced.next() {
            insight.count(steps: Cost.tracer)
            guard mayTell(note, to: tracer) else { continue }
            guard traced.bytesLeft > 0 else {
                drop(note.revision, for: tracer)
                continue
            }
            let subscription = tracer.subscription
            if let gap = tracer.gap.take() { tellOrQueue(gap, to: subscription) }
            line.removeAll()
            line.append(#"{"event":"trace","sub":"#)
            line.append(matching.sub(of: subscription))
            traced.append(note, to: &line)
            line.append(rests ? #","rests":true}\#n"# : "}\n")
            traced.bytesLeft -= line.count
            insight.count(steps: line.count / Cost.bytesTracedPerStep)
            tellOrQueue(line.bytes, revision: note.revision, to: subscription)
        }
        delivery.giveBack(line)
        if traced.isTold { insight.tracing.end(traced) } else { requests.add(first: .tell(traced)) }
    }

    /// Whether a tracer is still there, and may still see the key.
    private func mayTell(_ note: TracedTurn.Note, to tracer: Tracer) -> Bool {
        insight.tracing.contains(tracer) && sessions[tracer.session].authorize(.subscribe, note.key.span)
    }

    mutating func tellGap(of tracer: Tracer) {
        tracer.isListed = false
        guard let gap = tracer.gap.take() else { return }
        tellOrQueue(gap, to: tracer.subscription)
        insight.count(steps: Cost.gap)
    }

    /// Drops a write for a tracer. It is told of the gap later.
    mutating func drop(_ revision: UInt64, for tracer: Tracer) {
        if !tracer.isListed { requests.add(.tellGap(tracer)) }
        tracer.drop(revision)
    }
}
