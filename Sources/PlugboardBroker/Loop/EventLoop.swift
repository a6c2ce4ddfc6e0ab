// The one loop: wait, read what came, let the hub work, and write once to each connection that has something.
// Reading comes before writing in a turn, so that a reply queued now leaves now. Owns the connections; used
// by one thread.

import PlugboardJournal
import PlugboardMemory
import PlugboardPosix
import PlugboardWire

struct EventLoop<Network: Sockets>: ~Copyable, Checked {
    private static var listenerToken: UInt64 { UInt64.max }
    private static var ordersToken: UInt64 { UInt64.max - 1 }
    static var acceptsPerTurn: Int { 16 }
    static var readBytes: Int { 65_536 }
    /// Who sends less than this at once is heard before those that send more.
    static var fewBytes: Int { 16_384 }
    /// Those that are ready share so many bytes of a turn, of which each has so many at least. Who has more to say is
    /// patient.
    static var sharedBytes: Int { 1_048_576 }
    static var shareMin: Int { 2_048 }
    /// How long clients have to read their last lines when the broker stops.
    private static var stoppingNanoseconds: UInt64 { 1_000_000_000 }

    let poller: any Poller
    let network: Network
    let time: TimeSource
    var listener: Listener
    let orders: Orders
    var hub: Hub
    var connections = ConnectionTable()
    var queue = RunQueue()
    /// The buffer for reads, while a connection has no half line.
    var input = ByteBuffer()
    /// How many clients have written more than their share.
    var throttledCount = 0
    var pace = TurnPace()
    private(set) var isStopping = false
    /// A new one is there. The events of this turn are sent first, so what is left then is really unread.
    private(set) var isPolicyWaiting = false
    var tidying = Tidying()
    var heartbeat: Heartbeat?
    /// When a debug build checks its state.
    private var nextCheck: UInt64 = 0
    let report: @Sendable (String) -> Void

    init(
        poller: any Poller,
        listener: Int32,
        orders: Orders,
        network: Network,
        time: TimeSource = .system,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        self.network = network
        self.time = time
        hub = Hub(time: time)
        self.report = report
        self.poller = poller
        self.listener = Listener(raw: listener)
        self.orders = orders
        try poller.add(listener, token: Self.listenerToken, interest: .read)
        try poller.add(orders.wakeup.raw, token: Self.ordersToken, interest: .read)
    }

    /// Works until it is told to stop, then closes all connections.
    mutating func run() throws {
        do {
            while !isStopping {
                heartbeat?.turn(at: time.nanoseconds())
                try keepListener()
                try turn(waiting: patience)
            }
            try sayGoodbye()
            try hub.durability.close(revision: hub.revision)
        } catch let error as JournalError {
            forgetUntold()
            loseJournal(error)
            try sayGoodbye()
            throw error
        }
    }

    /// One whole turn. Who sends little is heard first and answered before more is done; then the patient have their
    /// slices. Nothing is told before it is written to the journal, and each connection is written to at the end. If
    /// there is too much to do, the next turn does the rest without waiting.
    mutating func turn(waiting milliseconds: Int32) throws {
        pace.begin(isFull: milliseconds == 0, time)
        replacePolicy()
        // Tracers are told what happened before what follows from it.
        if hub.insight.tracing.isOnForCalls { doChores() }
        hub.requests.beginPart(until: hub.effort &+ pace.effortToHear)
        try wait(milliseconds)
        let heard = run(.prompt)
        if hasMoreToDo { try answerHeard() }
        expireDue()
        let slices = goOnWithPatient()
        pace.countHeard(heard + slices + queue[.patient].count)
        doChores()
        if hub.durability.isCopying { hub.goOnWithSnapshot(effort: pace.effort / 4) }
        try tickJournal()
        hub.requests.beginPart(until: hub.effort &+ pace.effort * (hub.insight.tracing.isOnForCalls ? 2 : 1))
        try keepRecords()
        try writeOut()
        hub.endTurn()
        pace.end(time)
        tidy()
        try checkTurn()
    }

    private mutating func doChores() {
        if hub.requests.hasChores { hub.goOnWithChores(until: hub.effort &+ pace.effort / 4) }
    }

    private mutating func wait(_ milliseconds: Int32) throws {
        let poller = poller
        try poller.wait(milliseconds: milliseconds) { try handle($0) }
    }

    /// There is work that may take long. Before that, the clients that were heard are answered.
    private var hasMoreToDo: Bool {
        !queue.isEmpty || hub.requests.hasChores || hub.deadlines.next != nil || hub.durability.isCopying
    }

    private mutating func answerHeard() throws {
        if hub.delivery.heard.isEmpty { return }
        if !hub.durability.isWritten { try writeRecords() }
        try writeOut(heardOnly: true)
    }

    /// Does what has fallen due. Without deadlines, it doesn't read the clock.
    private mutating func expireDue() {
        if hub.deadlines.areLate { hub.expire(now: time.nanoseconds()) }
    }

    private mutating func handle(_ ready: Readiness) throws {
        hub.insight.beginTurn()
        switch ready.token {
        case Self.listenerToken: _ = try acceptWaiting()
        case Self.ordersToken:
            orders.wakeup.drain()
            try takeJournalNews()
            if !isStopping { takeOrders() }
        default:
            guard let connection = connections.find(SessionHandle(word: ready.token)) else { return }
            if ready.isGone {
                (connection.outputEnded, connection.isHungUp) = (true, true)
                // The system would report it in each turn until the end is read.
                try watch(connection)
            }
            if ready.canWrite {
                connection.isWaitingToWrite = false
                hub.delivery.touch(first: connection.session, &hub.sessions)
            }
            if ready.canRead || ready.isGone { try queueReading(connection) }
        }
    }

    /// It is woken without an order, too: two refusals may be one by then.
    private mutating func takeOrders() {
        if orders.hasPolicy { isPolicyWaiting = true }
        if let reason = orders.takeRefusal() { hub.warn(.restart, reason) }
        if orders.isToMakeWay, let obstacle = hub.durability.obstacle {
            orders.withdraw()
            warn(.restart, "\(BrokerStays.words): \(obstacle)")
        }
        isStopping = orders.ending != nil
    }

    /// If the system reports a connection again before its slice has come, it isn't watched until then, because the
    /// system would list it in each turn.
    private mutating func queueReading(_ connection: Connection) throws {
        if connection.todo.contains(.read), !connection.isQuiet {
            connection.isQuiet = true
            try watch(connection)
        }
        queue.add(connection, .read, to: isPrompt(connection) ? .prompt : .patient)
    }

    /// Whether it comes before those that may take long. It does unless it has something to read already, has
    /// hung up, or sent last half a line, lines that took long, or very many bytes.
    private func isPrompt(_ connection: Connection) -> Bool {
        connection.todo.isDisjoint(with: [.read, .lines]) && !connection.isHungUp && !connection.isHeavy
            && !connection.isBulky && (connection.inbox.isEmpty || connection.isHeldBack)
    }

    /// Returns whether more may wait.
    private mutating func acceptWaiting() throws -> Bool {
        for _ in 0..<Self.acceptsPerTurn {
            switch try network.accept(listener.raw) {
            case .connection(let descriptor): try welcome(descriptor)
            case .none: return false
            case .exhausted:
                poller.remove(listener.raw)
                if listener.rest(time) {
                    warn(.descriptors, "new clients wait: the system gives no further descriptor (ulimit -n)")
                }
                return false
            }
        }
        return true
    }

    /// Listens again if a rest is over, or at a new socket if the socket's file was removed. Those who wait at the
    /// old one come first.
    private mutating func keepListener() throws {
        if listener.endRest(time) { try poller.add(listener.raw, token: Self.listenerToken, interest: .read) }
        guard let fresh = listener.check(time, report) else { return }
        while try acceptWaiting() {}
        if !listener.rests { poller.remove(listener.raw) }
        listener.server?.replace(by: fresh)
        if !listener.rests { try poller.add(listener.raw, token: Self.listenerToken, interest: .read) }
    }

    private mutating func welcome(_ descriptor: consuming Descriptor) throws {
        guard hub.sessions.count < Limits.clientsMax else { return turnAway(descriptor, .clients) }
        let peer = network.peer(of: descriptor)
        // Only a policy may name groups.
        let groups = hub.access.policy != nil ? network.groups(of: descriptor) : []
        guard hub.access.admits(peer, groups) else { return turnAway(descriptor, .forbidden) }
        guard hub.access.hasRoom(for: peer.user) else { return turnAway(descriptor, .quota) }
        let since = time.millisecondsSince1970()
        let connection = connections.insert(descriptor, peer, since: since, &hub.sessions)
        try poller.add(connection.descriptor.raw, token: connection.session.word, interest: .read)
        hub.place(connection.session, groups)
        hub.greet(connection.session)
    }

    /// Tells a peer that may not connect the reason, and closes the connection.
    private func turnAway(_ descriptor: consuming Descriptor, _ closeReason: CloseReason) {
        var line = ByteBuffer()
        EventEncoder.appendBye(reason: closeReason.rawValue, message: closeReason.message, to: &line)
        _ = network.write(line.bytes, to: descriptor)
    }

    private var patience: Int32 {
        let goesOn = !queue.isEmpty || hub.requests.hasChores || !hub.delivery.isDone
        if goesOn || isPolicyWaiting || hub.durability.isGathering { return 0 }
        if hub.durability.isCopying { return hub.durability.isCopyHeldUp ? 1 : 0 }
        let due = min(hub.deadlines.next ?? .max, hub.durability.nextTick ?? .max, heartbeat?.next ?? .max)
        let until = min(due, listener.next, tidying.due ?? .max)
        if until == .max { return -1 }
        return Deadlines.milliseconds(from: time.nanoseconds(), until: until)
    }

    /// Tells everybody that the broker stops, and gives them a second to read it.
    private mutating func sayGoodbye() throws {
        if !listener.rests { poller.remove(listener.raw) }
        hub.keyspace.close()
        let deadline = time.nanoseconds() + Self.stoppingNanoseconds
        for connection in connections.all() where hub.sessions[connection.session].takesAnswers {
            end(connection, orders.ending ?? .stopping)
        }
        while hub.sessions.count > 0 {
            let now = time.nanoseconds()
            guard now < deadline else { return }
            let isIdle = hub.delivery.isDone && queue.isEmpty
            try turn(waiting: isIdle ? Int32((deadline - now) / 1_000_000 + 1) : 0)
        }
    }
}

// The loop's side of the policy. It asks the kernel who connects. A new policy begins between two turns, so
// that no event is told half by one policy and half by the other.

extension EventLoop {
    /// Follows a new policy, if there is one. When this is reported, nobody is sent anything any more that it hides.
    private mutating func replacePolicy() {
        guard isPolicyWaiting else { return }
        isPolicyWaiting = false
        guard let policy = orders.takePolicy() else { return }
        hub.replacePolicy(policy)
        report("the policy was loaded anew: \(policy.summary)")
    }
}

// While the disk is behind what clients write, each client may write its share of what the disk takes. Who writes
// more isn't read until it has waited for that. Who writes little is served at once.

enum Throttle {
    /// Shares are counted in periods of this length.
    static let nanoseconds: UInt64 = 5_000_000
    /// What each client may write in a period, however many there are.
    static let bytesMin = 1_024

    /// What each of so many clients may write in a period, if all together may write `pressure` bytes a second.
    static func share(of pressure: Int?, among count: Int) -> Int {
        guard let pressure else { return .max }
        return max(bytesMin, pressure / Int(1_000_000_000 / nanoseconds) / max(1, count))
    }

    static func period(of nanoseconds: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: nanoseconds / Self.nanoseconds)
    }
}

extension EventLoop {
    /// Counts what a client's lines brought to the journal.
    mutating func throttle(_ connection: Connection, _ bytes: Int) {
        guard bytes > 0, !connection.isThrottled, owes(connection, bytes, among: throttledCount + 1) else {
            return
        }
        throttledCount += 1
        waitForShare(connection)
    }

    /// Reads a client again that has waited long enough, or if the disk isn't behind any more.
    mutating func goOnThrottled(_ connection: Connection) {
        guard hub.deadlines.deadline(of: connection.share) == nil else { return }
        hub.durability.journal?.lookAtDisk()
        if owes(connection, 0, among: throttledCount) { return waitForShare(connection) }
        endThrottling(connection)
        queue.add(connection, .read)
    }

    mutating func endThrottling(_ connection: Connection) {
        guard connection.isThrottled else { return }
        throttledCount -= 1
        hub.deadlines.cancel(connection.share)
        connection.share = .none
    }

    private mutating func waitForShare(_ connection: Connection) {
        let end = hub.deadlines.now + Throttle.nanoseconds
        connection.share = hub.deadlines.add(at: end, .share(connection.session))
    }

    private func owes(_ connection: Connection, _ bytes: Int, among count: Int) -> Bool {
        let share = Throttle.share(of: hub.durability.journal?.pressure, among: count)
        return connection.owes(bytes, share: share, period: Throttle.period(of: time.nanoseconds()))
    }
}

// Memory that is free goes back to the system: half a second after something large has ended, and some of it
// already while very many keys go.

struct Tidying {
    static let nanoseconds: UInt64 = 500_000_000
    /// The memory of very many keys goes a part at a time: who allocates waits for that.
    private static let nanosecondsOfKeys: UInt64 = 50_000_000
    /// How many places of the tables are looked at in such a turn, and how long the bus has for itself until
    /// the next one.
    static let visitsPerPiece = 16_384
    private static let nanosecondsOfPiece: UInt64 = 1_000_000
    /// If so many keys fewer are there, memory is given back.
    private static let fewerKeys = 65_536

    var isOn = false
    /// When it is; nil if nothing much was freed.
    private(set) var due: UInt64?
    /// The most keys since it was.
    private var keysMost = 0

    mutating func update(keys count: Int, _ time: TimeSource) {
        if count > keysMost { keysMost = count }
        guard count + Self.fewerKeys < keysMost else { return }
        keysMost = count
        begin(after: Self.nanosecondsOfKeys, time)
    }

    /// Something has ended that may have had much memory.
    mutating func begin(after nanoseconds: UInt64, _ time: TimeSource) {
        if isOn { due = min(due ?? .max, time.nanoseconds() &+ nanoseconds) }
    }

    /// A piece was done: notes when the next one is due, if there is one.
    mutating func endPiece(goesOn: Bool) { due = goesOn ? due.map { $0 &+ Self.nanosecondsOfPiece } : nil }
}

extension EventLoop {
    /// Switches this on. The process must be the broker's own.
    mutating func beginTidying() {
        HeapMemory.returnLarge()
        tidying.isOn = true
    }

    /// Gives memory back if it is time: a piece of the tables in each turn, and at last the heap's in another
    /// thread, because that takes long.
    private mutating func tidy() {
        tidying.update(keys: hub.keyspace.observableCount, time)
        guard let due = tidying.due, time.nanoseconds() >= due else { return }
        let isDone = !hub.requests.hasChores && shrink()
        tidying.endPiece(goesOn: !isDone)
        guard isDone else { return }
        hub.delivery.buffers.releaseAll()
        try? Background.start { HeapMemory.giveBack() }
    }

    /// Returns whether the tables have nothing more to give back.
    private mutating func shrink() -> Bool {
        let visits = Tidying.visitsPerPiece
        let areKeysDone = hub.keyspace.shrink(visits: visits)
        let areDeadlinesDone = hub.deadlines.shrink(visits: visits)
        return hub.matching.shrink(visits: visits) && areKeysDone && areDeadlinesDone
    }
}

// What always holds between two turns of the loop: what waits to be sent will be sent, now or after something
// that the loop waits for.

extension EventLoop {
    /// Call at the end of a turn. Simulated sockets check each turn; this throws the first thing that doesn't hold. A
    /// debug build checks about once a second, and stops: to go on would be worse, and the journal brings the state back.
    mutating func checkTurn() throws {
        if Network.isCheckedEachTurn { try checkInvariants() }
        #if DEBUG
            let start = time.nanoseconds()
            guard start >= nextCheck else { return }
            do throws(BrokenInvariant) {
                try checkInvariants()
            } catch {
                preconditionFailure("\(error)")
            }
            let end = time.nanoseconds()
            // Most of the time belongs to clients.
            nextCheck = end + max(1_000_000_000, 20 * (end - start))
        #endif
    }

    func checkInvariants() throws(BrokenInvariant) {
        try hub.checkInvariants()
        try connections.checkInvariants(hub.sessions)
        try Self.always.hold(
            "what was written is kept before it is told",
            hub.durability.journal == nil || hub.durability.isWritten
        )
        try Self.always.hold(
            "nobody is left to be served but those for whom a turn has no time",
            hub.delivery.isDone || !mayServeMore && hub.delivery.heard.isEmpty
        )
        let queued = queue.all
        let throttled = connections.all().filter(\.isThrottled)
        try Self.always.agree("it counts who is throttled", throttledCount, throttled.count)
        let shares = hub.deadlines.all.count(where: \.isLoops)
        try Self.always.agree("who is throttled has a deadline", shares, throttled.count)
        for connection in connections.all() where !hub.sessions[connection.session].isTouched {
            let name = "client \(hub.sessions[connection.session].client)"
            let isQueued = queued.contains(connection.session)
            let mayRest = connection.todo.isEmpty || isQueued
            try Self.always.hold("who has something to do is in the queue", mayRest, of: name)
            let isWatched = connection.interest == connection.wantedInterest(hub.sessions[connection.session])
            try Self.always.hold("a connection is watched for what it waits for", isWatched, of: name)
            let (isRead, isClosed) = (connection.todo.contains(.read), connection.todo.contains(.close))
            let isReadOn = !connection.isReadOn || isRead || isClosed
            try Self.always.hold("what was sent before a hang-up is read", isReadOn, of: name)
            let isOver = connection.isFinished(hub.sessions[connection.session])
            try Self.always.hold("who is done with is gone", !isOver || isRead || isClosed, of: name)
            try Self.always.hold("who is behind goes on", willGoOn(connection), of: name)
            let isGoingOn =
                !hub.sessions[connection.session].isBusy || connection.todo.contains(.request)
            try Self.always.hold("what was put off goes on", isGoingOn, of: name)
        }
    }

    /// Whether a client that is behind will be sent more: in the next turn, when there is room, or when the
    /// journal was read.
    private func willGoOn(_ connection: Connection) -> Bool {
        let session = connection.session
        guard hub.sessions[session].isOpen, hub.sessions[session].isBehind else { return true }
        return connection.isWaitingToWrite || connection.todo.contains(.owed)
            || hub.sessions[session].backlog?.awaitsJournal(hub.matching) == true
    }
}

// How fast turns go on this machine. The broker's meter counts steps, and how long a step takes depends on the
// machine, on what else it does, and on what is in its cache. So while there is more to do than fits into a turn,
// turns are timed, and become smaller until each takes a few milliseconds at most.

struct TurnPace {
    /// The work that a turn does for those it hears, and as much again for those it tells; see `Cost`. This takes
    /// a few milliseconds, for which others wait.
    static let effortPerTurn: UInt64 = 32_768
    /// While one client is alone, a turn does so many times as much, because that costs less for each line.
    private static let effortOfOne: UInt64 = 4
    /// A client is alone if no other was heard for so many turns.
    private static let turnsOfOne = 16
    /// A turn that takes longer is too long.
    static let nanosecondsMax: UInt64 = 3_000_000
    /// Turns become larger again if they are this short.
    static let nanosecondsMin: UInt64 = 1_000_000
    /// Turns become smaller by this power of two at most.
    static let shiftMax = 3

    /// Only tests change it.
    var effortMax = effortPerTurn
    private(set) var shift = 0
    /// How many turns ago more than one client was heard in a turn.
    private var turnsSinceOthers = turnsOfOne
    private var start: UInt64?

    /// How much this turn does, in observers told.
    var effort: UInt64 { max(1, effortMax >> UInt64(shift)) }

    var effortToHear: UInt64 { isAlone ? effortMax &* Self.effortOfOne : effort }

    private var isAlone: Bool { turnsSinceOthers >= Self.turnsOfOne }

    /// Notes how many clients were heard in this turn or have more to say.
    mutating func countHeard(_ count: Int) { turnsSinceOthers = count > 1 ? 0 : turnsSinceOthers + 1 }

    /// Call when a turn begins to work. `isFull` means that there was more to do than fitted into the last one. A
    /// turn that isn't timed, such as that of a client alone, reads no clock.
    mutating func begin(isFull: Bool, _ time: TimeSource) {
        start = isFull && !isAlone ? time.nanoseconds() : nil
    }

    /// Call when a turn has ended: the next one is to be as large as this one suggests.
    mutating func end(_ time: TimeSource) {
        guard let start else { return }
        let taken = time.nanoseconds() - start
        if taken > Self.nanosecondsMax { shift = min(shift + 1, Self.shiftMax) }
        if taken < Self.nanosecondsMin { shift = max(shift - 1, 0) }
    }
}
