// The room of phases: which keys have not reached all of their observers yet, and who has to acknowledge. A
// gate holds one key back: newer writes of the key wait at the same gate.
//
// What always holds: a gate waits for subscriptions that exist and were told, and has a deadline. A key stays
// as long as a gate or an acknowledgement names it. The room knows keys and deadlines, but no backlogs.

import PlugboardMemory
import PlugboardWire

struct Phases: ~Copyable {
    private var gates: [ObservableHandle: Gate] = [:]
    /// The keys of which each subscription has to acknowledge events, in the order in which it was told the last ones.
    private var awaited: [SubscriptionHandle: WaitingList<ObservableHandle, Awaited>] = [:]
    private var acknowledged: [SubscriptionHandle: UInt64] = [:]

    @inline(__always) var isEmpty: Bool { gates.isEmpty }

    var count: Int { gates.count }

    func gate(of observable: ObservableHandle) -> Gate? { gates[observable] }

    func holds(_ observable: ObservableHandle, from phase: UInt8) -> Bool {
        gates[observable].map { $0.phase < phase } ?? false
    }

    /// Whether a subscription was told an event of a key that it has not acknowledged.
    func awaits(_ observable: ObservableHandle, from subscription: SubscriptionHandle) -> Bool {
        awaited[subscription]?[observable] != nil
    }

    /// The subscriptions of a client that have something to acknowledge, the oldest first.
    func awaited(from session: SessionHandle, _ matching: borrowing Matching) -> [SubscriptionHandle] {
        let found = awaited.keys.filter { matching[$0].session == session }
        return found.sorted { matching[$0].serial < matching[$1].serial }
    }

    /// The first revision that a subscription hasn't acknowledged, of those of a key that it was told.
    func firstAwaited(_ observable: ObservableHandle, from subscription: SubscriptionHandle) -> UInt64 {
        let told = awaited[subscription]?[observable]?.first ?? .max
        return max(told, (acknowledged[subscription] ?? 0) + 1)
    }

    /// Holds a key back at a gate, instead of the one that it has. Those who were told have to acknowledge.
    mutating func close(
        _ observable: ObservableHandle, _ gate: Gate, _ barrier: PhaseBarrier, _ matching: inout Matching
    ) {
        var gate = gate
        for late in barrier.earlier + barrier.told { gate.waiting.append(late, as: late) }
        for subscription in barrier.told {
            let before = awaited[subscription]?[observable]
            if before == nil { matching.reach.retain(observable) }
            let first = before?.first ?? barrier.since ?? gate.revision
            let entry = Awaited(observable: observable, revision: gate.revision, first: first)
            awaited[subscription, default: WaitingList()].append(entry, as: observable)
        }
        // The key stays as long as it has a gate.
        if gates.updateValue(gate, forKey: observable) == nil { matching.reach.retain(observable) }
    }

    mutating func open(
        _ observable: ObservableHandle, _ matching: inout Matching, _ deadlines: inout Deadlines
    ) {
        guard let gate = gates.removeValue(forKey: observable) else { return }
        deadlines.cancel(gate.ticket)
        matching.reach.release(observable)
    }

    /// A subscription has acknowledged a revision; `.max` if it never will again. Removes and returns what
    /// that covers. Call `release` for each of these.
    mutating func takeAwaited(by subscription: SubscriptionHandle, upTo revision: UInt64) -> [Awaited] {
        acknowledged[subscription] = revision == .max ? nil : max(revision, acknowledged[subscription] ?? 0)
        var done: [Awaited] = []
        while let entry = awaited[subscription]?.first, entry.revision <= revision {
            remove(entry, from: subscription)
            done.append(entry)
        }
        return done
    }

    private mutating func remove(_ entry: Awaited, from subscription: SubscriptionHandle) {
        awaited[subscription]?.remove(entry.observable)
        if awaited[subscription]?.isEmpty == true { awaited[subscription] = nil }
    }

    /// Returns the key's gate if it waits for nobody any more.
    mutating func release(_ entry: Awaited, by subscription: SubscriptionHandle) -> Gate? {
        gates[entry.observable]?.waiting.remove(subscription)
        return gates[entry.observable].flatMap { $0.waiting.isEmpty ? $0 : nil }
    }

    /// The time is up: stops waiting for all who are late at a gate.
    mutating func giveUp(_ observable: ObservableHandle, _ matching: inout Matching) {
        for late in gates[observable]?.waiting.all ?? [] {
            guard let entry = awaited[late]?[observable] else { continue }
            remove(entry, from: late)
            matching.reach.release(observable)
        }
    }
}

extension Phases: Checked {
    /// Adds to `owedBy` what keeps keys.
    func checkInvariants(
        _ matching: borrowing Matching, _ keyspace: borrowing Keyspace,
        _ deadlines: borrowing Deadlines,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        for subscription in acknowledged.keys {
            let isThere = matching.contains(subscription)
            try Self.always.hold("who has acknowledged is there", isThere)
        }
        for (subscription, told) in awaited {
            let acknowledges =
                matching.contains(subscription) && matching[subscription].acknowledges
            try Self.always.hold("who is to acknowledge is there", acknowledges && !told.isEmpty)
            for entry in told.all {
                let isThere = keyspace.contains(entry.observable)
                try Self.always.hold("what is to be acknowledged is there", isThere)
                owedBy[entry.observable, default: 0] += 1
            }
        }
        for (observable, gate) in gates {
            let isThere = keyspace.contains(observable)
            try Self.always.hold("a gate is of a key that is there", isThere, of: gate.name)
            owedBy[observable, default: 0] += 1
            try gateWillOpen(gate, of: observable, deadlines)
        }
    }

    private func gateWillOpen(
        _ gate: Gate, of observable: ObservableHandle, _ deadlines: borrowing Deadlines
    ) throws(BrokenInvariant) {
        let isTimed = deadlines.deadline(of: gate.ticket) == .gate(observable)
        try Self.always.hold("the deadline of a gate is there", isTimed, of: gate.name)
        try Self.always.hold("a gate waits for somebody", !gate.waiting.isEmpty, of: gate.name)
        for late in gate.waiting.all {
            let isTold = awaits(observable, from: late)
            try Self.always.hold("a gate waits for who was told", isTold, of: gate.name)
        }
    }
}

// Observers in phases. A write of a key with acknowledging observers reaches a later phase after the earlier
// one has acknowledged, or its time is up.

struct Gate {
    /// The oldest and the newest revision that wait.
    let first: UInt64
    let revision: UInt64
    /// The phase that was told last. Later ones wait.
    let phase: UInt8
    let ticket: DeadlineTicket
    /// Who has not acknowledged yet.
    fileprivate(set) var waiting = WaitingList<SubscriptionHandle, SubscriptionHandle>()

    var name: String { "revision \(revision)" }
}

/// What would hold a write back from its later observers.
struct PhaseBarrier {
    /// The last phase that is told. Later ones wait.
    let phase: UInt8
    /// Subscriptions of it that are told the write and have to acknowledge it.
    let told: [SubscriptionHandle]
    /// Subscriptions of it that aren't told the write, and have to acknowledge an earlier one.
    let earlier: [SubscriptionHandle]
    /// The oldest write that they are told; nil if it is the only one.
    var since: UInt64?

    var subscriptions: [SubscriptionHandle] { told + earlier }

    func holds(_ subscription: borrowing SubscriptionRecord) -> Bool { subscription.phase > phase }
}

extension Hub {
    /// The first phase that has to acknowledge a write before others are told of it; nil if none has to.
    mutating func barrier(
        for expected: borrowing ExpectedEvent, among observers: [SubscriptionHandle]
    ) -> PhaseBarrier? {
        if expected.event == .emit { return nil }
        if let observable = expected.observable, !matching.reach.hasAcknowledgers(observable) { return nil }
        // An observer that isn't told won't acknowledge, unless it is still owed an earlier write.
        let gate = expected.observable.flatMap { phases.gate(of: $0) }
        let held = gate == nil ? nil : expected.observable
        let acknowledging = acknowledgers(among: observers).filter { subscription in
            concerns(expected, subscription) || held.map { isToBeTold(of: $0, subscription) } == true
        }
        return barrier(told: acknowledging, earlier: gate?.waiting.all ?? [])
    }

    /// What waits for the first phase of those who are told a write, and of those who have to acknowledge an earlier one.
    private func barrier(
        told: [SubscriptionHandle], earlier: [SubscriptionHandle], since: UInt64? = nil
    ) -> PhaseBarrier? {
        let known = Set(told)
        let others = earlier.filter { !known.contains($0) }
        guard let phase = (told + others).map({ matching[$0].phase }).min() else { return nil }
        return PhaseBarrier(
            phase: phase,
            told: told.filter { matching[$0].phase == phase },
            earlier: others.filter { matching[$0].phase == phase },
            since: since
        )
    }

    private func acknowledgers(among observers: [SubscriptionHandle]) -> [SubscriptionHandle] {
        observers.filter { subscription in
            let session = matching[subscription].session
            guard sessions[session].isOpen, !sessions[session].isMute else { return false }
            return matching[subscription].acknowledges && matching[subscription].hasBegun
        }
    }

    /// Whether an observer is still owed something of a key. Without a filter it always is.
    private func isToBeTold(of observable: ObservableHandle, _ subscription: SubscriptionHandle) -> Bool {
        if matching[subscription].filter == nil { return true }
        guard let backlog = matching[subscription].backlog else { return false }
        return backlog.keys.find(observable) != nil
            || matching[subscription].delivery == .all
                && backlog.lines.contains(keyHash: keyspace.hash(of: observable))
    }
}

/// The last event of a key that a subscription with `ack` was told, of those that it has not acknowledged.
struct Awaited: BitwiseCopyable {
    let observable: ObservableHandle
    let revision: UInt64
    /// The oldest write of the key that it was told and has not acknowledged.
    let first: UInt64
}

// What happens when the gate of a key waits for nobody any more: which observers of later phases are told,
// and which ones have to acknowledge next.

extension Hub {
    /// Lets a key through to the next phases, up to the next one that acknowledges. Returns the subscriptions
    /// that may be told now.
    mutating func pass(
        _ observable: ObservableHandle, _ gate: Gate, late: [LateClient]
    ) -> [SubscriptionHandle] {
        refreshObservers(of: observable)
        let observers = matching.reach.observers(of: observable).subscriptions
        let behind = observers.filter { matching[$0].phase > gate.phase }
        let later = acknowledgers(among: behind)
        // An observer that isn't told of this write may still have to acknowledge an earlier one.
        let next = barrier(
            told: later.filter { isToBeTold(of: observable, $0) },
            earlier: later.filter { phases.awaits(observable, from: $0) },
            since: gate.first
        )
        phases.open(observable, &matching, &deadlines)
        let free = behind.filter { next?.holds(matching[$0]) != true }
        if !late.isEmpty {
            var naming = LateNaming(late)
            for subscription in behind {
                let lane = matching[subscription].lag.lane
                if lane != .none { matching.lanes[lane].keys.addLateNames(&naming, of: observable) }
                matching[subscription].backlog?.addLateNames(&naming, of: observable)
                let lines = matching[subscription].backlog?.lines.count ?? 0
                insight.count(steps: lines / Cost.entriesPerStep)
            }
        }
        if let next, free.count < behind.count { close(observable, revision: gate.revision, next) }
        return free
    }

    /// How long observers of a phase may take before later phases are told anyway.
    private static let acknowledgementNanoseconds: UInt64 = 1_000_000_000

    /// Waits for the observers of a phase instead of those of an earlier one.
    mutating func close(_ observable: ObservableHandle, revision: UInt64, _ barrier: PhaseBarrier) {
        // Further writes don't put off the end of the wait.
        let before = phases.gate(of: observable)
        let end = deadlines.now + Self.acknowledgementNanoseconds
        let ticket = before?.ticket ?? deadlines.add(at: end, .gate(observable))
        let first = before?.first ?? barrier.since ?? revision
        let gate = Gate(first: first, revision: revision, phase: barrier.phase, ticket: ticket)
        phases.close(observable, gate, barrier, &matching)
    }

    mutating func clientsLate(at gate: Gate, of observable: ObservableHandle) -> [LateClient] {
        var found: [LateClient] = []
        var places: [UInt64: Int] = [:]
        for late in gate.waiting.all {
            let session = matching[late].session
            let client = sessions[session].client
            let first = phases.firstAwaited(observable, from: late)
            if let known = places[client] {
                found[known].first = min(found[known].first, first)
                continue
            }
            places[client] = found.count
            let author = sessions[session].author(&keyspace)
            let name = Array(keyspace.authors[author].name)
            found.append(LateClient(client: client, name: name, first: first))
        }
        return found
    }
}

// Clients that have not acknowledged in time. The lines of later phases name them in `unacked`.

struct LateClient {
    let client: UInt64
    let name: [UInt8]
    var first: UInt64
}

/// Who was late with one line. Never changes, so that many lines can share it.
final class LateNames {
    private let clients: [UInt64]
    private let names: [UInt8]
    /// Whether there are more of them than a line names.
    private let hasMore: Bool

    /// Those who were late with a write of this revision, after those of earlier phases. A client is named once.
    fileprivate init(_ late: [LateClient], at revision: UInt64, after before: LateNames?) {
        var (clients, names, hasMore) = (before?.clients ?? [], before?.names ?? [], before?.hasMore ?? false)
        for each in late where !hasMore && each.first <= revision && !clients.contains(each.client) {
            hasMore = clients.count == Limits.lateNamesMax
            if hasMore { break }
            if !clients.isEmpty { names.append(UInt8(ascii: ",")) }
            clients.append(each.client)
            names += each.name
        }
        (self.clients, self.names, self.hasMore) = (clients, names, hasMore)
    }

    fileprivate var isEmpty: Bool { clients.isEmpty }

    func append(to buffer: inout ByteBuffer) {
        let names = names
        buffer.append(#","unacked":["#)
        buffer.append(names.span)
        buffer.append(hasMore ? #"],"more":true"# : "]")
    }

    /// Adds the same to an event's line that is the end of the buffer.
    func append(toLineAtEndOf buffer: inout ByteBuffer) {
        let end: StaticString = "}\n"
        buffer.truncate(to: buffer.count - end.utf8CodeUnitCount)
        append(to: &buffer)
        buffer.append(end)
    }
}

/// Finds the names for one line after the other. Most lines get the same.
struct LateNaming {
    private let late: [LateClient]
    private var last: (revision: UInt64, before: LateNames?, names: LateNames?)?

    init(_ late: [LateClient]) {
        self.late = late
    }

    /// The names for a line of this revision that has the names `before` already.
    mutating func names(at revision: UInt64, after before: LateNames?) -> LateNames? {
        if let last, last.revision == revision, last.before === before { return last.names }
        let names = LateNames(late, at: revision, after: before)
        last = (revision, before, names.isEmpty ? nil : names)
        return last?.names
    }
}
