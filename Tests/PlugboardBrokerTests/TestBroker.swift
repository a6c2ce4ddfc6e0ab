// A real broker for one test, with its own socket, on its own thread.

import Foundation
import PlugboardBroker
import PlugboardJournal
import PlugboardPosix

/// Runs a broker as long as the test holds this.
final class TestBroker: Sendable {
    let path: String
    private let broker: Broker
    private let folder: TemporaryFolder
    private let finished = DispatchSemaphore(value: 0)

    /// A broker that isn't started yet lets its clients wait, so that everything they send comes at once.
    /// With a folder, the broker keeps a journal there.
    init(
        poller: PollerKind = .standard,
        isStarted: Bool = true,
        state: String? = nil,
        _ options: JournalOptions = JournalOptions(),
        policy: Policy? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder(named: "pb")
        path = folder.path + "/bus.sock"
        var configuration = Configuration(socketPath: path, poller: poller, stateFolder: state)
        configuration.journal = options
        configuration.policy = policy
        configuration.report = report
        let broker = try Broker(configuration: configuration)
        self.broker = broker
        if isStarted { start() }
    }

    func start() {
        let (broker, finished) = (broker, finished)
        let thread = Thread {
            do {
                try broker.run()
            } catch {
                _ = StandardStream.error.write(Array("test broker: \(error)\n".utf8))
            }
            finished.signal()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    deinit {
        stop()
    }

    /// Stops the broker and waits until it has ended.
    func stop() {
        broker.stop()
        _ = finished.wait(timeout: .now() + 5)
        finished.signal()
    }

    /// Says why no other broker takes over.
    func stay(because reason: String) {
        broker.stay(because: reason)
    }

    /// Follows another policy. The result is reported.
    func follow(_ policy: Policy) throws {
        try broker.follow(policy)
    }

    func client(isGreeted: Bool = true) throws -> TestClient {
        try TestClient(path: path, isGreeted: isGreeted)
    }
}
