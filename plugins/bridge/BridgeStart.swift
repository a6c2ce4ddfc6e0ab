// How a session begins: with what the bus remembers, what etcd has, and a comparison of the two. Everything
// is read before anything is written.

import PlugboardClient

/// What a session begins with.
struct BridgeStart: Sendable {
    let cursor: BridgeCursor
    let cursorRevision: Int
    let kept: [Int]
    let mirror: Mirror
    let changes: [EtcdChange]
    let comparedAt: Int
    /// Values of the bus whose writers have left.
    let values: [BusValue]
    /// The hosts that were alive.
    let hosts: Set<String>
    let subscription: Subscription
    let store: EtcdStore
}

/// Reads both sides.
struct BridgeOpening: Sendable {
    let bus: Bus
    let settings: BridgeSettings
    let gateway: EtcdGateway
    let health: BridgeHealth

    func run() async throws -> BridgeStart {
        let entry = try await bus.entry(settings.keys.cursor)
        let epoch = bus.greeting?.epoch ?? ""
        let remembered = try entry?.decode(as: BridgeCursor.self)
        let isSameLife = remembered?.epoch == epoch
        let store = store(isSameLife ? remembered : nil)
        let wasFenced = try await store.lastFence() >= remembered?.fence ?? 0
        // The fence's event comes by the watch. Whoever has seen it has seen everything before it.
        let fence = try await store.putFence()
        // What it remembers of a restored etcd is worth nothing.
        let trusted = wasFenced ? remembered : nil
        let range = try await read(store, trusted, fence)
        if !wasFenced { tellRestored(remembered) }
        health.meet(range.changes)
        let comparison = comparison(range, trusted, isSameLife)
        var cursor = cursor(remembered, comparison, epoch, store)
        cursor.fence = fence
        let subscription = try await bus.subscribe(settings.sharing.all)
        let snapshot = try await subscription.snapshot()
        var mirror = mirror(of: snapshot, store)
        mirror.cursor = cursor.etcd
        mirror.barrier = max(fence, range.revision)
        let changes = mirror.reconcile(range.changes, at: range.revision, comparison)
        return BridgeStart(
            cursor: cursor,
            cursorRevision: entry?.revision ?? 0,
            kept: try await keptConflicts(),
            mirror: mirror,
            changes: changes,
            comparedAt: range.revision,
            values: snapshot.values.filter { !$0.isLive },
            hosts: try await store.hosts(),
            subscription: subscription,
            store: store
        )
    }

    private func store(_ remembered: BridgeCursor?) -> EtcdStore {
        let bridge = remembered?.bridge ?? BridgeCursor.newBridge()
        return EtcdStore(gateway: gateway, prefix: settings.prefix, host: settings.host, bridge: bridge)
    }

    private func cursor(
        _ remembered: BridgeCursor?, _ comparison: Mirror.Comparison, _ epoch: String, _ store: EtcdStore
    ) -> BridgeCursor {
        BridgeCursor(
            etcd: comparison == .join ? 0 : remembered?.etcd ?? 0,
            cluster: gateway.cluster ?? 0,
            settled: remembered?.settled ?? 0,
            epoch: epoch,
            bridge: store.bridge,
            conflicts: remembered?.conflicts ?? 0,
            compared: comparison.parts
        )
    }

    /// The range as it was at the cursor, if etcd still knows that; otherwise the present range.
    private func read(_ store: EtcdStore, _ remembered: BridgeCursor?, _ newest: Int) async throws
        -> EtcdSnapshot
    {
        if let remembered, remembered.etcd > 0 {
            if remembered.cluster == gateway.cluster, remembered.etcd <= newest {
                if let past = try await store.past(at: remembered.etcd) { return past }
                health.say("\(BridgeRestart.compacted)")
            } else {
                tellRestored(remembered)
            }
        }
        return try await store.range()
    }

    private func tellRestored(_ remembered: BridgeCursor?) {
        let reason = "etcd isn't the one of revision \(remembered?.etcd ?? 0): it was restored, or replaced"
        health.say("\(BridgeRestart.wentBack(reason: reason))")
    }

    private func comparison(_ range: EtcdSnapshot, _ remembered: BridgeCursor?, _ isSameLife: Bool)
        -> Mirror.Comparison
    {
        guard let remembered, remembered.cluster == gateway.cluster, remembered.etcd <= range.revision
        else { return .join }
        if range.isPast { return .past(settled: isSameLife ? remembered.settled : .max) }
        guard isSameLife else { return .join }
        // If it was killed while it joined, only what others wrote belongs to this bus.
        return .compacted(
            Mirror.Memory(
                etcd: remembered.etcd,
                settled: remembered.etcd == 0 ? 0 : remembered.settled,
                refused: remembered.refused ?? [:],
                name: settings.name,
                parts: remembered.compared ?? []
            )
        )
    }

    private func mirror(of snapshot: BusSnapshot, _ store: EtcdStore) -> Mirror {
        var mirror = Mirror(sharing: settings.sharing, bridge: store.bridge)
        let prefix = HostConnections.prefix(settings.name)
        for each in snapshot.values {
            mirror.begin(each)
            if let by = each.by, by.hasPrefix(prefix) {
                mirror.keys[each.key]?.host = String(by.dropFirst(prefix.count))
            }
        }
        mirror.noted = max(mirror.noted, snapshot.revision)
        return mirror
    }

    private func keptConflicts() async throws -> [Int] {
        try await bus.keys("\(settings.keys.conflicts).*").compactMap { $0.key.split(separator: ".").last }
            .compactMap { Int($0) }.sorted()
    }
}
