// What would become of an event on its way to one observer, and what stands in its way:
// `explain` and `trace` ask here. Nothing is changed by that, and off the path of writes.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// What would become of an event now. `barrier` is what holds it back from later phases.
    mutating func outcome(
        of event: Event,
        _ key: Span<UInt8>,
        from old: Span<UInt8>,
        to value: Span<UInt8>,
        behind barrier: AckBarrier?,
        for subscription: SubscriptionHandle
    ) -> Outcome {
        guard delivery.concerns(event, from: old, to: value, matching[subscription].filter) else {
            return .filtered
        }
        if matching[subscription].backlog?.isPaused == true { return .paused }
        if let barrier, barrier.holds(matching[subscription]) { return .waiting(barrier) }
        let hash = keyspace.hash(key)
        if matching[subscription].isFree(hash), !sessions[matching[subscription].session].isBehind {
            return .sent
        }
        // What waits for a phase holds up all that comes after.
        if let barrier = frontBarrier(of: subscription) { return .waiting(barrier) }
        guard event == .emit || matching[subscription].delivery == .all else { return .conflated }
        let hasGap = matching[subscription].backlog?.lines.hasGap == true
        return hasGap && !isReadBack(event, keyspace.find(key, hash: hash)) ? .dropped : .queued
    }

    /// What holds back that which a subscription is to be told next.
    private func frontBarrier(of subscription: SubscriptionHandle) -> AckBarrier? {
        guard let backlog = matching[subscription].backlog,
            case .phase(let observable) = state(of: subscription, backlog),
            let gate = phases.gate(of: observable)
        else { return nil }
        return AckBarrier(phase: gate.phase, told: [], earlier: gate.waiting)
    }
}

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

    fileprivate var name: StaticString {
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

    fileprivate var barrier: AckBarrier? { if case .waiting(let barrier) = self { barrier } else { nil } }
}

extension Hub {
    /// Adds the members that say what becomes of an event.
    func append(_ outcome: Outcome, to buffer: inout ByteBuffer) {
        buffer.append(#","outcome":""#)
        buffer.append(outcome.name)
        buffer.append("\"")
        if let barrier = outcome.barrier { append(barrier, to: &buffer) }
    }

    /// Adds the member that says which phase is waited for, and whom of it.
    private func append(_ barrier: AckBarrier, to buffer: inout ByteBuffer) {
        let waitedFor = barrier.subscriptions.filter { sessions[matching[$0].session].isOpen }
        buffer.append(#","awaits":{"phase":"#)
        buffer.append(decimal: UInt64(barrier.phase))
        buffer.append(#","observers":["#)
        for (index, subscription) in waitedFor.prefix(Limits.awaitedObserversMax).enumerated() {
            buffer.append(index == 0 ? "{" : ",{")
            appendSource(of: subscription, to: &buffer)
            buffer.append("}")
        }
        buffer.append(waitedFor.count > Limits.awaitedObserversMax ? #"],"more":true}"# : "]}")
    }

    /// Adds the members that say whose a subscription is and what it is called.
    func appendSource(of subscription: SubscriptionHandle, to buffer: inout ByteBuffer) {
        sessions[matching[subscription].session].appendSource(keyspace, to: &buffer)
        buffer.append(#","sub":"#)
        buffer.append(matching.sub(of: subscription))
    }
}
