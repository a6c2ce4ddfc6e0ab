// Who may do what. One question, `authorize`, stands before whatever a client does and is
// told; the lists of observers are made with it, so that no message is asked about. Without
// a policy it is one test of a pointer. What may not be seen is not there: what a refusal
// says depends on the policy alone, never on what there is.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension Session {
    /// A policy or a plugin's declaration says what this client may do.
    @inline(__always) var isGuarded: Bool { clearance != nil }

    /// Whether this client may do something with a key.
    @inline(__always)
    func authorize(_ action: PolicyAction, _ key: Span<UInt8>) -> Bool {
        clearance == nil || isPermitted(action, key)
    }

    /// Whether it may do so with every key that a pattern matches.
    func authorizeAll(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        clearance?.permitAll(action, pattern) ?? true
    }

    /// Whether it may do so with any key that a pattern matches.
    func authorizeSome(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        clearance?.permitSome(action, pattern) ?? true
    }

    @inline(never)
    private func isPermitted(_ action: PolicyAction, _ key: Span<UInt8>) -> Bool {
        clearance?.permit(action, key) ?? true
    }

    /// Something was queued for it that it has not been sent.
    var hasUnread: Bool {
        if let catchup, !catchup.pointee.isEmpty { return true }
        return outbox.count > 0 || isBehind || isHeld
    }
}

extension Hub {
    /// Whether somebody may connect at all.
    func admits(_ peer: PeerIdentity, _ groups: [UInt32]) -> Bool {
        if let policy { return policy.admits(peer.user, groups) }
        return peer.user == owner || peer.user == 0
    }

    /// Begins to follow a policy. Before the first client.
    mutating func follow(_ policy: Policy) {
        let followed = PolicyInForce(policy, owner: owner)
        self.policy = followed
        accounts.follow { followed.quota(of: $0) }
        policyRevision = revision
    }

    /// Gives a client that has just connected its rights.
    mutating func place(_ session: SessionReference, _ groups: [UInt32]) {
        if let rights = policy?.rights(of: session.pointee.peer.user, groups, name: nil) {
            session.pointee.clearance = Clearance(groups: groups, rights: rights)
        }
        placeSupervised(session, groups)
        openAccount(of: session)
    }

    /// What it takes up is counted from here on.
    private mutating func openAccount(of session: SessionReference) {
        guard let policy, let clearance = session.pointee.clearance else { return }
        let user = session.pointee.peer.user
        let account = accounts.account(of: user, quota: policy.quota(of: user))
        account.connections += 1
        clearance.account = account
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
        follow(policy)
        var dismissed: [(SessionReference, Farewell)] = []
        for slot in 0..<sessions.all.count {
            guard let session = sessions.all[slot], let clearance = session.pointee.clearance else {
                continue
            }
            let hasUnread = session.pointee.hasUnread
            let seesLess = renewRights(of: session)
            // One that is being closed may still have lines to read, but no more than that.
            guard session.pointee.isOpen || hasUnread else { continue }
            if !admits(session.pointee.peer, clearance.groups) {
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
            let rights = policy?.rights(
                of: session.pointee.peer.user,
                clearance.groups,
                name: clearance.name
            )
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
        let elements = matches.mutableElements
        var kept = 0
        for index in 0..<elements.count
        where elements[index].pointee.session.pointee.authorize(.subscribe, key) {
            elements[kept] = elements[index]
            kept += 1
        }
        matches.truncate(to: kept)
    }

    // MARK: Refusals

    /// Throws unless a client may make a write.
    @inline(never)
    func checkRights(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        let key = request.key.bytes(of: line)
        try check(request.operation == .emit ? .emit : .publish, request, line, session)
        let isBlind = request.operation == .publish || request.operation == .emit
        guard !isBlind || request.has(.ifRevision) else { return }
        guard session.pointee.authorize(.subscribe, key) else {
            var refusal = Self.forbidden(.subscribe, request.key, line, session)
            refusal.hint = "patch, delete and \"if\" depend on what is there: they need that right as well"
            throw refusal
        }
    }

    /// Throws unless a client may do something with the key of a request.
    func check(
        _ action: PolicyAction,
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        guard session.pointee.isGuarded else { return }
        guard session.pointee.authorize(action, request.key.bytes(of: line)) else {
            throw Self.forbidden(action, request.key, line, session)
        }
    }

    /// Throws unless a client may be told of some of the keys that its patterns match.
    func checkPatterns(
        _ wanted: [ByteRange],
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        guard session.pointee.isGuarded else { return }
        for range in wanted where !session.pointee.authorizeSome(.subscribe, range.bytes(of: line)) {
            throw Self.forbidden(.subscribe, range, line, session)
        }
    }

    static func forbidden(
        _ action: PolicyAction,
        _ range: ByteRange,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) -> Refusal {
        let word = action == .subscribe ? "see" : action.rawValue
        let objection =
            session.pointee.clearance?.objection(action, range.bytes(of: line)) ?? Clearance.policyObjection
        let message = "\(objection.who) does not let this client \(word) \"\(excerpt(range, line))\""
        return Refusal(.forbidden, message, hint: objection.hint, at: range.start)
    }

    /// Throws unless a client may hold another's subscription. Where it may not, it is told
    /// the same as if there were none.
    func checkControl(
        of subscription: SubscriptionReference?,
        _ request: Request,
        _ session: SessionReference
    ) throws(Refusal) -> SubscriptionReference {
        if let subscription, isControllable(subscription, by: session) { return subscription }
        let message = "client \(decoder.options.client) has no such subscription that this client may act on"
        throw Refusal(.notFound, message, hint: "the broker's --policy says who may control what")
    }

    private func isControllable(_ subscription: SubscriptionReference, by session: SessionReference) -> Bool {
        if subscription.pointee.session == session { return true }
        for place in subscription.pointee.keys.elements
        where !session.pointee.authorize(.control, place.observable.pointee.key) {
            return false
        }
        var pattern = ByteBuffer()
        for place in subscription.pointee.patterns.elements {
            pattern.removeAll()
            place.node._withUnsafeGuaranteedRef { $0.appendPattern(to: &pattern) }
            if !session.pointee.authorizeAll(.control, pattern.bytes) { return false }
        }
        guard subscription.pointee.isTracer else { return true }
        return tracing.patterns(of: subscription).allSatisfy { pattern in
            session.pointee.authorizeAll(.control, pattern.span)
        }
    }
}
