// Telling in phases: see `Gate`. Nothing of it happens for a key without an observer
// that acknowledges.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// How long an observer may take before those of later phases are told all the same.
    static let acknowledgementNanoseconds: UInt64 = 1_000_000_000

    /// Tells the first phases at once, up to the first that acknowledges; owes the others.
    mutating func tellInPhases(_ event: Event, _ tail: EventTail, of observable: ObservableHandle) {
        let observers = keyspace.subscriptions(to: observable)
        let barrier = AckBarrier(
            for: event,
            of: observable,
            observers,
            from: tail.old,
            to: tail.value,
            keyspace,
            matching,
            sessions,
            &delivery,
            phases
        )
        delivery.beginEvent()
        insight.count(events: observers.count)
        var isHeld = false
        for subscription in observers where sessions[matching[subscription].session].isOpen {
            if let barrier, barrier.holds(matching[subscription]) {
                isHeld = true
                owe(event, tail, of: observable, to: subscription, isGated: true)
            } else {
                tellOrOwe(event, tail, of: observable, to: subscription)
            }
            _ = delivery.hasCopiedOut(&sessions)
        }
        if let barrier, isHeld { close(observable, revision: tail.revision, barrier) }
    }

    /// Waits for the observers of a phase.
    private mutating func close(_ observable: ObservableHandle, revision: UInt64, _ barrier: AckBarrier) {
        // Who writes on and on does not put off the end of the wait.
        let end = phases.gate(of: observable)?.end ?? deadlines.now + Self.acknowledgementNanoseconds
        phases.open(observable, &keyspace, &deadlines)
        phases.close(observable, revision: revision, barrier, until: end, &keyspace, &deadlines)
    }

    mutating func acknowledge(_ asked: AskedRequest) throws(Refusal) {
        let subscription = try asked.subscription(of: asked.session, matching, sessions)
        guard matching[subscription].acknowledges else {
            let message = "subscription \(String(matching.sub(of: subscription))) does not acknowledge"
            let hint = "subscribe with \"ack\":true"
            throw Refusal(.conflict, message, hint: hint, at: asked.request.sub.start)
        }
        noteAcknowledged(subscription, upTo: requests.decoder.options.revision)
        if asked.request.wantsReply { replyDone(.acknowledge, id: asked.id, to: asked.session) }
    }

    /// An observer has done its part up to a revision; one that ends has done all.
    mutating func noteAcknowledged(_ subscription: SubscriptionHandle, upTo revision: UInt64) {
        for entry in phases.takeAwaited(by: subscription, upTo: revision) {
            if let gate = phases.release(entry, by: subscription) {
                advance(entry.observable, gate, unacknowledged: nil)
            }
            keyspace[entry.observable].owedBy -= 1
            keyspace.removeIfUnneeded(entry.observable)
        }
    }

    /// Time is up for the observers of a phase.
    mutating func expireGate(of observable: ObservableHandle) {
        guard let gate = phases.gate(of: observable) else { return }
        // Who let one write pass by doesn't hold up those that it isn't told of.
        phases.giveUp(observable, &keyspace)
        let text = names(of: gate.waiting.map(\.subscription))
        let names = HeldBytes(text.bytes)
        advance(observable, gate, unacknowledged: names)
    }

    /// `,"unacked":[…]`: the names of clients, each once.
    private mutating func names(of late: [SubscriptionHandle]) -> ByteBuffer {
        var text = ByteBuffer()
        var named: Set<UInt64> = []
        for subscription in late {
            let session = matching[subscription].session
            guard named.insert(sessions[session].client).inserted else { continue }
            text.append(named.count == 1 ? #","unacked":["# : ",")
            let author = sessions[session].author(&keyspace)
            text.append(keyspace.authors[author].name)
        }
        if !named.isEmpty { text.append("]") }
        return text
    }

    /// Lets a key through to the next phases, up to the next that acknowledges.
    private mutating func advance(_ observable: ObservableHandle, _ gate: Gate, unacknowledged: HeldBytes?) {
        refreshObservers(of: observable)
        let observers = keyspace.subscriptions(to: observable)
        let later = AckBarrier.acknowledgers(among: observers, matching, sessions)
            .filter { matching[$0].phase > gate.phase }
        let told = later.filter { AckBarrier.isToBeTold(of: observable, $0, keyspace, matching) }
        // Who isn't told of this write may still have to acknowledge one before it.
        let earlier = later.filter { !told.contains($0) }.compactMap { phases.awaits(observable, from: $0) }
        let next = (told + earlier.map(\.subscription)).map { matching[$0].phase }.min()
        // Kept by one more, so that letting go of the gate doesn't end it.
        keyspace[observable].owedBy += 1
        phases.open(observable, &keyspace, &deadlines)
        let behind = keyspace.subscriptions(to: observable).filter {
            matching[$0].phase > gate.phase
        }
        let free = behind.filter { matching[$0].phase <= next ?? .max }
        for subscription in free { note(unacknowledged, observable, of: subscription) }
        if let next, free.count < behind.count {
            let barrier = AckBarrier(
                phase: next,
                told: told.filter { matching[$0].phase == next },
                earlier: earlier.filter { matching[$0.subscription].phase == next }
            )
            close(observable, revision: gate.revision, barrier)
        }
        // Telling one tells all that its client is owed: by now the next gate is closed.
        for subscription in free { review(subscription) }
        keyspace[observable].owedBy -= 1
        keyspace.removeIfUnneeded(observable)
    }

    private mutating func note(
        _ unacknowledged: HeldBytes?,
        _ observable: ObservableHandle,
        of subscription: SubscriptionHandle
    ) {
        guard let unacknowledged, let backlog = matching[subscription].backlog,
            let owed = place(of: observable, in: backlog), backlog.keys[owed].isGated,
            backlog.keys.notes(at: owed).unacknowledged == nil
        else { return }
        backlog.keys.note(unacknowledged: unacknowledged, at: owed)
    }
}
