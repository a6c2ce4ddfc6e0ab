// Tracing: a subscription to what the bus does. Each write is noted before it is told, each call when
// it is asked and when it is over. A trace is told at the end of the turn, when the observers have been sent
// theirs. The lines of a trace are no writes, so they cause none.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func trace(_ asked: AskedRequest) throws(Refusal) {
        let wanted = try requests.patterns(of: asked)
        try Access.checkPatterns(wanted, asked.line, sessions[asked.session])
        let sub = try chooseSub(asked, patterns: wanted.count)
        let subscription = try register(sub, [], nil, asked)
        matching[subscription].isTracer = true
        let patterns = wanted.map { Array($0.bytes(of: asked.line)) }
        insight.addTracer(subscription, patterns, traceLimit(asked.request))
        charge(subscription, traced: wanted.count)
        replyRegistered(subscription, asked)
    }

    /// How many events a trace has in a time, if the request says so.
    private func traceLimit(_ request: Request) -> TraceLimit? {
        guard request.has(.limit) || request.has(.every) else { return nil }
        let options = requests.decoder.options
        return TraceLimit(
            events: request.has(.limit) ? options.limit : TraceLimit.eventsDefault,
            milliseconds: request.has(.every) ? options.every : TraceLimit.millisecondsDefault
        )
    }

    /// Notes a write that is about to be told, for those who trace it.
    mutating func noteTrace(
        _ operation: Operation,
        _ reason: EventReason?,
        _ observable: ObservableHandle,
        to value: Span<UInt8>,
        by author: AuthorHandle,
        cause: WriteCause
    ) {
        let key = keyspace[observable].key
        let write = TracedWrite(operation: operation, reason: reason, revision: revision, cause: cause)
        guard insight.beginTrace(of: write, key, by: keyspace.authors[author].by, matching, sessions) else {
            return
        }
        refreshObservers(of: observable)
        let observers = keyspace.subscriptions(to: observable)
        let listed = observers.prefix(Limits.listedObserversMax)
        if listed.count < observers.count { insight.noteMore() }
        insight.count(steps: listed.count * Self.stepsPerOutcome)
        let open = listed.filter { sessions[matching[$0].session].isOpen }
        let outcomes = Outcome.all(
            of: Event(operation),
            key,
            to: value,
            for: open,
            of: observers,
            keyspace,
            matching,
            sessions,
            &delivery,
            phases,
            durability
        )
        for (subscription, outcome) in zip(open, outcomes) {
            var text = ByteBuffer()
            text.append("{")
            matching.appendSource(of: subscription, keyspace, sessions, to: &text)
            outcome.append(keyspace, matching, sessions, to: &text)
            let client = sessions[matching[subscription].session].client
            insight.trace(text.bytes, client: client, isSent: outcome.isSent)
        }
    }

    /// Notes an emit that nobody can be told of.
    mutating func noteTrace(
        ofUnheard key: Span<UInt8>,
        _ reason: EventReason?,
        by author: AuthorHandle,
        cause: WriteCause
    ) {
        let write = TracedWrite(operation: .emit, reason: reason, revision: revision, cause: cause)
        _ = insight.beginTrace(of: write, key, by: keyspace.authors[author].by, matching, sessions)
    }

    /// Notes what becomes of a call.
    mutating func noteTrace(of call: Call, _ outcome: CallOutcome) {
        var text = ByteBuffer()
        let author = sessions[call.caller].author(&keyspace)
        text.append(keyspace.authors[author].by)
        text.append(#","call":""#)
        text.append(decimal: call.number)
        text.append("\"")
        if let server = call.service?.session {
            text.append(#","server":{"#)
            sessions[server].appendSource(keyspace, to: &text)
            text.append("}")
        }
        let now = deadlines.now
        outcome.append(after: now - min(now, call.start), to: &text)
        insight.trace(callOf: call.key, text.bytes, revision: revision, matching, sessions)
    }

    /// Notes a call of a key that nobody serves.
    mutating func noteTrace(ofUnserved key: Span<UInt8>, by session: SessionHandle) {
        var text = ByteBuffer()
        let author = sessions[session].author(&keyspace)
        text.append(keyspace.authors[author].by)
        CallOutcome.failed(code: ErrorCode.noProvider.rawValue).append(after: nil, to: &text)
        insight.trace(callOf: key, text.bytes, revision: revision, matching, sessions)
    }

    /// Tells the turn's traces. What is told is sent in the same turn.
    mutating func tellTraces() {
        var bytesLeft = Tracing.bytesMax
        for place in 0..<insight.tracing.count {
            insight.findTracers(of: insight.tracing.key(place).kept, matching, sessions)
            for index in insight.tracing.found.indices {
                tell(place, toTracer: insight.tracing.found[index], &bytesLeft)
            }
        }
        for number in insight.tracing.limited {
            guard let end = insight.tracing.restEnd(ofTracer: number) else { continue }
            let deadline = Deadline.trace(insight.tracing.subscription(number))
            insight.note(deadlines.add(at: end, deadline), ofTracer: number)
        }
        insight.forgetTraces()
    }

    /// Tells tracers that there was no room for some of what they trace; not all in one turn, if they are very
    /// many.
    mutating func tellGaps(until effortEnd: UInt64 = .max) {
        while effort <= effortEnd, let (gap, subscription) = insight.takeGap() {
            tellOrQueue(gap, to: subscription)
            insight.count(steps: Self.stepsPerGap)
        }
        insight.forgetToldGaps()
    }

    /// Tells a tracer one of the turn's traces, or counts it where that would be too much.
    private mutating func tell(_ place: Int, toTracer number: Int, _ bytesLeft: inout Int) {
        guard insight.tracing.isTold(place, number) else { return }
        guard bytesLeft > 0 else { return insight.drop(place, ofTracer: number) }
        let subscription = insight.tracing.subscription(number)
        if let gap = insight.takeGap(ofTracer: number) { tellOrQueue(gap, to: subscription) }
        var line = delivery.takeLine()
        line.append(#"{"event":"trace","sub":"#)
        line.append(matching.sub(of: subscription))
        insight.tracing.appendLine(place, isLast: insight.tracing.isLast(place, number), to: &line)
        bytesLeft -= line.count
        insight.count(steps: line.count / Self.traceBytesPerStep)
        tellOrQueue(line.bytes, revision: insight.tracing.revision(place), to: subscription)
        delivery.giveBack(line)
    }

    /// What finding out what becomes of an event for one observer costs, in observers told.
    private static let stepsPerOutcome = 64
    /// What telling one gap costs.
    private static let stepsPerGap = 16
    /// So many bytes of a trace are made while one observer is told an event.
    private static let traceBytesPerStep = 128
}
