// Keeps the host's lease alive, and claims the patterns of `--own` under it. A lease that was lost is granted
// anew, and what stood under it is written again. Without a lease this host is nobody's only author, and
// sends none of them.

import PlugboardClient

extension BridgeSession {
    private static let keepAliveEvery = Duration.seconds(3)
    /// After so long without an answer, etcd may have let the lease end.
    private static let doubtAfter = Duration.seconds(EtcdStore.leaseSeconds - 5)

    func keepLease() async throws {
        var lease: Int?
        var kept = ContinuousClock.now
        var told: [String: String] = [:]
        while true {
            do throws(EtcdError) {
                lease = try await renewed(lease)
                kept = .now
                if let lease { try await claim(under: lease, &told) }
            } catch {
                if kept.duration(to: .now) > Self.doubtAfter { mirror.claimed = [] }
            }
            try await Task.sleep(for: Self.keepAliveEvery)
        }
    }

    /// The lease, or another one if it is gone.
    private func renewed(_ lease: Int?) async throws(EtcdError) -> Int {
        if let lease, try await store.keepAlive(lease) { return lease }
        if lease != nil { health.say("the lease has ended: this host was away too long") }
        mirror.claimed = []
        let next = try await store.grantLease()
        try await store.putOwn("hosts/\(settings.host)", store.owned, lease: next)
        return next
    }

    private func claim(under lease: Int, _ told: inout [String: String]) async throws(EtcdError) {
        for pattern in settings.sharing.own where !mirror.claimed.contains(pattern) {
            guard let owner = try await store.claim(pattern, lease: lease) else {
                mirror.claim(pattern)
                told[pattern] = nil
                signal()
                continue
            }
            if told.updateValue(owner, forKey: pattern) != owner {
                health.say("\(pattern) belongs to \(owner): this host doesn't send it")
            }
        }
    }
}

extension Mirror {
    /// This host is the only author of these keys. What waited for that is sent now.
    mutating func claim(_ pattern: String) {
        claimed.insert(pattern)
        let mine = Sharing(own: [pattern])
        for (key, state) in keys where state.isOwed && !mine.direction(of: key).isEmpty { owe(key) }
    }
}
