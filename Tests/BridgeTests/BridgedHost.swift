// A host: a broker and a bridge, each a process that can be killed at any moment, and a client on its bus.
// Between the bridge and etcd there may be a proxy that stalls.

import Foundation
import PlugboardClient
import PlugboardPosix
import Synchronization
import TestSupport

final class BridgedHost: Sendable {
    let name: String
    let bus: Bus
    let socket: String
    private let folder: TemporaryFolder
    private let etcd: [String]
    private let arguments: [String]
    private let running = Mutex<Running>(Running())
    private let environment: [String: String]

    private struct Running {
        var broker: TestProgram?
        var bridge: TestProgram?
        var earlier: [TestProgram] = []
    }

    init(
        _ name: String,
        etcd: [String],
        prefix: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        isBridged: Bool = true
    ) async throws {
        self.name = name
        self.etcd = etcd
        self.environment = environment
        folder = try TemporaryFolder()
        socket = folder.socket
        self.arguments =
            ["--socket", socket, "--etcd", etcd.joined(separator: ","), "--prefix", prefix, "--host", name]
            + arguments
        let broker = try Self.broker(folder)
        let options = Bus.Options(
            requestTimeout: HangGuard.duration,
            connectTimeout: HangGuard.duration,
            waitForBroker: HangGuard.duration,
            backoff: Backoff(initial: .milliseconds(5), maximum: .milliseconds(50))
        )
        bus = try await Bus.connect(name: "client", path: socket, options: options)
        running.withLock { $0.broker = broker }
        if isBridged { try startBridge() }
    }

    private static func broker(_ folder: TemporaryFolder) throws -> TestProgram {
        try TestProgram("plugboard", ["broker", "--socket", folder.socket, "--state", folder("state")])
    }

    func startBridge() throws {
        let next = try TestProgram("bridge", arguments, environment: environment)
        running.withLock { state in
            if let bridge = state.bridge { state.earlier.append(bridge) }
            state.bridge = next
        }
    }

    func killBridge() { running.withLock { $0.bridge }?.kill() }

    func signalBridge(_ number: Int32) { running.withLock { $0.bridge }?.signal(number) }

    var isBridgeRunning: Bool { running.withLock { $0.bridge?.isRunning ?? false } }

    func killBroker() { running.withLock { $0.broker }?.kill() }

    func startBroker() throws {
        let next = try Self.broker(folder)
        running.withLock { $0.broker = next }
    }

    /// What all of its bridges have said.
    var words: String {
        running.withLock { ($0.earlier + [$0.bridge].compactMap(\.self)).map(\.output).joined() }
    }

    var bridgePID: Int32? { running.withLock { $0.bridge?.pid } }

    func status() async throws -> JSON? { try await bus.entry("bridge.bridge.status")?.value }

    func isUp() async throws -> Bool { try await status()?["state"]?.string == "up" }

    /// Waits until it is up.
    func untilUp() async throws { try await Self.untilUp(self) }

    /// Waits until all are up at once. If they never are, the error has their states and what their bridges
    /// have said.
    static func untilUp(_ hosts: BridgedHost...) async throws {
        do {
            try await eventually("up are \(hosts.map(\.name))") {
                for host in hosts where try await !host.isUp() { return false }
                return true
            }
        } catch {
            var news = "\(error)"
            for host in hosts { news += "; \(String(describing: try await host.status())); \(host.words)" }
            throw NeverHappened(description: news)
        }
    }

    /// All shared values as text.
    func values(_ pattern: String = "s.**") async throws -> [String: String] {
        var values: [String: String] = [:]
        for key in try await bus.keys(pattern) { values[key.key] = try await bus.entry(key.key)?.value.text }
        return values
    }

    /// The writes that lost: their keys, and their revisions on this bus.
    func conflicts() async throws -> [(key: String, revision: Int, value: String?)] {
        var conflicts: [(key: String, revision: Int, value: String?)] = []
        for key in try await bus.keys("bridge.bridge.conflicts.*") {
            guard let record = try await bus.entry(key.key)?.value, let name = record["key"]?.string else {
                continue
            }
            conflicts.append((name, record["revision"]?.integer ?? 0, record["value"]?.text))
        }
        return conflicts
    }
}
