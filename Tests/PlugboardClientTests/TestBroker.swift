// A real broker with its own socket, which a test can stop and start again.

import PlugboardBroker
import PlugboardPosix
import Synchronization
import TestSupport

@testable import PlugboardClient

/// Runs one broker after the other on one path. Its folder is removed with it.
final class TestBroker: Sendable {
    let folder: TemporaryFolder
    var path: String { folder.path + "/bus.sock" }
    /// The folder of its journal, if it keeps one.
    private let state: TemporaryFolder?
    private let running = Mutex<ServedBroker?>(nil)

    init(isKept: Bool = false) async throws {
        folder = try TemporaryFolder()
        state = isKept ? try TemporaryFolder() : nil
        try await start()
    }

    func start() async throws {
        let configuration = Configuration(socketPath: path, stateFolder: state?.path)
        let broker = try ServedBroker(configuration)
        running.withLock { $0 = broker }
    }

    /// Stops the broker and waits until its socket and its lock are free.
    func stop() async throws {
        let broker = running.withLock { $0.take() }
        broker?.stop()
        try await eventually("the broker ends") { broker?.hasEnded ?? true }
    }

    /// The broker's reply to a line in shorthand, for requests that the library doesn't have.
    func ask(_ request: String) throws -> String {
        let peer = try LinePeer(path: path)
        _ = try peer.line()
        try peer.send("\(request)\n")
        return try peer.text()
    }

    /// A bus that reconnects quickly.
    func connect(_ name: String? = nil, options: Bus.Options = .quick) async throws -> Bus {
        try await Bus.connect(name: name, path: path, options: options)
    }
}

extension Bus.Options {
    /// Short pauses, so that tests needn't wait for a reconnection.
    static var quick: Bus.Options {
        Bus.Options(
            requestTimeout: HangGuard.duration,
            connectTimeout: HangGuard.duration,
            backoff: Backoff(initial: .milliseconds(5), maximum: .milliseconds(20))
        )
    }
}
