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
        for slot in sessions.all {
            guard let session = slot, session.pointee.isOpen, session.pointee.isListed else { continue }
            clients += 1
            subscriptions += session.pointee.subscriptions.count
            if session.pointee.isBehind { slow += 1 }
        }
        own.value.append("{")
        own.value.append(member: "uptime", (now - own.start) / 1_000_000_000, isFirst: true)
        own.value.append(member: "pid", UInt64(getpid()))
        own.value.append(member: "revision", revision)
        own.value.append(member: "keys", UInt64(keyCount))
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
        for slot in sessions.all {
            if let session = slot { lines += session.pointee.line }
        }
        return OwnCounts(
            lines: lines,
            writes: history.count,
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

    /// Adds the value of `$broker.clients.<n>`.
    func appendOwnValue(to buffer: inout ByteBuffer) {
        buffer.append("{")
        buffer.append(member: "client", client, isFirst: true)
        buffer.append(#","name":"#)
        appendName(to: &buffer)
        if peer.process > 0 { buffer.append(member: "pid", UInt64(peer.process)) }
        buffer.append(#","since":""#)
        buffer.append(milliseconds: since)
        buffer.append(#"","state":""#)
        buffer.append(ownState.name)
        buffer.append("\"")
        buffer.append(member: "subscriptions", UInt64(subscriptions.count))
        buffer.append(member: "lines", line)
        buffer.append(member: "sent", sent)
        buffer.append(member: "queued", UInt64(outbox.count + (catchup?.pointee.queuedBytes ?? 0)))
        buffer.append(member: "owed", UInt64(catchup?.pointee.owedCount ?? 0))
        buffer.append("}")
    }

    /// How far the client as a whole is: paused where one of its subscriptions is.
    private var ownState: ObserverState {
        // Nobody has more than a few; whoever has is not gone through every second.
        for subscription in subscriptions.list.elements.prefix(64) {
            if subscription.pointee.backlog?.pointee.isPaused == true { return .paused }
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
