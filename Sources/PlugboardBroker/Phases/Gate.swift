// Observers in phases. A write of a key with acknowledging observers reaches a later phase after the earlier
// one has acknowledged, or its time is up. A gate holds one key back: newer writes of the key wait at the
// same gate.

import PlugboardMemory
import PlugboardWire

/// Holds one key back from its later observers.
struct Gate {
    /// The oldest and the newest revision that wait.
    var first: UInt64
    var revision: UInt64
    /// The phase that was told last. Later ones wait.
    var phase: UInt8
    /// Subscriptions of that phase that have not acknowledged yet, with the newest revision that each was
    /// told.
    var waiting: [Acknowledger]
    /// When the time is up, in monotonic nanoseconds.
    let end: UInt64
    var ticket: DeadlineTicket
}

/// What would hold a write back from its later observers.
struct AckBarrier {
    /// The last phase that is told. Later ones wait.
    let phase: UInt8
    /// Subscriptions of it that are told the write and have to acknowledge it.
    let told: [SubscriptionHandle]
    /// Subscriptions of it that have to acknowledge an earlier write.
    let earlier: [Acknowledger]
    /// The oldest write that they are told; nil if it is the only one.
    var since: UInt64?

    /// All subscriptions that have to acknowledge.
    var subscriptions: [SubscriptionHandle] { told + earlier.map(\.subscription) }

    func holds(_ subscription: borrowing SubscriptionRecord) -> Bool { subscription.phase > phase }
}

extension AckBarrier {
    /// The first phase that has to acknowledge a write before others are told of it; nil if none has to. The
    /// key may have no observable yet.
    init?(
        for event: KeyEvent,
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
        // An observer that isn't told won't acknowledge, unless it is still owed an earlier write.
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
        observers.filter { subscription in
            let session = matching[subscription].session
            guard sessions[session].isOpen, !sessions[session].isMute else { return false }
            return matching[subscription].acknowledges
        }
    }

    /// Whether an observer is still owed something of a key. Without a filter it always is.
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

/// A subscription that a gate waits for. Its filter may leave the newest write out. Then it still has to
/// acknowledge an earlier one.
struct Acknowledger: BitwiseCopyable {
    let subscription: SubscriptionHandle
    let revision: UInt64
}

/// An event that a subscription with `ack` was told and has not acknowledged.
struct Awaited: BitwiseCopyable {
    let observable: ObservableHandle
    let revision: UInt64
    /// The oldest write of the key that it was told with this one.
    let first: UInt64
}
