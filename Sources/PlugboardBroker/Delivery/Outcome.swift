// What would become of an event on its way to one observer, and what stands in its way:
// `explain` and `trace` ask here. Nothing is changed by that, and off the path of writes.

import PlugboardMemory
import PlugboardWire

/// What becomes of an event on its way to one observer.
enum Outcome {
    /// It is told at once.
    case sent
    /// It waits in its turn, and is told in a line of its own.
    case queued
    /// It waits; of its key the newest will be told.
    case conflated
    /// It is none of those that the observer asked for.
    case filtered
    /// It waits for somebody to resume the observer.
    case paused
    /// It waits for observers of an earlier phase to acknowledge.
    case waiting(AckBarrier)
    /// There was no room for it: the observer is told of the gap.
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
    /// What would become of an event now, for some of the observers of its key.
    static func all(
        of event: Event,
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
                    of: event,
                    hash,
                    isReadBack,
                    matching[subscription],
                    sessions[session],
                    phases,
                    keyspace
                )
                outcomes.append(outcome)
            }
        }
        return outcomes
    }

    /// The same for one of them, as far as it concerns that and nothing new holds it back.
    private init(
        of event: Event,
        _ hash: UInt64,
        _ isReadBack: Bool,
        _ subscription: borrowing Subscription,
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
            from: subscription.phase,
            of: session,
            phases,
            keyspace
        ),
            let gate = phases.gate(of: held)
        {
            // What waits for a phase holds up all that comes after.
            self = .waiting(AckBarrier(phase: gate.phase, told: [], earlier: gate.waiting))
        } else if way == .key {
            self = .conflated
        } else {
            self = backlog?.lines.hasGap == true && !isReadBack ? .dropped : .queued
        }
    }

    /// Adds the members that say so.
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
        // Which phase is waited for, and whom of it.
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
