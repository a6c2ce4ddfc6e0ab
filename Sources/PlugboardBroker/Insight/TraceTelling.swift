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
                if insight.tracing.isTold(place, number) { insight.drop(place, ofTracer: number) }
                next += 1
                continue
            }
            let subscription = insight.tracing.subscription(number)
            if let gap = insight.takeGap(ofTracer: number) { return (subscription, .gap(gap)) }
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
        let by = keyspace.authors[news.author].by
        guard insight.beginTrace(of: write, keyspace[observable].key, by: by, sessions) else { return }
        matching.refreshObservers(of: observable, keyspace, sessions, isSelective: isSelective)
        let observers = matching.reach.observers(of: observable).subscriptions
        let listed = observers.prefix(Limits.listedObserversMax)
        if listed.count < observers.count { insight.noteMore() }
        insight.count(steps: listed.count * Cost.outcome)
        let open = listed.filter { sessions[matching[$0].session].isOpen }
        let outcomes = Outcome.all(
            of: news.event,
            keyspace[observable].key,
            to: news.value,
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
}

// Notes what happens to a call, for those who trace it: when it is sent to its server, and when it is over.

/// Notes calls.
enum CallTrace {
    /// Notes what has happened to a call.
    static func note(
        _ call: PendingCall,
        _ outcome: CallOutcome,
        at now: UInt64,
        _ insight: inout Insight,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable
    ) {
        var text = ByteBuffer()
        append(call.caller, &keyspace, &sessions, to: &text)
        call.cause.append(to: &text)
        text.append(#","call":""#)
        text.append(decimal: call.number)
        text.append("\"")
        if let server = call.service?.session {
            text.append(#","server":{"#)
            sessions[server].appendSource(keyspace, to: &text)
            text.append("}")
        }
        outcome.append(after: now - min(now, call.start), to: &text)
        insight.trace(callOf: call.key.span, text.bytes, revision: keyspace.revision, sessions)
    }

    /// Notes a call of a key that nobody serves.
    static func note(
        unserved asked: AskedRequest,
        _ insight: inout Insight,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable
    ) {
        var text = ByteBuffer()
        append(asked.session, &keyspace, &sessions, to: &text)
        asked.request.cause.append(to: &text)
        CallOutcome.failed(code: ErrorCode.noProvider.rawValue).append(after: nil, to: &text)
        insight.trace(callOf: asked.key, text.bytes, revision: keyspace.revision, sessions)
    }

    private static func append(
        _ caller: SessionHandle,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        to text: inout ByteBuffer
    ) {
        let author = sessions[caller].author(&keyspace)
        text.append(keyspace.authors[author].by)
    }
}
