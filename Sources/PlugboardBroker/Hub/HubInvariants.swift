// What always holds between two turns. Each structure checks itself; here they are compared with each other.
// The checks count everything anew, so their time grows with the state. They run after each turn of a
// simulation and now and then in a debug build, never in a release.

import PlugboardMemory
import PlugboardWire

enum HubInvariants {
    /// Checks the whole state between two turns. Throws the first thing that doesn't hold.
    static func check(_ hub: borrowing Hub) throws(BrokenInvariant) {
        var living = Living()
        try hub.sessions.checkInvariants(&living)
        try hub.keyspace.checkInvariants(&living, hub.deadlines, leases(living, hub))
        try hub.deadlines.checkInvariants()
        try checkSubscriptions(living, hub)
        try checkKeys(living, hub)
        try checkDelivery(living, hub)
        try checkCalls(living, hub)
        try checkDeadlines(living, hub)
        try hub.access.checkInvariants(foundUse(living, hub))
        try hub.keyspace.checkAuthors(living, signatures(living, hub))
        try hub.durability.checkInvariants(living, hub.sessions, hub.matching)
        try checkTurn(living, hub)
    }

    // MARK: Subscriptions

    private static func checkSubscriptions(_ living: borrowing Living, _ hub: borrowing Hub)
        throws(BrokenInvariant)
    {
        for session in living.sessions {
            try hub.sessions[session].subscriptions.checkInvariants(of: session, hub.matching)
        }
        let always = Invariants(of: "Session")
        for session in living.sessions {
            let found = hub.sessions[session].subscriptions.list.all.count { !hub.matching[$0].isDirect }
            let (client, stated) = (
                "client \(hub.sessions[session].client)", Int(hub.sessions[session].indirectCount)
            )
            try always.agree("it counts what can't be told at once", stated, found, of: client)
        }
        try hub.matching.checkInvariants(living, hub.keyspace, hub.sessions)
        try hub.insight.checkInvariants(living, hub.matching)
        try rhythmsAreKept(living, hub)
        try knownShapesAreSo(living, hub)
    }

    /// What is known of values is so, for filters that are still there.
    private static func knownShapesAreSo(_ living: borrowing Living, _ hub: borrowing Hub)
        throws(BrokenInvariant)
    {
        guard !hub.delivery.judge.shapes.isEmpty else { return }
        var filters: [UInt64: Filter] = [:]
        for subscription in living.subscriptions {
            filters[hub.matching[subscription].serial] = hub.matching[subscription].filter
        }
        try hub.delivery.judge.shapes.forEach { shape throws(BrokenInvariant) in
            try filters[shape.subscription]?.checkInvariants(shape, hub.keyspace)
        }
    }

    private static func rhythmsAreKept(_ living: borrowing Living, _ hub: borrowing Hub)
        throws(BrokenInvariant)
    {
        for subscription in living.subscriptions {
            guard let ticket = hub.matching[subscription].backlog?.window?.ticket else { continue }
            let isTimed = hub.deadlines.deadline(of: ticket) == .window(subscription)
            let name = "subscription \(hub.matching[subscription].serial)"
            try Invariants(of: "Window").hold("the deadline of a rhythm is there", isTimed, of: name)
        }
    }

    // MARK: Keys

    private static func checkKeys(_ living: borrowing Living, _ hub: borrowing Hub) throws(BrokenInvariant) {
        let always = Invariants(of: "Hub")
        var bytes = 0
        for observable in living.observables {
            if !hub.keyspace[observable].isReserved { bytes += hub.keyspace[observable].recordBytes }
        }
        try always.agree("it counts the bytes of their records", hub.durability.liveBytes, bytes)
    }

    // MARK: Deadlines

    /// What open clients would leave behind, and what waits for those that may come back.
    private static func leases(_ living: borrowing Living, _ hub: borrowing Hub) -> [LeaseHandle] {
        living.sessions.compactMap { hub.sessions[$0].lease } + hub.graces.absences.keys
    }

    /// The references to authors besides values and the history: those of clients and of the broker itself.
    private static func signatures(_ living: borrowing Living, _ hub: borrowing Hub) -> [AuthorHandle] {
        [hub.insight.author] + living.sessions.compactMap { hub.sessions[$0].signature }
    }

    /// Each deadline belongs to somebody who waits for it, and the other way round.
    private static func checkDeadlines(_ living: borrowing Living, _ hub: borrowing Hub)
        throws(BrokenInvariant)
    {
        let always = Invariants(of: "Deadlines")
        var due = DueCounts()
        for deadline in hub.deadlines.all { due.add(deadline) }
        var ticking = 0
        for subscription in living.subscriptions
        where hub.matching[subscription].backlog?.window?.isTicking == true { ticking += 1 }
        try always.agree("one for each gate", due.gates, hub.phases.count)
        try always.agree("one for each rhythm that ticks", due.windows, ticking)
        try always.agree("one for each tracer that rests", due.traces, hub.insight.tracing.restingCount)
        try always.agree("one for each call", due.calls, hub.calls.count)
        try always.agree("one for each bond to a time", due.expiries, hub.keyspace.lifetimes.timedCount)
        try always.agree("one for each client that may come back", due.graces, hub.graces.absences.count)
        let ends = hub.keyspace.lifetimes.isGoingOn ? 1 : 0
        try always.agree("one while keys of the departed are to go", due.ends, ends)
        try always.agree("one while the broker is watched", due.ownStates, hub.insight.isWatched ? 1 : 0)
    }

    // MARK: What is owed

    private static func checkDelivery(_ living: borrowing Living, _ hub: borrowing Hub)
        throws(BrokenInvariant)
    {
        var owedBy: [ObservableHandle: Int] = [:]
        for subscription in living.subscriptions {
            guard let backlog = hub.matching[subscription].backlog else { continue }
            try backlog.checkInvariants(living, hub.keyspace, &owedBy)
            try whoIsOwedWaitsForSomething(subscription, backlog, hub)
            try whatIsOwedMayBeSeen(subscription, backlog, hub)
        }
        for session in living.sessions {
            for (subscription, withheld) in hub.sessions[session].grant?.withheld ?? [:] {
                let isThere = living.subscriptions.contains(subscription)
                try Invariants(of: "Grant").hold("what is withheld is withheld from somebody", isThere)
                try withheld.keys.checkInvariants(living, hub.keyspace, isSorted: false, &owedBy)
            }
        }
        try hub.matching.lanes.checkInvariants(living, hub.matching, hub.keyspace, &owedBy)
        try hub.phases.checkInvariants(living, hub.matching, hub.deadlines, &owedBy)
        try hub.requests.checkInvariants(living, hub.sessions, hub.keyspace, &owedBy)
        let always = Invariants(of: "Reach")
        for observable in living.observables {
            let (stated, found) = (hub.matching.reach.owedBy(observable), owedBy[observable] ?? 0)
            try always.agree(
                "it counts who is owed it", stated, found, of: String(hub.keyspace[observable].key)
            )
        }
        for session in living.sessions { try whoIsBehindHasAReason(session, hub) }
    }

    private static func whatIsOwedMayBeSeen(
        _ subscription: SubscriptionHandle, _ backlog: Backlog, _ hub: borrowing Hub
    ) throws(BrokenInvariant) {
        let session = hub.matching[subscription].session
        guard hub.sessions[session].isOpen, let grant = hub.sessions[session].grant else { return }
        var next = backlog.keys.front
        while let place = next {
            next = backlog.keys.place(after: place)
            let key = hub.keyspace[backlog.keys[place].observable].key
            let isSeen = grant.permit(.subscribe, key)
            try Invariants(of: "Backlog").hold("what is owed may be seen", isSeen, of: String(key))
        }
    }

    private static func whoIsOwedWaitsForSomething(
        _ subscription: SubscriptionHandle, _ backlog: Backlog, _ hub: borrowing Hub
    ) throws(BrokenInvariant) {
        let session = hub.matching[subscription].session
        let isOwed = !hub.matching[subscription].owesNothing
        guard hub.sessions[session].isOpen, isOwed, !backlog.isReady else { return }
        let always = Invariants(of: "Backlog")
        let name = "client \(hub.sessions[session].client)"
        guard case .room = hub.state(of: subscription, backlog) else { return }
        try always.hold("what is owed waits for something", false, of: name)
    }

    /// A session is behind as long as events wait until it reads, and held as long as a reply does.
    private static func whoIsBehindHasAReason(_ session: SessionHandle, _ hub: borrowing Hub)
        throws(BrokenInvariant)
    {
        let always = Invariants(of: "Session")
        let client = "client \(hub.sessions[session].client)"
        let sessionBacklog = hub.sessions[session].sessionBacklog
        if let sessionBacklog {
            try sessionBacklog.checkInvariants(of: session, hub)
        } else {
            let isNothing = SessionBacklog.Waiting(session, hub).isNothing
            try always.hold("what waits has a place", isNothing, of: client)
        }
        guard hub.sessions[session].isOpen else { return }
        let isReplyWaiting = sessionBacklog.map { !$0.deferred.isEmpty } ?? false
        try always.agree(
            "it is held while a reply waits", hub.sessions[session].isHeld, isReplyWaiting, of: client
        )
        let isCatchingUp = sessionBacklog.map { !$0.ready.isEmpty || $0.isReading(hub.matching) } ?? false
        let isBehind = hub.sessions[session].isBehind
        try always.hold(
            "it is behind while something is to come first",
            isBehind || !hub.sessions[session].isHeld && !isCatchingUp,
            of: client
        )
    }

    // MARK: Calls

    private static func checkCalls(_ living: borrowing Living, _ hub: borrowing Hub) throws(BrokenInvariant) {
        try hub.calls.checkInvariants(living, hub.deadlines, hub.sessions)
        let always = Invariants(of: "Supervision")
        if let reporter = hub.supervision.reporter {
            try always.hold("who reports is there", living.sessions.contains(reporter))
        }
        for plugin in hub.supervision.onDemand {
            let observers = hub.countObservers(of: plugin)
            let stated = plugin.demand?.observers ?? -1
            try always.agree("demand is the observers that there are", stated, observers, of: plugin.name)
        }
    }

    // MARK: What clients take up

    /// What each account should count, counted anew.
    private static func foundUse(
        _ living: borrowing Living, _ hub: borrowing Hub
    ) -> [ObjectIdentifier: Quota] {
        var found: [ObjectIdentifier: Quota] = [:]
        for session in living.sessions {
            let use = use(of: session, hub)
            for kind in [WaitingBytes.Kind.owed, .partial] {
                let payer = hub.access.payer(of: kind, hub.sessions[session])
                found[ObjectIdentifier(payer), default: Quota()][kind] += hub.sessions[session].waiting[kind]
            }
            let account = ObjectIdentifier(hub.access.account(of: hub.sessions[session]))
            found[account, default: Quota()].connections += 1
            found[account, default: Quota()].subscriptions += use.subscriptions
            found[account, default: Quota()].kept += use.kept
        }
        for (lease, waiting) in hub.graces.absences {
            guard let account = waiting.absence.account else { continue }
            found[ObjectIdentifier(account), default: Quota()].kept += hub.keyspace.willBytes(of: lease)
        }
        for observable in living.observables
        where hub.keyspace[observable].hasValue && !hub.keyspace[observable].isReserved {
            guard let account = hub.keyspace.account(of: observable) else { continue }
            let bytes = hub.keyspace.chargedBytes(of: observable)
            found[ObjectIdentifier(account), default: Quota()].keys += 1
            found[ObjectIdentifier(account), default: Quota()].kept += bytes
        }
        return found
    }

    /// The patterns of a client, and the bytes of its will and its filters.
    private static func use(
        of session: SessionHandle, _ hub: borrowing Hub
    ) -> (subscriptions: Int, kept: Int) {
        var patterns = hub.sessions[session].duties?.services.count ?? 0
        var kept = hub.keyspace.willBytes(of: hub.sessions[session].lease)
        for subscription in hub.sessions[session].subscriptions.list.all {
            patterns += hub.matching[subscription].keys.count + hub.matching[subscription].patterns.count
            let isTracer = hub.matching[subscription].isTracer
            patterns += isTracer ? hub.insight.tracing.patterns(of: subscription).count : 0
            kept += hub.matching[subscription].filter?.bytes ?? 0
        }
        return (patterns, kept)
    }

    // MARK: The turn

    private static func checkTurn(_ living: borrowing Living, _ hub: borrowing Hub) throws(BrokenInvariant) {
        let always = Invariants(of: "Hub")
        try always.hold("no batch is being written", hub.durability.eventsOfBatch == 0)
        try hub.delivery.checkInvariants(living, hub.sessions)
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

/// Something that should always hold, and doesn't.
struct BrokenInvariant: Error, Equatable, CustomStringConvertible {
    let structure: String
    let sentence: String
    /// A number or a name that was found; may be empty.
    let found: String

    var description: String {
        "\(structure): \(sentence)" + (found.isEmpty ? "" : " (\(found))")
    }
}

struct Invariants {
    let structure: StaticString

    init(of structure: StaticString) {
        self.structure = structure
    }

    /// Throws unless `holds` is true. `of` names what the check is about.
    @inline(__always)
    func hold(
        _ sentence: StaticString, _ holds: Bool, of subject: @autoclosure () -> String = ""
    ) throws(BrokenInvariant) {
        if !holds { throw broken(sentence, subject()) }
    }

    /// Throws unless the stated number is the one that was found.
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
        BrokenInvariant(structure: "\(structure)", sentence: "\(sentence)", found: found)
    }
}

/// What exists between two turns. Any other handle in the state is stale, and must not be followed.
struct Living {
    var observables: Set<ObservableHandle> = []
    var sessions: Set<SessionHandle> = []
    var subscriptions: Set<SubscriptionHandle> = []
}
