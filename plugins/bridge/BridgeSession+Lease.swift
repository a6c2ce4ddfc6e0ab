// Keeps the host's lease alive, and claims the patterns of `--own` under it. If a lease is lost, the host
// gets another one, and writes the values under it again. Without a lease this host sends nothing. A
// restarted bridge continues with its earlier lease, if that still lives.

import PlugboardClient

extension BridgeSession {
    private static let keepAliveEvery = Duration.seconds(3)
    /// After so long without an answer, etcd may have let the lease end.
    private static let doubtAfter = Duration.seconds(EtcdStore.leaseSeconds - 5)

    func keepLease() async throws {
        var isFirst = true
        var kept = ContinuousClock.now
        var told: [String: String] = [:]
        while true {
            do throws(EtcdError) {
                let lease = try await renewed(isFirst)
                (isFirst, kept) = (false, .now)
                health.hasLease()
                try await claim(under: lease, &told)
            } catch {
                health.cannotKeepLease(error)
                if kept.duration(to: .now) > Self.doubtAfter { mirror.claimed = [] }
            }
            try await pauseWithLease()
        }
    }

    /// Waits until the lease has to be kept alive, or is known to be gone.
    private func pauseWithLease() async throws {
        let hadLease = mirror.lease != nil
        let end = ContinuousClock.now + Self.keepAliveEvery
        while ContinuousClock.now < end, !hadLease || mirror.lease != nil {
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// The lease, or another one if it is gone.
    private func renewed(_ isFirst: Bool) async throws(EtcdError) -> Int {
        if let lease = mirror.lease, try await store.keepAlive(lease) { return lease }
        if isFirst, let lease = try await store.earlierLease() {
            mirror.take(lease: lease, isNew: false)
            signal()
            return lease
        }
        if !isFirst { health.say("the lease has ended: this host was away too long") }
        mirror.loseLease()
        mirror.claimed = []
        let next = try await store.grantLease()
        try await store.putOwn(EtcdStore.hostsKey + settings.host, store.owned, lease: next)
        mirror.take(lease: next, isNew: true)
        signal()
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
    /// This host is now the only author of these keys. Sends what waited for that.
    mutating func claim(_ pattern: String) {
        claimed.insert(pattern)
        let mine = Sharing(own: [pattern])
        for (key, state) in keys where state.isOwed && !mine.direction(of: key).isEmpty { owe(key) }
    }
}
