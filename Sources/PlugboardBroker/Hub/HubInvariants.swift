// What always holds between two turns. Each structure checks itself; here they are compared with each other.
// The checks count everything anew, so their time grows with the state. They run after each turn of a
// simulation and now and then in a debug build, never in a release.

import PlugboardMemory
import PlugboardWire

extension Hub: Checked {
    /// Throws the first thing that doesn't hold.
    func checkInvariants() throws(BrokenInvariant) {
        // What open clients would leave behind, and what waits for those that may come back.
        let leases = sessions.handles.compactMap { sessions[$0].lease } + graces.waiting.values
        try keyspace.checkInvariants(deadlines, leases)
        try deadlines.checkInvariants()
        try checkSubscriptions()
        try checkDelivery()
        try checkCalls()
        try checkDeadlines()
        let records = keyspace.all.handles.filter { !keyspace[$0].isReserved }
        let bytes = records.reduce(0) { $0 + keyspace[$1].recordBytes }
        try Self.always.agree("it counts the bytes of their records", durability.records.liveBytes, bytes)
        try access.checkInvariants(foundUse())
        // Authors are also referred to by values and the history.
        let signatures = sessions.handles.compactMap { sessions[$0].signature }
        try keyspace.checkAuthors([insight.author] + signatures)
        try durability.replies.checkInvariants(sessions)
        try Self.always.hold("no batch is being written", durability.records.eventsOfBatch == 0)
        try delivery.checkInvariants(sessions)
    }

    // MARK: Subscriptions

    private func checkSubscriptions() throws(BrokenInvariant) {
        for session in sessions.handles {
            try sessions[session].subscriptions.checkInvariants(of: session, matching)
            let found = sessions[session].subscriptions.list.all.count { !matching[$0].isDirect }
            let (client, stated) = (sessions[session].client, Int(sessions[session].indirectCount))
            try Session.always.agree(
                "it counts what can't be told at once", stated, found, of: "client \(client)")
        }
        let listed = sessions.handles.reduce(0) { $0 + sessions[$1].subscriptions.count }
        try Session.always.agree("each subscription is a client's", matching.handles.count, listed)
        try matching.checkInvariants(keyspace, sessions)
        try insight.tracing.checkInvariants(matching, withGap: requests.tracersWithGap)
        try knownShapesAreSo()
    }

    /// What is known of values is so, for filters that are still there.
    private func knownShapesAreSo() throws(BrokenInvariant) {
        let known = delivery.judge.shapes.known
        if known.isEmpty { return }
        var filters: [UInt64: Filter] = [:]
        for subscription in matching.handles {
            filters[matching[subscription].serial] = matching[subscription].filter
        }
        for shape in known { try filters[shape.subscription]?.checkInvariants(shape, keyspace) }
    }

    // MARK: Deadlines

    /// Each deadline belongs to somebody who waits for it, and the other way round. Gates, calls and bonds are
    /// compared with theirs by their rooms.
    private func checkDeadlines() throws(BrokenInvariant) {
        let always = Deadlines.always
        var waiting = phases.count + calls.count + keyspace.lifetimes.timedCount
        waiting += insight.tracing.restingCount
        for subscription in matching.handles {
            guard let ticket = matching[subscription].backlog?.window?.ticket else { continue }
            let isTimed = deadlines.deadline(of: ticket) == .window(subscription)
            let name = "subscription \(matching[subscription].serial)"
            try Window.always.hold("the deadline of a rhythm is there", isTimed, of: name)
            waiting += 1
        }
        for lease in graces.waiting.values {
            let left = keyspace.lifetimes.leases[lease]
            let isTimed = deadlines.deadline(of: left.deadline) == .grace(lease)
            try always.hold("one for each who may come back", isTimed, of: "client \(left.client)")
            waiting += 1
        }
        let all = deadlines.all
        let (ends, rounds) = (keyspace.lifetimes.isGoingOn ? 1 : 0, insight.isWatched ? 1 : 0)
        try always.agree("one while keys of the departed are to go", all.count { $0 == .ended }, ends)
        try always.agree("one while the broker is watched", all.count { $0 == .ownState }, rounds)
        // Those of the loop are compared with its connections.
        let due = all.count { !$0.isLoops && $0 != .idle }
        try always.agree("each is waited for", due, waiting + ends + rounds)
    }

    // MARK: What is owed

    private func checkDelivery() throws(BrokenInvariant) {
        var owedBy: [ObservableHandle: Int] = [:]
        for subscription in matching.handles {
            guard let backlog = matching[subscription].backlog else { continue }
            try backlog.checkInvariants(keyspace, &owedBy)
            guard sessions[matching[subscription].session].isOpen else { continue }
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
        guard let grant = sessions[matching[subscription].session].grant else { return }
        for place in backlog.keys.places {
            let key = keyspace[backlog.keys[place].observable].key
            let isSeen = backlog.keys[place].isInitial || grant.permit(.subscribe, key)
            try Backlog.always.hold("what is owed may be seen", isSeen, of: String(key))
        }
    }

    private func whoIsOwedWaitsForSomething(
        _ subscription: SubscriptionHandle, _ backlog: Backlog
    ) throws(BrokenInvariant) {
        if matching[subscription].owesNothing || backlog.isReady { return }
        let session = matching[subscription].session
        let name = "client \(sessions[session].client)"
        let isBegun = backlog.snapshot == nil || sessions[session].isBusy
        try Backlog.always.hold("a snapshot is being found", isBegun, of: name)
        guard case .room = state(of: subscription, backlog) else { return }
        try Backlog.always.hold("what is owed waits for something", false, of: name)
    }

    /// A session is behind as long as events wait until it reads.
    private func whoIsBehindHasAReason(_ session: SessionHandle) throws(BrokenInvariant) {
        let client = "client \(sessions[session].client)"
        let backlog = sessions[session].backlog ?? SessionBacklog()
        try backlog.checkInvariants(of: session, self)
        let isUpToDate = backlog.ready.isEmpty && backlog.deferred.isEmpty && !backlog.isReading(matching)
        let isSo = sessions[session].isBehind || !sessions[session].isOpen || isUpToDate
        try Session.always.hold("it is behind while something is to come first", isSo, of: client)
    }

    // MARK: Calls

    private func checkCalls() throws(BrokenInvariant) {
        try calls.checkInvariants(deadlines, sessions)
        if let reporter = supervision.reporter {
            try Supervision.always.hold("who reports is there", sessions.contains(reporter))
        }
        for plugin in supervision.onDemand {
            let (stated, found) = (plugin.demand?.observers ?? -1, countObservers(of: plugin))
            try Supervision.always.agree(
                "demand is the observers that there are", stated, found, of: plugin.name)
        }
    }

    // MARK: What clients take up

    private func foundUse() -> [ObjectIdentifier: Quota] {
        var found: [ObjectIdentifier: Quota] = [:]
        for session in sessions.handles {
            for kind in [WaitingBytes.Kind.owed, .partial] {
                let payer = access.payer(of: kind, sessions[session])
                found[ObjectIdentifier(payer), default: Quota()][kind] += sessions[session].waiting[kind]
            }
            let account = ObjectIdentifier(access.account(of: sessions[session]))
            var use = found[account] ?? Quota()
            use.connections += 1
            use.subscriptions += sessions[session].calls?.services.count ?? 0
            for subscription in sessions[session].subscriptions.list.all {
                use.subscriptions += patternCount(of: subscription)
                use.kept += matching[subscription].filter?.bytes ?? 0
            }
            found[account] = use
        }
        keyspace.lifetimes.leases.forEach { lease in
            guard let will = keyspace.lifetimes.leases[lease].will else { return }
            found[ObjectIdentifier(will.account), default: Quota()].kept += will.bytes.count
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
