// One life of a bridge between two comparisons. It holds the mirror, and carries out the mirror's decisions.
// If the bus is lost or etcd has forgotten its history, the session ends, and the next one compares. If etcd
// fails, the session goes on: it folds what the bus writes, and tries again.
//
// What always holds: there is one batch to the bus at a time (`exclusively`). Events that come meanwhile are
// held back until the batch's revision is known, because own writes are recognised by that.

import PlugboardClient
import PlugboardPosix
import PlugboardWire

actor BridgeSession {
    let bus: Bus
    let settings: BridgeSettings
    let store: EtcdStore
    let health: BridgeHealth
    let hosts: HostConnections
    var mirror: Mirror
    var cursor: BridgeCursor
    /// The cursor's revision on the bus.
    var cursorRevision: Int
    var flushed: BridgeCursor?
    /// The numbers of the conflicts that are kept on the bus.
    var kept: [Int]
    /// Changes that a comparison found, and the revision of etcd with which it compared.
    var found: [EtcdChange] = []
    var foundAt: Int
    /// Values of the bus whose writers had left when the session began.
    var values: [BusValue]
    var watch: EtcdWatch?
    /// Events of a revision whose rest comes in the watch's next line.
    var unfinished: [EtcdWatchLine.Event] = []
    /// The bus's events; nil while it doesn't read them.
    private(set) var subscription: Subscription?
    /// Each subscription that it has begun to read.
    let subscriptions: AsyncStream<Subscription>
    private let subscribed: AsyncStream<Subscription>.Continuation
    var readingSince = ContinuousClock.now
    /// How many keys were owed at the last count, while it doesn't read.
    var owedUnread = 0
    /// Why the bus last refused a batch.
    var lastRefusal: String?
    let wake: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation
    private var held: [[Event]]?
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(
        _ bus: Bus,
        _ settings: BridgeSettings,
        _ store: EtcdStore,
        _ health: BridgeHealth,
        _ hosts: HostConnections,
        _ start: BridgeStart
    ) {
        self.bus = bus
        self.settings = settings
        self.store = store
        self.health = health
        self.hosts = hosts
        mirror = start.mirror
        cursor = start.cursor
        cursorRevision = start.cursorRevision
        kept = start.kept
        found = start.changes
        foundAt = start.comparedAt
        values = start.values
        (wake, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (subscriptions, subscribed) = AsyncStream.makeStream()
        subscription = start.subscription
        subscribed.yield(start.subscription)
    }

    deinit {
        waker.finish()
        subscribed.finish()
    }

    /// There may be something to send.
    func signal() { waker.yield() }

    // MARK: The bus's events

    /// Reads this subscription from now on; nil stops reading.
    func follow(_ next: Subscription?) {
        subscription?.cancel()
        subscription = next
        mirror.isReading = next != nil
        if let next { subscribed.yield(next) }
    }

    /// Takes events of the bus, in groups that don't split a revision. Events of an earlier subscription are
    /// known.
    func note(_ events: [Event], from subscription: Subscription) {
        guard self.subscription === subscription else { return }
        if held != nil {
            held?.append(events)
        } else {
            noteNow(events)
        }
    }

    private func noteNow(_ events: [Event]) {
        for event in events {
            switch event.kind {
            case .update: if let value = BusValue(event) { mirror.note(value) }
            case .delete: mirror.noteDelete(of: event.key, at: event.revision, by: event.by)
            case .synced, .emit, .leave, .lagged: break
            }
        }
        mirror.endGroup()
        if mirror.isReady { signal() }
    }

    // MARK: One batch at a time

    /// Runs `body` when no other batch is under way.
    func exclusively<Result: Sendable>(_ body: () async throws -> Result) async rethrows -> Result {
        if isBusy { await withCheckedContinuation { waiting.append($0) } }
        isBusy = true
        defer {
            isBusy = !waiting.isEmpty
            if isBusy { waiting.removeFirst().resume() }
        }
        return try await body()
    }

    /// Makes a batch in a host's name. Calls `done` with its revision before any event that came meanwhile
    /// counts.
    func write(_ writes: [Write], of host: String?, done: (Int) -> Void) async throws {
        let connection = try await connection(of: host)
        held = []
        defer {
            let groups = held ?? []
            held = nil
            for group in groups { noteNow(group) }
        }
        do {
            done(try await connection.batch(writes))
        } catch BusError.closed {
            throw BridgeRestart.busLost
        }
    }

    private func connection(of host: String?) async throws -> Bus {
        do {
            return try await hosts.connection(of: host)
        } catch BusError.closed {
            throw BridgeRestart.busLost
        }
    }
}
