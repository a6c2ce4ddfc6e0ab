// What always holds between two turns. Each structure checks itself; here they are compared with each other.
// The checks count everything anew, so their time grows with the state. They run after each turn of a
// simulation and now and then in a debug build, never in a release.

import PlugboardMemory
import PlugboardWire

extension Hub: Checked {
    /// Checks the whole state between two turns. Throws the first thing that doesn't hold.
    func checkInvariants() throws(BrokenInvariant) {
        try keyspace.checkInvariants(deadlines, leases)
        try deadlines.checkInvariants()
        try checkSubscriptions()
        try checkKeys()
        try checkDelivery()
        try checkCalls()
        try checkDeadlines()
        try access.checkInvariants(foundUse())
        try keyspace.checkAuthors(signatures)
        try durability.replies.checkInvariants(sessions)
        try Self.always.hold("no batch is being written", durability.records.eventsOfBatch == 0)
        try delivery.checkInvariants(sessions)
    }

    // MARK: Subscriptions

    private func checkSubscriptions() throws(BrokenInvariant) {
        for session in sessions.handles {
            try sessions[session].subscriptions.checkInvariants(of: session, matching)
        }
        for session in sessions.handles {
            let found = sessions[session].subscriptions.list.all.count { !matching[$0].isDirect }
            let (client, stated) = (
                "client \(sessions[session].client)", Int(sessions[session].indirectCount)
            )
            try Session.always.agree("it counts what can't be told at once", stated, found, of: client)
        }
        let listed = sessions.handles.reduce(0) { $0 + sessions[$1].subscriptions.count }
        try Session.always.agree("each subscription is a client's", matching.handles.count, listed)
        try matching.checkInvariants(keyspace, sessions)
        try insight.tracing.checkInvariants(matching)
        try rhythmsAreKept()
        try knownShapesAreSo()
    }

    /// What is known of values is so, for filters that are still there.
    private func knownShapesAreSo() throws(BrokenInvariant) {
        guard !delivery.judge.shapes.isEmpty else { return }
        var filters: [UInt64: Filter] = [:]
        for subscription in matching.handles {
            filters[matching[subscription].serial] = matching[subscription].filter
        }
        try delivery.judge.shapes.forEach { shape throws(BrokenInvariant) in
            try filters[shape.subscription]?.checkInvariants(shape, keyspace)
        }
    }

    private func rhythmsAreKept() throws(BrokenInvariant) {
        for subscription in matching.handles {
            guard let ticket = matching[subscription].backlog?.window?.ticket else { continue }
            let isTimed = deadlines.deadline(of: ticket) == .window(subscription)
            let name = "subscription \(matching[subscription].serial)"
            try Window.always.hold("the deadline of a rhythm is there", isTimed, of: name)
        }
    }

    // MARK: Keys

    private func checkKeys() throws(BrokenInvariant) {
        var bytes = 0
        for observable in keyspace.all.handles {
            if !keyspace[observable].isReserved { bytes += keyspace[observable].recordBytes }
        }
        try Self.always.agree("it counts the bytes of their records", durability.records.liveBytes, bytes)
    }

    // MARK: Deadlines

    /// What open clients would leave behind, and what waits for those that may come back.
    private var leases: [LeaseHandle] {
        sessions.handles.compactMap { sessions[$0].lease } + graces.absences.keys
    }

    /// The references to authors besides values and the history: those of clients and of the broker itself.
    private var signatures: [AuthorHandle] {
        [insight.author] + sessions.handles.compactMap { sessions[$0].signature }
    }

    /// Each deadline belongs to somebody who waits for it, and the other way round.
    private func checkDeadlines() throws(BrokenInvariant) {
        let always = Deadlines.always
        var due = DueCounts()
        for deadline in deadlines.all { due.add(deadline) }
        var ticking = 0
        for subscription in matching.handles
        where matching[subscription].backlog?.window?.isTicking == true { ticking += 1 }
        try always.agree("one for each gate", due.gates, phases.count)
        try always.agree("one for each rhythm that ticks", due.windows, ticking)
        try always.agree("one for each tracer that rests", due.traces, insight.tracing.restingCount)
        try always.agree("one for each call", due.calls, calls.count)
        try always.agree("one for each bond to a time", due.expiries, keyspace.lifetimes.timedCount)
        try always.agree("one for each client that may come back", due.graces, graces.absences.count)
        let ends = keyspace.lifetimes.isGoingOn ? 1 : 0
        try always.agree("one while keys of the departed are to go", due.ends, ends)
        try always.agree("one while the broker is watched", due.ownStates, insight.isWatched ? 1 : 0)
    }

    // MARK: What is owed

    private func checkDelivery() throws(BrokenInvariant) {
        var owedBy: [ObservableHandle: Int] = [:]
        for subscription in matching.handles {
            guard let backlog = matching[subscription].backlog else { continue }
            try backlog.checkInvariants(keyspace, &owedBy)
            try whoIsOwedWaitsForSomething(subscription, backlog)
            try whatIsOwedMayBeSeen(subscription, backlog)
        }
        try matching.lanes.checkInvariants(matching, keyspace, &owedBy)
        try phases.checkInvariants(matching, keyspace, deadlines, &owedBy)
        try requests.checkInvariants(sessions, keyspace, &owedBy)
        for observable in keyspace.all.handles {
            let (stated, found) = (matching.reach.owedBy(observable), owedBy[observable] ?? 0)
            try Reach.always.agree(
                "it counts who is owed it", stated, found, of: String(keyspace[observable].key))
        }
        for session in sessions.handles { try whoIsBehindHasAReason(session) }
    }

    private func whatIsOwedMayBeSeen(
        _ subscription: SubscriptionHandle, _ backlog: Backlog
    ) throws(BrokenInvariant) {
        let session = matching[subscription].session
        guard sessions[session].isOpen, let grant = sessions[session].grant else { return }
        for place in backlog.keys.places {
            let key = keyspace[backlog.keys[place].observable].key
            let isSeen = backlog.keys[place].isInitial || grant.permit(.subscribe, key)
            try Backlog.always.hold("what is owed may be seen", isSeen, of: String(key))
        }
    }

    private func whoIsOwedWaitsForSomething(
        _ subscription: SubscriptionHandle, _ backlog: Backlog
    ) throws(BrokenInvariant) {
        let session = matching[subscription].session
        let isOwed = !matching[subscription].owesNothing
        guard sessions[session].isOpen, isOwed, !backlog.isReady else { return }
        let name = "client \(sessions[session].client)"
        let isBegun = backlog.snapshot == nil || sessions[session].isBusy
        try Backlog.always.hold("a snapshot is being found", isBegun, of: name)
        guard case .room = state(of: subscription, backlog) else { return }
        try Backlog.always.hold("what is owed waits for something", false, of: name)
    }

    /// A session is behind as long as events wait until it reads.
    private func whoIsBehindHasAReason(_ session: SessionHandle) throws(BrokenInvariant) {
        let client = "client \(sessions[session].client)"
        let sessionBacklog = sessions[session].backlog
        try (sessionBacklog ?? SessionBacklog()).checkInvariants(of: session, self)
        guard sessions[session].isOpen else { return }
        let isCatchingUp =
            sessionBacklog.map { !$0.ready.isEmpty || !$0.deferred.isEmpty || $0.isReading(matching) }
            ?? false
        let isBehind = sessions[session].isBehind
        try Session.always.hold(
            "it is behind while something is to come first",
            isBehind || !isCatchingUp,
            of: client
        )
    }

    // MARK: Calls

    private func checkCalls() throws(BrokenInvariant) {
        try calls.checkInvariants(deadlines, sessions)
        if let reporter = supervision.reporter {
            try Supervision.always.hold("who reports is there", sessions.contains(reporter))
        }
        for plugin in supervision.onDemand {
            let observers = countObservers(of: plugin)
            let stated = plugin.demand?.observers ?? -1
            try Supervision.always.agree(
                "demand is the observers that there are", stated, observers, of: plugin.name)
        }
    }

    // MARK: What clients take up

    private func foundUse() -> [ObjectIdentifier: Quota] {
        var found: [ObjectIdentifier: Quota] = [:]
        for session in sessions.handles {
            let use = use(of: session)
            for kind in [WaitingBytes.Kind.owed, .partial] {
                let payer = access.payer(of: kind, sessions[session])
                found[ObjectIdentifier(payer), default: Quota()][kind] += sessions[session].waiting[kind]
            }
            let account = ObjectIdentifier(access.account(of: sessions[session]))
            found[account, default: Quota()].connections += 1
            found[account, default: Quota()].subscriptions += use.subscriptions
            found[account, default: Quota()].kept += use.kept
        }
        for (lease, absence) in graces.absences {
            guard let account = absence.account else { continue }
            found[ObjectIdentifier(account), default: Quota()].kept += keyspace.willBytes(of: lease)
        }
        for observable in keyspace.all.handles
        where keyspace[observable].hasValue && !keyspace[observable].isReserved {
            guard let account = keyspace.account(of: observable) else { continue }
            let bytes = keyspace.chargedBytes(of: observable)
            found[ObjectIdentifier(account), default: Quota()].keys += 1
            found[ObjectIdentifier(account), default: Quota()].kept += bytes
        }
        return found
    }

    private func use(of session: SessionHandle) -> (subscriptions: Int, kept: Int) {
        var patterns = sessions[session].calls?.services.count ?? 0
        var kept = keyspace.willBytes(of: sessions[session].lease)
        for subscription in sessions[session].subscriptions.list.all {
            patterns += matching[subscription].keys.count + matching[subscription].patterns.count
            let isTracer = matching[subscription].isTracer
            patterns += isTracer ? insight.tracing.patterns(of: subscription).count : 0
            kept += matching[subscription].filter?.bytes ?? 0
        }
        return (patterns, kept)
    }
}

private struct DueCounts {
    private(set) var (expiries, ends, calls, windows, traces, ownStates, gates, graces) = (
        0, 0, 0, 0, 0, 0, 0, 0
    )

    mutating func add(_ deadline: Deadline) {
        switch deadline {
        case .expiry: expiries += 1
        case .ended: ends += 1
        case .call: calls += 1
        case .window: windows += 1
        case .trace: traces += 1
        case .ownState: ownStates += 1
        case .gate: gates += 1
        case .grace: graces += 1
        case .idle: break
        }
    }
}

// What is reported if something that always holds doesn't: the structure, what should hold, and what was
// found. Each structure checks itself between two turns, and the hub checks how they fit together. Nothing
// that a peer sends can break one of these.

struct BrokenInvariant: Error, Equatable, CustomStringConvertible {
    let structure: String
    let sentence: String
    /// A number or a name that was found; may be empty.
    let found: String

    var description: String {
        "\(structure): \(sentence)" + (found.isEmpty ? "" : " (\(found))")
    }
}

/// What is checked between two turns. What doesn't hold is reported under the name of its type.
protocol Checked: ~Copyable {}

extension Checked where Self: ~Copyable {
    static var always: Invariants { Invariants(structure: Self.self) }
}

struct Invariants {
    let structure: any (~Copyable).Type

    /// Throws unless `holds` is true. `of` names what the check is about.
    @inline(__always)
    func hold(
        _ sentence: StaticString, _ holds: Bool, of subject: @autoclosure () -> String = ""
    ) throws(BrokenInvariant) {
        if !holds { throw broken(sentence, subject()) }
    }

    @inline(__always)
    func agree<Number: Equatable>(
        _ sentence: StaticString,
        _ stated: Number,
        _ found: Number,
        of subject: @autoclosure () -> String = ""
    ) throws(BrokenInvariant) {
        if stated == found { return }
        let subject = subject()
        let numbers = "it says \(stated), found were \(found)"
        throw broken(sentence, subject.isEmpty ? numbers : "\(subject): \(numbers)")
    }

    @inline(never)
    private func broken(_ sentence: StaticString, _ found: String) -> BrokenInvariant {
        let name = "\(structure)".prefix { $0 != "<" }
        return BrokenInvariant(structure: String(name), sentence: "\(sentence)", found: found)
    }
}
