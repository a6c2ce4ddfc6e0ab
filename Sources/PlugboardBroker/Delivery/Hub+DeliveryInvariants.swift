// What always holds of those who have to wait: what they are owed is counted, and whoever
// waits has a reason to. To go with the hub's other invariants.

import PlugboardMemory

extension Hub {
    /// Looks at all that is owed.
    func checkDelivery(_ living: borrowing Living) throws(BrokenInvariant) {
        var owedBy: [ObservableReference: Int] = [:]
        var held: [HeldBytesReference: Int] = [:]
        if let heldOld { held[heldOld] = 1 }
        for subscription in living.subscriptions {
            guard let backlog = subscription.pointee.backlog else { continue }
            try backlog.pointee.checkInvariants(living, &owedBy)
            backlog.pointee.keys.forEach { Self.count($0, &held) }
            backlog.pointee.replay?.gathered.forEach { Self.count($0, &held) }
            try whoIsOwedWaitsForSomething(subscription, backlog)
        }
        try gates.checkInvariants(living, deadlines, &owedBy)
        try HeldBytes.checkInvariants(held)
        let always = Invariants(of: "Observable")
        for observable in living.observables {
            let (stated, found) = (Int(observable.pointee.owedBy), owedBy[observable] ?? 0)
            try always.agree("it counts who is owed it", stated, found, of: String(observable.pointee.key))
        }
        for session in living.sessions { try whoIsBehindHasAReason(session) }
    }

    private static func count(_ owed: borrowing OwedKey, _ held: inout [HeldBytesReference: Int]) {
        if let old = owed.held { held[old, default: 0] += 1 }
        if let names = owed.unacknowledged { held[names, default: 0] += 1 }
    }

    /// A subscription that is owed something and that nothing holds back is about to be told.
    private func whoIsOwedWaitsForSomething(
        _ subscription: SubscriptionReference,
        _ backlog: BacklogReference
    ) throws(BrokenInvariant) {
        let session = subscription.pointee.session
        guard session.pointee.isOpen, !backlog.pointee.isEmpty, !backlog.pointee.isReady else { return }
        let always = Invariants(of: "Backlog")
        let name = "client \(session.pointee.client)"
        try always.hold("what is owed waits for something", isBlocked(subscription, backlog), of: name)
    }

    /// A session is behind as long as something waits for it to read, and held as long as a reply does.
    private func whoIsBehindHasAReason(_ session: SessionReference) throws(BrokenInvariant) {
        let always = Invariants(of: "Session")
        let client = "client \(session.pointee.client)"
        let catchup = session.pointee.catchup
        if let catchup {
            try catchup.pointee.checkInvariants(of: session)
        } else {
            let isNothing = Catchup.Waiting(session).isNothing
            try always.hold("what waits has a place", isNothing, of: client)
        }
        guard session.pointee.isOpen else { return }
        let isReplyWaiting = catchup.map { !$0.pointee.deferred.isEmpty } ?? false
        try always.agree("it is held while a reply waits", session.pointee.isHeld, isReplyWaiting, of: client)
        let isCatchingUp = catchup.map { !$0.pointee.ready.isEmpty || $0.pointee.isReading() } ?? false
        let isBehind = session.pointee.isBehind
        try always.hold(
            "it is behind while something is to come first",
            isBehind || !session.pointee.isHeld && !isCatchingUp,
            of: client
        )
    }
}
