// Runs sessions one after the other while the plugin lives. Each failure is reported once, and the pause
// before the next attempt grows. Counts continue from session to session. When the plugin should stop,
// everything is cancelled: etcd may never answer, and nothing is lost without its answer.

import PlugboardClient

struct BridgeRunner: Sendable {
    let bus: Bus
    let settings: BridgeSettings

    func run() async throws {
        let gateway = EtcdGateway(nodes: settings.nodes, user: settings.user, route: settings.route)
        let health = BridgeHealth()
        try await refuseOverlap(health)
        let reporter = BridgeReporter(bus: bus, settings: settings, gateway: gateway, health: health)
        let (name, host) = (settings.name, settings.host)
        let hosts = HostConnections(bus, name: name, host: host, peer: settings.peer)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await reporter.run() }
            group.addTask { try await reporter.count() }
            group.addTask { try await sessions(gateway, health, hosts, reporter) }
            // When the bus is stopped, requests to it still work, so a session might go on.
            group.addTask { await bus.waitUntilStopped() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func sessions(
        _ gateway: EtcdGateway, _ health: BridgeHealth, _ hosts: HostConnections, _ reporter: BridgeReporter
    ) async throws {
        var pause = RetryPause()
        while !Task.isCancelled {
            do {
                try await session(gateway, health, hosts, reporter)
            } catch let restart as BridgeRestart {
                health.failed("\(restart)")
                health.say("\(restart)")
                if case .wentBack = restart { gateway.forgetRevision() }
            } catch let error as EtcdError {
                health.failed("\(error)")
            } catch let error as BusError where error != .closed {
                health.failed("\(error)")
            }
            try await pause.wait()
        }
    }

    /// Two bridges with the same keys on one bus would overwrite each other. If the bus is lost meanwhile,
    /// this looks again.
    private func refuseOverlap(_ health: BridgeHealth) async throws {
        var pause = RetryPause()
        while true {
            do {
                return try await findOverlap()
            } catch let error as BusError where error != .closed && error.code == nil {
                health.failed("\(error)")
                try await pause.wait()
            }
        }
    }

    private func findOverlap() async throws {
        for key in try await bus.keys("bridge.*.status")
        where key.key != settings.keys.status && key.isWriterLive {
            let others = try await bus.entry(key.key)?.value["patterns"]?.elements?.compactMap(\.string) ?? []
            guard let pattern = settings.sharing.overlap(with: others) else { continue }
            throw BridgeMistake(description: "\"\(pattern)\" overlaps with what \(key.key) shares")
        }
    }

    private func session(
        _ gateway: EtcdGateway, _ health: BridgeHealth, _ hosts: HostConnections, _ reporter: BridgeReporter
    ) async throws {
        let opening = BridgeOpening(bus: bus, settings: settings, gateway: gateway, health: health)
        let start = try await opening.run()
        await hosts.begin(alive: start.hosts)
        let session = BridgeSession(bus, settings, start.store, health, hosts, start)
        await reporter.follow(session)
        do {
            try await run(session)
        } catch {
            // Its counts are still needed, but nobody reads its events any more.
            await session.endReading()
            throw error
        }
    }

    private func run(_ session: BridgeSession) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await session.read() }
            group.addTask { try await session.attend() }
            group.addTask { try await session.send() }
            group.addTask { try await session.follow() }
            group.addTask { try await session.tend() }
            group.addTask { try await session.keepLease() }
            group.addTask { try await losesBus() }
            // When one of them ends, all end.
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Throws when the connection to the bus breaks.
    private func losesBus() async throws {
        for await state in bus.states where !state.isConnected { throw BridgeRestart.busLost }
    }
}
