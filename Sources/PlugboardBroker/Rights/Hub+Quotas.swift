// Who takes up what, counted where it changes and asked before it grows. A user that has come
// to its quota gets `limit`, or `bye` where nobody asked; that touches no other user.

import PlugboardWire

extension Hub {
    /// Whether one more connection of a user has its place.
    mutating func hasRoom(for user: UInt32) -> Bool {
        guard let policy else { return true }
        let account = accounts.account(of: user, quota: policy.quota(of: user))
        return account.connections < account.quota.connections
    }

    /// Throws where one more subscription would be too many for its user.
    func checkSubscriptions(of session: SessionReference) throws(Refusal) {
        guard let account = session.pointee.clearance?.account,
            account.subscriptions >= account.quota.subscriptions
        else { return }
        throw Self.overQuota("subscriptions", "has at most \(account.quota.subscriptions) subscriptions")
    }

    /// Throws where a value of `count` bytes would be too much for its writer's user.
    func checkQuota(
        _ key: UnsafeRawBufferPointer,
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
            throw Self.overQuota("kept", "has at most \(account.quota.kept) bytes of keys and values")
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
    var keptBytes: Int { key.count + (value?.count ?? 0) }
}

extension Session {
    /// What waits for it to be read: in its outbox, beside it, and as keys by name.
    fileprivate var owedBytes: Int {
        guard isOpen else { return outbox.own.count }
        let waiting = catchup.map {
            $0.pointee.queuedBytes + $0.pointee.deferred.count
                + $0.pointee.owedCount * MemoryLayout<OwedKey>.stride
        }
        return outbox.own.count + (waiting ?? 0)
    }
}
