// What a broker is told when it starts.

import PlugboardPosix

/// The settings of one broker.
public struct Configuration: Sendable {
    /// Where the socket is made; its folder is made with mode 0700 where it is missing.
    public var socketPath: String
    /// How the loop waits.
    public var poller: PollerKind

    /// A broker at `socketPath`.
    public init(socketPath: String = SocketPath.standard(), poller: PollerKind = .standard) {
        self.socketPath = socketPath
        self.poller = poller
    }
}
