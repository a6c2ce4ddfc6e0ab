// Rights and what is owed. What waits for an observer of keys that it may not see any more is withheld. If it may
// see such a key again, it is owed the key as it is by then, as after an absence. So nothing waits for an observer
// that it may not see, and no line is made of a value that was written meanwhile.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Call when the rights of a client have changed, and not in the middle of an event.
    mutating func adjustOwed(to session: SessionHandle) {
        guard sessions[session].isOpen, let clearance = sessions[session].clearance else { return }
        var affected: [SubscriptionHandle] = []
        for subscription in sessions[session].subscriptions.list.all
        where matching[subscription].backlog != nil || clearance.withheld[subscription] != nil {
            affected.append(subscription)
        }
        for subscription in affected {
            withhold(from: subscription, clearance)
            release(to: subscription, clearance)
        }
        // To review one may send what is owed to the others.
        for subscription in affected { review(subscription) }
        // Perhaps it isn't behind any more.
        if sessions[session].isBehind { delivery.touch(session, &sessions) }
    }

    private mutating func withhold(from subscription: SubscriptionHandle, _ clearance: Clearance) {
        guard let backlog = matching[subscription].backlog else { return }
        var next = backlog.keys.front
        while let place = next {
            next = backlog.keys.place(after: place)
            let owed = backlog.keys[place]
            insight.count(steps: Self.stepsPerWithheld)
            if clearance.permit(.subscribe, keyspace[owed.observable].key) { continue }
            keyspace[owed.observable].owedBy += 1
            Owing.forget(place, of: subscription, &keyspace, &matching, &sessions)
            clearance.withhold(owed, from: subscription)
        }
        if !backlog.lines.isEmpty { withholdLines(from: subscription, backlog, clearance) }
        guard backlog.isReady else { return }
        if case .room = state(of: subscription, backlog) { return }
        backlog.endReady()
        openBacklog(of: subscription).catchup.ready.remove(subscription)
    }

    /// Of the updates and deletes among the lines, the newest state of their keys is withheld. Emits and traces
    /// are gone, because nobody could make them again.
    private mutating func withholdLines(
        from subscription: SubscriptionHandle,
        _ backlog: Backlog,
        _ clearance: Clearance
    ) {
        let bytes = backlog.lines.byteCount
        let told = backlog.lines.removeLines { !clearance.permit(.subscribe, $0) }
        insight.count(steps: bytes / Self.bytesPerWithheldStep)
        openBacklog(of: subscription).catchup.queuedBytes -= bytes - backlog.lines.byteCount
        for line in told {
            let observable = keyspace.findOrInsert(line.key.span)
            guard clearance.withheld[subscription]?.keys.find(observable) == nil else { continue }
            keyspace[observable].owedBy += 1
            clearance.withhold(OwedKey(observable, revision: line.revision, .unsure), from: subscription)
        }
    }

    /// Owes what was withheld and may be seen again.
    private mutating func release(to subscription: SubscriptionHandle, _ clearance: Clearance) {
        guard let withheld = clearance.withheld[subscription] else { return }
        var owed: [OwedKey] = []
        var next = withheld.keys.front
        while let place = next {
            next = withheld.keys.place(after: place)
            insight.count(steps: Self.stepsPerWithheld)
            let observable = withheld.keys[place].observable
            guard clearance.permit(.subscribe, keyspace[observable].key) else { continue }
            var key = withheld.keys.remove(place)
            guard isKnown(key) else {
                keyspace[observable].owedBy -= 1
                keyspace.removeIfUnneeded(observable)
                continue
            }
            let isGated = phases.holds(observable, from: matching[subscription].phase)
            key.noteReleased(at: keyspace[observable].revision, isGated: isGated)
            owed.append(key)
        }
        if withheld.keys.isEmpty { clearance.withheld[subscription] = nil }
        if owed.isEmpty { return }
        owed.sort { $0.revision < $1.revision }
        let (backlog, catchup) = openBacklog(of: subscription)
        backlog.insert(owed, &keyspace)
        for key in owed { keyspace[key.observable].owedBy -= 1 }
        catchup.owedCount += owed.count
        Owing.check(matching[subscription].session, &sessions, &delivery, &access)
    }

    /// Whether there is something to say about a key that was withheld: it has a value, or the observer may know
    /// it, and it is known who deleted it.
    private mutating func isKnown(_ key: OwedKey) -> Bool {
        if keyspace[key.observable].hasValue { return true }
        if key.isInitial { return false }
        if keyspace.writer(of: key.observable) != nil { return true }
        guard let entry = keyspace.lastDelete(of: key.observable) else { return false }
        keyspace.keepDeleter(entry.author, of: key.observable)
        keyspace.set(entry.reason, cause: entry.cause, of: key.observable)
        return true
    }

    /// What it costs to withhold or to release a key, in observers told; and how many bytes of lines are looked at
    /// in the time of one.
    private static let stepsPerWithheld = 8
    private static let bytesPerWithheldStep = 32
}
