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
    private let succession = Succession()
    /// What stays open between two lives in one process.
    private let kept = Shared(Kept())

    private struct Kept: Sendable {
        var folder: JournalFolder?
        var state: CarriedState?
        var rights: CarriedRights?
        var hasMadeWay = false
        /// What the next program reads.
        var files: [Handover.Role: DataFile] = [:]
    }

    /// The policy that was loaded last, or that the next broker is to follow.
    private let policy: Shared<Policy?>

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
        let inheritance = configuration.inheritance.flatMap { $0.hasSocket(at: path) ? $0 : nil }
        lock = try Self.lock(of: path, inheritance)
        self.configuration = configuration
        wakeup = try Wakeup()
        policy = Shared(configuration.policy)
        policyInbox = try configuration.policy.map { _ in try Mailbox<Policy>() }
        listener = try Self.listener(configuration, inheritance)
        let rights = CarriedRights(inheritance?.takeFile(.rights), configuration.policy)
        kept.set(Kept(state: Self.state(inheritance), rights: rights))
        if configuration.listener == nil, let policy = configuration.policy {
            try UnixSocket.setOpen(path: path, policy.admitsOthers)
        }
    }

    private static func state(_ inheritance: Inheritance?) -> CarriedState? {
        guard let snapshot = inheritance?.takeFile(.state), let segment = inheritance?.takeFile(.writes)
        else { return nil }
        return CarriedState(snapshot: snapshot, segment: segment)
    }

    private static func lock(of path: String, _ inheritance: Inheritance?) throws -> SocketLock {
        if let lock = inheritance?.takeLock() { return lock }
        guard let lock = try SocketLock.acquire(for: path) else {
            throw BrokerError.alreadyRunning(path: path)
        }
        return lock
    }

    private static func listener(_ configuration: Configuration, _ inheritance: Inheritance?) throws
        -> Descriptor
    {
        if let number = configuration.listener { return UnixSocket.adopt(listener: number) }
        if let listener = inheritance?.takeListener() { return listener }
        return try UnixSocket.listen(path: configuration.socketPath)
    }

    /// Serves until `stop` or `makeWay` is called, on the calling thread alone; `hasMadeWay` says which.
    /// Throws `SystemError` where the system fails the loop itself, `JournalError` where the journal
    /// can't be read or kept, and what `serving` throws; never for what a peer does.
    public func run() throws {
        defer { if !hasMadeWay { removeSocket() } }
        try serve()
    }

    /// The last `run` ended because of `makeWay`: the socket goes on holding connections back, for
    /// the program that is left the `descriptors`, or for the next `run`.
    public var hasMadeWay: Bool { kept.get().hasMadeWay }

    private func serve() throws {
        let poller = try configuration.poller.make()
        let before = kept.get()
        let folder = try before.folder ?? openFolder()
        // Held for as long as it serves, and on until the next program has it.
        kept.set(Kept(folder: folder))
        defer { if !hasMadeWay { kept.set(Kept()) } }
        var loop = try EventLoop(
            poller: poller,
            listener: listener.raw,
            wakeup: wakeup,
            network: KernelSockets(),
            succession: succession,
            report: configuration.report
        )
        if let folder { try loop.open(folder, configuration.journal) }
        if let state = before.state, folder == nil { try loop.goOn(with: state) }
        if let supervisor = configuration.supervisor { loop.hub.supervision.supervisor = supervisor }
        let policy = policy.get()
        if let policy, let policyInbox { try loop.follow(policy, inbox: policyInbox) }
        if let rights = before.rights {
            rights.going(on: policy).give(to: &loop.hub.access, &loop.hub.supervision)
        }
        loop.heartbeat = configuration.heartbeat
        if configuration.hasOwnProcess { loop.beginTidying() }
        try configuration.serving()
        try loop.run()
        guard succession.isWanted else { return }
        let state = folder == nil ? try loop.carry() : nil
        kept.set(
            Kept(
                folder: folder,
                state: state,
                rights: CarriedRights(loop.hub.access, loop.hub.supervision),
                hasMadeWay: true
            )
        )
    }

    private func openFolder() throws -> JournalFolder? {
        try configuration.stateFolder.map {
            try JournalFolder(path: $0, inheritance: configuration.inheritance)
        }
    }

    /// What the program that takes the place of this one is to be left, after `run` came back for
    /// that. It stays this broker's own. Throws `SystemError`.
    public func descriptors() throws -> [Handover.Role: Int32] {
        var kept = kept.get()
        let policy = policy.get()
        kept.files[.policy] = try policy?.file()
        kept.files[.rights] = try (kept.rights?.going(on: policy).text).map(DataFile.unnamed(containing:))
        self.kept.set(kept)
        var all: [Handover.Role: Int32] = [.listener: listener.raw, .lock: lock.raw]
        all[.journal] = kept.folder?.lockFD
        all[.state] = kept.state?.snapshot.raw
        all[.writes] = kept.state?.segment.raw
        for (role, file) in kept.files { all[role] = file.raw }
        return all
    }

    /// Whether the last word was that another broker is to take the place of this one.
    public var isToMakeWay: Bool { succession.isWanted }

    deinit {
        removeSocket()
    }

    /// Ends `run`: every client is told, what waits for it is sent for up to a second,
    /// the socket is removed. From any thread; more than once does no harm.
    public func stop() {
        succession.want(false)
        wakeup.signal()
    }

    /// Ends `run` as `stop` does, but for another broker to take the place of this one: the socket
    /// stays and holds connections back, and what is kept in memory alone goes with it. That one is to
    /// follow `policy`, or one that `follow` is called with later; without either, what this one does.
    public func makeWay(for policy: Policy? = nil) {
        if let policy, policyInbox != nil { self.policy.set(policy) }
        succession.want(true)
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
        self.policy.set(policy)
        policyInbox.put(policy)
    }

    /// The lock is still held here, so the file at the path is this broker's own, unless it was
    /// given its socket.
    private func removeSocket() {
        guard configuration.listener == nil else { return }
        UnixSocket.remove(path: configuration.socketPath)
    }
}
