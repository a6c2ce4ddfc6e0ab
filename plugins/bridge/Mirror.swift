// What the bridge knows of each key: its newest revision in etcd, its value on the bus, and whether etcd
// still lacks the bus's write. It does no input or output, so a test can play any order of events. The
// session owns it.
//
// What always holds while it reads the bus: a key is owed exactly if its newest write was made on this bus
// and etcd hasn't confirmed it. At most one transaction is in progress. Nothing is sent until the bridge has
// seen everything up to `barrier` and has a lease, because values bound to a connection of this host go under
// it.

import PlugboardClient

/// Both sides, as far as they are known.
struct Mirror: Sendable {
    let sharing: Sharing
    /// A part of the identifier of each write. It changes with the bus's epoch.
    let bridge: String
    /// Everything in etcd up to this revision is on the bus.
    var cursor = 0
    /// Nothing is sent until the cursor is here.
    var barrier = 0
    /// The bridge has to write a fence in etcd. Its event shows that the watch has got so far.
    var needsFence = false
    var counts = Counts()
    /// The lease that this host keeps alive; nil while it has none.
    private(set) var lease: Int?
    /// Patterns of `--own` that this host has claimed.
    var claimed: Set<String> = []

    var keys: [String: KeyState] = [:]
    var queue = OwedQueue()
    var underWay: EtcdTransaction?
    /// How many keys the next transaction may have. Fewer, while it searches for one that etcd refuses.
    var transactionKeysMax = BridgeLimits.transactionKeysMax
    /// Revisions of the bus that the bridge wrote and whose events haven't come yet.
    var ownRevisions: Set<Int> = []
    /// The newest revision whose events have come.
    var noted = 0
    /// Values that etcd doesn't take, for example because they are too large, with their revisions on the
    /// bus. Only this bus has them. A newer write is tried again.
    var refused: [String: Int] = [:]
    /// Whether the bus's events come. If not, nothing is sent, because the mirror has to catch up first.
    var isReading = true

    /// What the bridge has done since it started.
    struct Counts: Sendable, Equatable {
        var sent = 0
        var applied = 0
        var conflicts = 0
        var refused = 0
        /// Writes that were replaced by a newer one before they were sent.
        var folded = 0
        /// Revisions of the bus that passed while its events weren't read. Their writes are folded, too.
        var unread = 0
        /// Batches that needed more than one transaction.
        var split = 0
    }

    init(sharing: Sharing, bridge: String) {
        self.sharing = sharing
        self.bridge = bridge
    }

    /// How many keys etcd has yet to get.
    var owed: Int { queue.owed }

    /// Etcd has everything up to this revision of the bus.
    var settled: Int {
        let waiting = queue.oldest { Self.isOwed($0, keys) } ?? noted + 1
        let sent = underWay?.writes.map(\.id.revision).min() ?? noted + 1
        return max(0, min(waiting, sent) - 1)
    }

    static func isOwed(_ place: OwedQueue.Place, _ keys: [String: KeyState]) -> Bool {
        keys[place.key].map { $0.isOwed && $0.revision == place.revision } ?? false
    }

    func isOwed(_ place: OwedQueue.Place) -> Bool { Self.isOwed(place, keys) }
}

/// One key on both sides.
struct KeyState: Sendable {
    let direction: Direction
    /// The key's newest revision in etcd, as far as the bridge has seen it; 0 if it is absent there.
    var etcd = 0
    /// The revision of its newest write on the bus.
    var revision = 0
    /// Its value on the bus; nil if it is absent there.
    var value: JSON?
    var by: String?
    /// Who wrote it first, if `by` passed it on.
    var origin: String?
    /// The host in whose name the bridge wrote it, cut to what a name may have; nil if a client wrote it.
    var host: String?
    /// It ends with a connection of this host, and so with this host's lease.
    var isBound = false
    /// A write goes over what etcd had at this revision. A late answer about an earlier write settles
    /// nothing.
    var overwrites = 0
    var isOwed = false

    init(direction: Direction) { self.direction = direction }

    init(direction: Direction, _ value: BusValue) {
        self.direction = direction
        take(value)
    }

    mutating func take(_ value: BusValue) {
        (revision, self.value, isBound) = (value.revision, value.value, value.isBound)
        (by, origin, host) = (value.by, value.origin, nil)
    }

    mutating func takeDelete(at revision: Int, by: String?) {
        (self.revision, value, isBound) = (revision, nil, false)
        (self.by, origin, host) = (by, nil, nil)
    }

    /// The revision for `if`, so that nothing unseen is overwritten.
    var ifRevision: Int { value == nil ? 0 : revision }
    var isForgettable: Bool { value == nil && etcd == 0 && !isOwed }
}

// MARK: The bus's side

extension Mirror {
    /// Takes a value of the snapshot, before `reconcile`.
    mutating func begin(_ value: BusValue) {
        let direction = sharing.direction(of: value.key)
        guard !direction.isEmpty else { return }
        keys[value.key] = KeyState(direction: direction, value)
        noted = max(noted, value.revision)
    }

    /// Takes a write on the bus. Own writes are recognised by their revision.
    mutating func note(_ value: BusValue) {
        note(value.key, at: value.revision) { $0.take(value) }
    }

    /// Takes a delete on the bus.
    mutating func noteDelete(of key: String, at revision: Int, by: String? = nil) {
        note(key, at: revision) { $0.takeDelete(at: revision, by: by) }
    }

    private mutating func note(_ key: String, at revision: Int, _ change: (inout KeyState) -> Void) {
        passed(revision)
        let direction = sharing.direction(of: key)
        guard !direction.isEmpty, !ownRevisions.contains(revision) else { return }
        var state = keys[key] ?? KeyState(direction: direction)
        guard revision > state.revision else { return }
        if state.isOwed { counts.folded += 1 }
        change(&state)
        keys[key] = state
        if direction.contains(.out) { owe(key) }
        forgetIfPossible(key)
    }

    /// The host has this lease. If it is new, bound values are written again under it.
    mutating func take(lease: Int, isNew: Bool) {
        self.lease = lease
        guard isNew else { return }
        for (key, state) in keys where state.isBound && !state.isOwed && state.direction.contains(.out) {
            owe(key)
        }
    }

    /// The lease has ended, as far as this host knows.
    mutating func loseLease() {
        lease = nil
    }

    /// Marks the end of a group of events. All events of its revisions have come.
    mutating func endGroup() {
        ownRevisions = ownRevisions.filter { $0 > noted }
    }

    /// Sends nothing until the watch has passed a revision after this one. `fenced` says which.
    mutating func fence(after revision: Int) {
        barrier = Int.max
        needsFence = true
    }

    mutating func fenced(at revision: Int) {
        barrier = revision
        needsFence = false
    }

    private mutating func passed(_ revision: Int) {
        noted = max(noted, revision)
    }

    /// Etcd has to get the key's present value.
    mutating func owe(_ key: String) {
        guard var state = keys[key] else { return }
        if !state.isOwed { queue.owed += 1 }
        state.isOwed = true
        refused[key] = nil
        keys[key] = state
        queue.append(state.revision, key)
        if queue.isSparse {
            let keys = keys
            queue.compact { Self.isOwed($0, keys) }
        }
    }

    /// Etcd has what the bus has.
    mutating func settle(_ key: String) {
        guard keys[key]?.isOwed == true else { return }
        keys[key]?.isOwed = false
        queue.owed -= 1
        forgetIfPossible(key)
    }

    mutating func forgetIfPossible(_ key: String) {
        if keys[key]?.isForgettable == true { keys[key] = nil }
    }
}
