// A real broker for one test, with its own socket, on its own thread.

import PlugboardBroker
import PlugboardJournal
import PlugboardPosix
import TestSupport

/// Runs a broker as long as the test holds this.
final class TestBroker: Sendable {
    let path: String
    private let broker: ServedBroker
    private let folder: TemporaryFolder

    /// With a folder, the broker keeps a journal there.
    init(
        poller: PollerKind = .standard,
        state: String? = nil,
        _ options: JournalOptions = JournalOptions(sync: .interval),
        policy: Policy? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder(named: "pb")
        path = folder.path + "/bus.sock"
        var configuration = Configuration(socketPath: path, poller: poller, stateFolder: state)
        configuration.journal = options
        configuration.policy = policy
        configuration.report = report
        broker = try ServedBroker(configuration)
    }

    deinit {
        stop()
    }

    /// Stops the broker and waits until it has ended.
    func stop() { broker.stopAndWait(seconds: 5) }

    /// Says why no other broker takes over.
    func stay(because reason: String) { broker.broker.stay(because: reason) }

    /// Follows another policy. The result is reported.
    func follow(_ policy: Policy) throws { try broker.broker.follow(policy) }

    func client(isGreeted: Bool = true) throws -> TestClient {
        try TestClient(path: path, isGreeted: isGreeted)
    }
}
