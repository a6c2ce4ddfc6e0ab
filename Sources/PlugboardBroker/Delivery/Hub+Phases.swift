// Telling in phases: see `Gate`. Nothing of it happens for a key without an observer
// that acknowledges.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// How long an observer may take before those of later phases are told all the same.
    static let acknowledgementNanoseconds: UInt64 = 1_000_000_000

    /// Tells the first phases at once, up to the first that acknowledges; owes the others.
    mutating func tellInPhases(_ event: Event, _ tail: EventTail, of observable: ObservableReference) {
        let observers = observable.pointee.observers.elements
        let barrier = barrier(for: event, of: observable, observers, from: tail.old, to: tail.value)
        log.beginEvent()
        own.events &+= UInt64(observers.count)
        var isHeld = false
        for subscription in observers where subscription.pointee.session.pointee.isOpen {
            if let barrier, barrier.holds(subscription) {
                isHeld = true
                owe(event, tail, of: observable, to: subscription, isGated: true)
            } else {
                tellOrOwe(event, tail, of: observable, to: subscription)
            }
            if log.count > TurnLog.bytesMax { copyOutLog() }
        }
        if let barrier, isHeld { close(observable, revision: tail.revision, barrier) }
    }

    /// The first phase that has to acknowledge a write of a key before others are told of it; nil: none
    /// has. The key may be one that nobody has named yet.
    mutating func barrier(
        for event: Event,
        of observable: ObservableReference?,
        _ observers: UnsafeBufferPointer<SubscriptionReference>,
        from old: Span<UInt8>,
        to value: Span<UInt8>
    ) -> AckBarrier? {
        guard event != .emit, observable?.pointee.hasAcknowledgers != false else { return nil }
        // Who isn't told won't acknowledge, unless an earlier write that is still held.
        let gate = observable.flatMap { gates.gates[$0] }
        let acknowledging = Self.acknowledgers(among: observers).filter {
            if isConcerned($0, event, from: old, to: value) { return true }
            guard gate != nil, let observable else { return false }
            return isToBeTold(of: observable, $0)
        }
        var phase = acknowledging.first?.pointee.phase
        var earlier: [Acknowledger] = []
        if let gate, gate.phase <= phase ?? .max {
            earlier = gate.waiting.filter { !acknowledging.contains($0.subscription) }
            if !earlier.isEmpty { phase = gate.phase }
        }
        guard let phase else { return nil }
        let told = acknowledging.filter { $0.pointee.phase == phase }
        return AckBarrier(phase: phase, told: told, earlier: earlier)
    }

    /// The observers that acknowledge, by phase.
    private static func acknowledgers(
        among observers: UnsafeBufferPointer<SubscriptionReference>
    ) -> [SubscriptionReference] {
        observers.filter { $0.pointee.acknowledges && $0.pointee.session.pointee.isOpen }
    }

    /// Waits for the observers of a phase.
    private mutating func close(_ observable: ObservableReference, revision: UInt64, _ barrier: AckBarrier) {
        for subscription in barrier.told {
            let awaited = Awaited(observable: observable, revision: revision)
            gates.awaited[subscription, default: []].append(awaited)
            // What the gate names must live as long as it does.
            observable.pointee.owedBy += 1
        }
        // Who writes on and on does not put off the end of the wait.
        let end = gates.gates[observable]?.end ?? clock() + Self.acknowledgementNanoseconds
        if let gate = gates.gates[observable] { open(observable, gate) }
        gates.lastSerial += 1
        let serial = gates.lastSerial
        let ticket = deadlines.add(at: end, .gate(serial))
        gates.bySerial[serial] = observable
        gates.gates[observable] = Gate(
            revision: revision,
            phase: barrier.phase,
            waiting: barrier.earlier
                + barrier.told.map { Acknowledger(subscription: $0, revision: revision) },
            serial: serial,
            end: end,
            ticket: ticket
        )
        observable.pointee.owedBy += 1
    }

    /// Takes a gate away without letting anything through.
    private mutating func open(_ observable: ObservableReference, _ gate: Gate) {
        deadlines.cancel(gate.ticket)
        gates.bySerial[gate.serial] = nil
        gates.gates[observable] = nil
        observable.pointee.owedBy -= 1
    }

    mutating func acknowledge(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        let subscription = try subscription(request, line, of: session)
        guard subscription.pointee.acknowledges else {
            let sub = String(subscription.pointee.text.pointee.sub)
            let message = "subscription \(sub) does not acknowledge"
            throw Refusal(.conflict, message, hint: "subscribe with \"ack\":true", at: request.sub.start)
        }
        noteAcknowledged(subscription, upTo: decoder.options.revision)
        if request.wantsReply { replyDone(request, line, session) }
    }

    /// An observer has done its part up to a revision; one that ends has done all.
    mutating func noteAcknowledged(_ subscription: SubscriptionReference, upTo revision: UInt64) {
        guard let awaited = gates.awaited[subscription] else { return }
        let done = awaited.prefix { $0.revision <= revision }
        let rest = awaited.dropFirst(done.count)
        gates.awaited[subscription] = rest.isEmpty ? nil : Array(rest)
        for entry in done {
            release(entry, by: subscription)
            entry.observable.pointee.owedBy -= 1
            removeIfUnneeded(entry.observable)
        }
    }

    private mutating func release(_ entry: Awaited, by subscription: SubscriptionReference) {
        guard var gate = gates.gates[entry.observable] else { return }
        gate.waiting.removeAll { $0.subscription == subscription && $0.revision <= entry.revision }
        gates.gates[entry.observable] = gate
        if gate.waiting.isEmpty { advance(entry.observable, gate, unacknowledged: nil) }
    }

    /// Time is up for the observers of a phase.
    mutating func expireGate(_ serial: UInt64) {
        guard let observable = gates.bySerial[serial], let gate = gates.gates[observable] else { return }
        // Who let one write pass by doesn't hold up those that it isn't told of.
        for late in gate.waiting { gates.giveUp(observable, from: late) }
        let text = Self.names(of: gate.waiting.map(\.subscription))
        let names = HeldBytes.make(text.bytes)
        advance(observable, gate, unacknowledged: names)
        HeldBytes.release(names)
    }

    /// `,"unacked":[…]`: the names of clients, each once.
    private static func names(of subscriptions: [SubscriptionReference]) -> ByteBuffer {
        var text = ByteBuffer()
        var named: Set<UInt64> = []
        for subscription in subscriptions {
            let session = subscription.pointee.session
            guard named.insert(session.pointee.client).inserted else { continue }
            text.append(named.count == 1 ? #","unacked":["# : ",")
            text.append(session.pointee.author.pointee.name)
        }
        if !named.isEmpty { text.append("]") }
        return text
    }

    /// Lets a key through to the next phases, up to the next that acknowledges.
    private mutating func advance(
        _ observable: ObservableReference,
        _ gate: Gate,
        unacknowledged: HeldBytesReference?
    ) {
        refreshObservers(of: observable)
        let later = Self.acknowledgers(among: observable.pointee.observers.elements)
            .filter { $0.pointee.phase > gate.phase }
        let told = later.filter { isToBeTold(of: observable, $0) }
        // Who isn't told of this write may still have to acknowledge one before it.
        let earlier = later.filter { !told.contains($0) }.compactMap { gates.awaits(observable, from: $0) }
        let next = (told + earlier.map(\.subscription)).map { $0.pointee.phase }.min()
        // Kept by one more, so that letting go of the gate doesn't end it.
        observable.pointee.owedBy += 1
        open(observable, gate)
        let behind = observable.pointee.observers.elements.filter { $0.pointee.phase > gate.phase }
        let free = behind.filter { $0.pointee.phase <= next ?? .max }
        for subscription in free { note(unacknowledged, observable, of: subscription) }
        if let next, free.count < behind.count {
            let barrier = AckBarrier(
                phase: next,
                told: told.filter { $0.pointee.phase == next },
                earlier: earlier.filter { $0.subscription.pointee.phase == next }
            )
            close(observable, revision: gate.revision, barrier)
        }
        // Telling one tells all that its client is owed: by now the next gate is closed.
        for subscription in free { tellOwed(to: subscription) }
        observable.pointee.owedBy -= 1
        removeIfUnneeded(observable)
    }

    /// Whether an observer that could not be told of a key yet will be; one without a filter is.
    func isToBeTold(
        of observable: ObservableReference,
        _ subscription: SubscriptionReference
    ) -> Bool {
        if subscription.pointee.filter == nil { return true }
        guard let backlog = subscription.pointee.backlog else { return false }
        return backlog.pointee.keys.find(observable) != nil
            || subscription.pointee.delivery == .all
                && backlog.pointee.lines.contains(keyHash: observable.pointee.hash)
    }

    private func note(
        _ unacknowledged: HeldBytesReference?,
        _ observable: ObservableReference,
        of subscription: SubscriptionReference
    ) {
        guard let unacknowledged, let owed = subscription.pointee.backlog?.pointee.keys.find(observable),
            owed.pointee.isGated, owed.pointee.unacknowledged == nil
        else { return }
        HeldBytes.retain(unacknowledged)
        owed.pointee.unacknowledged = unacknowledged
    }
}
