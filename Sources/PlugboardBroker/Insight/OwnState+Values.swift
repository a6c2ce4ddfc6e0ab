// Writes the values of the broker's own keys as JSON, into the work space of `OwnState`.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension OwnState {
    /// Makes the value of `$broker.stats`, and keeps the counts for the next rates.
    mutating func makeStats(_ now: UInt64, _ keyspace: borrowing Keyspace, _ sessions: borrowing SessionTable)
    {
        value.removeAll()
        let counts = counts(keyspace, sessions)
        var (clients, subscriptions, slow) = (0, 0, 0)
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot), sessions[session].isOpen, sessions[session].isListed
            else { continue }
            clients += 1
            subscriptions += sessions[session].subscriptions.count
            if sessions[session].isBehind { slow += 1 }
        }
        value.append("{")
        value.append(member: "uptime", (now - start) / 1_000_000_000, isFirst: true)
        value.append(member: "pid", UInt64(getpid()))
        value.append(member: "revision", keyspace.revision)
        value.append(member: "keys", UInt64(keyspace.keyCount))
        value.append(member: "clients", UInt64(clients))
        value.append(member: "subscriptions", UInt64(subscriptions))
        value.append(member: "slow", UInt64(slow))
        appendRates(counts, now)
        // If the system doesn't report it, the member is missing.
        if let memory = try? ProcessUsage.memoryBytes() { value.append(member: "memory", memory) }
        appendLatency()
        value.append("}")
        sample = counts
        sampledAt = now
        turns.reset()
    }

    private func counts(
        _ keyspace: borrowing Keyspace,
        _ sessions: borrowing SessionTable
    ) -> OwnCounts {
        var lines = departedLines
        for slot in 0..<sessions.slotCount {
            if let session = sessions.inSlot(slot) { lines += sessions[session].line }
        }
        return OwnCounts(
            lines: lines,
            writes: keyspace.history.count,
            events: events,
            received: received,
            sent: sent
        )
    }

    /// Adds the totals, and the rates per second since the last value.
    private mutating func appendRates(_ counts: OwnCounts, _ now: UInt64) {
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
    }

    /// Adds how long turns took since the last value, in microseconds.
    private mutating func appendLatency() {
        let turns = turns
        value.append(#","latency":{"#)
        value.append(member: "turns", turns.count, isFirst: true)
        value.append(member: "mean", turns.count == 0 ? 0 : turns.nanoseconds / turns.count / 1000)
        value.append(member: "max", turns.longest / 1000)
        value.append("}")
    }
}

extension Session {
    /// Whether this connection counts as a client. A plugin gets an open connection, but may ignore it and
    /// make another. So a plugin's connection counts only after its first line.
    var isListed: Bool { line > 0 || clearance?.plugin == nil }
}

extension OwnState {
    /// Makes the value of `$broker.clients.<n>`.
    mutating func makeValue(
        of session: borrowing Session,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching
    ) {
        value.removeAll()
        value.append("{")
        value.append(member: "client", session.client, isFirst: true)
        value.append(#","name":"#)
        session.appendName(keyspace, to: &value)
        let process = session.peer.process
        if process > 0 { value.append(member: "pid", UInt64(process)) }
        value.append(#","since":""#)
        value.append(milliseconds: session.since)
        value.append(#"","state":""#)
        value.append(Self.state(of: session, matching).name)
        value.append("\"")
        value.append(member: "subscriptions", UInt64(session.subscriptions.count))
        value.append(member: "lines", session.line)
        value.append(member: "sent", session.sent)
        let catchup = session.catchup
        let queued = session.outbox.count + (catchup?.queuedBytes ?? 0)
        value.append(member: "queued", UInt64(queued))
        value.append(member: "owed", UInt64(catchup?.owedCount ?? 0))
        value.append("}")
    }

    /// The state of the whole client. It is paused if one of its subscriptions is.
    private static func state(of session: borrowing Session, _ matching: borrowing Matching) -> ObserverState
    {
        // Most clients have few subscriptions. Checking all of very many every second would cost too much.
        for place in session.subscriptions.list.indices.prefix(64) {
            let subscription = session.subscriptions.list[place]
            if matching[subscription].backlog?.isPaused == true { return .paused }
        }
        return session.isBehind ? .lagging : .live
    }
}

extension ByteBuffer {
    /// Adds a member whose value is a number.
    fileprivate mutating func append(member name: StaticString, _ value: UInt64, isFirst: Bool = false) {
        append(isFirst ? "\"" : ",\"")
        append(name)
        append("\":")
        append(decimal: value)
    }
}
