// The broker's own keys. They are made when somebody subscribes to them or asks for one, updated once a
// second while they are observed, and gone otherwise. The hub writes them like other keys. The history leaves
// them out, because they would push other writes out of it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

enum BrokerKey {
    case stats, warnings, services
    case client(SessionHandle)

    static let prefix: StaticString = "$broker."
    private static let clients: StaticString = "$broker.clients."

    static func all(matching pattern: Span<UInt8>, _ sessions: borrowing SessionTable) -> [BrokerKey] {
        var all: [BrokerKey] = []
        for key in [BrokerKey.stats, .warnings, .services]
        where Pattern.matches(pattern, key.text(sessions).bytes) {
            all.append(key)
        }
        guard mayMatchClients(pattern) else { return all }
        for session in sessions.handles where sessions[session].isOpen {
            let key = BrokerKey.client(session)
            if Pattern.matches(pattern, key.text(sessions).bytes) { all.append(key) }
        }
        return all
    }

    /// Whether the key of a client may match. If not, the clients needn't be looked at.
    static func mayMatchClients(_ pattern: Span<UInt8>) -> Bool {
        let literal = Pattern.literalPrefix(pattern)
        let shorter = min(literal.count, clients.bytes.count)
        return literal[..<shorter].isEqual(to: clients.bytes[..<shorter])
    }

    func text(_ sessions: borrowing SessionTable) -> ByteBuffer {
        var text = ByteBuffer()
        switch self {
        case .stats: text.append("$broker.stats")
        case .warnings: text.append("$broker.warnings")
        case .services: text.append("$broker.services")
        case .client(let session):
            text.append(Self.clients)
            text.append(decimal: sessions[session].client)
        }
        return text
    }

    static func hasExactObserver(_ keyspace: borrowing Keyspace, _ reach: borrowing Reach) -> Bool {
        var next = keyspace.first(from: prefix.bytes)
        while let observable = next, keyspace[observable].key.starts(with: prefix.bytes) {
            if reach.isNamed(observable) { return true }
            next = keyspace.next(after: observable)
        }
        return false
    }
}

// Writes the values of the broker's own keys as JSON: `$broker.stats`, with its rates, and
// `$broker.clients.…`.

struct Rates {
    /// A client that asks again within this time gets the last value.
    private static let freshNanoseconds: UInt64 = 100_000_000

    private let start: UInt64
    var counts = Counts()
    /// When the value was made last, and the counts at that time.
    private var sampledAt: UInt64 = 0
    private var sample = Counts()

    init(start: UInt64) {
        self.start = start
    }

    func areFresh(at now: UInt64) -> Bool { sampledAt > 0 && now - sampledAt < Self.freshNanoseconds }

    func uptime(at now: UInt64) -> UInt64 { now - start }

    /// Adds the totals, and the rates per second since the last value. Keeps the counts for the next one. `lines`
    /// are those of connected clients.
    mutating func append(_ now: UInt64, _ lines: UInt64, writes: UInt64, to value: inout ByteBuffer) {
        var counts = counts
        counts.lines += lines
        counts.writes = writes
        let since = max(now - max(sampledAt, start), 1)
        value.append(#","rates":{"#)
        for (index, (count, before)) in zip(counts.all, sample.all).enumerated() {
            let rate = Double(count.count - min(count.count, before.count)) * 1e9 / Double(since)
            value.append(member: count.name, UInt64(rate.rounded()), isFirst: index == 0)
        }
        value.append(#"},"totals":{"#)
        for (index, count) in counts.all.enumerated() {
            value.append(member: count.name, count.count, isFirst: index == 0)
        }
        value.append("}")
        (sample, sampledAt) = (counts, now)
    }
}

extension SessionTable {
    /// Adds the value of `$broker.services`, in the order of the clients' connections. A spare counts as one, so that
    /// the value doesn't become too long.
    func appendServices(_ keyspace: borrowing Keyspace, to value: inout ByteBuffer) {
        var listed = 0
        value.append(#"{"services":["#)
        for session in handles {
            guard let calls = self[session].calls else { continue }
            for service in calls.services where !service.isSpare {
                guard listed < Limits.listedServicesMax else { return value.append(#"],"more":true}"#) }
                value.append(listed == 0 ? #"{"key":""# : #",{"key":""#)
                let (pattern, spares) = (service.pattern, service.spares)
                listed += 1 + spares.count
                value.append(pattern.span)
                value.append("\",")
                self[session].appendSource(keyspace, to: &value)
                value.append(",")
                service.counts.appendMembers(to: &value)
                for (place, spare) in spares.enumerated() {
                    value.append(place == 0 ? #","spares":[{"# : "},{")
                    self[spare.session].appendSource(keyspace, to: &value)
                }
                value.append(spares.isEmpty ? "}" : "}]}")
            }
        }
        value.append("]}")
    }
}

extension Session {
    /// Whether this connection counts as a client. A plugin gets an open connection, but may ignore it and
    /// make another. So a plugin's connection counts only after its first line.
    var isListed: Bool { line > 0 || grant?.plugin == nil }

    borrowing func appendState(
        _ keyspace: borrowing Keyspace, _ matching: borrowing Matching, to value: inout ByteBuffer
    ) {
        value.append("{")
        appendIdentity(keyspace, to: &value)
        value.append(member: "since", when: since)
        value.append(member: "state", text: state(matching).rawValue)
        value.append(member: "subscriptions", UInt64(subscriptions.count))
        value.append(member: "lines", line)
        value.append(member: "sent", sent)
        value.append(member: "queued", UInt64(outbox.count + (backlog?.queuedBytes ?? 0)))
        value.append(member: "owed", UInt64(backlog?.owedCount ?? 0))
        value.append("}")
    }

    private borrowing func state(_ matching: borrowing Matching) -> ObserverState {
        // Most clients have few subscriptions. Checking all of very many every second would cost too much.
        for place in subscriptions.list.indices.prefix(64) {
            if matching[subscriptions.list[place]].backlog?.isPaused == true { return .paused }
        }
        return isBehind ? .lagging : .live
    }
}

// When the broker's own keys are made, updated and removed; see `BrokerKey`. They are written like other keys,
// but only by the broker, and the history leaves them out.

extension Hub {
    /// Makes the own keys that match a pattern, or brings them up to date.
    mutating func refreshOwnState(matching pattern: Span<UInt8>) {
        guard pattern.starts(with: BrokerKey.prefix.bytes) else { return }
        let now = deadlines.now
        insight.beginWrites()
        let keys = BrokerKey.all(matching: pattern, sessions)
        let looks = BrokerKey.mayMatchClients(pattern) ? sessions.count : 0
        insight.count(steps: looks + keys.count * Cost.visit)
        for key in keys { refresh(key, now) }
        if insight.beginRounds() { deadlines.add(at: now + Round.intervalNanoseconds, .ownState) }
    }

    mutating func warn(_ kind: Warnings.Kind, _ message: String) {
        let now = deadlines.timeOfDay
        insight.warnings.raise(.init(kind: kind, message: message, milliseconds: now, revision: revision))
        tellWarnings()
    }

    /// What the warnings with a message that begins like this warn of is over.
    mutating func endWarnings(_ start: String) {
        insight.warnings.end(start)
        tellWarnings()
    }

    private mutating func tellWarnings() {
        if insight.beginWrites(), isObserved(.warnings) { refresh(.warnings, deadlines.now) }
    }

    /// A round: updates own keys that are observed, and removes the others.
    mutating func lookRound() {
        let now = deadlines.now
        let next = now + Round.intervalNanoseconds
        guard durability.records.hasOwnRoom else { return _ = deadlines.add(at: next, .ownState) }
        insight.beginWrites()
        let clients = sessions.handles
        let places = insight.nextPlaces(of: clients.count)
        if places.lowerBound == 0 {
            for key in [BrokerKey.stats, .warnings, .services] { look(at: key, now) }
        }
        for session in clients[places] { look(at: .client(session), now) }
        // Others are served in between.
        if places.upperBound < clients.count { return _ = deadlines.add(at: now + 1, .ownState) }
        let isObserved =
            matching.patterns.hasBranch("$broker") || BrokerKey.hasExactObserver(keyspace, matching.reach)
        insight.endRound(isObserved: isObserved)
        if isObserved { deadlines.add(at: next, .ownState) }
    }

    mutating func writeClientKey(_ session: SessionHandle) {
        if insight.beginWrites() { look(at: .client(session), deadlines.now) }
    }

    mutating func removeClientKey(of session: SessionHandle) {
        insight.count(departed: sessions[session].line)
        if insight.beginWrites() { remove(.client(session), isTold: true) }
    }

    private mutating func look(at key: BrokerKey, _ now: UInt64) {
        // Without an event, where nobody observes it.
        if isObserved(key) { refresh(key, now) } else { remove(key, isTold: false) }
    }

    private mutating func remove(_ key: BrokerKey, isTold: Bool) {
        let text = key.text(sessions)
        guard let observable = keyspace.find(text.bytes), keyspace[observable].hasValue else { return }
        if isTold {
            takeOwnRevision()
            announce(WriteEvent(.delete, of: observable, revision, to: Span(), by: insight.author, .none))
        }
        removeValue(of: observable, by: insight.author, .none)
        matching.forget(observable, &keyspace)
    }

    private mutating func isObserved(_ key: BrokerKey) -> Bool {
        let text = key.text(sessions)
        if let observable = keyspace.find(text.bytes) { return isObserved(observable) }
        return !matching.find(text.bytes, nil, sessions).isEmpty
    }

    /// Writes the present value, unless the key has it already.
    private mutating func refresh(_ key: BrokerKey, _ now: UInt64) {
        var value = ByteBuffer()
        append(key, now, to: &value)
        if value.isEmpty { return }
        let observable = keyspace.findOrInsert(key.text(sessions).bytes)
        if keyspace.value(of: observable).isEqual(to: value.bytes) { return }
        let author = insight.author
        guard durability.records.hasOwnRoom else {
            // Without room for a revision there is no event: observers get the value once there is room again.
            if !isObserved(observable) { keyspace.set(observable, value.bytes, cause: .none, writer: author) }
            return
        }
        takeOwnRevision()
        // The history leaves it out.
        announce(WriteEvent(.publish, of: observable, revision, to: value.bytes, by: author, .none))
        keyspace.set(observable, value.bytes, cause: .none, writer: author)
    }

    /// Appends the present value of an own key, or nothing if it stays as it is.
    private mutating func append(_ key: BrokerKey, _ now: UInt64, to value: inout ByteBuffer) {
        switch key {
        case .stats:
            let known = keyspace.find(key.text(sessions).bytes)
            if insight.rates.areFresh(at: now), let known, keyspace[known].hasValue { return }
            appendStats(now, to: &value)
        case .warnings: insight.warnings.append(to: &value)
        case .services: sessions.appendServices(keyspace, to: &value)
        case .client(let session):
            if sessions[session].isListed { sessions[session].appendState(keyspace, matching, to: &value) }
        }
    }

    private mutating func appendStats(_ now: UInt64, to value: inout ByteBuffer) {
        var (clients, subscriptions, slow, lines) = (0, 0, 0, UInt64(0))
        for session in sessions.handles {
            lines += sessions[session].line
            guard sessions[session].isOpen, sessions[session].isListed else { continue }
            clients += 1
            subscriptions += sessions[session].subscriptions.count
            if sessions[session].isBehind { slow += 1 }
        }
        value.append("{")
        value.append(member: "uptime", insight.rates.uptime(at: now) / 1_000_000_000, isFirst: true)
        value.append(member: "pid", UInt64(getpid()))
        value.append(member: "revision", revision)
        value.append(member: "keys", UInt64(keyspace.keyCount))
        value.append(member: "clients", UInt64(clients))
        value.append(member: "subscriptions", UInt64(subscriptions))
        value.append(member: "slow", UInt64(slow))
        insight.rates.append(now, lines, writes: keyspace.history.writeCount, to: &value)
        value.append(#","calls":{"#)
        calls.takeCounts().appendMembers(to: &value)
        value.append(member: "waiting", UInt64(calls.count))
        value.append("}")
        // If the system doesn't report it, the member is missing.
        if let memory = try? ProcessUsage.memoryBytes() { value.append(member: "memory", memory) }
        insight.appendTurns(to: &value)
        value.append("}")
    }

    private mutating func takeOwnRevision() {
        guard insight.takesRevision() else { return }
        keyspace.advance()
        // If there is no room, the next write that is kept has a later revision.
        if durability.records.hasOwnRoom { durability.records.append(passedRevision: revision) }
    }
}
