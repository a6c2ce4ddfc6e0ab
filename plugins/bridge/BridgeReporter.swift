// Writes the bridge's status to the bus: at once when it comes up or falls apart, otherwise at most once a
// second and only if it has changed.

import PlugboardClient

actor BridgeReporter {
    private let bus: Bus
    private let settings: BridgeSettings
    private let gateway: EtcdGateway
    private let health: BridgeHealth
    private var session: BridgeSession?
    /// Counts of the sessions before.
    private var earlier = Mirror.Counts()
    private var published: JSON?

    init(bus: Bus, settings: BridgeSettings, gateway: EtcdGateway, health: BridgeHealth) {
        self.bus = bus
        self.settings = settings
        self.gateway = gateway
        self.health = health
    }

    func follow(_ next: BridgeSession) async {
        if let session { earlier = earlier + (await session.figures.counts) }
        session = next
    }

    func run() async throws {
        var round = 0
        while !Task.isCancelled {
            let wasUp = health.isUp
            health.judge(answered: gateway.answered)
            if health.isUp != wasUp || round % 4 == 0 { await report() }
            round += 1
            try await Task.sleep(for: .milliseconds(250))
        }
    }

    private static let countsEvery = Duration.seconds(2)
    /// Counting takes at most one hundredth of the time.
    private static let countingPart = 100

    /// Counts the owed keys while no session reads the bus.
    func count() async throws {
        while true {
            let start = ContinuousClock.now
            do {
                try await session?.countOwed()
            } catch is BusError {
                // The next connection is asked again.
            }
            let taken = start.duration(to: .now)
            try await Task.sleep(for: max(Self.countsEvery, taken * Self.countingPart))
        }
    }

    private func report() async {
        var figures = await session?.figures ?? MirrorFigures()
        figures.counts = earlier + figures.counts
        health.tell(bus, figures)
        let status = health.status(figures, settings)
        guard status != published, bus.state.isConnected else { return }
        do {
            try await bus.publish(settings.keys.status, status, while: .connected, cause: nil)
            published = status
        } catch let error as BusError where error.code != nil {
            health.say("\(settings.keys.status): \(error)")
        } catch {
            // The connection broke. The status is written on the next one.
            published = nil
        }
    }
}

extension BridgeSession {
    var figures: MirrorFigures {
        MirrorFigures(owed: owed, counts: mirror.counts, kept: mirror.refused.keys.sorted())
    }
}

extension Mirror.Counts {
    static func + (one: Mirror.Counts, other: Mirror.Counts) -> Mirror.Counts {
        Mirror.Counts(
            sent: one.sent + other.sent,
            applied: one.applied + other.applied,
            conflicts: one.conflicts + other.conflicts,
            refused: one.refused + other.refused,
            folded: one.folded + other.folded,
            unread: one.unread + other.unread,
            split: one.split + other.split
        )
    }
}
