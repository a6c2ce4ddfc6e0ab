// A hub without sockets: lines go in, lines come out, and a client reads just when the
// test says so. What the loop does at the end of a turn is done here by hand.

import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

/// A hub with clients that the test plays.
final class TestHub {
    private struct Box: ~Copyable {
        var hub = Hub()
    }
    private var box = Box()
    /// The hub; whoever may change it has it looked at.
    private var hub: Hub {
        _read { yield box.hub }
        _modify {
            hasChanged = true
            yield &box.hub
        }
    }
    private var sessions: [SessionHandle] = []
    /// Later than any real clock, so that time passes only where the test lets it.
    private static let start: UInt64 = .max / 2

    /// The user that the hub takes for its own; so are clients that are not told otherwise.
    static let owner: UInt32 = 1_000

    init() {
        hub.access = Access(owner: Self.owner)
        hub.expire(now: Self.start)
    }

    /// A new client; its greeting is dropped.
    func client(user: UInt32 = TestHub.owner, groups: [UInt32] = [], process: Int32 = 1) -> Int {
        let peer = PeerIdentity(process: process, user: user)
        let number = UInt64(sessions.count + 1)
        let session = hub.sessions.insert(Session(client: number, slot: sessions.count, peer: peer))
        sessions.append(session)
        hub.place(session, groups)
        hub.greet(session)
        greeting = read(sessions.count - 1).first ?? ""
        return sessions.count - 1
    }

    /// What the newest client was greeted with.
    private(set) var greeting = ""

    /// Has a process say how plugins are. A process from a thousand on is in the session that its
    /// hundreds name: 1234 in that of 1200.
    func obey(supervisor: Int32) {
        hub.obey(supervisor: supervisor)
        hub.supervision.sessionOf = { $0 >= 1_000 ? $0 / 100 * 100 : 1 }
    }

    /// Names the life of the revisions.
    var epoch: String { hub.keyspace.epoch }

    /// Follows a policy from here on. Returns the clients that are to be sent away, and why.
    @discardableResult
    func follow(_ policy: String) throws -> [String] {
        let nobody = AccountNumbers(user: { _ in nil }, group: { _ in nil })
        let dismissed = hub.replacePolicy(try PolicyReader.policy(in: Array(policy.utf8), nobody))
        return dismissed.map { "\(hub.sessions[$0.0].client - 1) \($0.1.reason)" }
    }

    /// Whether somebody may connect.
    func admits(user: UInt32, groups: [UInt32] = []) -> Bool {
        hub.access.admits(PeerIdentity(process: 1, user: user), groups)
    }

    func isHeld(_ client: Int) -> Bool { isThere(client) && hub.sessions[sessions[client]].isHeld }

    func isOpen(_ client: Int) -> Bool { isThere(client) && hub.sessions[sessions[client]].isOpen }

    /// Whether there is still something to catch up with.
    func hasCatchup(_ client: Int) -> Bool {
        isThere(client) && hub.sessions[sessions[client]].catchup != nil
    }

    /// Whether it serves something, or a call waits of it or for it.
    func hasDuties(_ client: Int) -> Bool { isThere(client) && hub.sessions[sessions[client]].duties != nil }

    /// Whether its connection has not ended: nothing is known of who has left.
    private func isThere(_ client: Int) -> Bool { hub.sessions.inSlot(client) == sessions[client] }

    /// What is counted is not what is there.
    private var isPretending = false

    /// Pretends that so many keys are owed.
    func setOwedCount(_ count: Int, of client: Int) {
        (isPretending, hasChanged) = (true, true)
        hub.sessions[sessions[client]].catchup?.owedCount = count
    }

    /// Executes lines from a client.
    func send(_ lines: String, from client: Int) {
        for line in Array(lines.utf8).lines {
            var bytes = line
            var span = bytes.mutableSpan
            _ = hub.take(0..<span.count, of: &span, number: 0, from: sessions[client])
            hub.finishLines(in: span.span)
        }
        endTurn()
    }

    /// Leaves out a line of a client that was too long.
    func refuseOverlong(from client: Int) {
        hub.refuseOverlong(from: sessions[client])
        endTurn()
    }

    /// Ends a connection in a turn that found it too slow and has still something to tell it.
    /// Returns how many sessions that turn would have looked at afterwards.
    func leaveInTurn(_ client: Int) -> Int {
        hub.touch(sessions[client])
        hub.setAside(sessions[client], .slow)
        hub.forget(sessions[client])
        return hub.touched.count + hub.slow.count
    }

    /// What a loop does at the end of a turn, short of writing.
    func endTurn() {
        if !box.hub.touched.isEmpty { hasChanged = true }
        for session in box.hub.touched.all {
            box.hub.sessions[session].isTouched = false
            box.hub.openOwn(of: session)
            box.hub.sessions[session].isTouched = false
        }
        box.hub.touched.removeAll()
        box.hub.endTurn()
        checkNowAndThen()
    }

    /// Looks at the state where it may have changed, after fewer turns the smaller it is.
    private func checkNowAndThen() {
        turnsToCheck -= 1
        if isPretending || turnsToCheck > 0 || !hasChanged { return }
        hasChanged = false
        turnsToCheck =
            (box.hub.keyspace.count + Int(box.hub.keyspace.history.count - box.hub.keyspace.history.oldest))
            / 64
        if let broken = box.hub.brokenInvariant() { Issue.record("\(broken)") }
    }

    private var turnsToCheck = 0
    /// Somebody did something since the state was looked at.
    private var hasChanged = true

    /// Reads what waits for a client, once, without asking for more.
    func readOnce(_ client: Int) -> [String] {
        guard isThere(client) else { return [] }
        let lines = Array(box.hub.sessions[sessions[client]].outbox.own.bytes).lines
        if !lines.isEmpty { hub.sessions[sessions[client]].outbox.own.removeAll() }
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads on for as long as more comes.
    func read(_ client: Int) -> [String] {
        endTurn()
        var lines: [String] = []
        while true {
            let more = readOnce(client)
            lines += more
            if more.isEmpty, !isThere(client) || !hub.sessions[sessions[client]].isBehind { return lines }
            hub.settle(sessions[client])
            endTurn()
        }
    }

    /// Makes a client one that has stopped reading: what comes is owed.
    func stopReading(_ client: Int) {
        hub.sessions[sessions[client]].isBehind = true
    }

    /// Memory of the outbox and of what waits beside it, without keys owed.
    func waitingBytes(_ client: Int) -> Int {
        let session = sessions[client]
        return hub.sessions[session].outbox.count + (hub.sessions[session].catchup?.queuedBytes ?? 0)
    }

    /// The keys that somebody or something but the history needs.
    var keyCount: Int {
        var count = 0
        var next = hub.keyspace.first(from: Span())
        while let observable = next {
            if hub.keyspace[observable].isNeeded { count += 1 }
            next = hub.keyspace.next(after: observable)
        }
        return count
    }

    /// All keys that the hub remembers, needed or not.
    var observableCount: Int {
        var count = 0
        var next = hub.keyspace.first(from: Span())
        while let observable = next {
            count += 1
            next = hub.keyspace.next(after: observable)
        }
        return count
    }

    /// Reads what a client is told at the end of the turn of what was traced.
    func readTraces(_ client: Int) -> [String] {
        hub.tellTraces()
        return read(client)
    }

    /// Lets time pass: whatever falls due within so many milliseconds of the test's start.
    func expireAll(after milliseconds: UInt64) {
        let now = Self.start + milliseconds * 1_000_000
        repeat {
            hub.expire(now: now)
            endTurn()
        } while (hub.deadlines.next ?? .max) <= now
    }

    var deadlineCount: Int { hub.deadlines.count }

    /// Keys that are bound to a time or a connection.
    var boundCount: Int { hub.keyspace.boundCount }

    /// Ends a client's connection.
    func leave(_ client: Int) {
        hub.forget(sessions[client])
        endTurn()
    }
}
