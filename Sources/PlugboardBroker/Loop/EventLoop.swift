// The one loop: wait, read what came, let the hub work, write once to each connection
// that has something. Reading comes before writing in a turn, so that a reply queued
// now leaves now. Owns the connections; used by one thread.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

/// A broker at work.
struct EventLoop<Network: Sockets>: ~Copyable {
    private static var listenerToken: UInt64 { UInt64.max }
    private static var wakeupToken: UInt64 { UInt64.max - 1 }
    private static var journalToken: UInt64 { UInt64.max - 2 }
    private static var policyToken: UInt64 { UInt64.max - 3 }
    static var acceptsPerTurn: Int { 16 }
    /// So many connections are read in a turn: a few milliseconds, for which others wait.
    static var readsPerTurn: Int { 256 }
    /// And so many bytes.
    static var readBytesPerTurn: UInt64 { 1_048_576 }
    private static var restNanoseconds: UInt64 { 100_000_000 }
    static var readBytes: Int { 65_536 }
    /// Once so many were read, each of the others is still heard a little: who has more to say then waits in line,
    /// and who hasn't is answered.
    private static var fewBytes: Int { 2_048 }
    /// What is done in a turn before clients' lines wait for the next, in observers told: a few milliseconds,
    /// for which others wait.
    static var effortPerTurn: UInt64 { 32_768 }
    /// While one client alone asks for anything a turn does more, as that costs less for each line.
    private static var effortOfOne: UInt64 { 4 }
    /// One client is alone when no other was heard for so many turns.
    private static var turnsOfOne: Int { 16 }
    /// How long clients get to read what waits for them when the broker stops.
    private static var stoppingNanoseconds: UInt64 { 1_000_000_000 }

    let poller: any Poller
    /// What the connections are made of, and where the time is taken from.
    let network: Network
    let time: TimeSource
    private let listener: Int32
    private let wakeup: Wakeup
    var hub: Hub
    var connections = ConnectionTable()
    /// What is ready, and how much of that was handled.
    private var ready = List<Readiness>(reserving: 64)
    private var handledCount = 0
    /// Where reads go while a connection has no half line of its own.
    private var input = ByteBuffer()
    /// Room for noting what one write gathers.
    private var gathering = GatheringRoom()
    /// Connections that may go on with lines they hold.
    var released = List<UInt64>(reserving: 64)
    /// Connections that have half a line and can be read: whoever sends whole lines comes before them.
    var slow = List<UInt64>(reserving: 64)
    /// Connections that are owed something and take more.
    var unsettled = List<UInt64>(reserving: 64)
    /// Those of them for which this turn had no time.
    var passedOver = List<UInt64>(reserving: 64)
    /// Connections whose clients have gone, and that are not done with yet: they had very many subscriptions.
    var leaving = List<UInt64>()
    /// The hub's effort at which enough was done in this turn for clients that leave.
    var leavingEnd: UInt64 = 0
    /// The hub's effort at which enough was told in this turn of what is owed.
    var settlingEnd: UInt64 = 0
    /// In this turn lines that were held back come before those of who is slow.
    private var areReleasedFirst = false
    /// Turns since more than one client was heard in one.
    private var turnsSinceOthers = turnsOfOne
    /// Connections that were served in this turn, of those that were only told something.
    var servedCount = 0
    /// The same as the constant but in tests.
    var servedMax = servedPerTurn
    /// Connections that were closed in this turn.
    var closedCount = 0
    /// Connections with which the turn may be done for good.
    var finished = List<UInt64>(reserving: 64)
    /// The same as the constant but in tests.
    var effortMax = effortPerTurn
    private(set) var isStopping = false
    /// Whether another broker takes the place of this one when it has ended.
    private let succession: Succession
    /// Where the journal's work beside the loop reports, and when it is looked after next.
    private var journalWakeup: Wakeup?
    var nextJournalTick: UInt64 = 0
    /// Where policies come from, if one is followed.
    private var policyInbox: Mailbox<Policy>?
    private(set) var isPolicyWaiting = false
    /// When memory is given back to the system, if much was freed.
    var tidyTime: UInt64?
    /// Whether it ever is.
    var isTidying = false
    /// The most keys there were since memory was given back.
    var keysMost = 0
    /// A sign of life, if somebody waits for one.
    var heartbeat: Heartbeat?
    /// When a debug build looks at its state.
    var turnCheck = TurnCheck()
    /// Says what happens to the journal and the policy.
    let report: @Sendable (String) -> Void
    /// No descriptor was free: when the listener, which rests, is tried again.
    private var listenerRestsUntil: UInt64?

    init(
        poller: any Poller,
        listener: Int32,
        wakeup: Wakeup,
        network: Network,
        time: TimeSource = .system,
        succession: Succession = Succession(),
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        self.network = network
        self.time = time
        hub = Hub(time: time)
        self.report = report
        self.succession = succession
        self.poller = poller
        self.listener = listener
        self.wakeup = wakeup
        try poller.add(listener, token: Self.listenerToken, interest: .read)
        try poller.add(wakeup.raw, token: Self.wakeupToken, interest: .read)
    }

    /// Lends the memory for a read, which is empty.
    mutating func takeInput() -> ByteBuffer {
        var taken = ByteBuffer()
        swap(&taken, &input)
        return taken
    }

    /// Takes it back.
    mutating func returnInput(_ buffer: consuming ByteBuffer) {
        input = buffer
        input.removeAll()
    }

    /// Lends room for gathering.
    mutating func takeGathering() -> GatheringRoom {
        var taken = GatheringRoom()
        swap(&taken, &gathering)
        return taken
    }

    mutating func returnGathering(_ room: consuming GatheringRoom) {
        gathering = room
    }

    /// Turns until it is told to stop, then says goodbye.
    mutating func run() throws {
        do {
            while !isStopping {
                heartbeat?.turn(at: time.nanoseconds())
                try wakeRestedListener()
                try turn(waiting: patience)
            }
        } catch let error as JournalError {
            forgetUntold()
            loseJournal(error)
            try sayGoodbye()
            throw error
        }
        try sayGoodbye()
        try closeJournal()
    }

    /// Is woken by the journal's work.
    mutating func listen(to wakeup: Wakeup) throws {
        journalWakeup = wakeup
        try poller.add(wakeup.raw, token: Self.journalToken, interest: .read)
    }

    /// Follows a policy, and those that are left in its place later.
    mutating func follow(_ policy: Policy, inbox: Mailbox<Policy>) throws {
        hub.access.follow(policy, since: hub.revision)
        policyInbox = inbox
        try poller.add(inbox.raw, token: Self.policyToken, interest: .read)
    }

    /// One turn, all of it. Nothing is told that is not kept, and each connection is written to at the end. A
    /// turn that grew large leaves the rest of what is ready to the next, which begins without waiting.
    mutating func turn(waiting milliseconds: Int32) throws {
        try wait(milliseconds)
        try performReady()
        if hasMoreToDo { try answerHeard() }
        goOnWithLines()
        if hub.requests.areWaiting { hub.goOnWithWalks() }
        expireDue()
        goOnWithLeaving()
        goOnWithUnsettled()
        try tickJournal()
        repeat {
            dismissSlow()
            try keepRecords()
            try writeOut()
            try closeFinished()
            if !hub.insight.tracing.isEmpty { hub.tellTraces() }
        } while hasMoreToTell
        readAgain()
        hub.endTurn()
        tidy()
        try checkTurn()
    }

    /// Finds what is ready, unless some of what was is not handled yet.
    private mutating func wait(_ milliseconds: Int32) throws {
        let factor = turnsSinceOthers < Self.turnsOfOne ? 1 : Self.effortOfOne
        hub.requests.beginTurn(until: hub.effort &+ effortMax &* factor)
        settlingEnd = hub.effort &+ effortMax
        (servedCount, closedCount) = (0, 0)
        if handledCount < ready.count { return }
        ready.removeAll()
        handledCount = 0
        let poller = poller
        try poller.wait(milliseconds: milliseconds) { ready.append($0) }
    }

    /// Handles what is ready, while the turn's log is still in the cache.
    private mutating func performReady() throws {
        if !ready.isEmpty { hub.insight.beginTurn() }
        if let policyInbox, isPolicyWaiting { takePolicy(from: policyInbox) }
        isPolicyWaiting = false
        var reads = 0
        let bytesEnd = hub.insight.receivedBytes &+ Self.readBytesPerTurn
        while handledCount < ready.count, reads < Self.readsPerTurn, hub.delivery.hasRoomInLog {
            handledCount += 1
            let bytes = hub.insight.receivedBytes <= bytesEnd ? Self.readBytes : Self.fewBytes
            if try handle(ready[handledCount - 1], reading: bytes) { reads += 1 }
        }
        turnsSinceOthers = reads + min(1, released.count + slow.count) > 1 ? 0 : turnsSinceOthers + 1
    }

    /// Goes on with lines that may take long. Of a turn that has done enough only one client has something
    /// left, so the two take turns in being first.
    private mutating func goOnWithLines() {
        areReleasedFirst.toggle()
        let isFirst = areReleasedFirst || slow.isEmpty
        if isFirst { goOnWithReleased(one: true) }
        goOnWithSlow(one: !isFirst)
        if !isFirst { goOnWithReleased(one: false) }
    }

    /// There is work that may take long: before that, whoever was heard is answered.
    private var hasMoreToDo: Bool {
        let isAskedForMore = !released.isEmpty || !slow.isEmpty || hub.requests.areWaiting || !leaving.isEmpty
        let isOwing = !unsettled.isEmpty || !passedOver.isEmpty || hub.insight.tracing.hasGaps
        return isAskedForMore || isOwing || hub.deadlines.next != nil
    }

    /// Answers those that were heard, with what was kept of it.
    private mutating func answerHeard() throws {
        if hub.delivery.heard.isEmpty { return }
        if !hub.durability.isWritten { try writeRecords() }
        try writeOut(heardOnly: true)
    }

    /// The end of a connection may be a write, and for others too much; what is kept, news; and those who
    /// trace are told when it is known how long others waited, and may be traced themselves.
    private var hasMoreToTell: Bool {
        !hub.delivery.heard.isEmpty || !hub.delivery.isDone && mayServeMore || !hub.delivery.dismissed.isEmpty
            || !finished.isEmpty && closedCount < Self.closedPerTurn
            || hub.durability.hasJournal && !hub.durability.isWritten || !hub.insight.tracing.isEmpty
    }

    /// Does what has fallen due. Without deadlines no clock is read.
    private mutating func expireDue() {
        guard let next = hub.deadlines.next else { return }
        let now = time.nanoseconds()
        if next <= now { hub.expire(now: now) }
    }

    /// Returns whether it read, at most so many bytes.
    private mutating func handle(_ ready: Readiness, reading bytes: Int) throws -> Bool {
        switch ready.token {
        case Self.listenerToken: try acceptWaiting()
        case Self.wakeupToken:
            wakeup.drain()
            isStopping = true
        case Self.journalToken:
            journalWakeup?.drain()
            try takeJournalNews()
        // What this turn has told is sent first, so that what is left then has not been read.
        case Self.policyToken: isPolicyWaiting = true
        default:
            guard let connection = connections.find(token: ready.token) else { return false }
            if ready.isGone { try noteHungUp(connection) }
            if ready.canWrite { connection.isWaitingToWrite = false }
            let canRead = ready.canRead || ready.isGone
            if canRead, ready.isGone || comesLater(connection) { try noteSlow(connection) }
            if connection.isSlow, !ready.canWrite { return false }
            hub.delivery.touch(heard: connection.session, &hub.sessions)
            if canRead, !connection.isSlow { receive(connection, upTo: bytes) }
            return canRead
        }
        return true
    }

    /// Whether others come first because of what this client sent last: half a line, lines that took long, or
    /// very much while some are waiting to be read.
    private func comesLater(_ connection: Connection) -> Bool {
        connection.hasHalfLine || connection.isHeavy || connection.isBulky && !slow.isEmpty
    }

    private mutating func acceptWaiting() throws {
        for _ in 0..<Self.acceptsPerTurn {
            switch try network.accept(listener) {
            case .connection(let descriptor): try welcome(descriptor)
            case .none: return
            case .exhausted: return restListener()
            }
        }
    }

    private mutating func welcome(_ descriptor: consuming Descriptor) throws {
        guard connections.count < Limits.clientsMax else { return turnAway(descriptor, .clients) }
        let peer = network.peer(of: descriptor)
        let groups = groups(of: descriptor)
        guard hub.access.admits(peer, groups) else { return turnAway(descriptor, .forbidden) }
        guard hub.access.hasRoom(for: peer.user) else { return turnAway(descriptor, .quota) }
        let since = time.millisecondsSince1970()
        let connection = connections.insert(descriptor, peer, since: since, &hub.sessions)
        try poller.add(connection.descriptor.raw, token: connection.token, interest: .read)
        hub.place(connection.session, groups)
        hub.greet(connection.session)
    }

    /// A connection too many, or of nobody who may connect, is told so and closed.
    private func turnAway(_ descriptor: consuming Descriptor, _ farewell: Farewell) {
        var line = ByteBuffer()
        EventEncoder.appendBye(reason: farewell.reason, message: farewell.message, to: &line)
        _ = network.write(line.bytes, to: descriptor)
    }

    /// How long the next turn may wait for something to happen.
    private var patience: Int32 {
        let goesOn =
            !released.isEmpty || !finished.isEmpty || !slow.isEmpty || !unsettled.isEmpty
            || !passedOver.isEmpty || hub.insight.tracing.hasGaps || !hub.delivery.isDone
        if goesOn || !leaving.isEmpty || hub.requests.areWaiting || isPolicyWaiting
            || hub.durability.isGathering
        {
            return 0
        }
        let due = min(hub.deadlines.next ?? .max, journalTick ?? .max, heartbeat?.next ?? .max)
        let until = min(listenerRestsUntil ?? .max, tidyTime ?? .max, due)
        if until == .max { return -1 }
        return Deadlines.milliseconds(from: time.nanoseconds(), until: until)
    }

    /// Out of descriptors, a waiting connection would wake the loop for ever.
    private mutating func restListener() {
        poller.remove(listener)
        listenerRestsUntil = time.nanoseconds() + Self.restNanoseconds
    }

    private mutating func wakeRestedListener() throws {
        guard let until = listenerRestsUntil, time.nanoseconds() >= until else { return }
        listenerRestsUntil = nil
        try poller.add(listener, token: Self.listenerToken, interest: .read)
    }

    /// Tells everyone that the broker stops, and gives them a second to read it.
    private mutating func sayGoodbye() throws {
        if listenerRestsUntil == nil { poller.remove(listener) }
        poller.remove(wakeup.raw)
        hub.keyspace.close()
        ready.removeAll()
        handledCount = 0
        let deadline = time.nanoseconds() + Self.stoppingNanoseconds
        for connection in connections.all() where hub.sessions[connection.session].isOpen {
            dismiss(connection, succession.isWanted ? .restarting : .stopping, keepingUnread: true)
        }
        while connections.count > 0 {
            let now = time.nanoseconds()
            guard now < deadline else { return }
            try turn(
                waiting: hub.delivery.isDone && finished.isEmpty ? Int32((deadline - now) / 1_000_000 + 1) : 0
            )
        }
    }
}
