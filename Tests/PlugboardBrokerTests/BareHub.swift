// A hub without sockets: lines go in, lines come out, and a turn ends when the test says so.

import PlugboardPosix
import PlugboardWire
import TestSupport

@testable import PlugboardBroker
@testable import PlugboardJournal

/// A hub and its clients, on the test's own thread.
final class BareHub {
    var hub = Hub()
    /// The clients, in the order in which they came. `forget` removes them.
    private var sessions: [SessionHandle] = []
    private var clientCount = 0

    /// A new client that has read its greeting. With `peer`, the hub knows its user and process.
    func client(_ peer: PeerIdentity? = nil) -> SessionHandle {
        defer { endTurn() }
        return connect(peer, groups: [])
    }

    /// A new client. Its greeting waits in its outbox.
    func connect(_ peer: PeerIdentity?, groups: [UInt32]) -> SessionHandle {
        clientCount += 1
        let session = hub.sessions.insert(Session(client: UInt64(clientCount), peer: peer ?? .unknown))
        sessions.append(session)
        if peer != nil {
            hub.place(session, groups)
        } else {
            hub.openAccount(of: session)
        }
        hub.greet(session)
        return session
    }

    /// Begins an empty journal on a simulated disk. It syncs only what somebody waits for.
    func keepJournal(
        on disk: SimulatedDisk, _ options: JournalOptions = JournalOptions(sync: .never)
    ) throws {
        var records = RecordBuffer(clock: { 1 })
        let (_, writer, _) = try Journal.open(
            disk, worker: ImmediateWorker(disk), options: options, boot: "boot", newEpoch: { "e" },
            records: &records
        ) { _, _ in }
        hub.durability.begin(writer, records)
        try hub.durability.settleFirst()
    }

    /// Ends a connection.
    func forget(_ session: SessionHandle) {
        hub.forget(session)
        sessions.removeAll { $0 == session }
    }

    /// Handles a line as the loop does, and finishes it.
    func take(_ line: String, from session: SessionHandle) {
        var bytes = Array(line.utf8)
        var span = bytes.mutableSpan
        hub.sessions[session].line += 1
        let number = hub.sessions[session].line
        _ = hub.take(0..<span.count, of: &span, number: number, from: session)
        if hub.requests.group.leftOver == nil { hub.finishLines(in: span.span) }
    }

    /// Handles lines that came with one read, as the loop does. Returns how many of them repeated the line before
    /// with other digits.
    @discardableResult
    func sendTogether(_ lines: [String], from session: SessionHandle) -> Int {
        var bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
        var span = bytes.mutableSpan
        var (start, number, repeated) = (0, hub.sessions[session].line, 0)
        while let feed = LineFramer.lineFeed(in: span.span, from: start) {
            number += 1
            let waits = hub.take(start..<feed, of: &span, number: number, from: session)
            if hub.requests.group.leftOver != nil { return repeated }
            start = feed + 1
            guard waits else { continue }
            let before = number
            start = hub.takeRepeats(from: start, of: span.span, &number)
            repeated += Int(number - before)
        }
        hub.finishLines(in: span.span)
        hub.sessions[session].line = number
        return repeated
    }

    /// Handles a line. Returns what all clients are sent for it, those of this client first.
    @discardableResult
    func send(_ line: String, from session: SessionHandle) -> [String] {
        take(line, from: session)
        let own = lines(of: session)
        return own + sessions.filter { $0 != session }.flatMap { lines(of: $0) }
    }

    /// What is sent to a client.
    func lines(of session: SessionHandle) -> [String] {
        hub.openOwn(of: session)
        return keptLines(of: session)
    }

    /// What is sent to a client, without what it shares with others in this turn.
    func keptLines(of session: SessionHandle) -> [String] {
        let lines = hub.sessions[session].outbox.takeKept().lines
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    /// What is sent to a client that reads as long as more comes.
    func allLines(of session: SessionHandle) -> [String] {
        var all = lines(of: session)
        while hub.sessions[session].isBehind {
            hub.settle(session)
            all += lines(of: session)
        }
        return all
    }

    /// Lets the next deadline come, if there is one.
    func passTime() {
        if let next = hub.deadlines.next { hub.expire(now: next) }
    }

    /// Ends a turn. Lines that were not read by then are gone.
    func endTurn() {
        finishTurn { session in
            _ = hub.sessions[session].outbox.takeKept()
            hub.sessions[session].outbox.dropShared()
        }
    }

    /// Ends a turn, and has `serve` do for each client that was told something what a write to its socket
    /// would.
    func finishTurn(_ serve: (SessionHandle) -> Void) {
        for session in hub.touched {
            hub.beginServing(session)
            serve(session)
        }
        hub.forgetTouched()
        hub.endTurn()
    }

    /// An invariant that doesn't hold; nil if all do.
    func brokenInvariant() -> BrokenInvariant? { hub.brokenInvariant() }
}

extension Outbox {
    /// Takes all that waits from earlier turns.
    mutating func takeKept() -> [UInt8] {
        var bytes: [UInt8] = []
        while heldCount > 0 {
            let part = heldPart
            bytes += part
            _ = removeHeld(part.count)
        }
        bytes += Array(own.bytes)
        dropHeld()
        own.removeAll()
        return bytes
    }
}

extension Hub {
    /// The first invariant that doesn't hold; nil if all do.
    func brokenInvariant() -> BrokenInvariant? {
        do throws(BrokenInvariant) {
            try checkInvariants()
            return nil
        } catch {
            return error
        }
    }
}

/// What tests ask of the hub's rooms from outside, where one access to the hub must not meet another.
extension Hub {
    mutating func touch(_ session: SessionHandle) { delivery.touch(session, &sessions) }

    /// All that have something to be sent.
    var touched: [SessionHandle] { delivery.heard.all + delivery.dirty.all }

    mutating func beginServing(_ session: SessionHandle) { delivery.beginServing(session, &sessions) }

    mutating func forgetTouched() {
        delivery.forgetServed(heard: delivery.heard.count, dirty: delivery.dirty.count)
    }

    /// Does what the loop does for the journal: writes the records, syncs them if durable requests wait, and answers
    /// these.
    mutating func keepRecords() throws {
        _ = try durability.write(revision: revision)
        try durability.askForSync(.system)
        for case .synced(let mark) in try durability.takeNews() {
            answerDurable(upTo: mark)
        }
    }

    mutating func openOwn(of session: SessionHandle) { delivery.openOwn(of: session, &sessions) }

    mutating func keepUnsent(of session: SessionHandle, skipping sent: Int) {
        delivery.takeOverLog(session, skipping: sent, &sessions)
    }

    mutating func openAccount(of session: SessionHandle) { access.openAccount(of: sessions[session]) }

    mutating func setAside(_ session: SessionHandle, _ closeReason: CloseReason) {
        delivery.setAside(session, closeReason, &sessions)
    }

    /// A key that waits is made to wait anew, at a gate beside the one that it has: a mistake.
    mutating func closeAgain(_ observable: ObservableHandle, _ gate: Gate) {
        let barrier = PhaseBarrier(phase: gate.phase, told: [], earlier: gate.waiting.all)
        let ticket = deadlines.add(at: gate.end, .gate(observable))
        let again = Gate(barrier, revision: gate.revision, until: gate.end, ticket)
        phases.close(observable, again, told: [], &matching)
        matching.reach.release(observable)
    }

    /// A subscription names a key that it names already: a mistake.
    mutating func observeAgain(_ key: Span<UInt8>, _ subscription: SubscriptionHandle) {
        matching.attach(subscription, of: 1_000, to: key, &keyspace)
    }

    /// A session ends, and what the turn still has to do names it: a mistake.
    mutating func forgetButInDelivery(_ session: SessionHandle) {
        access.closeAccount(of: sessions[session])
        sessions.remove(session, &keyspace)
    }
}

extension Policy {
    /// A policy in which users and groups are numbers.
    static func read(_ text: String) throws(PolicyFault) -> Policy {
        try PolicyReader.policy(in: Array(text.utf8), AccountNumbers(user: { _ in nil }, group: { _ in nil }))
    }
}

extension Keyspace {
    func keyText(of observable: ObservableHandle) -> String { String(self[observable].key) }
    func valueText(of observable: ObservableHandle) -> String { String(value(of: observable)) }
    func name(of author: AuthorHandle) -> String { String(authors[author].name) }
}
