// A hub without sockets: lines go in, lines come out, and turns end and time passes when the test says so.

import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker
@testable import PlugboardJournal

/// A hub and its clients, on the test's own thread.
final class TestHub {
    var hub = Hub()
    /// The clients, in the order in which they came. `forget` removes them.
    private var sessions: [SessionHandle] = []
    private var clientCount = 0
    /// The greeting of the newest client.
    private(set) var greeting = ""
    /// The user that the hub takes for its own. Clients have this user by default.
    static let owner: UInt32 = 1_000
    /// Later than any real clock, so that time passes only when the test says so.
    private static let start: UInt64 = .max / 2

    private let time: TimeSource?

    /// With `visits`, a request looks at so many keys before others have their turn. With a clock, time passes by it.
    init(visits: Int? = nil, time: TimeSource? = nil) {
        self.time = time
        if let time { hub = Hub(time: time) }
        if let visits { hub.requests = Requests(visitsMax: visits) }
        hub.access = Access(owner: Self.owner)
        if time == nil { hub.expire(now: Self.start) }
    }

    /// Goes on with what is on a simulated disk, and keeps a journal there, which syncs only what somebody waits for.
    func keepJournal(
        on disk: SimulatedDisk, _ options: JournalOptions = JournalOptions(sync: .never),
        boot: String = "boot"
    ) throws {
        hub.deadlines.boot = boot
        let time = time
        var records = RecordBuffer(clock: { time?.millisecondsSince1970() ?? 1 })
        var opened: JournalWriter?
        let recovered = try hub.restore { take, _ in
            let (recovered, writer, epoch) = try Journal.open(
                disk, worker: ImmediateWorker(disk), options: options, boot: boot, time: time ?? .system,
                newEpoch: { "0123456789abcdef" }, records: &records, take
            )
            opened = writer
            return (recovered, epoch)
        }
        if let opened { hub.durability.begin(opened, records) }
        try hub.endRestoring(snapshotRevision: recovered.snapshotRevision)
    }

    /// Ends a turn whose records are written. Lines that were not read by then are gone.
    func keepTurn() throws {
        try hub.keepRecords()
        dropTurn()
    }

    // MARK: Clients

    /// A new client that has read its greeting.
    func client(user: UInt32 = TestHub.owner, groups: [UInt32] = [], process: Int32 = 1) -> SessionHandle {
        clientCount += 1
        let peer = PeerIdentity(process: process, user: user)
        let session = hub.sessions.insert(Session(client: UInt64(clientCount), peer: peer))
        sessions.append(session)
        hub.place(session, groups)
        hub.greet(session)
        greeting = read(session).first ?? ""
        return session
    }

    /// Makes a process the supervisor. A process number from 1000 on belongs to the session of its
    /// hundreds: 1234 to that of 1200.
    func obey(supervisor: Int32) {
        hub.supervision.supervisor = supervisor
        hub.supervision.sessionOf = { $0 >= 1_000 ? $0 / 100 * 100 : 1 }
    }

    /// Follows a policy from now on. Returns the clients that must be sent away, and why.
    @discardableResult
    func follow(_ policy: String) throws -> [String] {
        hub.replacePolicy(try Policy.read(policy))
        let dismissed = sessions.filter { hub.sessions[$0].ending == .dismissed }
        for session in dismissed { end(session) }
        return dismissed.map { session in
            "\(hub.sessions[session].client - 1) \(hub.sessions[session].closeReason?.rawValue ?? "")"
        }
    }

    /// Does to a client's connection what the loop would.
    private func end(_ session: SessionHandle) {
        switch hub.sessions[session].ending.take() {
        case .dismissed:
            _ = hub.leave(session, until: .max)
            _ = hub.sessions[session].outbox.takeKept()
            hub.appendBye(to: session)
        case .orphaned: forget(session)
        case nil: break
        }
    }

    /// Whether a user may connect.
    func admits(user: UInt32, groups: [UInt32] = []) -> Bool {
        hub.access.admits(PeerIdentity(process: 1, user: user), groups)
    }

    func isOpen(_ client: SessionHandle) -> Bool { isThere(client) && hub.sessions[client].isOpen }

    /// Whether a client's connection still exists. Nothing is known about clients that have left.
    private func isThere(_ client: SessionHandle) -> Bool { hub.sessions.contains(client) }

    /// Whether a request of a client was put off.
    func isBusy(_ client: SessionHandle) -> Bool { isThere(client) && hub.sessions[client].isBusy }

    /// Ends a client's sending half.
    func endInput(_ client: SessionHandle) {
        hub.endInput(of: client)
        endTurn()
    }

    /// Ends a connection.
    func forget(_ client: SessionHandle) {
        hub.forget(client)
        sessions.removeAll { $0 == client }
    }

    /// Ends a connection, and the turn.
    func leave(_ client: SessionHandle) {
        forget(client)
        endTurn()
    }

    /// Takes leave of a client as long as a turn lasts that is hardly any. Returns whether all is done.
    func leaveInPart(_ client: SessionHandle) -> Bool {
        defer { endTurn() }
        return hub.leave(client, until: hub.effort)
    }

    // MARK: Within a turn

    /// Handles a line as the loop does, and finishes it.
    func take(_ line: String, from session: SessionHandle) {
        var bytes = Array(line.utf8)
        var span = bytes.mutableSpan
        hub.sessions[session].line += 1
        let number = hub.sessions[session].line
        linesTaken += 1
        _ = hub.take(0..<span.count, of: &span, number: number, from: session)
        if hub.requests.group.leftOver == nil { hub.finishLines(in: span.span) }
    }

    /// Handles lines that came with one read, as the loop does. Returns how many of them repeated the line before
    /// with other digits.
    @discardableResult
    func takeTogether(_ lines: [String], from session: SessionHandle) -> Int {
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
    func tell(_ line: String, from session: SessionHandle) -> [String] {
        take(line, from: session)
        let own = lines(of: session)
        return own + sessions.filter { $0 != session }.flatMap { lines(of: $0) }
    }

    /// What is sent to a client in this turn.
    func lines(of session: SessionHandle) -> [String] {
        hub.openOwn(of: session)
        return keptLines(of: session)
    }

    /// What is sent to a client, without what it shares with others in this turn.
    private func keptLines(of session: SessionHandle) -> [String] {
        hub.sessions[session].outbox.takeKept().lines.map { String(decoding: $0, as: UTF8.self) }
    }

    /// What is sent to a client in this turn, if it reads as long as more comes.
    func allLines(of session: SessionHandle) -> [String] {
        var all = lines(of: session)
        while hub.sessions[session].isBehind {
            hub.settle(session)
            all += lines(of: session)
        }
        return all
    }

    /// Ends a turn. Lines that were not read by then are gone.
    func dropTurn() {
        finishTurn { session in
            _ = hub.sessions[session].outbox.takeKept()
        }
    }

    /// Ends a turn, and has `serve` do for each client that was told something what a write to its socket
    /// would.
    private func finishTurn(_ serve: (SessionHandle) -> Void) {
        for session in hub.touched {
            hub.beginServing(session)
            serve(session)
        }
        hub.forgetTouched()
        hub.endTurn()
    }

    // MARK: Turn by turn

    /// Handles lines from a client, and ends the turn.
    func send(_ lines: String, from client: SessionHandle) {
        for line in Array(lines.utf8).lines where isOpen(client) {
            // Whose request goes on isn't read.
            while goesOnByItself, isBusy(client) { hub.goOnWithRequest(of: client) }
            if line.count > Limits.lineBytesMax {
                hub.sessions[client].line += 1
                hub.refuseOverlong(from: client)
            } else {
                take(String(decoding: line, as: UTF8.self), from: client)
            }
        }
        endTurn()
    }

    /// What a client is told when its lines were handled.
    func ask(_ lines: String, from client: SessionHandle) -> String {
        send(lines, from: client)
        return read(client).joined(separator: "\n")
    }

    /// The code with which a line is refused, or "ok".
    func code(_ line: String, from client: SessionHandle) -> String {
        let reply = ask(line, from: client)
        return reply.hasPrefix(#"{"error":""#) ? String(reply.dropFirst(10).prefix { $0 != "\"" }) : "ok"
    }

    /// Reads as long as more comes.
    func read(_ client: SessionHandle) -> [String] {
        endTurn(isChecked: false)
        var lines: [String] = []
        while true {
            let more = isThere(client) ? keptLines(of: client) : []
            lines += more
            if more.isEmpty, !isThere(client) || !hub.sessions[client].isBehind { return lines }
            hub.settle(client)
            endTurn()
        }
    }

    /// Gives a client some of what it is owed, and reads that.
    func readSome(_ client: SessionHandle) -> [String] {
        hub.settle(client)
        endTurn()
        return keptLines(of: client)
    }

    /// Makes a client stop reading, so that what comes is owed.
    func stopReading(_ client: SessionHandle) { hub.sessions[client].isBehind = true }

    /// The memory of the outbox and of lines that wait besides it, without owed keys.
    func waitingBytes(_ client: SessionHandle) -> Int {
        hub.sessions[client].outbox.count + (hub.sessions[client].backlog?.queuedBytes ?? 0)
    }

    /// Does what a loop does at the end of a turn, except writing. The state is checked if something may have changed it.
    func endTurn(isChecked: Bool = true) {
        while goesOnByItself, let busy = sessions.first(where: isBusy) { hub.goOnWithRequest(of: busy) }
        for session in hub.touched where isThere(session) { end(session) }
        if goesOnByItself { hub.tellTraces() }
        finishTurn { session in
            hub.keepUnsent(of: session)
            hub.beginServing(session)
        }
        // The fewer lines have made the state, the more often it is checked.
        turnsToCheck -= 1
        if !isChecked || isPretending || turnsToCheck > 0 { return }
        turnsToCheck = linesTaken / 64
        if let broken = brokenInvariant() { Issue.record("\(broken)") }
    }

    private var turnsToCheck = 0
    private var linesTaken = 0
    /// Whether a test has changed the state, so that it isn't checked.
    var isPretending = false

    /// How many keys a request looks at before others have their turn. Who sets it has it go on by `goOn`.
    var visitsMax = Requests.visitsPerSlice {
        didSet {
            hub.requests = Requests(visitsMax: visitsMax)
            goesOnByItself = false
        }
    }
    private var goesOnByItself = true

    /// Those whose requests were put off, in their order.
    private var busy: [SessionHandle] = []

    /// Goes on with the request whose turn it is, and with the first chore, for one slice.
    func goOn() {
        busy = busy.filter(isBusy) + sessions.filter { isBusy($0) && !busy.contains($0) }
        if let next = busy.first {
            hub.goOnWithRequest(of: next)
            busy = busy.dropFirst() + [next]
        }
        hub.goOnWithChores(until: hub.effort)
        endTurn()
    }

    /// Goes on with all requests that were put off, to their end. Returns the number of slices.
    func goOnToEnd() -> Int {
        var slices = 0
        while hub.requests.hasChores || sessions.contains(where: isBusy) {
            goOn()
            slices += 1
        }
        return slices
    }

    /// Lets the next deadline come, if there is one.
    func passTime() {
        if let next = hub.deadlines.next { hub.expire(now: next) }
    }

    /// Lets time pass: everything that is due `milliseconds` after the test's start happens.
    func expireAll(after milliseconds: UInt64) {
        let now = Self.start + milliseconds * 1_000_000
        repeat {
            hub.expire(now: now)
            endTurn()
        } while (hub.deadlines.next ?? .max) <= now
    }

    // MARK: The state

    /// How many steps the patterns of the hub's owner may take.
    var patternSteps: Int { hub.matching.patterns.steps(of: TestHub.owner) }

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

    /// An invariant that doesn't hold; nil if all do.
    func brokenInvariant() -> BrokenInvariant? {
        do throws(BrokenInvariant) {
            try hub.checkInvariants()
            return nil
        } catch {
            return error
        }
    }
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
        dropAll()
        return bytes
    }
}

/// What tests ask of the hub's rooms from outside, where one access to the hub must not meet another.
extension Hub {
    /// Tells tracers what happened up to now.
    mutating func tellTraces() {
        if let traced = insight.tracing.endTurn() { requests.add(.tell(traced)) }
        goOnWithChores()
    }

    mutating func touch(_ session: SessionHandle) { delivery.touch(session, &sessions) }

    mutating func touch(first session: SessionHandle) { delivery.touch(first: session, &sessions) }

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
        for case .synced(let mark) in try durability.journal?.takeNews(&durability.records) ?? [] {
            answerDurable(upTo: mark)
        }
    }

    mutating func openOwn(of session: SessionHandle) { delivery.openOwn(of: session, &sessions) }

    mutating func keepUnsent(of session: SessionHandle, skipping sent: Int = 0) {
        sessions[session].outbox.removeShared(sent)
        delivery.takeOverLog(session, &sessions)
    }

    mutating func setAside(_ session: SessionHandle, _ closeReason: CloseReason) {
        delivery.setAside(session, closeReason, &sessions)
    }

    /// A key that waits is made to wait anew, with a deadline beside the one that it has: a mistake.
    mutating func closeAgain(_ observable: ObservableHandle, _ gate: Gate) {
        let barrier = PhaseBarrier(phase: gate.phase, told: [], earlier: gate.waiting.all)
        let ticket = deadlines.add(at: deadlines.now, .gate(observable))
        let (first, revision) = (gate.first, gate.revision)
        let again = Gate(first: first, revision: revision, phase: gate.phase, ticket: ticket)
        phases.close(observable, again, barrier, &matching)
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
    static func read(_ text: String) throws(Refusal) -> Policy {
        try PolicyReader.policy(in: Array(text.utf8), AccountNumbers(user: { _ in nil }, group: { _ in nil }))
    }
}

extension Keyspace {
    func keyText(of observable: ObservableHandle) -> String { String(self[observable].key) }
    func valueText(of observable: ObservableHandle) -> String { String(value(of: observable)) }
    func name(of author: AuthorHandle) -> String { String(authors[author].name) }
}
