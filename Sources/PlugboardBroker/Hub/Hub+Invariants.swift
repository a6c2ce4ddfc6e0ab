// What always holds between two turns: each structure says it of itself, and here is what
// they say of each other. Found by counting anew, in time that grows with the state, so it is
// asked after each turn of a simulation and now and then in a debug build, never in a release.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Looks at the whole state, between two turns. Throws the first thing that doesn't hold.
    func checkInvariants() throws(BrokenInvariant) {
        var living = Living()
        try sessions.checkInvariants(&living)
        try keyspace.checkInvariants(&living, deadlines, legacies(living))
        try deadlines.checkInvariants()
        try checkSubscriptions(living)
        try checkKeys(living)
        try checkDelivery(living)
        try checkCalls(living)
        try checkDeadlines(living)
        try access.checkInvariants(foundUse(living), living)
        try keyspace.checkAuthors(living, signatures(living))
        try durability.checkInvariants(living, sessions, matching)
        try checkTurn(living)
    }

    // MARK: Subscriptions

    private func checkSubscriptions(_ living: borrowing Living) throws(BrokenInvariant) {
        for session in living.sessions {
            try sessions[session].subscriptions.checkInvariants(of: session, matching)
        }
        let always = Invariants(of: "Session")
        for session in living.sessions {
            let found = sessions[session].subscriptions.list.all.count { !matching[$0].isDirect }
            let (client, stated) = (
                "client \(sessions[session].client)", Int(sessions[session].indirectCount)
            )
            try always.agree("it counts what can't be told at once", stated, found, of: client)
        }
        try matching.checkInvariants(living, keyspace, sessions, isSelective: isSelective)
        try insight.checkInvariants(living, matching)
        try rhythmsAreKept(living)
    }

    private func rhythmsAreKept(_ living: borrowing Living) throws(BrokenInvariant) {
        for subscription in living.subscriptions {
            guard let ticket = matching[subscription].backlog?.window?.ticket else { continue }
            let isTimed = deadlines.deadline(of: ticket) == .window(subscription)
            let name = "subscription \(matching[subscription].serial)"
            try Invariants(of: "Window").hold("the deadline of a rhythm is there", isTimed, of: name)
        }
    }

    // MARK: Keys

    private func checkKeys(_ living: borrowing Living) throws(BrokenInvariant) {
        let always = Invariants(of: "Hub")
        var bytes = 0
        for observable in living.observables {
            if !keyspace[observable].isReserved { bytes += keyspace[observable].recordBytes }
        }
        try always.agree("it counts the bytes of their records", durability.liveBytes, bytes)
    }

    // MARK: Deadlines

    /// What clients that live would leave behind.
    private func legacies(_ living: borrowing Living) -> [LegacyHandle] {
        living.sessions.compactMap { sessions[$0].legacy }
    }

    /// Who refers to authors beside values and the history: clients and the broker itself.
    private func signatures(_ living: borrowing Living) -> [AuthorHandle] {
        [insight.author] + living.sessions.compactMap { sessions[$0].signature }
    }

    /// What falls due is what somebody waits for, and no more.
    private func checkDeadlines(_ living: borrowing Living) throws(BrokenInvariant) {
        let always = Invariants(of: "Deadlines")
        var due = DueCounts()
        for deadline in deadlines.all { due.note(deadline) }
        var ticking = 0
        for subscription in living.subscriptions
        where matching[subscription].backlog?.window?.isTicking == true { ticking += 1 }
        try always.agree("one for each gate", due.gates, phases.count)
        try always.agree("one for each rhythm that ticks", due.windows, ticking)
        let resting = insight.tracing.tracers.count { $0.isResting }
        try always.agree("one for each tracer that rests", due.traces, resting)
        try always.agree("one for each call", due.calls, calls.count)
        try always.agree("one for each bond to a time", due.expiries, keyspace.timedCount)
        try always.agree("one while keys of the departed are to go", due.ends, keyspace.isEnding ? 1 : 0)
        try always.agree("one while the broker is watched", due.ownStates, insight.isWatched ? 1 : 0)
    }

    // MARK: What is owed

    /// Looks at all that is owed.
    private func checkDelivery(_ living: borrowing Living) throws(BrokenInvariant) {
        var owedBy: [ObservableHandle: Int] = [:]
        for subscription in living.subscriptions {
            guard let backlog = matching[subscription].backlog else { continue }
            try backlog.checkInvariants(living, keyspace, &owedBy)
            try whoIsOwedWaitsForSomething(subscription, backlog)
        }
        try phases.checkInvariants(living, keyspace, matching, deadlines, &owedBy)
        try requests.checkInvariants(living, sessions, keyspace, &owedBy)
        let always = Invariants(of: "Observable")
        for observable in living.observables {
            let (stated, found) = (Int(keyspace[observable].owedBy), owedBy[observable] ?? 0)
            try always.agree(
                "it counts who is owed it",
                stated,
                found,
                of: String(keyspace[observable].key)
            )
        }
        for session in living.sessions { try whoIsBehindHasAReason(session) }
    }

    /// A subscription that is owed something and that nothing holds back is about to be told.
    private func whoIsOwedWaitsForSomething(
        _ subscription: SubscriptionHandle,
        _ backlog: Backlog
    ) throws(BrokenInvariant) {
        let session = matching[subscription].session
        guard sessions[session].isOpen, !backlog.isEmpty, !backlog.isReady else { return }
        let always = Invariants(of: "Backlog")
        let name = "client \(sessions[session].client)"
        guard case .room = state(of: subscription, backlog) else { return }
        try always.hold("what is owed waits for something", false, of: name)
    }

    /// A session is behind as long as something waits for it to read, and held as long as a reply does.
    private func whoIsBehindHasAReason(_ session: SessionHandle) throws(BrokenInvariant) {
        let always = Invariants(of: "Session")
        let client = "client \(sessions[session].client)"
        let catchup = sessions[session].catchup
        if let catchup {
            try catchup.checkInvariants(of: session, self)
        } else {
            let isNothing = Catchup.Waiting(session, self).isNothing
            try always.hold("what waits has a place", isNothing, of: client)
        }
        guard sessions[session].isOpen else { return }
        let isReplyWaiting = catchup.map { !$0.deferred.isEmpty } ?? false
        try always.agree(
            "it is held while a reply waits",
            sessions[session].isHeld,
            isReplyWaiting,
            of: client
        )
        let isCatchingUp = catchup.map { !$0.ready.isEmpty || $0.isReading(matching) } ?? false
        let isBehind = sessions[session].isBehind
        try always.hold(
            "it is behind while something is to come first",
            isBehind || !sessions[session].isHeld && !isCatchingUp,
            of: client
        )
    }

    // MARK: Calls

    /// Looks at all calls and services.
    private func checkCalls(_ living: borrowing Living) throws(BrokenInvariant) {
        try calls.checkInvariants(living, deadlines, sessions)
        let always = Invariants(of: "Supervision")
        if let reporter = supervision.reporter {
            try always.hold("who reports is there", living.sessions.contains(reporter))
        }
        for plugin in supervision.onDemand {
            let observers = countObservers(of: plugin)
            let stated = plugin.demand?.observers ?? -1
            try always.agree("demand is the observers that there are", stated, observers, of: plugin.name)
        }
    }

    // MARK: What users take up

    /// What was found that each user takes up.
    private func foundUse(_ living: borrowing Living) -> FoundUse {
        var use = FoundUse()
        guard access.counts else { return use }
        for session in living.sessions { countUse(of: session, &use) }
        for observable in living.observables
        where keyspace[observable].hasValue && !keyspace[observable].isReserved {
            use.add(to: keyspace.account(of: observable)) {
                $0.keys += 1
                $0.kept += keptBytes(of: observable)
            }
        }
        return use
    }

    private func countUse(of session: SessionHandle, _ use: inout FoundUse) {
        guard let clearance = sessions[session].clearance else { return }
        let services = sessions[session].duties?.services.count ?? 0
        use.add(to: clearance.account) {
            $0.connections += 1
            $0.owed += clearance.owed
            $0.partial += clearance.partial
            $0.kept += willBytes(of: session)
            $0.subscriptions += services
        }
        for subscription in sessions[session].subscriptions.list.all {
            let observed = matching[subscription].keys.count + matching[subscription].patterns.count
            let isTracer = matching[subscription].isTracer
            let traced = isTracer ? insight.tracing.patterns(of: subscription).count : 0
            use.add(to: clearance.account) {
                $0.subscriptions += observed + traced
                $0.kept += matching[subscription].filter?.bytes ?? 0
            }
        }
    }

    // MARK: The turn

    /// Nothing is left of the turn before.
    private func checkTurn(_ living: borrowing Living) throws(BrokenInvariant) {
        let always = Invariants(of: "Hub")
        try always.hold("no batch is being written", durability.eventsOfBatch == 0)
        try delivery.checkInvariants(living, sessions)
    }
}

/// How many deadlines of each kind there are.
private struct DueCounts {
    private(set) var (expiries, ends, calls, windows, traces, ownStates, gates) = (0, 0, 0, 0, 0, 0, 0)

    mutating func note(_ deadline: Deadline) {
        switch deadline {
        case .expiry: expiries += 1
        case .ended: ends += 1
        case .call: calls += 1
        case .window: windows += 1
        case .trace: traces += 1
        case .ownState: ownStates += 1
        case .gate: gates += 1
        case .idle: break
        }
    }
}
