// A broker from outside: made, run on a thread, stopped from any other.

import PlugboardJournal
import PlugboardPosix

/// Why a broker could not be made.
public enum BrokerError: Error, Equatable, CustomStringConvertible {
    /// Another broker serves this path; it was left alone.
    case alreadyRunning(path: String)

    public var description: String {
        switch self {
        case .alreadyRunning(let path): "another broker is running at \(path)"
        }
    }
}

/// A message bus on a Unix socket. The socket exists, and holds connections back, from
/// `init` on; they are served while `run` runs.
public final class Broker: Sendable {
    /// The settings it was made with.
    public let configuration: Configuration
    private let lock: SocketLock
    private let listener: Descriptor
    private let wakeup: Wakeup
    /// Only where a policy is followed.
    private let policyInbox: Mailbox<Policy>?

    /// Takes the path and listens. Throws `BrokerError.alreadyRunning`, `SocketPathError`
    /// or `SystemError`; a broker that runs already notices nothing.
    public init(configuration: Configuration) throws {
        let path = configuration.socketPath
        try SocketPath.check(path)
        if configuration.listener == nil {
            try SocketPath.prepareFolder(of: path, mustBePrivate: path == SocketPath.ownPlace())
        }
        guard let lock = try SocketLock.acquire(for: path) else {
            throw BrokerError.alreadyRunning(path: path)
        }
        self.configuration = configuration
        self.lock = lock
        wakeup = try Wakeup()
        policyInbox = try configuration.policy.map { _ in try Mailbox<Policy>() }
        listener = try configuration.listener.map(UnixSocket.adopt) ?? UnixSocket.listen(path: path)
        if configuration.listener == nil, let policy = configuration.policy {
            try UnixSocket.setOpen(path: path, policy.admitsOthers)
        }
    }

    /// Serves until `stop` is called, on the calling thread alone. Throws `SystemError`
    /// where the system fails the loop itself, `JournalError` where the journal can't be read
    /// or kept; never for what a peer does.
    public func run() throws {
        defer { removeSocket() }
        let poller = try configuration.poller.make()
        let folder = try configuration.stateFolder.map { try JournalFolder(path: $0) }
        var loop = try EventLoop(
            poller: poller,
            listener: listener.raw,
            wakeup: wakeup,
            network: KernelSockets(),
            report: configuration.report
        )
        if let folder { try loop.open(folder, configuration.journal) }
        if let supervisor = configuration.supervisor { loop.hub.obey(supervisor: supervisor) }
        if let policy = configuration.policy, let policyInbox {
            try loop.follow(policy, inbox: policyInbox)
        }
        loop.heartbeat = configuration.heartbeat
        configuration.serving()
        try loop.run()
        _ = consume folder
    }

    deinit {
        removeSocket()
    }

    /// Ends `run`: every client is told, what waits for it is sent for up to a second,
    /// the socket is removed. From any thread; more than once does no harm.
    public func stop() {
        wakeup.signal()
    }

    /// Follows another policy from the next turn on, in place of the one that it was made with;
    /// without such a one it does nothing. Whoever may see less from then on is told nothing of
    /// that any more when the broker reports it. From any thread. Throws `SystemError` where
    /// the socket can't be opened to others, or closed; nothing has changed then.
    public func follow(_ policy: Policy) throws {
        guard let policyInbox else { return }
        if configuration.listener == nil {
            try UnixSocket.setOpen(path: configuration.socketPath, policy.admitsOthers)
        }
        policyInbox.put(policy)
    }

    /// The lock is still held here, so the file at the path is this broker's own, unless it was
    /// given its socket.
    private func removeSocket() {
        guard configuration.listener == nil else { return }
        unlink(configuration.socketPath)
    }
}
