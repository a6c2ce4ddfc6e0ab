// A broker whose turns a test takes one by one, and what each of them has cost: in steps of the broker's own
// meter, in bytes, and in calls of the system. A turn's budget is a small part of the usual one, and so are the
// attackers.

import PlugboardJournal
import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBroker

/// A broker under siege, and a bystander, who asks for something, waits for the reply, and asks again. Only one
/// thread uses it.
final class SiegeStage {
    typealias Link = SimulatedLink

    /// The budget of a turn, 64 times smaller than the usual one; how many observers it is enough for; and how many
    /// keys a slice looks at.
    static let effort: UInt64 = 512
    static let served = Int(effort) / Cost.serve
    static let visits = 64

    private let network: SiegeNetwork
    private let orders: Orders
    let time = SimulatedTime()
    var loop: EventLoop<SiegeNetwork>
    private var links: [Link] = []
    /// The most turns for which the bystander has waited, and how often it was answered.
    private(set) var turnsMost = 0
    private(set) var answers = 0

    /// Without slices all that somebody asks for is done in one turn.
    init(hasSlices: Bool, _ common: Quota = .common(), sharesCopies: Bool = true) throws {
        orders = try Orders()
        network = SiegeNetwork(time: time)
        network.ordersDescriptor = orders.wakeup.raw
        loop = try EventLoop(
            poller: network,
            listener: SiegeNetwork.listener,
            orders: orders,
            network: network,
            time: TimeSource(time)
        )
        loop.hub.access = Access(common: common)
        if !sharesCopies { loop.hub.delivery.log = FanoutBuffer(keptBytesMax: 0) }
        if hasSlices {
            loop.pace.effortMax = Self.effort
            loop.hub.requests = Requests(visitsMax: Self.visits)
        } else {
            loop.pace.effortMax = 1 << 40
            loop.hub.requests = Requests(visitsMax: 1 << 40)
        }
    }

    /// Keeps a journal on a disk that does what the worker says.
    func keepJournal(on disk: SimulatedDisk, _ worker: any JournalWorker, _ options: JournalOptions) throws {
        try loop.open(disk, worker: worker, options, boot: "boot")
    }

    // MARK: Attackers

    /// A client that has connected and was greeted.
    func connect() throws -> Link {
        let link = network.connect()
        links.append(link)
        while link.take().isEmpty { try turn() }
        return link
    }

    /// A client that connects, and is greeted in a turn to come.
    func knock() -> Link {
        links.append(network.connect())
        return links[links.count - 1]
    }

    func send(_ text: String, _ link: Link) { link.toBroker += text.utf8 }

    /// Ends a connection without goodbye.
    func close(_ link: Link) { link.isClosedByClient = true }

    /// Sends lines, and waits until the last of them is answered.
    func ask(_ lines: String, _ link: Link) throws {
        send(lines + "\n" + #"{"op":"sync","id":"prepared"}"# + "\n", link)
        var text: [UInt8] = []
        while !String(decoding: text.suffix(256), as: UTF8.self).contains("prepared") {
            try turn()
            text = text.suffix(256) + link.take()
        }
    }

    /// What a client is sent in the next few turns.
    func news(of link: Link) throws -> String {
        for _ in 0..<8 { try turn() }
        try loop.hub.checkInvariants()
        return String(decoding: link.take(), as: UTF8.self)
    }

    /// What a client is sent up to the reply to a line, and in that turn.
    func reply(to line: String, from link: Link) throws -> String {
        send(line, link)
        var text = ""
        while !text.contains(#"{"ok""#), !text.contains(#"{"error""#) {
            try turn()
            text += String(decoding: link.take(), as: UTF8.self)
        }
        return text
    }

    var keyCount: Int { loop.hub.keyspace.keyCount }
    var closings: Int { network.counts.closings }
    var readBytes: Int { network.counts.readBytes }

    // MARK: Turns

    private var done: TurnCost {
        var done = network.counts
        (done.steps, done.revisions) = (Int(loop.hub.effort), Int(loop.hub.revision))
        for connection in loop.connections.all() {
            done.keptBytes += loop.hub.sessions[connection.session].outbox.own.count
        }
        return done
    }

    var shift: Int { loop.pace.shift }

    /// From now on, each read and each sending takes so long.
    func slowDown(nanoseconds: UInt64) {
        network.atTransfer = { [time] in time.advance(nanoseconds: nanoseconds) }
    }

    func turn() throws { try loop.turn(waiting: 0) }

    func checkInvariants() throws { try loop.checkInvariants() }

    private struct Stop: Error {}

    /// Lets the broker run by itself for so many turns, each of which takes a second. Returns how often it has
    /// given a sign of life, which is due after so many seconds.
    func signsOfLife(turns: Int, seconds: UInt64) -> Int {
        let beats = Shared(0)
        loop.heartbeat = Heartbeat(nanoseconds: seconds * 1_000_000_000) { beats.set(beats.get() + 1) }
        var left = turns
        network.atTurn = { [time] _ in
            left -= 1
            if left < 0 { throw Stop() }
            time.advance(nanoseconds: 1_000_000_000)
        }
        #expect(throws: Stop.self) { try loop.run() }
        return beats.get()
    }

    /// Lets so many things fall due after so many nanoseconds, and the broker run by itself until it would wait for
    /// ever. Returns how many milliseconds each wait takes.
    func waits(for count: Int, dueAfter nanoseconds: UInt64) -> [Int32] {
        let due = TimeSource(time).nanoseconds() + nanoseconds
        for _ in 0..<count { loop.hub.deadlines.add(at: due, .idle) }
        var waits: [Int32] = []
        network.atTurn = { [time] milliseconds in
            waits.append(milliseconds)
            if milliseconds < 0 { throw Stop() }
            time.advance(nanoseconds: UInt64(milliseconds) * 1_000_000)
        }
        #expect(throws: Stop.self) { try loop.run() }
        return waits
    }

    /// Asks the broker to make way for the next one. Returns whether it is about to.
    func makeWay() throws -> Bool {
        orders.end(.restarting)
        network.isWoken = true
        for _ in 0..<4 { try turn() }
        return loop.isStopping
    }

    /// Stops the broker. Meanwhile a client begins to read.
    func stop(reading link: Link) throws {
        orders.end(.stopping)
        network.isWoken = true
        var turns = 0
        network.atTurn = { _ in
            turns += 1
            if turns == 3 { link.reads = true }
        }
        try loop.run()
    }

    /// Takes turns beside a bystander. Returns the most that one of them has done, and what all have.
    func watch(
        turns: Int, _ measure: KeyPath<TurnCost, Int>, after start: () throws -> Void
    ) throws -> (most: Int, all: Int) {
        let bystander = try connect()
        try start()
        let request = #"{"op":"publish","id":1,"key":"bystander.news","value":1}"# + "\n"
        send(request, bystander)
        var (most, waited, before) = (0, 0, done[keyPath: measure])
        let first = before
        for _ in 0..<turns {
            try turn()
            most = max(most, done[keyPath: measure] - before)
            before = done[keyPath: measure]
            waited += 1
            turnsMost = max(turnsMost, waited)
            for link in links where link !== bystander { _ = link.take() }
            if bystander.take().isEmpty { continue }
            (answers, waited) = (answers + 1, 0)
            send(request, bystander)
        }
        return (most, before - first)
    }
}
