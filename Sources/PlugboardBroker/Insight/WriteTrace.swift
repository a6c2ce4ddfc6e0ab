// Notes what happens to a write, for those who trace it, before observers are told.

import PlugboardMemory
import PlugboardWire

/// A traced write, without its key and its writer.
struct TracedWrite {
    let operation: Operation
    let reason: EventReason?
    let revision: UInt64
    let cause: WriteCause
}

/// Notes writes.
enum WriteTrace {
    /// What it costs to find the outcome of an event for one observer, in observers told.
    private static let stepsPerOutcome = 64

    /// Notes a write of a key, and its outcome for each observer.
    static func note(
        _ write: TracedWrite,
        _ observable: ObservableHandle,
        to value: Span<UInt8>,
        by author: AuthorHandle,
        _ insight: inout Insight,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: borrowing SessionTable,
        _ delivery: inout Delivery,
        _ phases: borrowing Phases,
        _ durability: borrowing Durability,
        _ isSelective: Bool
    ) {
        let isTraced = insight.beginTrace(
            of: write,
            keyspace[observable].key,
            by: keyspace.authors[author].by,
            sessions
        )
        guard isTraced else { return }
        matching.refreshObservers(of: observable, &keyspace, sessions, isSelective: isSelective)
        let observers = keyspace.observers(of: observable).subscriptions
        let listed = observers.prefix(Limits.listedObserversMax)
        if listed.count < observers.count { insight.noteMore() }
        insight.count(steps: listed.count * Self.stepsPerOutcome)
        let open = listed.filter { sessions[matching[$0].session].isOpen }
        let outcomes = Outcome.all(
            of: KeyEvent(write.operation),
            keyspace[observable].key,
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
}
