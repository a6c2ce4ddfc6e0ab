// How a bridge begins: it compares the bus with etcd. Without a cursor, if both have a key, etcd's value
// counts. With a cursor, whatever differs from etcd as it was at the cursor was written here since. Later
// changes come by the watch. After a compaction that past is gone, and the records of what was sent decide.

import PlugboardClient

extension Mirror {
    /// How the bus is compared with the whole range of etcd.
    enum Comparison: Sendable, Equatable {
        /// There is no cursor, or it doesn't belong to this history of etcd.
        case join
        /// The range is etcd as it was at the cursor. It had everything that was written here up to a revision.
        case past(settled: Int)
        /// The range is newer than the cursor. What is remembered decides.
        case compacted(Memory)

        /// What is remembered of unfinished comparisons, until this one is finished.
        var parts: [ComparedPart]? {
            if case .compacted(let memory) = self, !memory.parts.isEmpty { memory.parts } else { nil }
        }
    }

    /// What the bus remembers of etcd.
    struct Memory: Sendable, Equatable {
        /// The cursor.
        var etcd: Int
        /// Up to this revision, etcd had everything of this bus, except what it refused.
        var settled: Int
        var refused: [String: Int] = [:]
        /// The name of this bridge. What it wrote on the bus came from etcd.
        var name: String
        /// What unfinished comparisons have brought.
        var parts: [ComparedPart] = []

        func covers(_ change: EtcdChange) -> Bool {
            change.revision <= etcd || parts.contains { $0.covers(change) }
        }
    }

    /// Compares the bus with the whole range as it was at a revision. Returns the changes that the bus has
    /// yet to take.
    mutating func reconcile(_ range: [EtcdChange], at revision: Int, _ comparison: Comparison) -> [EtcdChange]
    {
        let there = Set(range.map(\.key))
        var changes: [EtcdChange] = []
        for change in range {
            if let obstacle = change.obstacle {
                if keepRefused(change, obstacle, comparison) { changes.append(change.found) }
            } else if !sharing.direction(of: change.key).isEmpty, keep(change, comparison) {
                changes.append(change)
            }
        }
        let missing = keys.filter { $0.value.value != nil && !there.contains($0.key) }
        for key in missing.sorted(by: { $0.value.revision < $1.value.revision }).map(\.key) {
            if let gone = missingThere(key, revision, comparison) { changes.append(gone) }
        }
        return changes
    }

    /// Takes a key of the range. Returns whether the bus may have to take its value.
    private mutating func keep(_ change: EtcdChange, _ comparison: Comparison) -> Bool {
        var state = keys[change.key] ?? KeyState(direction: sharing.direction(of: change.key))
        let differs = state.value != change.value
        switch comparison {
        case .join: break
        case .past: state.etcd = change.etcd
        case .compacted(let memory):
            // What this host put there and no longer has was deleted here since.
            let isDeletedHere = state.value == nil && change.id?.bridge == bridge
            if isDeletedHere || memory.covers(change) { state.etcd = change.etcd }
        }
        keys[change.key] = state
        guard differs else {
            keys[change.key]?.etcd = change.etcd
            return false
        }
        if mayDiffer(change, state), isLocal(change.key, state, comparison) {
            owe(change.key)
        }
        return state.etcd == 0
    }

    /// Takes a key of the range that no bus can have. It stays as it is, unless the bus has written the key since
    /// it knew that. Returns whether it has to be told.
    private mutating func keepRefused(_ change: EtcdChange, _ why: Obstacle, _ comparison: Comparison) -> Bool
    {
        guard !why.isOfKey else { return true }
        let direction = sharing.direction(of: change.key)
        guard !direction.isEmpty else { return false }
        var state = keys[change.key] ?? KeyState(direction: direction)
        state.etcd = change.etcd
        keys[change.key] = state
        if direction.contains(.out), state.value != nil, state.revision > settled(comparison) {
            owe(change.key)
        }
        return direction.contains(.into)
    }

    /// Up to this revision of the bus, whatever differs there was known.
    private func settled(_ comparison: Comparison) -> Int {
        switch comparison {
        case .join: .max
        case .past(let settled): settled
        case .compacted(let memory): memory.settled
        }
    }

    /// Whether etcd should get what the bus has. If the key only goes out and isn't on the bus, it is deleted
    /// only if this host put it there, because others may send under the same patterns.
    private func mayDiffer(_ change: EtcdChange, _ state: KeyState) -> Bool {
        guard state.direction.contains(.out) else { return false }
        return state.value != nil || state.direction.contains(.into) || change.id?.bridge == bridge
    }

    /// Whether the bus's value, or its absence, comes from a write here that wasn't sent yet.
    private func isLocal(_ key: String, _ state: KeyState, _ comparison: Comparison) -> Bool {
        switch comparison {
        case .join: state.value != nil
        case .past: true
        case .compacted(let memory):
            if state.value == nil {
                state.etcd > 0
            } else {
                state.isBound || memory.refused[key] == state.revision
                    || state.revision > memory.settled && !isBridge(state.by, memory.name)
            }
        }
    }

    /// Whether a bridge of this name wrote it, for another host or for itself.
    private func isBridge(_ by: String?, _ name: String) -> Bool {
        by == name || by?.hasPrefix(HostConnections.prefix(name)) == true
    }

    /// A key that only the bus has was written here, or deleted there.
    private mutating func missingThere(_ key: String, _ revision: Int, _ comparison: Comparison)
        -> EtcdChange?
    {
        guard let state = keys[key] else { return nil }
        if isLocal(key, state, comparison) {
            if state.direction.contains(.out) { owe(key) }
            return nil
        }
        guard state.direction.contains(.into) else { return nil }
        return EtcdChange(key: key, revision: revision, content: .delete, isFound: true)
    }
}
