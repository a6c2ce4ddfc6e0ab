// What follows from rights: who connects gets them, who loses some is told no more, and what may
// not be seen is not there: what a refusal says depends on the policy alone, never on what there is.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension Hub {
    /// Whether lists of observers have to leave somebody out.
    var isSelective: Bool { access.followsPolicy || supervision.isLimiting }

    /// Gives a client that has just connected its rights.
    mutating func place(_ session: SessionReference, _ groups: [UInt32]) {
        if let rights = access.rights(of: session.pointee.peer, groups, name: nil) {
            session.pointee.clearance = Clearance(groups: groups, rights: rights)
        }
        placeSupervised(session, groups)
        access.openAccount(of: session)
    }

    /// A client has given itself a name, and rules may be about that. What it is owed by then it
    /// still gets: it was allowed to see it, and nobody else asked it to change.
    mutating func noteName(_ name: Span<UInt8>, of session: SessionReference) {
        guard let clearance = session.pointee.clearance else { return }
        clearance.name = String(name)
        _ = renewRights(of: session)
    }

    /// Follows another policy from now on. Returns the clients that are to be sent away: those
    /// who may not be here any more, and those who were sent what they may not see any more
    /// and have not read it.
    mutating func replacePolicy(_ policy: Policy) -> [(SessionReference, Farewell)] {
        access.follow(policy, since: revision)
        var dismissed: [(SessionReference, Farewell)] = []
        for slot in 0..<sessions.all.count {
            guard let session = sessions.all[slot], let clearance = session.pointee.clearance else {
                continue
            }
            let hasUnread = session.pointee.hasUnread
            let seesLess = renewRights(of: session)
            // One that is being closed may still have lines to read, but no more than that.
            guard session.pointee.isOpen || hasUnread else { continue }
            if !access.admits(session.pointee.peer, clearance.groups) {
                dismissed.append((session, .forbidden))
            } else if seesLess, hasUnread {
                dismissed.append((session, .revoked))
            }
        }
        return dismissed
    }

    /// Works out anew what a client may do, and ends what it may not do any more. Returns
    /// whether it might see less than before.
    mutating func renewRights(of session: SessionReference) -> Bool {
        guard let clearance = session.pointee.clearance, !clearance.isSupervisor,
            let rights = access.rights(of: session.pointee.peer, clearance.groups, name: clearance.name)
        else { return false }
        let before = clearance.rights
        if rights === before { return false }
        clearance.rights = rights
        patterns.outdate()
        noteNewSight(of: session)
        endForbiddenDuties(of: session)
        return before?.mayShowMore(than: rights) ?? true
    }

    /// What it knows of a key may be older than what is there: a piece of a value would say too little.
    func noteNewSight(of session: SessionReference) {
        for subscription in session.pointee.subscriptions.list.elements {
            subscription.pointee.filter?.noteHidden(upTo: revision)
        }
    }

    /// Ends services and calls that are not permitted any more.
    mutating func endForbiddenDuties(of session: SessionReference) {
        guard let duties = session.pointee.duties else { return }
        let services = Array(duties.pointee.services.elements)
        let made = duties.pointee.made.elements.map { $0.pointee.number }
        let toAnswer = duties.pointee.toAnswer.elements.map { $0.pointee.number }
        for service in services where !session.pointee.authorizeAll(.serve, service.pointee.pattern) {
            end(service)
        }
        for number in made {
            guard let call = calls.find(number), !session.pointee.authorize(.call, call.pointee.key) else {
                continue
            }
            fail(call, Refusal(.forbidden, "the policy does not let this client call it any more"))
        }
        for number in toAnswer {
            guard let call = calls.find(number), !session.pointee.authorize(.serve, call.pointee.key) else {
                continue
            }
            fail(call, Refusal(.providerGone, "its server may not answer it any more"))
        }
    }

    /// Takes those out of `matches` who may not be told of a key.
    @inline(never)
    mutating func dropForbidden(_ key: Span<UInt8>) {
        Self.dropForbidden(key, from: &matches)
    }

    /// Takes those out of a list who may not be told of a key.
    static func dropForbidden(_ key: Span<UInt8>, from found: inout List<SubscriptionReference>) {
        let elements = found.mutableElements
        var kept = 0
        for index in 0..<elements.count
        where elements[index].pointee.session.pointee.authorize(.subscribe, key) {
            elements[kept] = elements[index]
            kept += 1
        }
        found.truncate(to: kept)
    }

    /// Counts anew what a client is owed. One whose user is owed too much by that is closed.
    @inline(never)
    mutating func recountOwed(_ session: SessionReference) {
        if access.recountOwed(session) { setAside(session, .quota) }
    }
}
