// Reads what the bus writes, but not while etcd is away. So a bus with a bridge is then as fast as one
// without. Afterwards, the bridge asks for what was written. Meanwhile, the reporter now and then counts the
// owed keys.

import PlugboardClient

extension BridgeSession {
    /// Reading goes on for at least so long. So if etcd comes and goes, the bridge doesn't ask for all values
    /// again and again.
    private static let readsAtLeast = Duration.seconds(5)
    /// Reading goes on for so long after etcd was lost, because opening a watch again takes a moment.
    private static let readsApart = Duration.milliseconds(500)

    /// Takes the bus's events for as long as the session lives.
    func read() async throws {
        for await subscription in subscriptions {
            try await subscription.forEachGroup { events in note(events, from: subscription) }
            guard self.subscription !== subscription else { throw BridgeRestart.busLost }
        }
    }

    /// Reads while etcd is there.
    func attend() async throws {
        var wasUp = ContinuousClock.now
        while true {
            try await Task.sleep(for: .milliseconds(100))
            if health.isUp {
                wasUp = .now
                try await exclusively { try await beginReading() }
            } else if subscription != nil, wasUp.duration(to: .now) >= Self.readsApart,
                readingSince.duration(to: .now) >= Self.readsAtLeast
            {
                await exclusively { endReading() }
                health.say("not reading the bus until etcd is back")
            }
        }
    }

    func endReading() {
        guard subscription != nil else { return }
        follow(nil)
        owedUnread = mirror.owed
    }

    /// Starts to read, if it doesn't read already. The caller makes no batch meanwhile.
    func beginReading() async throws {
        guard subscription == nil else { return }
        let next = try await bus.subscribe(settings.sharing.all)
        let snapshot = try await next.snapshot()
        let before = mirror.noted
        mirror.catchUp(with: snapshot.values, at: snapshot.revision)
        follow(next)
        readingSince = .now
        let passed = mirror.noted - before
        mirror.counts.unread += passed
        health.say("reading the bus again after \(passed) revisions: \(mirror.owed) keys are owed")
        signal()
    }

    /// Counts the owed keys while it doesn't read.
    func countOwed() async throws {
        guard !mirror.isReading else { return }
        var present: [String: Int] = [:]
        for pattern in settings.sharing.all {
            for key in try await bus.keys(pattern) { present[key.key] = key.revision }
        }
        owedUnread = mirror.owed(with: present)
    }

    /// How many keys etcd has yet to get, as far as is known.
    var owed: Int { mirror.isReading ? mirror.owed : owedUnread }
}
