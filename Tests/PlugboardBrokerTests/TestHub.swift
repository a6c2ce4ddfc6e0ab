// A hub whose clients read only when the test says so, and whose time passes only then. It does what the loop
// does at the end of a turn.

import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

/// A hub with clients that the test plays.
final class TestHub {
    private let bare = BareHub()
    /// The hub. Whoever may have changed it has its state checked.
    private var hub: Hub {
        _read { yield bare.hub }
        _modify {
            hasChanged = true
            yield &bare.hub
        }
    }
    private var sessions: [SessionHandle] = []
    /// Later than any real clock, so that time passes only when the test says so.
    private static let start: UInt64 = .max / 2

    /// How many connections, with those that are gone, have something that ends with them.
    var leases: Int { hub.keyspace.lifetimes.leases.count }

    /// Whether a key is there, with a value or without.
    func knows(_ key: String) -> Bool { hub.keyspace.find(Array(key.utf8).span) != nil }

    /// The user that the hub takes for its own. Clients have this user by default.
    static let owner: UInt32 = 1_000

    /// With `visits`, a request looks at so many keys before others have their turn.
    init(visits: Int? = nil) {
        if let visits { bare.hub.requests = Requests(visitsMax: visits) }
        hub.access = Access(owner: Self.owner)
        hub.expire(now: Self.start)
    }

    /// A new client. Its greeting is dropped.
    func client(user: UInt32 = TestHub.owner, groups: [UInt32] = [], process: Int32 = 1) -> Int {
        let peer = PeerIdentity(process: process, user: user)
        hasChanged = true
        sessions.append(bare.connect(peer, groups: groups))
        greeting = read(sessions.count - 1).first ?? ""
        return sessions.count - 1
    }

    /// The greeting of the newest client.
    private(set) var greeting = ""

    /// Makes a process the supervisor. A process number from 1000 on belongs to the session of its
    /// hundreds: 1234 to that of 1200.
    func obey(supervisor: Int32) {
        hub.supervision.supervisor = supervisor
        hub.supervision.sessionOf = { $0 >= 1_000 ? $0 / 100 * 100 : 1 }
    }

    /// The revision of the bus.
    var revision: UInt64 { hub.revision }

    /// The clients whose processes have ended, in the order in which that was found out.
    var orphans: [Int] {
        hub.supervision.orphaned.all.compactMap { session in sessions.firstIndex { $0 == session } }
    }

    /// The name of the life of the revision counter.
    var epoch: String { hub.keyspace.epoch }

    /// Follows a policy from now on. Returns the clients that must be sent away, and why.
    @discardableResult
    func follow(_ policy: String) throws -> [String] {
        let dismissed = hub.replacePolicy(try Policy.read(policy))
        for (session, closeReason) in dismissed { dismiss(session, closeReason) }
        return dismissed.map { "\(hub.sessions[$0.0].client - 1) \($0.1.rawValue)" }
    }

    private func dismiss(_ session: SessionHandle, _ closeReason: CloseReason) {
        hub.sessions[session].closeReason = closeReason
        _ = hub.leave(session, until: .max)
        _ = hub.sessions[session].outbox.takeKept()
        hub.appendBye(to: session)
    }

    /// Whether a user may connect.
    func admits(user: UInt32, groups: [UInt32] = []) -> Bool {
        hub.access.admits(PeerIdentity(process: 1, user: user), groups)
    }

    func isOpen(_ client: Int) -> Bool { isThere(client) && hub.sessions[sessions[client]].isOpen }

    /// How much filters have cost.
    var filterSteps: UInt64 { hub.delivery.judge.steps }

    /// What is known of values is forgotten.
    func forgetShapes() { hub.delivery.judge.shapes.removeAll() }

    /// Whether a client is still catching up from the journal.
    func hasCatchup(_ client: Int) -> Bool {
        isThere(client) && hub.sessions[sessions[client]].backlog != nil
    }

    /// Whether a client's connection still exists. Nothing is known about clients that have left.
    private func isThere(_ client: Int) -> Bool { hub.sessions.contains(sessions[client]) }

    /// Whether a count was changed by `setOwedCount`, so that the state isn't checked.
    private var isPretending = false

    /// Pretends that `count` keys are owed.
    func setOwedCount(_ count: Int, of client: Int) {
        (isPretending, hasChanged) = (true, true)
        hub.sessions[sessions[client]].backlog?.owedCount = count
    }

    /// Handles lines from a client.
    func send(_ lines: String, from client: Int) {
        for line in Array(lines.utf8).lines where isOpen(client) {
            var bytes = line
            var span = bytes.mutableSpan
            linesTaken += 1
            _ = hub.take(0..<span.count, of: &span, number: 0, from: sessions[client])
            hub.finishLines(in: span.span)
        }
        endTurn()
    }

    /// What a client is told when its lines were handled.
    func ask(_ lines: String, from client: Int) -> String {
        send(lines, from: client)
        return read(client).joined(separator: "\n")
    }

    /// The code with which a line is refused, or "ok".
    func code(_ line: String, from client: Int) -> String {
        let reply = ask(line, from: client)
        return reply.hasPrefix(#"{"error":""#) ? String(reply.dropFirst(10).prefix { $0 != "\"" }) : "ok"
    }

    /// How many keys a request looks at before others have their turn. Who sets it has it go on by `goOn`.
    var visitsMax: Int {
        get { bare.hub.requests.visitsMax }
        set {
            bare.hub.requests = Requests(visitsMax: newValue)
            goesOnByItself = false
        }
    }
    private var goesOnByItself = true

    /// How many steps the patterns of the hub's owner may take.
    var patternSteps: Int { hub.matching.patterns.steps(of: TestHub.owner) }

    /// Whether a request of a client was put off.
    func isBusy(_ client: Int) -> Bool { isThere(client) && hub.sessions[sessions[client]].isBusy }

    /// Goes on with the request that was put off first, for one slice.
    func goOn() {
        hub.requests.beginPart(until: 0)
        hub.goOnWithWalks()
        hub.requests.beginPart(until: .max)
        endTurn()
    }

    /// Goes on with all requests that were put off, to their end. Returns the number of slices.
    func goOnToEnd() -> Int {
        var slices = 0
        while bare.hub.requests.areWaiting {
            goOn()
            slices += 1
        }
        return slices
    }

    /// Handles a line of a client that was too long.
    func refuseOverlong(from client: Int) {
        hub.refuseOverlong(from: sessions[client])
        endTurn()
    }

    /// Ends a connection in a turn in which it was found too slow and still has something to be sent.
    /// Returns how many sessions that turn would still have to visit.
    func leaveInTurn(_ client: Int) -> Int {
        hub.touch(sessions[client])
        hub.setAside(sessions[client], .slow)
        hub.forget(sessions[client])
        return hub.touched.count + hub.delivery.dismissed.count
    }

    /// Takes leave of a client as long as a turn lasts that is hardly any. Returns whether all is done.
    func leaveInPart(_ client: Int) -> Bool {
        defer { endTurn() }
        hasChanged = true
        return bare.hub.leave(sessions[client], until: bare.hub.effort)
    }

    /// Does what a loop does at the end of a turn, except writing.
    func endTurn() {
        while goesOnByItself, bare.hub.requests.areWaiting { bare.hub.goOnWithWalks() }
        for session in bare.hub.delivery.dismissed.all {
            dismiss(session, bare.hub.sessions[session].closeReason ?? .slow)
        }
        bare.hub.delivery.forgetDismissed()
        if !bare.hub.delivery.isDone { hasChanged = true }
        bare.hub.tellTraces()
        bare.hub.tellGaps()
        bare.finishTurn { session in
            bare.hub.openOwn(of: session)
            bare.hub.beginServing(session)
        }
        checkNowAndThen()
    }

    /// Checks the state if it may have changed. The fewer lines have made it, the more often.
    private func checkNowAndThen() {
        turnsToCheck -= 1
        if isPretending || turnsToCheck > 0 || !hasChanged { return }
        hasChanged = false
        turnsToCheck = linesTaken / 64
        if let broken = bare.brokenInvariant() { Issue.record("\(broken)") }
    }

    private var turnsToCheck = 0
    private var linesTaken = 0
    /// Whether anything was done since the last check.
    private var hasChanged = true

    /// Reads as long as more comes.
    func read(_ client: Int) -> [String] {
        endTurn()
        var lines: [String] = []
        while true {
            let more = isThere(client) ? bare.keptLines(of: sessions[client]) : []
            lines += more
            if more.isEmpty, !isThere(client) || !hub.sessions[sessions[client]].isBehind { return lines }
            hub.settle(sessions[client])
            endTurn()
        }
    }

    /// Gives a client some of what it is owed, and reads that.
    func readSome(_ client: Int) -> [String] {
        hub.settle(sessions[client])
        endTurn()
        return bare.keptLines(of: sessions[client])
    }

    /// Makes a client stop reading, so that what comes is owed.
    func stopReading(_ client: Int) {
        hub.sessions[sessions[client]].isBehind = true
    }

    /// The memory of the outbox and of lines that wait besides it, without owed keys.
    func waitingBytes(_ client: Int) -> Int {
        let session = sessions[client]
        return hub.sessions[session].outbox.count + (hub.sessions[session].backlog?.queuedBytes ?? 0)
    }

    /// The number of keys that are needed by more than the history.
    var keyCount: Int {
        var count = 0
        var next = hub.keyspace.first(from: Span())
        while let observable = next {
            if hub.keyspace[observable].hasValue || hub.matching.reach.needs(observable) { count += 1 }
            next = hub.keyspace.next(after: observable)
        }
        return count
    }

    /// The number of keys that the hub remembers, whether or not they are needed.
    var observableCount: Int { hub.keyspace.observableCount }

    /// Lets time pass: everything that is due `milliseconds` after the test's start happens.
    func expireAll(after milliseconds: UInt64) {
        let now = Self.start + milliseconds * 1_000_000
        repeat {
            hub.expire(now: now)
            endTurn()
        } while (hub.deadlines.next ?? .max) <= now
    }

    var deadlineCount: Int { hub.deadlines.count }

    /// The number of keys that are bound to a time or a connection.
    var boundCount: Int { hub.keyspace.lifetimes.count }

    /// Ends a client's sending half.
    func endInput(_ client: Int) {
        hub.endInput(of: sessions[client])
        endTurn()
    }

    /// Ends a client's connection.
    func leave(_ client: Int) {
        hub.forget(sessions[client])
        endTurn()
    }
}
