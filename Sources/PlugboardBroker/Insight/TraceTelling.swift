// Goes through the turn's traces, line by line: finds out what is sent next, and to which tracer. The hub
// sends it. Exists only meanwhile.

import PlugboardMemory
import PlugboardWire

/// What a tracer is sent.
enum TraceNews {
    /// There was no room for some traces.
    case gap(Gap)
    /// The line that was made, and its revision.
    case line(UInt64)
}

/// The way through the notes of a turn.
struct TraceTelling {

    /// The present note, and the next tracer that wants it.
    private var place = -1
    private var next = 0
    private var bytesLeft = Tracing.bytesMax

    /// What is sent next, and to which tracer; nil at the end. `line` gets the line. After too many bytes,
    /// lines are dropped and counted.
    mutating func next(
        _ insight: inout Insight,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        _ line: inout ByteBuffer
    ) -> (subscription: SubscriptionHandle, news: TraceNews)? {
        while findTracer(&insight, sessions) {
            let number = insight.tracing.found[next]
            guard bytesLeft > 0, insight.tracing.isTold(place, number) else {
                if insight.tracing.isTold(place, number) { insight.tracing.drop(place, ofTracer: number) }
                next += 1
                continue
            }
            let subscription = insight.tracing.subscription(number)
            if let gap = insight.tracing.takeGap(ofTracer: number) { return (subscription, .gap(gap)) }
            next += 1
            line.removeAll()
            line.append(#"{"event":"trace","sub":"#)
            line.append(matching.sub(of: subscription))
            insight.tracing.appendLine(place, isLast: insight.tracing.isLast(place, number), to: &line)
            bytesLeft -= line.count
            insight.count(steps: line.count / Cost.bytesTracedPerStep)
            return (subscription, .line(insight.tracing.revision(place)))
        }
        return nil
    }

    /// Goes on to the next tracer that wants the note. Returns false after the last.
    private mutating func findTracer(_ insight: inout Insight, _ sessions: borrowing SessionTable) -> Bool {
        while place < 0 || next >= insight.tracing.found.count {
            place += 1
            next = 0
            guard place < insight.tracing.count else { return false }
            insight.findTracers(ofNote: place, sessions)
        }
        return true
    }
}

// Notes what happens to a write, for those who trace it, before observers are told.

/// A traced write, without its key and its writer.
struct TracedWrite {
    let operation: Operation
    let reason: EventReason?
    let revision: UInt64
    let cause: WriteCause
}

extension Hub {

    /// Notes a write of a key, and its outcome for each observer.
    @inline(never)
    mutating func noteTrace(of news: borrowing News) {
        let observable = news.observable
        let write = TracedWrite(
            operation: news.operation, reason: news.reason, revision: news.revision, cause: news.cause
        )
        let isWanted = insight.beginTrace(
            of: write, keyspace[observable].key, by: keyspace.authors[news.author].by, sessions
        )
        guard isWanted else { return }
        refreshObservers(of: observable)
        let observers = matching.reach.observers(of: observable).subscriptions
        let listed = observers.prefix(Limits.listedObserversMax)
        if listed.count < observers.count { insight.tracing.noteMore() }
        insight.count(steps: listed.count * Cost.outcome)
        let open = listed.filter { sessions[matching[$0].session].isOpen }
        let expected = ExpectedEvent(
            news.event, of: observable, hash: keyspace.hash(of: observable), to: news.value
        )
        let outcomes = outcomes(of: expected, for: open, of: observers)
        for (subscription, outcome) in zip(open, outcomes) {
            var text = ByteBuffer()
            text.append("{")
            appendSource(of: subscription, to: &text)
            append(outcome, to: &text)
            let client = sessions[matching[subscription].session].client
            insight.tracing.append(text.bytes, client: client, isSent: outcome.isSent)
        }
    }
}

// Notes what happens to a call, for those who trace it: when it is sent to its server, and when it is over.

extension Hub {
    /// Notes what has happened to a call.
    mutating func noteTrace(of call: PendingCall, _ outcome: CallOutcome) {
        guard insight.isTracingCalls else { return }
        var text = ByteBuffer()
        appendCaller(call.caller, because: call.cause, to: &text)
        text.append(#","call":""#)
        text.append(decimal: call.number)
        text.append("\"")
        if let server = call.service?.session {
            text.append(#","server":{"#)
            sessions[server].appendSource(keyspace, to: &text)
            text.append("}")
        }
        outcome.append(after: deadlines.now - min(deadlines.now, call.start), to: &text)
        insight.trace(callOf: call.key.span, text.bytes, revision: revision, sessions)
    }

    /// Notes a call of a key that nobody serves.
    mutating func noteTrace(unserved asked: AskedRequest) {
        guard insight.isTracingCalls else { return }
        var text = ByteBuffer()
        appendCaller(asked.session, because: asked.request.cause, to: &text)
        CallOutcome.failed(code: ErrorCode.noProvider.rawValue).append(after: nil, to: &text)
        insight.trace(callOf: asked.key, text.bytes, revision: revision, sessions)
    }

    private mutating func appendCaller(
        _ caller: SessionHandle, because cause: WriteCause, to text: inout ByteBuffer
    ) {
        let author = sessions[caller].author(&keyspace)
        text.append(keyspace.authors[author].by)
        cause.append(to: &text)
    }
}
