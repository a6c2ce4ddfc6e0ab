// From the bus to etcd: what the next transaction is, and what its answer means. Each write is guarded by the
// revision that this host last saw. So a write that comes too late changes nothing.

import PlugboardClient

/// Some writes that etcd makes all or none. It is repeated unchanged until its outcome is known.
struct EtcdTransaction: Sendable, Equatable {
    struct Write: Sendable, Equatable {
        let key: String
        /// The revision that the key must have in etcd; 0 means that it must be absent.
        let guardRevision: Int
        /// Nil deletes the key.
        let value: JSON?
        let by: String?
        let id: WriteID
        /// The time of day when it was noted, for people.
        var when: String?
        /// It goes under the host's lease.
        var isBound = false

        /// Why it can't cross.
        var obstacle: Obstacle? { value.flatMap { Obstacle(value: $0) } }
    }

    let writes: [Write]
    var lease: Int?

    /// The newest of its deletes. Deletes have no identifier in etcd, so a mark beside them has it, if there
    /// is room.
    var deleteMark: WriteID? {
        guard writes.count < BridgeLimits.transactionKeysMax else { return nil }
        return writes.filter { $0.value == nil }.map(\.id).max { $0.revision < $1.revision }
    }
}

/// What etcd answered to a transaction.
enum TransactionOutcome: Sendable, Equatable {
    case done(revision: Int)
    /// A guard didn't hold. `found` has the revision and the identifier of each key that is there.
    case failed(at: Int, found: [String: (revision: Int, id: WriteID?)])
    /// etcd will never take it.
    case refused
    /// The host's lease has ended, and nothing was done.
    case leaseGone

    static func == (one: TransactionOutcome, other: TransactionOutcome) -> Bool {
        switch (one, other) {
        case (.done(let one), .done(let other)): one == other
        case (.failed(let one, _), .failed(let other, _)): one == other
        case (.refused, .refused), (.leaseGone, .leaseGone): true
        default: false
        }
    }
}

extension Mirror {
    /// Whether something can be sent now.
    var isReady: Bool {
        isReading && underWay == nil && lease != nil && cursor >= barrier && queue.owed > 0
    }

    /// The next transaction: whole revisions of the bus, the oldest first, as many as fit.
    mutating func nextTransaction(when: String? = nil) -> EtcdTransaction? {
        guard isReady else { return nil }
        var places: [OwedQueue.Place] = []
        var bytes = 0
        // A key may be in the queue twice, and etcd takes it once.
        var taken: Set<String> = []
        let (keys, unclaimed) = (keys, Sharing(own: sharing.own.filter { !claimed.contains($0) }))
        while places.count < transactionKeysMax {
            let group = queue.nextGroup {
                Self.isOwed($0, keys) && !taken.contains($0.key)
                    && (unclaimed.own.isEmpty || unclaimed.direction(of: $0.key).isEmpty)
            }
            guard !group.isEmpty else { break }
            let size = group.reduce(0) { $0 + self.bytes(of: $1.key) }
            let fits =
                places.count + group.count <= transactionKeysMax
                && bytes + size <= BridgeLimits.transactionBytesMax
            if !fits, !places.isEmpty {
                queue.putBack(group)
                break
            }
            places += fits ? group : firstPart(of: group)
            taken.formUnion(group.map(\.key))
            bytes += size
            if !fits { break }
        }
        guard !places.isEmpty else { return nil }
        underWay = EtcdTransaction(writes: places.map { write($0, when) }, lease: lease)
        return underWay
    }

    private func write(_ place: OwedQueue.Place, _ when: String?) -> EtcdTransaction.Write {
        let state = keys[place.key]
        return EtcdTransaction.Write(
            key: place.key,
            guardRevision: state?.etcd ?? 0,
            value: state?.value,
            by: state?.origin ?? state?.by,
            id: WriteID(bridge: bridge, revision: place.revision),
            when: when,
            isBound: state?.isBound ?? false
        )
    }

    /// As much of a batch as fits into one transaction. The rest goes into the next ones.
    private mutating func firstPart(of group: [OwedQueue.Place]) -> [OwedQueue.Place] {
        var bytes = 0
        var count = 0
        for place in group.prefix(transactionKeysMax) {
            bytes += self.bytes(of: place.key)
            if count > 0, bytes > BridgeLimits.transactionBytesMax { break }
            count += 1
        }
        if count < group.count {
            counts.split += 1
            queue.putBack(Array(group[count...]))
        }
        return Array(group[..<count])
    }

    private func bytes(of key: String) -> Int {
        // The envelope's other members are short.
        key.utf8.count + (keys[key]?.value?.bytes.count ?? 0) + 256
    }

    /// Takes etcd's answer to the transaction in progress. Call it only for real answers.
    mutating func settle(_ outcome: TransactionOutcome) {
        guard let transaction = underWay else { return }
        underWay = nil
        switch outcome {
        case .done(let revision): for write in transaction.writes { confirm(write, revision) }
        case .failed(let revision, let found):
            // An earlier attempt was made after all, perhaps in an earlier life and with other writes.
            for write in transaction.writes where write.value != nil && found[write.key]?.id == write.id {
                confirm(write, found[write.key]?.revision ?? 0)
            }
            // What the guards met comes by the watch. Which write lost is decided then, in etcd's order.
            wait(for: transaction, revision, found)
            putBack(transaction)
        case .refused: refuse(transaction)
        case .leaseGone:
            loseLease()
            putBack(transaction)
        }
    }

    /// Sends nothing until the watch has shown what the guards met.
    private mutating func wait(
        for transaction: EtcdTransaction, _ revision: Int, _ found: [String: (revision: Int, id: WriteID?)]
    ) {
        for write in transaction.writes where found[write.key]?.revision ?? 0 != write.guardRevision {
            if let there = found[write.key]?.revision {
                barrier = max(barrier, there)
            } else {
                // It isn't known which revision deleted it, nor whether another event follows.
                fence(after: revision)
            }
        }
    }

    private mutating func confirm(_ write: EtcdTransaction.Write, _ revision: Int) {
        counts.sent += 1
        // Meanwhile the bus may have taken another host's value, which was deleted before this write came.
        // Then the watch brings this write back.
        guard var state = keys[write.key], state.isOwed || state.revision == write.id.revision else { return }
        guard revision > state.overwrites else { return }
        // The watch may have been faster, and may have shown later writes.
        let isKnown = state.etcd > revision || cursor >= revision
        if !isKnown { state.etcd = write.value == nil ? 0 : revision }
        keys[write.key] = state
        if state.revision == write.id.revision { settle(write.key) }
        forgetIfPossible(write.key)
    }

    /// A transaction of many keys is tried again in halves, until the one that etcd refuses is alone.
    private mutating func refuse(_ transaction: EtcdTransaction) {
        putBack(transaction)
        guard let only = transaction.writes.first, transaction.writes.count == 1 else {
            transactionKeysMax = max(1, transaction.writes.count / 2)
            return
        }
        transactionKeysMax = BridgeLimits.transactionKeysMax
        guard isOwed(OwedQueue.Place(revision: only.id.revision, key: only.key)) else { return }
        settle(only.key)
        if refused.count < BridgeLimits.refusedMax { refused[only.key] = only.id.revision }
        counts.refused += 1
    }

    private mutating func putBack(_ transaction: EtcdTransaction) {
        let places = transaction.writes.map { OwedQueue.Place(revision: $0.id.revision, key: $0.key) }
        queue.putBack(places.filter(isOwed))
    }
}
