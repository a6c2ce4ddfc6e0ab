// What would happen to an event on its way to one observer, and why. `explain` and `trace` ask this. It
// changes no state, and is off the path of writes.

import PlugboardMemory
import PlugboardWire

/// What happens to an event on its way to one observer.
enum Outcome {
    /// It is sent at once.
    case sent
    /// It waits, and will be sent as a line of its own.
    case queued
    /// It waits, and will be folded with other updates of its key.
    case conflated
    /// The observer's filter leaves it out.
    case filtered
    /// It waits until somebody resumes the observer.
    case paused
    /// It waits until observers of an earlier phase have acknowledged.
    case waiting(AckBarrier)
    /// There was no room for it. The observer will be told of the gap.
    case dropped

    var isSent: Bool { if case .sent = self { true } else { false } }

    private var name: StaticString {
        switch self {
        case .sent: "sent"
        case .queued: "queued"
        case .conflated: "conflated"
        case .filtered: "filtered"
        case .paused: "paused"
        case .waiting: "waiting"
        case .dropped: "dropped"
        }
    }

    private var barrier: AckBarrier? { if case .waiting(let barrier) = self { barrier } else { nil } }
}

extension Outcome {
    /// What would happen to an event now, on its way to some observers of its key.
    static func all(
        of event: KeyEvent,
        _ key: Span<UInt8>,
        to value: Span<UInt8>,
        for listed: [SubscriptionHandle],
        of observers: [SubscriptionHandle],
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        _ delivery: inout Delivery,
        _ phases: borrowing Phases,
        _ durability: borrowing Durability
    ) -> [Outcome] {
        let hash = keyspace.hash(key)
        let observable = keyspace.find(key, hash: hash)
        let old = keyspace.value(of: observable)
        let barrier = AckBarrier(
            for: event,
            of: observable,
            observers,
            from: old,
            to: value,
            keyspace,
            matching,
            sessions,
            &delivery,
            phases
        )
        let isReserved = observable.map { keyspace[$0].isReserved } ?? false
        let isReadBack = durability.isReadBack(event, isReserved: isReserved)
        var outcomes: [Outcome] = []
        for subscription in listed {
            let filter = matching[subscription].filter
            guard delivery.concerns(event, from: old, to: value, filter) else {
                outcomes.append(.filtered)
                continue
            }
            let session = matching[subscription].session
            if let barrier, barrier.holds(matching[subscription]),
                matching[subscription].backlog?.isPaused != true
            {
                outcomes.append(.waiting(barrier))
            } else {
                let outcome = Outcome(
                    of: event, hash, isReadBack, matching[subscription], sessions[session], phases, keyspace
                )
                outcomes.append(outcome)
            }
        }
        return outcomes
    }

    /// The same for one observer, if its filter lets the event through and no new phase holds it back.
    private init(
        of event: KeyEvent,
        _ hash: UInt64,
        _ isReadBack: Bool,
        _ subscription: borrowing SubscriptionRecord,
        _ session: borrowing Session,
        _ phases: borrowing Phases,
        _ keyspace: borrowing Keyspace
    ) {
        let backlog = subscription.backlog
        let way = subscription.way(of: event, hash, isBehind: session.isBehind)
        if backlog?.isPaused == true {
            self = .paused
        } else if way == .direct {
            self = .sent
        } else if case .phase(let held) = backlog?.state(
            from: subscription.phase, of: session, phases, keyspace
        ),
            let gate = phases.gate(of: held)
        {
            // Whatever waits for a phase also holds back all later events.
            self = .waiting(AckBarrier(phase: gate.phase, told: [], earlier: gate.waiting))
        } else if way == .key {
            self = .conflated
        } else {
            self = backlog?.lines.hasGap == true && !isReadBack ? .dropped : .queued
        }
    }

    /// Appends the members that say so.
    func append(
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(#","outcome":""#)
        buffer.append(name)
        buffer.append("\"")
        guard let barrier else { return }
        // The phase that it waits for, and the observers that have to acknowledge.
        let waitedFor = barrier.subscriptions.filter { sessions[matching[$0].session].isOpen }
        buffer.append(#","awaits":{"phase":"#)
        buffer.append(decimal: UInt64(barrier.phase))
        buffer.append(#","observers":["#)
        for (index, subscription) in waitedFor.prefix(Limits.awaitedObserversMax).enumerated() {
            buffer.append(index == 0 ? "{" : ",{")
            matching.appendSource(of: subscription, keyspace, sessions, to: &buffer)
            buffer.append("}")
        }
        buffer.append(waitedFor.count > Limits.awaitedObserversMax ? #"],"more":true}"# : "]}")
    }
}
