// The room of phases: which keys have not reached all of their observers yet, and who has to acknowledge. A
// gate holds one key back: newer writes of the key wait at the same gate.
//
// What always holds: a gate waits for subscriptions that exist and were told, and has a deadline. A key stays
// as long as a gate or an acknowledgement names it. The room knows keys and deadlines, but no backlogs.

import PlugboardWire

/// The gates of a bus, and the missing acknowledgements. Used by the loop's thread alone.
struct Phases: ~Copyable {
    private var gates: [ObservableHandle: Gate] = [:]
    /// The events that each subscription has to acknowledge, in the order in which it was told.
    private var awaited: [SubscriptionHandle: [Awaited]] = [:]
    /// The newest revision that each subscription has acknowledged.
    private var acknowledged: [SubscriptionHandle: UInt64] = [:]

    init() {}

    @inline(__always) var isEmpty: Bool { gates.isEmpty }

    /// The number of gates.
    var count: Int { gates.count }

    /// The gate of a key; nil if nothing holds it back.
    func gate(of observable: ObservableHandle) -> Gate? { gates[observable] }

    /// Whether a key is held back from a phase.
    func holds(_ observable: ObservableHandle, from phase: UInt8) -> Bool {
        guard let gate = gates[observable] else { return false }
        return gate.phase < phase
    }

    /// The last event of a key that a subscription was told and has not acknowledged.
    func awaits(_ observable: ObservableHandle, from subscription: SubscriptionHandle) -> Acknowledger? {
        guard let last = awaited[subscription]?.last(where: { $0.observable == observable }) else {
            return nil
        }
        return Acknowledger(subscription: subscription, revision: last.revision)
    }

    /// The subscriptions of a client that have something to acknowledge, the oldest first.
    func awaited(from session: SessionHandle, _ matching: borrowing Matching) -> [SubscriptionHandle] {
        var found: [SubscriptionHandle] = []
        for subscription in awaited.keys where matching[subscription].session == session {
            found.append(subscription)
        }
        return found.sorted { matching[$0].serial < matching[$1].serial }
    }

    /// The first revision that a subscription hasn't acknowledged, of those of a key that it was told.
    func firstAwaited(_ observable: ObservableHandle, from subscription: SubscriptionHandle) -> UInt64 {
        let told = awaited[subscription]?.first { $0.observable == observable }?.first ?? .max
        return max(told, (acknowledged[subscription] ?? 0) + 1)
    }

    /// How long observers of a phase may take before later phases are told anyway.
    static let acknowledgementNanoseconds: UInt64 = 1_000_000_000

    /// Waits for the observers of a phase instead of those of an earlier one.
    mutating func close(
        _ observable: ObservableHandle,
        revision: UInt64,
        _ barrier: AckBarrier,
        _ keyspace: inout Keyspace,
        _ deadlines: inout Deadlines
    ) {
        // Further writes don't put off the end of the wait.
        let before = gates[observable]
        let end = before?.end ?? deadlines.now + Self.acknowledgementNanoseconds
        open(observable, &keyspace, &deadlines)
        close(observable, revision: revision, barrier, until: end, &keyspace, &deadlines)
        if let before { gates[observable]?.first = before.first }
    }

    /// Waits until `end` at the latest. The key must have no gate.
    mutating func close(
        _ observable: ObservableHandle,
        revision: UInt64,
        _ barrier: AckBarrier,
        until end: UInt64,
        _ keyspace: inout Keyspace,
        _ deadlines: inout Deadlines
    ) {
        let first = barrier.since ?? revision
        let entry = Awaited(observable: observable, revision: revision, first: first)
        for subscription in barrier.told { awaited[subscription, default: []].append(entry) }
        // The key stays as long as the gate.
        keyspace[observable].owedBy += Int32(barrier.told.count) + 1
        gates[observable] = Gate(
            first: first,
            revision: revision,
            phase: barrier.phase,
            waiting: barrier.earlier
                + barrier.told.map { Acknowledger(subscription: $0, revision: revision) },
            end: end,
            ticket: deadlines.add(at: end, .gate(observable))
        )
    }

    /// Removes a key's gate, if it has one. Sends nothing.
    mutating func open(
        _ observable: ObservableHandle,
        _ keyspace: inout Keyspace,
        _ deadlines: inout Deadlines
    ) {
        guard let gate = gates.removeValue(forKey: observable) else { return }
        deadlines.cancel(gate.ticket)
        keyspace[observable].owedBy -= 1
    }

    /// A subscription has acknowledged a revision; `.max` if it never will again. Removes and returns what that covers. Call `release` for
    /// each of these.
    mutating func takeAwaited(by subscription: SubscriptionHandle, upTo revision: UInt64) -> [Awaited] {
        acknowledged[subscription] = revision == .max ? nil : max(revision, acknowledged[subscription] ?? 0)
        guard let all = awaited[subscription] else { return [] }
        let done = all.prefix { $0.revision <= revision }
        let rest = all.dropFirst(done.count)
        awaited[subscription] = rest.isEmpty ? nil : Array(rest)
        return Array(done)
    }

    /// A subscription has acknowledged an event of a key. Returns the key's gate if it waits for nobody any
    /// more.
    mutating func release(_ entry: Awaited, by subscription: SubscriptionHandle) -> Gate? {
        guard var gate = gates[entry.observable] else { return nil }
        gate.waiting.removeAll { $0.subscription == subscription && $0.revision <= entry.revision }
        gates[entry.observable] = gate
        return gate.waiting.isEmpty ? gate : nil
    }

    /// The time is up: stops waiting for all who are late at a gate.
    mutating func giveUp(_ observable: ObservableHandle, _ keyspace: inout Keyspace) {
        for late in gates[observable]?.waiting ?? [] {
            guard let all = awaited[late.subscription] else { continue }
            let rest = all.filter { $0.observable != observable || $0.revision > late.revision }
            awaited[late.subscription] = rest.isEmpty ? nil : rest
            keyspace[observable].owedBy -= Int32(all.count - rest.count)
        }
    }
}

extension Phases {
    private static var always: Invariants { Invariants(of: "Phases") }

    /// Each gate has a deadline, and waits for subscriptions that exist and were told. Adds to `owedBy` what
    /// keeps keys.
    func checkInvariants(
        _ living: borrowing Living,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ deadlines: borrowing Deadlines,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        for subscription in acknowledged.keys {
            let isThere = living.subscriptions.contains(subscription)
            try Self.always.hold("who has acknowledged is there", isThere)
        }
        for (subscription, told) in awaited {
            let acknowledges =
                living.subscriptions.contains(subscription) && matching[subscription].acknowledges
            try Self.always.hold("who is to acknowledge is there", acknowledges && !told.isEmpty)
            for entry in told {
                let isThere = living.observables.contains(entry.observable)
                try Self.always.hold("what is to be acknowledged is there", isThere)
                owedBy[entry.observable, default: 0] += 1
            }
        }
        for (observable, gate) in gates {
            let isThere = living.observables.contains(observable)
            try Self.always.hold("a gate is of a key that is there", isThere, of: "revision \(gate.revision)")
            owedBy[observable, default: 0] += 1
            try gateWillOpen(gate, of: String(keyspace[observable].key), observable, deadlines)
        }
    }

    private func gateWillOpen(
        _ gate: Gate,
        of key: String,
        _ observable: ObservableHandle,
        _ deadlines: borrowing Deadlines
    ) throws(BrokenInvariant) {
        let isTimed = deadlines.deadline(of: gate.ticket) == .gate(observable)
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
