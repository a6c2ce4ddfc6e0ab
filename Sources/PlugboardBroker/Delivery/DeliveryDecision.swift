// What would happen to an event on its way to one observer, and why. `explain` and `trace` ask this. It
// changes no state, and is off the path of writes.

import PlugboardMemory
import PlugboardWire

enum DeliveryDecision {
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
    case waiting(PhaseBarrier)
    /// There was no room for it. The observer will be told of the gap.
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

    fileprivate var barrier: PhaseBarrier? { if case .waiting(let barrier) = self { barrier } else { nil } }
}

/// An event that is about to happen, or would.
struct ExpectedEvent: ~Escapable {
    let event: EventKind
    /// That of its key, which may have none yet.
    let observable: ObservableHandle?
    let hash: UInt64
    let value: Span<UInt8>
    /// Filters that are asked about the same number are asked about the same values.
    let number: UInt64

    @_lifetime(copy value)
    init(
        _ event: EventKind, of observable: ObservableHandle?, hash: UInt64, to value: Span<UInt8>,
        number: UInt64
    ) {
        (self.event, self.observable, self.hash, self.number) = (event, observable, hash, number)
        self.value = value
    }
}

extension Hub {
    /// What would happen to an event now, on its way to some observers of its key.
    mutating func outcomes(
        of expected: borrowing ExpectedEvent, for listed: [SubscriptionHandle],
        of observers: [SubscriptionHandle]
    ) -> [DeliveryDecision] {
        let barrier = barrier(for: expected, among: observers)
        let isReserved = expected.observable.map { keyspace[$0].isReserved } ?? false
        let isReadBack = durability.isReadBack(expected.event, isReserved: isReserved)
        return listed.map { subscription in
            guard
                owes(expected.observable, expected.event, to: subscription)
                    || concerns(expected, subscription)
            else { return .filtered }
            let backlog = matching[subscription].backlog
            if backlog?.isPaused == true { return .paused }
            if let barrier, barrier.holds(matching[subscription]) { return .waiting(barrier) }
            let isBehind = sessions[matching[subscription].session].isBehind
            if matching[subscription].isTold(expected.hash, isBehind: isBehind) { return .sent }
            if let backlog, case .phase(let held) = state(of: subscription, backlog),
                let gate = phases.gate(of: held)
            {
                // Whatever waits for a phase also holds back all later events.
                return .waiting(PhaseBarrier(phase: gate.phase, told: [], earlier: gate.waiting.all))
            }
            if matching[subscription].folds(expected.event) { return .conflated }
            return backlog?.lines.hasGap == true && !isReadBack ? .dropped : .queued
        }
    }

    mutating func concerns(_ expected: borrowing ExpectedEvent, _ subscription: SubscriptionHandle) -> Bool {
        let old = keyspace.value(of: expected.observable)
        let filter = matching[subscription].filter
        if let filter, let observable = expected.observable, expected.event != .emit,
            filter.mayHaveMissed(keyspace[observable].revision)
        {
            return true
        }
        delivery.judge.ask(about: expected.number)
        defer { delivery.judge.endAsking() }
        return delivery.judge.concerns(expected.event, from: old, to: expected.value, filter)
    }

    func append(_ outcome: DeliveryDecision, to buffer: inout ByteBuffer) {
        buffer.append(member: "outcome", text: outcome.name)
        guard let barrier = outcome.barrier else { return }
        // The phase that it waits for, and the observers that have to acknowledge.
        let waitedFor = barrier.subscriptions.filter { sessions[matching[$0].session].isOpen }
        buffer.append(#","awaits":{"phase":"#)
        buffer.append(decimal: UInt64(barrier.phase))
        buffer.append(#","observers":["#)
        for (place, subscription) in waitedFor.prefix(Limits.awaitedObserversMax).enumerated() {
            buffer.append(place == 0 ? "{" : ",{")
            appendSource(of: subscription, to: &buffer)
            buffer.append("}")
        }
        buffer.append(waitedFor.count > Limits.awaitedObserversMax ? #"],"more":true}"# : "]}")
    }

    func appendSource(of subscription: SubscriptionHandle, to buffer: inout ByteBuffer) {
        sessions[matching[subscription].session].appendSource(keyspace, to: &buffer)
        buffer.append(member: "sub", json: matching.sub(of: subscription))
    }
}
