// The room of phases: which keys have not reached all of their observers yet, and who has to acknowledge
// what. A gate stands for one key; newer writes of it wait at the same gate.
//
// What always holds: a gate waits for somebody, who is there and was told; it has its deadline; a key
// that a gate or an acknowledgement names is kept. It knows keys and deadlines, and nobody's backlog.

import PlugboardWire

/// The gates of a bus, and who is waited for. Used by the loop's thread alone.
struct Phases: ~Copyable {
    private var gates: [ObservableHandle: Gate] = [:]
    /// What each subscription has to acknowledge, in the order in which it was told.
    private var awaited: [SubscriptionHandle: [Awaited]] = [:]

    init() {}

    @inline(__always) var isEmpty: Bool { gates.isEmpty }

    /// How many keys wait.
    var count: Int { gates.count }

    /// What holds a key back, if anything does.
    func gate(of observable: ObservableHandle) -> Gate? { gates[observable] }

    /// Whether a key has yet to be let through to a phase.
    func holds(_ observable: ObservableHandle, from phase: UInt8) -> Bool {
        guard let gate = gates[observable] else { return false }
        return gate.phase < phase
    }

    /// What a subscription was told of a key last and has not acknowledged.
    func awaits(_ observable: ObservableHandle, from subscription: SubscriptionHandle) -> Acknowledger? {
        guard let last = awaited[subscription]?.last(where: { $0.observable == observable }) else {
            return nil
        }
        return Acknowledger(subscription: subscription, revision: last.revision)
    }

    /// How long an observer may take before those of later phases are told all the same.
    static let acknowledgementNanoseconds: UInt64 = 1_000_000_000

    /// Waits for the observers of a phase, instead of for those of an earlier one.
    mutating func close(
        _ observable: ObservableHandle,
        revision: UInt64,
        _ barrier: AckBarrier,
        _ keyspace: inout Keyspace,
        _ deadlines: inout Deadlines
    ) {
        // Who writes on and on does not put off the end of the wait.
        let end = gates[observable]?.end ?? deadlines.now + Self.acknowledgementNanoseconds
        open(observable, &keyspace, &deadlines)
        close(observable, revision: revision, barrier, until: end, &keyspace, &deadlines)
    }

    /// Waits until `end` at the latest. The key has no gate.
    mutating func close(
        _ observable: ObservableHandle,
        revision: UInt64,
        _ barrier: AckBarrier,
        until end: UInt64,
        _ keyspace: inout Keyspace,
        _ deadlines: inout Deadlines
    ) {
        for subscription in barrier.told {
            awaited[subscription, default: []].append(Awaited(observable: observable, revision: revision))
        }
        // What the gate names must live as long as it does.
        keyspace[observable].owedBy += Int32(barrier.told.count) + 1
        gates[observable] = Gate(
            revision: revision,
            phase: barrier.phase,
            waiting: barrier.earlier
                + barrier.told.map { Acknowledger(subscription: $0, revision: revision) },
            end: end,
            ticket: deadlines.add(at: end, .gate(observable))
        )
    }

    /// Takes a key's gate away, if it has one, without letting anything through.
    mutating func open(
        _ observable: ObservableHandle,
        _ keyspace: inout Keyspace,
        _ deadlines: inout Deadlines
    ) {
        guard let gate = gates.removeValue(forKey: observable) else { return }
        deadlines.cancel(gate.ticket)
        keyspace[observable].owedBy -= 1
    }

    /// Takes out what a subscription was told up to a revision: it has acknowledged that. The caller says
    /// so to the keys, by `release`.
    mutating func takeAwaited(by subscription: SubscriptionHandle, upTo revision: UInt64) -> [Awaited] {
        guard let all = awaited[subscription] else { return [] }
        let done = all.prefix { $0.revision <= revision }
        let rest = all.dropFirst(done.count)
        awaited[subscription] = rest.isEmpty ? nil : Array(rest)
        return Array(done)
    }

    /// A subscription has acknowledged an event of a key. Returns the key's gate if nobody is waited for
    /// there any more.
    mutating func release(_ entry: Awaited, by subscription: SubscriptionHandle) -> Gate? {
        guard var gate = gates[entry.observable] else { return nil }
        gate.waiting.removeAll { $0.subscription == subscription && $0.revision <= entry.revision }
        gates[entry.observable] = gate
        return gate.waiting.isEmpty ? gate : nil
    }

    /// Time is up: nobody is waited for any longer who is late at a gate.
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

    /// Each gate has its deadline, and waits for who is there and was told. Counts in `owedBy` what
    /// keeps keys from being forgotten.
    func checkInvariants(
        _ living: borrowing Living,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ deadlines: borrowing Deadlines,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
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
