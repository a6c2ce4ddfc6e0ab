// The watch of etcd. It is opened after the cursor and read line by line. When it ends or falls silent, it is
// opened again on another node.

import PlugboardClient

extension BridgeSession {
    /// Takes the events of etcd for as long as the session lives.
    func follow() async throws {
        try await applyFound()
        try await revive(values)
        values = []
        var pause = RetryPause()
        while true {
            do {
                let watch = try await EtcdWatch.open(store.gateway, store.prefix, from: mirror.cursor + 1)
                self.watch = watch
                unfinished = []
                defer { watch.close() }
                for try await line in watch.lines() {
                    try await take(line)
                    watch.handled(line)
                    pause.reset()
                }
                health.watchEnded("the watch has ended")
            } catch let error as EtcdError {
                health.watchEnded("\(error)")
                if let watch { store.gateway.leave(watch.node) }
            }
            try Task.checkCancellation()
            try await pause.wait()
        }
    }

    /// Applies what a comparison has found, and then writes the cursor.
    func applyFound() async throws {
        let changes = found
        found = []
        try await apply(found: changes, at: foundAt)
        if changes.isEmpty { try await apply(EtcdGroup(revision: foundAt)) }
        // A cursor that is being written comes back as it was when that began.
        await exclusively { cursor.compared = nil }
        try await flush()
    }

    private func take(_ line: Data) async throws {
        let read = try store.gateway.read(line, as: EtcdWatchLine.self, watch?.node ?? "")
        if let error = read.error { throw EtcdError.unavailable(reason: error.message ?? "the watch failed") }
        guard let result = read.result else { return }
        if let compacted = result.compact_revision?.value, compacted > 0 { throw BridgeRestart.compacted }
        if result.canceled == true { throw canceled(result.cancel_reason ?? "etcd canceled the watch") }
        try check(cluster: result.header)
        if result.created == true { health.watching(on: watch?.node ?? "") }
        let groups = store.groups(finished(result))
        health.behind(newest: groups.last?.revision ?? mirror.cursor, cursor: mirror.cursor)
        for group in groups where group.revision > mirror.cursor {
            var back: [String] = []
            for change in group.hosts where await hosts.note(change) { back.append(change.host) }
            try await apply(group)
            for host in back { try await revive(host) }
            health.behind(newest: groups.last?.revision ?? 0, cursor: mirror.cursor)
        }
    }

    /// The events whose revisions have come whole.
    private func finished(_ result: EtcdWatchLine.Result) -> [EtcdWatchLine.Event] {
        let events = unfinished + (result.events ?? [])
        unfinished = []
        guard result.fragment == true, let last = events.last?.kv.mod_revision else { return events }
        unfinished = Array(events.reversed().prefix { $0.kv.mod_revision == last }.reversed())
        return Array(events.dropLast(unfinished.count))
    }

    private func canceled(_ reason: String) -> EtcdError {
        if reason.contains("auth token") { store.gateway.forgetToken() }
        return .unavailable(reason: reason)
    }

    /// Whether etcd is still the one that the cursor belongs to.
    private func check(cluster header: EtcdHeader?) throws {
        guard let cluster = header?.cluster_id?.value, cluster != cursor.cluster else { return }
        throw BridgeRestart.wentBack(reason: "this is another etcd cluster")
    }
}
