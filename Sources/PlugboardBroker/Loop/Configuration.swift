// What a broker is told when it starts.

import PlugboardJournal
import PlugboardPosix

/// The settings of one broker.
public struct Configuration: Sendable {
    /// Where the socket is made; its folder is made with mode 0700 where it is missing.
    public var socketPath: String
    /// How the loop waits.
    public var poller: PollerKind
    /// The folder of the journal; nil: what is written lasts as long as the broker.
    public var stateFolder: String?
    public var journal = JournalOptions()
    /// Who may do what; nil: the broker's own user and root may do everything, others can't connect.
    public var policy: Policy?
    /// A socket that listens at `socketPath` already; whoever made it removes it. The broker closes it.
    public var listener: Int32?
    /// Called, on the broker's thread, when it has all that was kept and begins to serve.
    public var serving: @Sendable () throws -> Void = {}
    /// Called, on the broker's thread, as often as it says, for as long as the loop turns.
    public var heartbeat: Heartbeat?
    /// Whether the process is the broker's own, so that free memory may be given back to the system.
    public var hasOwnProcess = false
    /// The process that says, at `$broker.plugins.…`, what its plugins are and may do; nil: none.
    public var supervisor: Int32?
    /// What the broker before left in this process, whose place this one takes; nil: nothing.
    public var inheritance: Inheritance?
    /// Called, on the broker's thread, with what a person should know of journal and policy.
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
