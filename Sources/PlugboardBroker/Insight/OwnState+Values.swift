// The values of the broker's own keys, as JSON.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension Hub {
    /// Adds the value of `$broker.stats` to `own.value`, and takes the sample that the next
    /// rates are counted from.
    mutating func appendStats(_ now: UInt64) {
        let counts = ownCounts()
        var (clients, subscriptions, slow) = (0, 0, 0)
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot), sessions[session].isOpen, sessions[session].isListed
            else { continue }
            clients += 1
            subscriptions += sessions[session].subscriptions.count
            if sessions[session].isBehind { slow += 1 }
        }
        own.value.append("{")
        own.value.append(member: "uptime", (now - own.start) / 1_000_000_000, isFirst: true)
        own.value.append(member: "pid", UInt64(getpid()))
        own.value.append(member: "revision", revision)
        own.value.append(member: "keys", UInt64(keyspace.keyCount))
        own.value.append(member: "clients", UInt64(clients))
        own.value.append(member: "subscriptions", UInt64(subscriptions))
        own.value.append(member: "slow", UInt64(slow))
        appendRates(counts, now)
        // Where the system has no such account, there is no such member.
        if let memory = try? ProcessUsage.memoryBytes() { own.value.append(member: "memory", memory) }
        appendLatency()
        own.value.append("}")
        own.sample = counts
        own.sampledAt = now
        own.turns.reset()
    }

    private func ownCounts() -> OwnCounts {
        var lines = own.departedLines
        for slot in 0..<sessions.slotCount {
            if let session = sessions.inSlot(slot) { lines += sessions[session].line }
        }
        return OwnCounts(
            lines: lines,
            writes: keyspace.history.count,
            events: own.events,
            received: own.received,
            sent: own.sent
        )
    }

    /// Adds what came to pass in all, and in each second since the last sample.
    private mutating func appendRates(_ counts: OwnCounts, _ now: UInt64) {
        let since = max(now - max(own.sampledAt, own.start), 1)
        own.value.append(#","rates":{"#)
        for (index, (count, before)) in zip(counts.all, own.sample.all).enumerated() {
            let rate = Double(count.count - min(count.count, before.count)) * 1e9 / Double(since)
            own.value.append(member: count.name, UInt64(rate.rounded()), isFirst: index == 0)
        }
        own.value.append(#"},"totals":{"#)
        for (index, count) in counts.all.enumerated() {
            own.value.append(member: count.name, count.count, isFirst: index == 0)
        }
        own.value.append("}")
    }

    /// Adds how long turns took since the last sample, in microseconds.
    private mutating func appendLatency() {
        let turns = own.turns
        own.value.append(#","latency":{"#)
        own.value.append(member: "turns", turns.count, isFirst: true)
        own.value.append(member: "mean", turns.count == 0 ? 0 : turns.nanoseconds / turns.count / 1000)
        own.value.append(member: "max", turns.longest / 1000)
        own.value.append("}")
    }
}

extension Session {
    /// It counts as a client. A plugin finds a connection that is open already, and may make one of its
    /// own without a look at that: so one that has said nothing is none.
    var isListed: Bool { line > 0 || clearance?.plugin == nil }
}

extension Hub {
    /// Adds the value of `$broker.clients.<n>` to `own.value`.
    mutating func appendOwnValue(of session: SessionHandle) {
        own.value.append("{")
        own.value.append(member: "client", sessions[session].client, isFirst: true)
        own.value.append(#","name":"#)
        sessions[session].appendName(keyspace, to: &own.value)
        let process = sessions[session].peer.process
        if process > 0 { own.value.append(member: "pid", UInt64(process)) }
        own.value.append(#","since":""#)
        own.value.append(milliseconds: sessions[session].since)
        own.value.append(#"","state":""#)
        own.value.append(ownState(of: session).name)
        own.value.append("\"")
        own.value.append(member: "subscriptions", UInt64(sessions[session].subscriptions.count))
        own.value.append(member: "lines", sessions[session].line)
        own.value.append(member: "sent", sessions[session].sent)
        let catchup = sessions[session].catchup
        let queued = sessions[session].outbox.count + (catchup?.queuedBytes ?? 0)
        own.value.append(member: "queued", UInt64(queued))
        own.value.append(member: "owed", UInt64(catchup?.owedCount ?? 0))
        own.value.append("}")
    }

    /// How far the client as a whole is: paused where one of its subscriptions is.
    private func ownState(of session: SessionHandle) -> ObserverState {
        // Nobody has more than a few; whoever has is not gone through every second.
        for place in sessions[session].subscriptions.list.indices.prefix(64) {
            let subscription = sessions[session].subscriptions.list[place]
            if matching[subscription].backlog?.isPaused == true { return .paused }
        }
        return sessions[session].isBehind ? .lagging : .live
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
