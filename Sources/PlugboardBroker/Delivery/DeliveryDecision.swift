// What happens to an event on its way to one observer. This stands here alone: writes follow it, and `explain`
// and `trace` ask it.

import PlugboardMemory
import PlugboardWire

enum DeliveryDecision: String {
    /// It is sent at once.
    case sent
    /// It waits, and will be sent as a line of its own.
    case queued
    /// It waits, and will be folded with other updates of its key.
    case conflated
    /// The observer's filter leaves it out.
    case filtered

    // What replies tell besides:

    /// It waits until somebody resumes the observer.
    case paused
    /// It waits until observers of an earlier phase have acknowledged.
    case waiting
    /// There was no room for it. The observer will be told of the gap.
    case dropped
}

/// An event that happens, is about to happen, or would.
struct ExpectedEvent: ~Escapable {
    let event: EventKind
    /// That of its key, which may have none yet.
    let observable: ObservableHandle?
    private let hash: UInt64
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

    /// An event that happens now, of a key that is there.
    @inline(__always)
    @_lifetime(copy news)
    init(_ news: borrowing WriteEvent, number: UInt64) {
        self.init(news.event, of: news.observable, hash: 0, to: news.value, number: number)
    }

    /// The hash of its key.
    @inline(__always)
    func hash(in keyspace: borrowing Keyspace) -> UInt64 { observable.map { keyspace.hash(of: $0) } ?? hash }
}

extension Hub {
    /// Whether an event is sent to an observer of its key at once, waits as a line or as a key, or means nothing to
    /// it. If it would be sent at once, the filter is asked when its line is made. `isGated` means that it waits for
    /// observers of an earlier phase.
    @inline(__always)
    mutating func decision(
        on expected: borrowing ExpectedEvent, for subscription: SubscriptionHandle, isGated: Bool
    ) -> DeliveryDecision {
        let (event, isBehind) = (expected.event, sessions[matching[subscription].session].isBehind)
        let isLater = isJudgedLater(event, for: subscription)
        if !isGated, !isLater,
            matching[subscription].isTold(expected.hash(in: keyspace), isBehind: isBehind)
        {
            return .sent
        }
        // Its filter is asked when the snapshot is sent: parts that haven't changed belong to that, too.
        if !matching[subscription].hasBegun { return event == .emit ? .filtered : .conflated }
        let isOwed = matching[subscription].filter == nil || isLater
        guard isOwed || owes(expected.observable, event, to: subscription) || concerns(expected, subscription)
        else { return .filtered }
        return matching[subscription].folds(event) ? .conflated : .queued
    }

    /// Whether an event is compared with an observer's filter later, when the observer is sent what it is
    /// owed. This is so if the turn has done enough. An observer that acknowledges is told at once, because
    /// others wait for it.
    @inline(__always)
    private func isJudgedLater(_ event: EventKind, for subscription: SubscriptionHandle) -> Bool {
        hasDoneEnough && matching[subscription].filter != nil
            && matching[subscription].folds(event) && !matching[subscription].acknowledges
    }

    /// Whether an observer is owed a key anyway, or may be, so that its filter is asked when it is told.
    private func owes(
        _ observable: ObservableHandle?, _ event: EventKind, to subscription: SubscriptionHandle
    ) -> Bool {
        guard matching[subscription].folds(event), let backlog = matching[subscription].backlog else {
            return false
        }
        return backlog.replay?.gathers == true || observable.map { backlog.keys.find($0) != nil } ?? false
    }

    /// Whether an observer's filter lets an event through, or may have hidden the value before it.
    mutating func concerns(_ expected: borrowing ExpectedEvent, _ subscription: SubscriptionHandle) -> Bool {
        guard let filter = matching[subscription].filter else { return true }
        if let observable = expected.observable,
            filter.mayHaveMissed(expected.event, of: observable, keyspace)
        {
            return true
        }
        delivery.judge.ask(about: expected.number)
        defer { delivery.judge.endAsking() }
        let old = keyspace.value(of: expected.observable)
        return delivery.judge.concerns(expected.event, from: old, to: expected.value, filter)
    }

    // MARK: In replies

    typealias Outcome = (decision: DeliveryDecision, barrier: PhaseBarrier?)

    /// What would happen to an event now, on its way to some observers of its key, and what it would wait for.
    mutating func outcomes(
        of expected: borrowing ExpectedEvent, for listed: [SubscriptionHandle],
        of observers: [SubscriptionHandle]
    ) -> [Outcome] {
        let barrier = barrier(for: expected, among: observers)
        let isReserved = expected.observable.map { keyspace[$0].isReserved } ?? false
        let isReadBack = durability.isReadBack(expected.event, isReserved: isReserved)
        return listed.map { subscription in
            let isGated = barrier?.holds(matching[subscription]) == true
            let decision = decision(on: expected, for: subscription, isGated: isGated)
            if decision == .filtered { return (.filtered, nil) }
            if decision == .sent { return (concerns(expected, subscription) ? .sent : .filtered, nil) }
            let backlog = matching[subscription].backlog
            if backlog?.isPaused == true { return (.paused, nil) }
            if isGated { return (.waiting, barrier) }
            if let backlog, case .phase(let held) = state(of: subscription, backlog),
                let gate = phases.gate(of: held)
            {
                // Whatever waits for a phase also holds back all later events.
                return (.waiting, PhaseBarrier(phase: gate.phase, told: [], earlier: gate.waiting.all))
            }
            let isDropped = decision == .queued && backlog?.lines.hasGap == true && !isReadBack
            return (isDropped ? .dropped : decision, nil)
        }
    }

    func append(_ outcome: Outcome, to buffer: inout ByteBuffer) {
        buffer.append(member: "outcome", text: outcome.decision.rawValue)
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
