// What follows from rights: who connects gets them, who loses some is told no more, and what may
// not be seen is not there: what a refusal says depends on the policy alone, never on what there is. The
// supervisor alone writes `$broker.plugins.…`, and what it writes there is what the broker goes by. Clients of a
// plugin's session have its name from their greeting on, can't take another, and may do what its declaration
// lists and no more.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension Hub {
    /// Whether lists of observers have to leave somebody out.
    var isSelective: Bool { access.followsPolicy || supervision.isLimiting }

    /// Gives a client that has just connected its rights.
    mutating func place(_ session: SessionHandle, _ groups: [UInt32]) {
        if let rights = access.rights(of: sessions[session].peer, groups, name: nil) {
            sessions[session].clearance = Clearance(groups: groups, rights: rights)
        }
        placeSupervised(session, groups)
        access.openAccount(of: sessions[session])
    }

    /// A client has given itself a name, and rules may be about that. What it is owed by then it
    /// still gets: it was allowed to see it, and nobody else asked it to change.
    mutating func noteName(_ name: Span<UInt8>, of session: SessionHandle) {
        guard let clearance = sessions[session].clearance else { return }
        clearance.name = String(name)
        _ = renewRights(of: session)
    }

    /// Follows another policy from now on. Returns the clients that are to be sent away: those
    /// who may not be here any more, and those who were sent what they may not see any more
    /// and have not read it.
    mutating func replacePolicy(_ policy: Policy) -> [(SessionHandle, Farewell)] {
        access.follow(policy, since: revision)
        var dismissed: [(SessionHandle, Farewell)] = []
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot), let clearance = sessions[session].clearance else {
                continue
            }
            let hasUnread = sessions[session].hasUnread
            let seesLess = renewRights(of: session)
            // One that is being closed may still have lines to read, but no more than that.
            guard sessions[session].isOpen || hasUnread else { continue }
            if !access.admits(sessions[session].peer, clearance.groups) {
                dismissed.append((session, .forbidden))
            } else if seesLess, hasUnread {
                dismissed.append((session, .revoked))
            }
        }
        return dismissed
    }

    /// Works out anew what a client may do, and ends what it may not do any more. Returns
    /// whether it might see less than before.
    mutating func renewRights(of session: SessionHandle) -> Bool {
        guard let clearance = sessions[session].clearance, !clearance.isSupervisor,
            let rights = access.rights(of: sessions[session].peer, clearance.groups, name: clearance.name)
        else { return false }
        let before = clearance.rights
        if rights === before { return false }
        clearance.rights = rights
        matching.outdate()
        noteNewSight(of: session)
        endForbiddenDuties(of: session)
        return before?.mayShowMore(than: rights) ?? true
    }

    /// What it knows of a key may be older than what is there: a piece of a value would say too little.
    func noteNewSight(of session: SessionHandle) {
        if sessions[session].isBusy { requests.outdate(session) }
        for subscription in sessions[session].subscriptions.list.all {
            matching[subscription].filter?.noteHidden(upTo: revision)
        }
    }

    /// Ends services and calls that are not permitted any more.
    mutating func endForbiddenDuties(of session: SessionHandle) {
        guard let duties = sessions[session].duties else { return }
        let services = duties.services
        let made = duties.made.map(\.number)
        let toAnswer = duties.toAnswer.map(\.number)
        for service in services where !sessions[session].authorizeAll(.serve, service.pattern) {
            Serve.end(service, &calls, &sessions, &delivery)
        }
        for number in made {
            guard let call = calls.find(number), !sessions[session].authorize(.call, call.key) else {
                continue
            }
            fail(call, Refusal(.forbidden, "the policy does not let this client call it any more"))
        }
        for number in toAnswer {
            guard let call = calls.find(number), !sessions[session].authorize(.serve, call.key) else {
                continue
            }
            fail(call, Refusal(.providerGone, "its server may not answer it any more"))
        }
    }

    /// Counts anew what a client is owed. If that is too much for its user, or for all without a quota, it is
    /// closed.
    @inline(never)
    mutating func recountOwed(_ session: SessionHandle) {
        if let excess = access.recountOwed(session, &sessions) { setAside(session, excess) }
    }

    /// Counts what has come of a client's next request.
    mutating func notePartial(_ bytes: Int, of session: SessionHandle) {
        if let excess = access.recountPartial(bytes, of: session, sessions) { setAside(session, excess) }
    }

    private mutating func setAside(_ session: SessionHandle, _ excess: Excess) {
        guard let message = excess.message else { return delivery.setAside(session, .quota, &sessions) }
        delivery.setAside(session, .quota, saying: message, &sessions)
    }

    // MARK: Plugins

    /// Tells what a client that has just connected is to the supervisor, if anything.
    mutating func placeSupervised(_ session: SessionHandle, _ groups: [UInt32]) {
        guard supervision.supervisor != nil else { return }
        let peer = sessions[session].peer
        if supervision.isSupervisor(peer) {
            sessions[session].clearance = Clearance(groups: groups, rights: nil, isSupervisor: true)
        } else if let plugin = supervision.plugin(of: peer) {
            bind(session, to: plugin, groups)
        }
    }

    /// Makes a client one of a plugin's, for good.
    private mutating func bind(_ session: SessionHandle, to plugin: SupervisedPlugin, _ groups: [UInt32]) {
        let clearance = sessions[session].clearance ?? Clearance(groups: groups, rights: nil)
        sessions[session].clearance = clearance
        clearance.plugin = plugin
        clearance.name = plugin.name
        sessions[session].rename(Array(plugin.name.utf8).span, &keyspace)
        if access.followsPolicy { _ = renewRights(of: session) }
        endForbiddenDuties(of: session)
    }

    /// Goes by what the supervisor has just published.
    mutating func takeReport(_ observable: ObservableHandle, from reporter: SessionHandle) {
        guard let report = try? PluginReport(keyspace[observable].value, at: 0) else { return }
        supervision.reporter = reporter
        let before = supervision.plugin(named: report.name)?.rights
        if let plugin = supervision.take(report) { findClients(of: plugin, before) }
        guard let plugin = supervision.plugin(named: report.name) else { return }
        failHeld(for: plugin)
        supervision.renewDemand(of: plugin, keyspace, matching, &sessions, &delivery, &deadlines)
    }

    /// The supervisor deletes what it said of a plugin: there is none of that name any more.
    mutating func dropReport(_ observable: ObservableHandle) {
        guard let report = try? PluginReport(keyspace[observable].value, at: 0),
            let plugin = supervision.plugin(named: report.name)
        else { return }
        supervision.remove(plugin)
        failHeld(for: plugin)
    }

    private mutating func findClients(of plugin: SupervisedPlugin, _ before: Rights?) {
        // Who is a client already may turn out to be the plugin's, or to have taken its name.
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot) else { continue }
            if sessions[session].clearance?.plugin === plugin {
                limit(session, before)
            } else if sessions[session].clearance?.plugin == nil,
                supervision.plugin(of: sessions[session].peer) === plugin
            {
                bind(session, to: plugin, sessions[session].clearance?.groups ?? [])
                limit(session, nil)
            } else if sessions[session].isNamed(plugin.name, keyspace) {
                sessions[session].loseName(&keyspace)
                sessions[session].clearance?.name = nil
                if access.followsPolicy { _ = renewRights(of: session) }
            }
        }
        matching.outdate()
    }

    /// What a plugin's client may do is another than `before`; nil: everything.
    private mutating func limit(_ session: SessionHandle, _ before: Rights?) {
        guard let rights = sessions[session].clearance?.plugin?.rights, rights !== before else { return }
        noteNewSight(of: session)
        endForbiddenDuties(of: session)
        // Who observes nothing has been told nothing but what it asked for.
        let seesLess = before?.mayShowMore(than: rights) ?? true
        let isObserver = sessions[session].subscriptions.count > 0
        if seesLess, isObserver, sessions[session].hasUnread {
            delivery.setAside(session, .revoked, &sessions)
        }
    }
}
