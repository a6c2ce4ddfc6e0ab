// Reads what the bus writes, but not while etcd is away: then a bus with a bridge is as fast as one without, and
// what was written is asked for afterwards. Meanwhile the reporter counts now and then how many keys are owed.

import PlugboardClient

extension BridgeSession {
    /// For so long it reads on after it began. So a bridge that comes and goes doesn't ask for all values
    /// again and again.
    private static let readsAtLeast = Duration.seconds(5)
    /// For so long it reads on after etcd was lost: a watch that is opened anew isn't there for a moment.
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

    /// Reads again, if it doesn't. Whoever calls it makes no batch meanwhile.
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

    /// Counts what is owed while it doesn't read.
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
