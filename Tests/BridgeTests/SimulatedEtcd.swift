// etcd, as far as the mirror can see it: a history of revisions, guarded transactions, a watch behind a
// revision, and a compaction that forgets the past.

import PlugboardClient

@testable import BridgePlugin

struct SimulatedEtcd {
    struct Entry {
        var revision: Int
        var envelope: Envelope
    }

    private(set) var revision = 1
    private(set) var compacted = 0
    private(set) var entries: [String: Entry] = [:]
    private(set) var history: [EtcdGroup] = []
    /// Leases that live, and the keys under them.
    private var leases: [Int: Set<String>] = [:]
    private var lastLease = 0
    /// Transactions with a key that stands in them twice. etcd refuses them.
    private(set) var doubled = 0

    mutating func grantLease() -> Int {
        lastLease += 1
        leases[lastLease] = []
        return lastLease
    }

    func lives(_ lease: Int) -> Bool { leases[lease] != nil }

    /// A lease ends, and with it what stands under it.
    mutating func end(_ lease: Int) {
        guard let keys = leases.removeValue(forKey: lease), !keys.isEmpty else { return }
        revision += 1
        for key in keys { entries[key] = nil }
        let changes = keys.sorted().map { EtcdChange(key: $0, revision: revision, content: .delete) }
        history.append(EtcdGroup(revision: revision, changes: changes))
    }

    private mutating func bind(_ key: String, to lease: Int?) {
        for other in leases.keys { leases[other]?.remove(key) }
        if let lease { leases[lease]?.insert(key) }
    }

    /// Carries out a transaction of a host.
    mutating func perform(_ transaction: EtcdTransaction, host: String) -> TransactionOutcome {
        if Set(transaction.writes.map(\.key)).count < transaction.writes.count { doubled += 1 }
        let holds = transaction.writes.allSatisfy { entries[$0.key]?.revision ?? 0 == $0.guardRevision }
        guard holds else { return .failed(at: revision, found: found(transaction)) }
        if let lease = transaction.lease, !lives(lease), transaction.writes.contains(where: \.isBound) {
            return .leaseGone
        }
        revision += 1
        var group = EtcdGroup(revision: revision)
        for write in transaction.writes {
            bind(write.key, to: write.isBound && write.value != nil ? transaction.lease : nil)
            if let change = make(write, host, transaction.deleteMark) { group.changes.append(change) }
        }
        history.append(group)
        return .done(revision: revision)
    }

    private mutating func make(_ write: EtcdTransaction.Write, _ host: String, _ mark: WriteID?)
        -> EtcdChange?
    {
        guard let value = write.value else {
            guard entries.removeValue(forKey: write.key) != nil else { return nil }
            return EtcdChange(key: write.key, revision: revision, content: .delete, deleteID: mark)
        }
        let envelope = Envelope(host: host, by: write.by, when: nil, id: write.id, value: value)
        entries[write.key] = Entry(revision: revision, envelope: envelope)
        return EtcdChange(key: write.key, revision: revision, content: .put(envelope))
    }

    private func found(_ transaction: EtcdTransaction) -> [String: (revision: Int, id: WriteID?)] {
        var found: [String: (revision: Int, id: WriteID?)] = [:]
        for write in transaction.writes {
            if let entry = entries[write.key] { found[write.key] = (entry.revision, entry.envelope.id) }
        }
        return found
    }

    /// A key of nobody's bus.
    mutating func fence() -> Int {
        revision += 1
        history.append(EtcdGroup(revision: revision))
        return revision
    }

    /// Somebody without a bridge writes, perhaps under a host's name.
    mutating func put(_ key: String, _ value: JSON, host: String?, id: WriteID?) {
        revision += 1
        let envelope = Envelope(host: host, by: nil, when: nil, id: id, value: value)
        bind(key, to: nil)
        entries[key] = Entry(revision: revision, envelope: envelope)
        history.append(
            EtcdGroup(
                revision: revision,
                changes: [EtcdChange(key: key, revision: revision, content: .put(envelope))]
            )
        )
    }

    mutating func compact(at revision: Int) {
        compacted = max(compacted, min(revision, self.revision))
    }

    /// The next group behind a revision; nil if there is none.
    func next(after revision: Int) -> EtcdGroup? {
        var (low, high) = (0, history.count)
        while low < high {
            let middle = (low + high) / 2
            if history[middle].revision > revision { high = middle } else { low = middle + 1 }
        }
        return low < history.count ? history[low] : nil
    }

    /// All keys as they were at a revision; nil if that is forgotten.
    func past(at revision: Int) -> EtcdSnapshot? {
        guard revision >= compacted, revision <= self.revision else { return nil }
        var entries: [String: EtcdChange] = [:]
        for group in history where group.revision <= revision {
            for change in group.changes { entries[change.key] = change.content == .delete ? nil : change }
        }
        return EtcdSnapshot(
            changes: entries.values.sorted { $0.key < $1.key }, revision: revision, isPast: true
        )
    }

    func range() -> EtcdSnapshot {
        let changes = entries.map {
            EtcdChange(key: $0.key, revision: $0.value.revision, content: .put($0.value.envelope))
        }
        return EtcdSnapshot(changes: changes.sorted { $0.key < $1.key }, revision: revision, isPast: false)
    }
}
