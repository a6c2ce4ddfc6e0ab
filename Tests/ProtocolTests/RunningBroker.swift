// A real broker for a test, with its own socket and folder, and with either poller.

import PlugboardBroker
import PlugboardPosix
import TestSupport

/// A broker that runs until this is released.
final class RunningBroker {
    let path: String
    private let folder: TemporaryFolder
    private let configuration: Configuration
    private var broker: ServedBroker?

    /// With `keeps`, it has a journal.
    init(poller: PollerKind = .standard, policy: String? = nil, keeps: Bool = false) throws {
        folder = try TemporaryFolder()
        path = folder.socket
        var configuration = Configuration(
            socketPath: path, poller: poller, stateFolder: keeps ? folder.path + "/state" : nil
        )
        if let policy { configuration.policy = try Policy(path: folder.write("policy.json", policy)) }
        self.configuration = configuration
        broker = try ServedBroker(configuration)
    }

    /// Ends the broker, and begins again with what it has kept.
    func restart() throws {
        broker?.stopAndWait()
        broker = nil
        // Its thread may hold it, and with it the lock, a moment longer.
        let limit = TimeLimit(seconds: HangGuard.seconds)
        while broker == nil {
            do {
                broker = try ServedBroker(configuration)
            } catch  where !limit.isOver {
                Pause.sleep(seconds: 0.001)
            }
        }
    }

    /// A new client that has read its greeting.
    func connect() throws -> LinePeer {
        let peer = try LinePeer(path: path)
        _ = try peer.line()
        return peer
    }

    /// Ends the broker. Its clients are told.
    func stop() {
        broker?.stop()
    }

    deinit {
        broker?.stopAndWait()
    }

    /// The pollers of this system.
    static let pollers: [PollerKind] = PollerKind.standard == .poll ? [.poll] : PollerKind.allCases
}
