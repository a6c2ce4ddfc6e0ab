// Observers in phases. A write of a key with acknowledging observers reaches the later
// phases when those of the earlier one have said that they are done, or were given
// their time. A gate stands for one key: newer writes of it wait at the same gate.

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
    /// Tells it from an earlier gate of the same key, for its deadline.
    let serial: UInt64
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

/// The gates of a bus, and who is waited for.
struct GateTable: ~Copyable {
    var gates: [ObservableHandle: Gate] = [:]
    var bySerial: [UInt64: ObservableHandle] = [:]
    /// In the order they were told.
    var awaited: [SubscriptionHandle: [Awaited]] = [:]
    var lastSerial: UInt64 = 0

    init() {}

    @inline(__always) var isEmpty: Bool { gates.isEmpty }

    /// What a subscription was told of a key last and has not acknowledged.
    func awaits(_ observable: ObservableHandle, from subscription: SubscriptionHandle) -> Acknowledger? {
        guard let last = awaited[subscription]?.last(where: { $0.observable == observable }) else {
            return nil
        }
        return Acknowledger(subscription: subscription, revision: last.revision)
    }

    /// Waits no longer for what a subscription was told of a key. Returns how many events that were.
    mutating func giveUp(_ observable: ObservableHandle, from late: Acknowledger) -> Int32 {
        guard let all = awaited[late.subscription] else { return 0 }
        let rest = all.filter { $0.observable != observable || $0.revision > late.revision }
        awaited[late.subscription] = rest.isEmpty ? nil : rest
        return Int32(all.count - rest.count)
    }

    /// Whether a key has yet to be let through to a phase.
    func holds(_ observable: ObservableHandle, from phase: UInt8) -> Bool {
        guard let gate = gates[observable] else { return false }
        return gate.phase < phase
    }
}

extension GateTable {
    private static var always: Invariants { Invariants(of: "GateTable") }

    /// Each gate has its deadline, and waits for who is there and was told. Counts in `owedBy` what
    /// keeps keys from being forgotten.
    func checkInvariants(
        _ living: borrowing Living,
        _ hub: borrowing Hub,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        for (subscription, told) in awaited {
            let acknowledges =
                living.subscriptions.contains(subscription) && hub.matching[subscription].acknowledges
            try Self.always.hold("who is to acknowledge is there", acknowledges && !told.isEmpty)
            for entry in told {
                let isThere = living.observables.contains(entry.observable)
                try Self.always.hold("what is to be acknowledged is there", isThere)
                owedBy[entry.observable, default: 0] += 1
            }
        }
        for (observable, gate) in gates {
            let isThere = living.observables.contains(observable)
            try Self.always.hold("a gate is of a key that is there", isThere, of: "gate \(gate.serial)")
            owedBy[observable, default: 0] += 1
            try gateWillOpen(gate, of: observable, hub)
        }
        try Self.always.agree("gates are found by their serials", bySerial.count, gates.count)
    }

    private func gateWillOpen(
        _ gate: Gate,
        of observable: ObservableHandle,
        _ hub: borrowing Hub
    ) throws(BrokenInvariant) {
        let key = String(hub.keyspace[observable].key)
        let isFound = bySerial[gate.serial] == observable
        try Self.always.hold("a gate is found by its serial", isFound, of: key)
        let isTimed = hub.deadlines.deadline(of: gate.ticket) == .gate(gate.serial)
        try Self.always.hold("the deadline of a gate is there", isTimed, of: key)
        try Self.always.hold("a gate waits for somebody", !gate.waiting.isEmpty, of: key)
        for waiting in gate.waiting {
            let isTold =
                awaited[waiting.subscription]?.contains {
                    $0.observable == observable && $0.revision == waiting.revision
                } ?? false
            try Self.always.hold("a gate waits for who was told", isTold, of: key)
        }
    }
}
