// Writes the values of the broker's own keys as JSON: `$broker.stats`, with its rates, and
// `$broker.clients.…`.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The rates of `$broker.stats`: what was counted since it was made last.
struct Rates {
    /// A client that asks again within this time gets the last value.
    private static let freshNanoseconds: UInt64 = 100_000_000

    /// When the broker began.
    private let start: UInt64
    /// When the value was made last, and the counts at that time.
    private var sampledAt: UInt64 = 0
    private var sample = Counts()

    init(start: UInt64) {
        self.start = start
    }

    func areFresh(at now: UInt64) -> Bool { sampledAt > 0 && now - sampledAt < Self.freshNanoseconds }

    /// Adds the value, and keeps the counts for the next one.
    mutating func append(
        _ counted: Counts,
        _ turns: TurnTimes,
        _ now: UInt64,
        _ keyspace: borrowing Keyspace,
        _ sessions: borrowing SessionTable,
        _ calls: inout Calls,
        to value: inout ByteBuffer
    ) {
        var counts = counted
        counts.writes = keyspace.history.count - keyspace.history.callCount
        var (clients, subscriptions, slow) = (0, 0, 0)
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot) else { continue }
            counts.lines += sessions[session].line
            guard sessions[session].isOpen, sessions[session].isListed else { continue }
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
        append(counts, now, to: &value)
        Self.append(&calls, to: &value)
        // If the system doesn't report it, the member is missing.
        if let memory = try? ProcessUsage.memoryBytes() { value.append(member: "memory", memory) }
        Self.append(turns, to: &value)
        value.append("}")
        (sample, sampledAt) = (counts, now)
    }

    /// Adds the totals, and the rates per second since the last value.
    private func append(_ counts: Counts, _ now: UInt64, to value: inout ByteBuffer) {
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

    /// Appends how calls ended.
    private static func append(_ calls: inout Calls, to value: inout ByteBuffer) {
        value.append(#","calls":{"#)
        calls.takeCounts().appendMembers(to: &value)
        value.append(member: "waiting", UInt64(calls.count))
        value.append("}")
    }

    /// Adds how long turns took since the last value, in microseconds.
    private static func append(_ turns: TurnTimes, to value: inout ByteBuffer) {
        value.append(#","latency":{"#)
        value.append(member: "turns", turns.count, isFirst: true)
        value.append(member: "mean", turns.count == 0 ? 0 : turns.nanoseconds / turns.count / 1000)
        value.append(member: "max", turns.longest / 1000)
        value.append("}")
    }
}

extension SessionTable {
    /// Adds the value of `$broker.services`, in the order of the clients' connections.
    func appendServices(_ keyspace: borrowing Keyspace, to value: inout ByteBuffer) {
        var listed = 0
        value.append(#"{"services":["#)
        for slot in 0..<slotCount {
            guard let session = inSlot(slot), let duties = self[session].duties else { continue }
            for service in duties.services {
                guard listed < Limits.listedServicesMax else { return value.append(#"],"more":true}"#) }
                value.append(listed == 0 ? #"{"key":""# : #",{"key":""#)
                listed += 1
                value.append(service.pattern.span)
                value.append("\"")
                value.append(member: "client", self[session].client)
                value.append(#","name":"#)
                self[session].appendName(keyspace, to: &value)
                value.append(",")
                service.counts.appendMembers(to: &value)
                value.append("}")
            }
        }
        value.append("]}")
    }
}

extension Session {
    /// Whether this connection counts as a client. A plugin gets an open connection, but may ignore it and
    /// make another. So a plugin's connection counts only after its first line.
    var isListed: Bool { line > 0 || clearance?.plugin == nil }

    /// Adds the value of `$broker.clients.<n>`.
    borrowing func appendState(
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        to value: inout ByteBuffer
    ) {
        value.append("{")
        value.append(member: "client", client, isFirst: true)
        value.append(#","name":"#)
        appendName(keyspace, to: &value)
        if peer.process > 0 { value.append(member: "pid", UInt64(peer.process)) }
        value.append(#","since":""#)
        value.append(milliseconds: since)
        value.append(#"","state":""#)
        value.append(state(matching).name)
        value.append("\"")
        value.append(member: "subscriptions", UInt64(subscriptions.count))
        value.append(member: "lines", line)
        value.append(member: "sent", sent)
        value.append(member: "queued", UInt64(outbox.count + (catchup?.queuedBytes ?? 0)))
        value.append(member: "owed", UInt64(catchup?.owedCount ?? 0))
        value.append("}")
    }

    /// The state of the whole client. It is paused if one of its subscriptions is.
    private borrowing func state(_ matching: borrowing Matching) -> ObserverState {
        // Most clients have few subscriptions. Checking all of very many every second would cost too much.
        for place in subscriptions.list.indices.prefix(64) {
            if matching[subscriptions.list[place]].backlog?.isPaused == true { return .paused }
        }
        return isBehind ? .lagging : .live
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
