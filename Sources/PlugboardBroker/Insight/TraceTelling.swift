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
    /// How many bytes of a trace are made in the time that it takes to tell one observer.
    private static let bytesPerStep = 128

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
            insight.count(steps: line.count / Self.bytesPerStep)
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
