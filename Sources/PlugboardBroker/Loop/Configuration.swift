// The settings of a broker.

import PlugboardJournal
import PlugboardPosix

/// The settings of one broker.
public struct Configuration: Sendable {
    /// The path of the socket. If its folder is missing, it is made with mode 0700.
    public var socketPath: String
    /// How the loop waits.
    public var poller: PollerKind
    /// The folder of the journal; nil if values are kept only in memory.
    public var stateFolder: String?
    public var journal = JournalOptions()
    /// The policy; nil if only the broker's own user and root can connect, and may do everything.
    public var policy: Policy?
    /// A socket that listens at `socketPath` already. The broker closes it, and whoever made it removes it.
    public var listener: Int32?
    /// Called on the broker's thread when all kept values are loaded and serving begins.
    public var serving: @Sendable () throws -> Void = {}
    /// Called on the broker's thread at an interval while the loop works.
    public var heartbeat: Heartbeat?
    /// Whether the process is the broker's own, so that free memory may be given back to the system.
    public var hasOwnProcess = false
    /// The process of the supervisor, which publishes `$broker.plugins.…`; nil if there is none.
    public var supervisor: Int32?
    /// What the last broker in this process has left to this one; nil if nothing.
    public var inheritance: Inheritance?
    /// Called on the broker's thread with news of the journal and the policy, for a person.
    public var report: @Sendable (String) -> Void = { _ in }

    /// A broker at `socketPath`.
    public init(
        socketPath: String = SocketPath.standard(),
        poller: PollerKind = .standard,
        stateFolder: String? = nil
    ) {
        self.socketPath = socketPath
        self.poller = poller
        self.stateFolder = stateFolder
    }
}
