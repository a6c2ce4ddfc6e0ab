// A real broker for a test, with its own socket and folder, and with either poller.

import Foundation
import PlugboardBroker
import PlugboardPosix

/// A broker that runs until this is released.
final class RunningBroker {
    let path: String
    private let folder: URL
    private let broker: Broker
    private let ended = DispatchSemaphore(value: 0)

    init(poller: PollerKind = .standard, policy: String? = nil) throws {
        // Short, because the path of a Unix socket has little room.
        let name = "pb-" + String(UInt32.random(in: .min ... .max), radix: 36)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        path = folder.appendingPathComponent("s").path
        var configuration = Configuration(socketPath: path, poller: poller)
        if let policy {
            let file = folder.appendingPathComponent("policy.json")
            try policy.write(to: file, atomically: false, encoding: .utf8)
            configuration.policy = try Policy(path: file.path)
        }
        broker = try Broker(configuration: configuration)
        let (broker, ended) = (broker, ended)
        Thread.detachNewThread {
            do { try broker.run() } catch { FileHandle.standardError.write(Data("\(error)\n".utf8)) }
            ended.signal()
        }
    }

    /// A new client that has read its greeting.
    func connect() throws -> Peer {
        let peer = try Peer(path: path)
        _ = try peer.line()
        return peer
    }

    /// Ends the broker. Its clients are told.
    func stop() {
        broker.stop()
    }

    deinit {
        broker.stop()
        _ = ended.wait(timeout: .now() + 10)
        try? FileManager.default.removeItem(at: folder)
    }

    /// The pollers of this system.
    static let pollers: [PollerKind] = PollerKind.standard == .poll ? [.poll] : PollerKind.allCases
}
