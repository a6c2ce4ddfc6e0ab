// What always holds of those who have to wait: what they are owed is counted, and whoever
// waits has a reason to. To go with the hub's other invariants.

import PlugboardMemory

extension Hub {
    /// Looks at all that is owed.
    func checkDelivery(_ living: borrowing Living) throws(BrokenInvariant) {
        var owedBy: [ObservableHandle: Int] = [:]
        for subscription in living.subscriptions {
            guard let backlog = matching[subscription].backlog else { continue }
            try backlog.checkInvariants(living, keyspace, &owedBy)
            try whoIsOwedWaitsForSomething(subscription, backlog)
        }
        try phases.checkInvariants(living, keyspace, matching, deadlines, &owedBy)
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
        try always.hold("what is owed waits for something", isBlocked(subscription, backlog), of: name)
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
}
