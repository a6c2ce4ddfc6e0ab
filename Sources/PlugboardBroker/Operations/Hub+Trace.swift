// Tracing: a subscription to what the bus does. Each write is noted before it is told, and
// its trace is told at the end of the turn, when the observers have been sent theirs. The
// lines of a trace are no writes, so they cause none.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func trace(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let wanted = try patterns(of: request, line)
        try access.checkPatterns(wanted, line, sessions[session])
        let sub = try chooseSub(request, patterns: wanted.count, line, session)
        let subscription = register(sub, [], nil, line, session)
        matching[subscription].isTracer = true
        tracing.add(subscription, wanted.map { Array($0.bytes(of: line)) })
        charge(subscription, traced: wanted.count)
        replyRegistered(subscription, request, line)
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
        work.count(steps: tracing.tracers.count)
        guard tracing.takes(key, revision: revision, matching, sessions) else { return }
        tracing.begin(
            operation,
            reason,
            key,
            by: keyspace.authors[author].by,
            revision: revision,
            cause: cause
        )
        refreshObservers(of: observable)
        let (event, old) = (Event(operation), keyspace[observable].value)
        let observers = keyspace[observable].observers.all.map(\.subscription)
        let barrier = barrier(for: event, of: observable, observers, from: old, to: value)
        let listed = observers.prefix(Limits.listedObserversMax)
        if listed.count < observers.count { tracing.noteMore() }
        work.count(steps: listed.count * Self.stepsPerOutcome)
        for subscription in listed
        where sessions[matching[subscription].session].isOpen {
            let outcome = outcome(of: event, key, from: old, to: value, behind: barrier, for: subscription)
            let session = matching[subscription].session
            var text = ByteBuffer()
            text.append("{")
            appendSource(of: subscription, to: &text)
            append(outcome, to: &text)
            tracing.append(text.bytes, client: sessions[session].client, isSent: outcome.isSent)
        }
    }

    /// Notes an emit that nobody can be told of.
    mutating func noteTrace(
        ofUnheard key: Span<UInt8>,
        _ reason: EventReason?,
        by author: AuthorHandle,
        cause: WriteCause
    ) {
        work.count(steps: tracing.tracers.count)
        guard tracing.takes(key, revision: revision, matching, sessions) else { return }
        tracing.begin(.emit, reason, key, by: keyspace.authors[author].by, revision: revision, cause: cause)
    }

    /// Tells the turn's traces. What is told is sent in the same turn.
    mutating func tellTraces() {
        var told = 0
        for index in tracing.tracers.indices {
            let tracer = tracing.tracers[index]
            for place in 0..<tracing.count
            where tracer.isConcerned(tracing.key(place), matching, sessions) {
                if told > Tracing.bytesMax {
                    tracing.drop(place, ofTracer: index)
                    continue
                }
                scratch.removeAll()
                scratch.append(#"{"event":"trace","sub":"#)
                scratch.append(matching.sub(of: tracer.subscription))
                tracing.appendLine(place, to: &scratch)
                let line = scratch.bytes.kept
                told += line.count
                tellOrQueue(line, revision: tracing.revision(place), to: tracer.subscription)
            }
            if let gap = tracing.takeGap(ofTracer: index) { tellOrQueue(gap, to: tracer.subscription) }
        }
        tracing.removeAll()
    }

    /// What finding out what becomes of an event for one observer costs, in observers told.
    private static let stepsPerOutcome = 64
}
