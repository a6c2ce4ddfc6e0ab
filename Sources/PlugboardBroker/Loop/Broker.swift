// A broker from outside: it is made, runs on one thread, and is stopped from any other.

import PlugboardJournal
import PlugboardPosix

/// Why a broker could not be made.
public enum BrokerError: Error, Equatable, CustomStringConvertible {
    /// Another broker serves this path. It was left alone.
    case alreadyRunning(path: String)

    public var description: String {
        switch self {
        case .alreadyRunning(let path): "another broker is running at \(path)"
        }
    }
}

/// A message bus on a Unix socket. From `init` on, the socket exists and connections wait there. They are
/// served while `run` runs.
public final class Broker: Sendable {
    /// The settings it was made with.
    public let configuration: Configuration
    private let server: ServerSocket
    private let orders: Orders
    /// What stays open from one broker to the next in this process.
    private let kept = Shared(Kept())

    private struct Kept: Sendable {
        var folder: JournalFolder?
        var state: UnnamedJournal?
        var rights: CarriedRights?
        var hasMadeWay = false
        var files: [Handover.Role: DataFile] = [:]
    }

    /// The newest policy, or the one that the next broker should follow. Nil if none is followed.
    private let policy: Shared<Policy?>

    /// Takes the path and listens. Throws `BrokerError.alreadyRunning`, `SocketTaken`, `SocketPathError` or
    /// `SystemError`. A program that already listens there notices nothing.
    public init(configuration: Configuration) throws {
        let path = configuration.socketPath
        try SocketPath.check(path)
        if configuration.listener == nil {
            try SocketPath.prepareFolder(of: path, mustBePrivate: path == SocketPath.ownPlace())
        }
        let inheritance = configuration.inheritance
        guard
            let server = try ServerSocket(
                path: path, listener: configuration.listener, inheritance: inheritance
            )
        else { throw BrokerError.alreadyRunning(path: path) }
        self.server = server
        self.configuration = configuration
        orders = try Orders()
        policy = Shared(configuration.policy)
        let carried = inheritance.flatMap { $0.hasSocket(at: path) ? $0 : nil }
        let rights = CarriedRights(carried?.takeFile(.rights), configuration.policy)
        kept.set(Kept(state: Self.state(carried), rights: rights))
        if let policy = configuration.policy { try server.setOpen(policy.admitsOthers) }
    }

    private static func state(_ inheritance: Inheritance?) -> UnnamedJournal? {
        guard let snapshot = inheritance?.takeFile(.state), let segment = inheritance?.takeFile(.writes)
        else { return nil }
        return UnnamedJournal(snapshot: snapshot, segment: segment)
    }

    /// Serves on the calling thread until `stop` or `makeWay` is called; `hasMadeWay` says which. Throws
    /// `SystemError` if the system fails the loop itself, `JournalError` if the journal can't be read or
    /// written, and what `serving` throws. It never throws for what a peer does.
    public func run() throws {
        defer { if !hasMadeWay { server.remove() } }
        try serve()
    }

    /// Whether the last `run` ended because of `makeWay`. Then connections go on waiting at the socket, for
    /// the program that gets the `descriptors`, or for the next `run`.
    public var hasMadeWay: Bool { kept.get().hasMadeWay }

    private func serve() throws {
        let poller = try configuration.poller.make()
        let before = kept.get()
        // The next one could not begin, so the order to make way is done with.
        if before.hasMadeWay, orders.isToMakeWay { orders.withdraw() }
        let folder =
            try before.folder
            ?? configuration.stateFolder.map { path in
                try JournalFolder(path: path, inheritance: configuration.inheritance)
            }
        // Open while this broker serves, and after that until the next program has it.
        kept.set(Kept(folder: folder))
        defer { if !hasMadeWay { kept.set(Kept()) } }
        var loop = try EventLoop(
            poller: poller,
            listener: server.raw,
            orders: orders,
            network: KernelSockets(),
            report: configuration.report
        )
        loop.hub.deadlines.boot = SystemBoot.identity()
        if let folder { try loop.open(folder, configuration.journal) }
        if let state = before.state, folder == nil { try loop.hub.goOn(with: state) }
        if let supervisor = configuration.supervisor { loop.hub.supervision.supervisor = supervisor }
        let policy = policy.get()
        if let policy { loop.hub.follow(policy) }
        before.rights?.give(to: &loop.hub.access, &loop.hub.supervision)
        loop.heartbeat = configuration.heartbeat
        loop.listener.server = server
        loop.listener.keepJournalLock = { folder?.keepLock() }
        if configuration.hasOwnProcess {
            loop.beginTidying()
            Background.takeShortTurns()
        }
        try configuration.serving()
        try loop.run()
        guard orders.isToMakeWay else { return }
        let state = folder == nil ? try loop.hub.carry(loop.time) : nil
        kept.set(
            Kept(
                folder: folder,
                state: state,
                rights: CarriedRights(loop.hub.access, loop.hub.supervision),
                hasMadeWay: true
            )
        )
    }

    /// The descriptors for the next program in this process, once `run` has ended for it. They still belong
    /// to this broker. Throws `SystemError`.
    public func descriptors() throws -> [Handover.Role: Int32] {
        var kept = kept.get()
        let policy = policy.get()
        kept.files[.policy] = try policy?.file()
        kept.files[.rights] = try (kept.rights?.text(for: policy)).map(DataFile.unnamed(containing:))
        self.kept.set(kept)
        var all = server.descriptors
        all[.journal] = kept.folder?.lockFD
        all[.state] = kept.state?.snapshot.raw
        all[.writes] = kept.state?.segment.raw
        for (role, file) in kept.files { all[role] = file.raw }
        return all
    }

    /// The variables for that program.
    public var variables: [String: String] { server.variables }

    /// Whether the last request to stop was `makeWay`.
    public var isToMakeWay: Bool { orders.isToMakeWay }

    deinit {
        server.remove()
    }

    /// Ends `run`: closes every connection, after up to a second for what waits to be sent, and removes the
    /// socket. Call it from any thread, and as often as you like.
    public func stop() { orders.end(.stopping) }

    /// Ends `run` like `stop`, but for another broker in this process: connections go on waiting at the
    /// socket, and state that is only in memory is handed over. The next broker follows `policy`, or one
    /// given to `follow` later; without either, the policy of this broker.
    public func makeWay(for policy: Policy?) {
        if let policy, configuration.policy != nil { self.policy.set(policy) }
        orders.end(.restarting)
    }

    /// Goes on, and tells at `$broker.warnings` why no other broker takes over. Call it from any thread.
    public func stay(because reason: String) { orders.refuse(reason) }

    /// Follows another policy from the next turn on. Does nothing if the broker was made without a policy.
    /// When the broker reports the change, no client is sent anything any more that it may no longer see.
    /// Call it from any thread. Throws `SystemError` if the socket can't be opened to other users, or closed;
    /// then nothing has changed.
    public func follow(_ policy: Policy) throws {
        guard configuration.policy != nil else { return }
        try server.setOpen(policy.admitsOthers)
        self.policy.set(policy)
        orders.follow(policy)
    }
}

/// How a broker says that it goes on, although another program was to take over.
public enum BrokerStays {
    public static let words = "it goes on as it was"
}

/// What other threads ask of the loop. The last call of each kind counts.
final class Orders: Sendable {
    /// Wakes the loop for these, and for news of the journal.
    let wakeup: Wakeup
    private let reason = Shared<CloseReason?>(nil)
    private let refusal = Shared<String?>(nil)
    private let policy = Shared<Policy?>(nil)

    init() throws { wakeup = try Wakeup() }

    /// Why the broker is to end: it stops, or another one in this process takes over. Nil if it goes on.
    var ending: CloseReason? { reason.get() }
    var isToMakeWay: Bool { ending == .restarting }

    func end(_ reason: CloseReason) { leave(reason, in: self.reason) }

    /// The broker goes on, although another was to take over.
    func withdraw() { reason.set(nil) }

    /// The broker goes on, because the next one can't take over.
    func refuse(_ why: String) { leave(why, in: refusal) }

    func follow(_ next: Policy) { leave(next, in: policy) }

    private func leave<Order>(_ order: Order, in place: Shared<Order?>) {
        place.set(order)
        wakeup.signal()
    }

    func takeRefusal() -> String? { refusal.exchange(nil) }
    var hasPolicy: Bool { policy.get() != nil }
    func takePolicy() -> Policy? { policy.exchange(nil) }
}

// The settings of a broker.

/// The settings of one broker.
public struct Configuration: Sendable {
    /// The path of the socket. If its folder is missing, it is made with mode 0700.
    public var socketPath: String
    /// How the loop waits.
    public var poller: PollerKind
    /// The folder of the journal; nil if values are kept only in memory.
    public var stateFolder: String?
    public var journal = JournalOptions(sync: .interval)
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
        socketPath: String = SocketPath.standard(), poller: PollerKind = .standard, stateFolder: String? = nil
    ) {
        self.socketPath = socketPath
        self.poller = poller
        self.stateFolder = stateFolder
    }
}
