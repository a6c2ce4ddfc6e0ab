// Observers in phases. A write of a key with acknowledging observers reaches the later
// phases when those of the earlier one have said that they are done, or were given
// their time. A gate stands for one key: newer writes of it wait at the same gate.

import PlugboardMemory
import PlugboardWire

/// A key that has not reached its later observers yet.
struct Gate {
    /// The newest revision that waits.
    var revision: UInt64
    /// The phase that was told last; later ones wait.
    var phase: UInt8
    /// Subscriptions of that phase that have not acknowledged the newest revision that they
    /// were told.
    var waiting: [Acknowledger]
    /// When time is up, in monotonic nanoseconds.
    let end: UInt64
    var ticket: DeadlineTicket
}

/// What holds a write back from its later observers.
struct AckBarrier {
    /// The phase that is told last; later ones wait.
    let phase: UInt8
    /// Those of it that are told the write and have to acknowledge it.
    let told: [SubscriptionHandle]
    /// Those of it that have yet to acknowledge an earlier write.
    let earlier: [Acknowledger]

    /// All that are waited for.
    var subscriptions: [SubscriptionHandle] { told + earlier.map(\.subscription) }

    func holds(_ subscription: borrowing Subscription) -> Bool { subscription.phase > phase }
}

extension AckBarrier {
    /// The first phase that has to acknowledge a write of a key before others are told of it; nil: none
    /// has. The key may be one that nobody has named yet.
    init?(
        for event: Event,
        of observable: ObservableHandle?,
        _ observers: [SubscriptionHandle],
        from old: Span<UInt8>,
        to value: Span<UInt8>,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        _ delivery: inout Delivery,
        _ phases: borrowing Phases
    ) {
        if event == .emit { return nil }
        if let observable, !keyspace[observable].hasAcknowledgers { return nil }
        // Who isn't told won't acknowledge, unless an earlier write that is still held.
        let gate = observable.flatMap { phases.gate(of: $0) }
        var acknowledging: [SubscriptionHandle] = []
        for subscription in Self.acknowledgers(among: observers, matching, sessions) {
            if delivery.concerns(event, from: old, to: value, matching[subscription].filter) {
                acknowledging.append(subscription)
            } else if gate != nil, let observable,
                Self.isToBeTold(of: observable, subscription, keyspace, matching)
            {
                acknowledging.append(subscription)
            }
        }
        var phase = acknowledging.first.map { matching[$0].phase }
        var earlier: [Acknowledger] = []
        if let gate, gate.phase <= phase ?? .max {
            earlier = gate.waiting.filter { !acknowledging.contains($0.subscription) }
            if !earlier.isEmpty { phase = gate.phase }
        }
        guard let phase else { return nil }
        let told = acknowledging.filter { matching[$0].phase == phase }
        self.init(phase: phase, told: told, earlier: earlier)
    }

    /// The observers that acknowledge, by phase.
    static func acknowledgers(
        among observers: [SubscriptionHandle],
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable
    ) -> [SubscriptionHandle] {
        observers.filter { matching[$0].acknowledges && sessions[matching[$0].session].isOpen }
    }

    /// Whether an observer that could not be told of a key yet will be; one without a filter is.
    static func isToBeTold(
        of observable: ObservableHandle,
        _ subscription: SubscriptionHandle,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching
    ) -> Bool {
        if matching[subscription].filter == nil { return true }
        guard let backlog = matching[subscription].backlog else { return false }
        return backlog.keys.find(observable, hint: keyspace[observable].owedPlace) != nil
            || matching[subscription].delivery == .all
                && backlog.lines.contains(keyHash: keyspace.hash(of: observable))
    }
}

/// A subscription that a gate waits for. The newest write may be none of those it asked for:
/// then it still has to acknowledge the one before.
struct Acknowledger: BitwiseCopyable {
    let subscription: SubscriptionHandle
    let revision: UInt64
}

/// What a subscription with `ack` was told and has not acknowledged.
struct Awaited: BitwiseCopyable {
    let observable: ObservableHandle
    let revision: UInt64
}
