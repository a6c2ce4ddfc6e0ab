// Who takes up what, counted where it changes and asked before it grows. A user that has come
// to its quota gets `limit`, or `bye` where nobody asked; that touches no other user.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Whether one more connection of a user has its place.
    mutating func hasRoom(for user: UInt32) -> Bool {
        guard let policy else { return true }
        let account = accounts.account(of: user, quota: policy.quota(of: user))
        return account.connections < account.quota.connections
    }

    /// Throws where so many patterns more would be too many for its user: a subscription has up to
    /// dozens of them, and what is served is remembered as well.
    func checkSubscriptions(of session: SessionReference, patterns: Int) throws(Refusal) {
        guard let account = session.pointee.clearance?.account,
            account.subscriptions + patterns > account.quota.subscriptions
        else { return }
        let most = account.quota.subscriptions
        throw Self.overQuota("subscriptions", "observes and serves at most \(most) patterns")
    }

    /// Counts what a subscription has the broker remember; `sign` is -1 when it ends.
    func charge(_ subscription: SubscriptionReference, _ sign: Int = 1) {
        guard let account = subscription.pointee.session.pointee.clearance?.account else { return }
        let observed = subscription.pointee.keys.count + subscription.pointee.patterns.count
        let traced = subscription.pointee.isTracer ? tracing.patterns(of: subscription).count : 0
        account.subscriptions += sign * (observed + traced)
        account.kept += sign * (subscription.pointee.filter?.bytes ?? 0)
    }

    /// Throws where so many bytes more would be too much for the user of a client, of what is kept for
    /// it beside its values.
    func checkKept(_ bytes: Int, of session: SessionReference) throws(Refusal) {
        guard bytes > 0, let account = session.pointee.clearance?.account,
            account.kept + bytes > account.quota.kept
        else { return }
        throw Self.overKept(account)
    }

    /// Keeps a will in place of another, or of none, or throws; nil takes it back.
    func replaceWill(of session: SessionReference, by will: consuming Will?) throws(Refusal) {
        let bytes = Legacy.bytes(of: will)
        let change = bytes - (session.pointee.legacy?.pointee.willBytes ?? 0)
        try checkKept(change, of: session)
        session.pointee.clearance?.account?.kept += change
        if bytes > 0 {
            session.pointee.makeLegacy().pointee.will = will
        } else {
            session.pointee.legacy?.pointee.will = nil
        }
    }

    /// Throws where a value of `count` bytes would be too much for its writer's user.
    func checkQuota(
        _ key: Span<UInt8>,
        _ observable: ObservableReference?,
        count: Int,
        _ session: SessionReference
    ) throws(Refusal) {
        guard let account = session.pointee.clearance?.account else { return }
        let own = observable.flatMap { $0.pointee.hasValue && $0.pointee.account === account ? $0 : nil }
        let keys = own == nil ? 1 : 0
        let bytes = key.count + count - (own?.pointee.keptBytes ?? 0)
        guard keys == 0 || account.keys + account.planned.keys + keys <= account.quota.keys else {
            throw Self.overQuota("keys", "has at most \(account.quota.keys) keys")
        }
        guard bytes <= 0 || account.kept + account.planned.bytes + bytes <= account.quota.kept else {
            throw Self.overKept(account)
        }
        guard isPlanningBatch else { return }
        account.planned.keys += keys
        account.planned.bytes += bytes
    }

    /// Before and after the writes of a batch are checked.
    mutating func planBatch(_ isPlanning: Bool, of session: SessionReference) {
        isPlanningBatch = isPlanning
        session.pointee.clearance?.account?.planned = (0, 0)
    }

    /// A value is about to take the place of another, or of none.
    @inline(never)
    func charge(_ observable: ObservableReference, count: Int, to author: AuthorReference) {
        discharge(observable)
        guard !observable.pointee.isReserved, let account = author.pointee.presence.pointee.account else {
            return
        }
        account.keys += 1
        account.kept += observable.pointee.key.count + count
    }

    /// A value is about to go.
    @inline(never)
    func discharge(_ observable: ObservableReference) {
        guard observable.pointee.hasValue, !observable.pointee.isReserved,
            let account = observable.pointee.account
        else { return }
        account.keys -= 1
        account.kept -= observable.pointee.keptBytes
    }

    /// Counts anew what a client is owed. One whose user is owed too much by that is closed.
    @inline(never)
    mutating func recountOwed(_ session: SessionReference) {
        guard let clearance = session.pointee.clearance, let account = clearance.account else { return }
        let owed = session.pointee.owedBytes
        let hasGrown = owed > clearance.owed
        account.owed += owed - clearance.owed
        clearance.owed = owed
        if hasGrown, account.owed > account.quota.owed { setAside(session, .quota) }
    }

    /// A client has left.
    func closeAccount(of session: SessionReference) {
        guard let clearance = session.pointee.clearance, let account = clearance.account else { return }
        account.owed -= clearance.owed
        account.connections -= 1
        clearance.account = nil
    }

    private static func overKept(_ account: UserAccount) -> Refusal {
        overQuota("kept", "has at most \(account.quota.kept) bytes of keys, values, wills and filters")
    }

    private static func overQuota(_ name: String, _ quota: String) -> Refusal {
        Refusal(
            .limit,
            "this user, all its clients together, \(quota)",
            hint: "\"\(name)\" of \"quotas\" in the broker's --policy"
        )
    }
}

extension Observable {
    /// Whose it is counted to be.
    var account: UserAccount? { writer?.pointee.presence.pointee.account }

    /// What of it is counted.
    var keptBytes: Int { key.count + value.count }
}

extension Session {
    /// What a call takes up that waits for its answer, about.
    private static let callBytes = 512

    /// What waits for it to be read: in its outbox, beside it, as keys by name, and as answers.
    fileprivate var owedBytes: Int {
        guard isOpen else { return outbox.own.count }
        let calls = (duties?.pointee.made.count ?? 0) * Self.callBytes
        let waiting = catchup.map {
            $0.pointee.queuedBytes + $0.pointee.deferred.count
                + $0.pointee.owedCount * MemoryLayout<OwedKey>.stride
        }
        return outbox.own.count + calls + (waiting ?? 0)
    }
}
