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
        try access.checkInvariants(foundUse(living))
        try keyspace.checkAuthors(living, signatures(living))
        try durability.checkInvariants(living, sessions)
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
        try replays.checkInvariants(living, matching)
        try tracing.checkInvariants(living, matching)
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
        [own.author] + living.sessions.compactMap { sessions[$0].signature }
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
        try always.agree("one for each call", due.calls, calls.count)
        try always.agree("one for each bond to a time", due.expiries, keyspace.timedCount)
        try always.agree("one while keys of the departed are to go", due.ends, keyspace.isEnding ? 1 : 0)
        try always.agree("one while the broker is watched", due.ownStates, own.isActive ? 1 : 0)
    }

    // MARK: The turn

    /// Nothing is left of the turn before.
    private func checkTurn(_ living: borrowing Living) throws(BrokenInvariant) {
        let always = Invariants(of: "Hub")
        try always.hold("no publish waits to be made", group.isEmpty)
        try always.hold("no batch is being written", durability.eventsOfBatch == 0)
        try delivery.checkInvariants(living, sessions)
    }
}

/// How many deadlines of each kind there are.
private struct DueCounts {
    private(set) var (expiries, ends, calls, windows, ownStates, gates) = (0, 0, 0, 0, 0, 0)

    mutating func note(_ deadline: Deadline) {
        switch deadline {
        case .expiry: expiries += 1
        case .ended: ends += 1
        case .call: calls += 1
        case .window: windows += 1
        case .ownState: ownStates += 1
        case .gate: gates += 1
        case .idle: break
        }
    }
}
