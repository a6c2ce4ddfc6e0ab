// A real etcd on loopback: one node or three, on free ports, in a folder of its own. It ends with the test.

import Foundation
import PlugboardPosix
import TestSupport

@testable import BridgePlugin

final class EtcdCluster: Sendable {
    /// Why a test of it can't run here; nil if it can.
    static let isInstalled = FileManager.default.isExecutableFile(atPath: program)
    static let program = "/usr/bin/etcd"

    let nodes: [TestProgram]
    let clients: [String]
    let folder: TemporaryFolder

    init(_ count: Int = 1, _ arguments: [String] = [], data: String? = nil, scheme: String = "http") throws {
        let folder = try TemporaryFolder()
        let ports = try FreePorts.take(2 * count)
        let clients = (0..<count).map { "\(scheme)://127.0.0.1:\(ports[2 * $0])" }
        let peers = (0..<count).map { "http://127.0.0.1:\(ports[2 * $0 + 1])" }
        let cluster = peers.enumerated().map { "n\($0)=\($1)" }.joined(separator: ",")
        nodes = try (0..<count).map { node in
            try TestProgram(
                Self.program,
                [
                    "--name", "n\(node)", "--data-dir", data ?? folder("d\(node)"),
                    "--listen-client-urls", clients[node], "--advertise-client-urls", clients[node],
                    "--listen-peer-urls", peers[node], "--initial-advertise-peer-urls", peers[node],
                    "--initial-cluster", cluster, "--heartbeat-interval", "50", "--election-timeout", "500",
                    "--logger", "zap", "--log-level", "error",
                ] + arguments,
                environment: ["ETCD_UNSUPPORTED_ARCH": "arm64"]
            )
        }
        self.clients = clients
        self.folder = folder
    }

    func gateway(_ user: EtcdUser? = nil) -> EtcdGateway { EtcdGateway(nodes: clients, user: user) }

    /// Waits until it answers.
    func ready() async throws {
        let store = store("/ready/")
        try await eventually("etcd answers") {
            do {
                _ = try await store.find(store.prefix.own("x"))
                return true
            } catch {
                return false
            }
        }
    }

    func store(_ prefix: String, host: String = "test") -> EtcdStore {
        EtcdStore(gateway: gateway(), prefix: EtcdPrefix(text: prefix), host: host, bridge: "test")
    }
}
