// Who is told, and the telling: the same encoded bytes are appended to the outbox of
// each observer, after the few bytes that say which of its subscriptions it is.

import PlugboardWire

extension Hub {
    /// Brings an observable's list of observers up to date.
    @inline(__always)
    mutating func refreshObservers(of observable: ObservableReference) {
        if observable.pointee.observersGeneration != patterns.generation { rebuildObservers(of: observable) }
    }

    /// Tells the observers of a key one event. Encode before the value changes: `tail`
    /// may refer to the old one.
    @inline(__always)
    mutating func tell(_ event: Event, _ tail: EventTail, to observable: ObservableReference) {
        refreshObservers(of: observable)
        if observable.pointee.observers.isEmpty { return }
        tails.encode(tail, kinds: observable.pointee.kinds)
        deliver(event, to: observable.pointee.observers.elements)
    }

    /// Tells whoever matches a key that has no observable: only patterns can.
    mutating func tell(_ event: Event, _ tail: EventTail, toMatchesOf key: UnsafeRawBufferPointer) {
        matches.removeAll()
        patterns.match(key, into: &matches)
        if matches.isEmpty { return }
        let kinds = Self.arrange(&matches)
        tails.encode(tail, kinds: kinds)
        deliver(event, to: matches.elements)
    }

    private mutating func deliver(_ event: Event, to observers: UnsafeBufferPointer<SubscriptionReference>) {
        for subscription in observers {
            let session = subscription.pointee.session
            guard session.pointee.isOpen else { continue }
            touch(session)
            event.appendStart(subscription, to: &session.pointee.outbox)
            session.pointee.outbox.append(tails.bytes(subscription.pointee.kind))
            if session.pointee.unreadBytes > Limits.outboxBytesMax { setAside(session) }
        }
    }

    /// A reader too far behind is closed at the end of the turn; nobody else waits for it.
    private mutating func setAside(_ session: SessionReference) {
        session.pointee.farewell = .slow
        slow.append(session)
    }

    private mutating func rebuildObservers(of observable: ObservableReference) {
        matches.removeAll()
        for subscription in observable.pointee.exactObservers.elements { matches.append(subscription) }
        patterns.match(observable.pointee.key, into: &matches)
        observable.pointee.kinds = Self.arrange(&matches)
        observable.pointee.observers.removeAll()
        for subscription in matches.elements { observable.pointee.observers.append(subscription) }
        if matches.isEmpty { observable.pointee.observers.releaseMemory() }
        observable.pointee.observersGeneration = patterns.generation
    }

    /// Orders by age and drops repeats, so that a subscription whose patterns overlap is
    /// told once. Returns the kinds of event that are wanted.
    private static func arrange(_ found: inout List<SubscriptionReference>) -> UInt8 {
        var elements = found.mutableElements
        elements.sort { $0.pointee.serial < $1.pointee.serial }
        var (kept, kinds): (Int, UInt8) = (0, 0)
        for index in 0..<elements.count where kept == 0 || elements[kept - 1] != elements[index] {
            elements[kept] = elements[index]
            kinds |= elements[index].pointee.kind.bit
            kept += 1
        }
        found.truncate(to: kept)
        return kinds
    }
}

/// The kinds of line that a write causes.
enum Event {
    case update, emit, delete

    @inline(__always)
    func appendStart(_ subscription: SubscriptionReference, to outbox: inout ByteBuffer) {
        switch self {
        case .update: outbox.append(subscription.pointee.updateStart)
        case .emit: EventEncoder.appendEmitStart(sub: subscription.pointee.sub, to: &outbox)
        case .delete: EventEncoder.appendDeleteStart(sub: subscription.pointee.sub, to: &outbox)
        }
    }
}
