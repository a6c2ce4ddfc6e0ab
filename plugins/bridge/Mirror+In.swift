// From etcd to the bus: what one change in etcd means here. `step(for:)` decides and changes nothing, because
// the bus may refuse, if somebody has written the key in between. `take` notes what was done.

import PlugboardClient

/// A change of one key in etcd.
struct EtcdChange: Sendable, Equatable {
    enum Content: Sendable, Equatable {
        case put(Envelope)
        case delete
        /// Nothing that a bus could have.
        case refused(Obstacle)

        /// The write that made it.
        var id: WriteID? { if case .put(let envelope) = self { envelope.id } else { nil } }
    }

    /// Of a key that no bus can have, a name for people.
    let key: String
    let revision: Int
    let content: Content
    /// The write that deleted it, and its host, if a bridge's transaction did.
    var deleteID: WriteID?
    var deleteHost: String?
    /// Found by a comparison instead of the watch. It counts even if it is before the cursor.
    var isFound = false

    /// The same, found by a comparison.
    var found: EtcdChange {
        var change = self
        change.isFound = true
        return change
    }

    var value: JSON? {
        if case .put(let envelope) = content { envelope.value } else { nil }
    }

    /// The write that made it; nil for a delete by somebody else, and for a value that a person put there.
    var id: WriteID? {
        content.id ?? deleteID
    }

    var host: String? {
        if case .put(let envelope) = content { envelope.host } else { deleteHost }
    }

    var by: String? {
        if case .put(let envelope) = content { envelope.by } else { nil }
    }

    /// Why no bus can have it.
    var obstacle: Obstacle? {
        if case .refused(let obstacle) = content { obstacle } else { nil }
    }

    /// The key's revision in etcd after this change.
    var etcd: Int { content == .delete ? 0 : revision }
}

/// A local write that came too late: etcd had another one first.
struct LostWrite: Sendable, Equatable {
    let key: String
    /// Nil if it was a delete.
    let value: JSON?
    let by: String?
    let revision: Int
    let winner: EtcdChange
}

/// What a change in etcd means here.
enum MirrorStep: Sendable, Equatable {
    /// The change is known already.
    case skip
    /// The host's own write is confirmed.
    case confirm
    /// Both sides say the same.
    case agree
    /// The bus keeps its value. Only the guard of the next write moves.
    case pass
    /// The host is the key's only author and writes its value again.
    case writeAgain
    /// No bus can have it, and it is left alone. A later write on the bus replaces it.
    case refuse
    /// The bus takes the change if its key has this revision. A lost write is kept elsewhere.
    case apply(ifRevision: Int, lost: LostWrite?)
}

extension Mirror {
    func step(for change: EtcdChange) -> MirrorStep {
        let known = keys[change.key]
        if change.obstacle?.isOfKey == true { return isNew(change, known) ? .refuse : .skip }
        let direction = known?.direction ?? sharing.direction(of: change.key)
        guard !direction.isEmpty, isNew(change, known) else { return .skip }
        let state = known ?? KeyState(direction: direction)
        if isOwn(change, state) { return .confirm }
        if direction.contains(.own) { return state.revision > 0 ? .writeAgain : .pass }
        if hasEnded(change, state) { return .writeAgain }
        guard direction.contains(.into) else { return .pass }
        if change.obstacle != nil { return .refuse }
        if state.isOwed || change.content == .delete, state.value == change.value { return .agree }
        return .apply(ifRevision: state.ifRevision, lost: state.isOwed ? lost(change, state) : nil)
    }

    /// A lease of this host ended, and etcd deleted the values bound to connections here. The connection is
    /// still there, so its value is, too.
    private func hasEnded(_ change: EtcdChange, _ state: KeyState) -> Bool {
        change.content == .delete && change.deleteID == nil && state.isBound && state.value != nil
            && state.direction.contains(.out)
    }

    private func isNew(_ change: EtcdChange, _ state: KeyState?) -> Bool {
        if change.isFound { return true }
        return change.revision > cursor && change.revision > state?.etcd ?? 0
    }

    private func isOwn(_ change: EtcdChange, _ state: KeyState) -> Bool {
        if let id = change.id {
            // An older own write that isn't owed any more came too late, from an earlier life, over what the
            // bus has taken since. It counts like anybody's.
            return id.bridge == bridge
                && (state.isOwed || state.value == nil || id.revision == state.revision)
        }
        // A delete without a mark: the transaction in progress may have had no room for one. Its guard says
        // whether it can have made this delete.
        guard change.content == .delete, let transaction = underWay, transaction.deleteMark == nil else {
            return false
        }
        return transaction.writes.contains {
            $0.key == change.key && $0.value == nil && $0.guardRevision == state.etcd
        }
    }

    private func lost(_ change: EtcdChange, _ state: KeyState) -> LostWrite {
        LostWrite(key: change.key, value: state.value, by: state.by, revision: state.revision, winner: change)
    }

    /// Notes that a step was done. `revision` is that of the bus, if the step wrote there.
    mutating func take(_ step: MirrorStep, _ change: EtcdChange, revision: Int?) {
        // A key that no bus can have is never written here.
        guard step != .skip, change.obstacle?.isOfKey != true else { return }
        var state = keys[change.key] ?? KeyState(direction: sharing.direction(of: change.key))
        state.etcd = change.etcd
        keys[change.key] = state
        switch step {
        case .skip, .pass, .refuse: break
        case .agree: settle(change.key)
        case .confirm: confirm(state, by: change)
        case .writeAgain:
            keys[change.key]?.overwrites = change.revision
            if !state.isOwed { owe(change.key) }
        case .apply(_, let lost): apply(change, lost, revision: revision)
        }
        forgetIfPossible(change.key)
    }

    private mutating func confirm(_ state: KeyState, by change: EtcdChange) {
        let isNewest =
            change.content == .delete ? state.value == nil : state.revision == change.id?.revision
        if isNewest {
            settle(change.key)
        } else if state.value == nil, !state.isOwed {
            // This host put the value there, and it is gone here. It was deleted while the bridge was away.
            owe(change.key)
        }
    }

    private mutating func apply(_ change: EtcdChange, _ lost: LostWrite?, revision: Int?) {
        settle(change.key)
        refused[change.key] = nil
        var state = keys[change.key] ?? KeyState(direction: sharing.direction(of: change.key))
        state.etcd = change.etcd
        state.value = change.value
        (state.by, state.origin, state.isBound, state.host) = (change.by, change.origin, false, change.host)
        if let revision {
            state.revision = revision
            ownRevisions.insert(revision)
        }
        keys[change.key] = state
        counts.applied += 1
        if lost != nil { counts.conflicts += 1 }
    }

    /// A local write keeps coming in between. It counts as made after this change, and replaces it.
    mutating func yield(to change: EtcdChange) {
        take(.pass, change, revision: nil)
    }

    /// Everything up to this revision of etcd is on the bus.
    mutating func advance(to revision: Int) {
        cursor = max(cursor, revision)
    }
}
