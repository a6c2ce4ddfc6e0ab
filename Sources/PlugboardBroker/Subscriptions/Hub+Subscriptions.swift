// Subscriptions come and go. The reply, the snapshot, `synced` and the first live
// event are in that order because all of it happens within one request.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func subscribe(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        let wanted = try patterns(of: request, line)
        try access.checkPatterns(wanted, line, session)
        let sub = try chooseSub(request, patterns: wanted.count, line, session)
        for range in wanted { refreshOwnState(matching: range.bytes(of: line)) }
        let filter = Filter(decoder, line, revision: revision)
        try access.checkKept(filter?.bytes ?? 0, of: session)
        let beginning = beginning(request, wanted, line)
        // What it knew before is not known here: only what it missed will have been told.
        if beginning.isResumed == true { filter?.unsentRevision = decoder.options.since }
        let subscription = register(sub, wanted, filter, line, session)
        replyRegistered(subscription, request, line, isResumed: beginning.isResumed)
        switch beginning {
        case .remembered: oweMissed(of: wanted, line, subscription)
        case .kept(let place):
            beginOwing(to: subscription)
            subscription.pointee.backlog?.pointee.owesSynced = decoder.options.initial
            subscription.pointee.backlog?.pointee.lastRevision = decoder.options.since
            beginReplay(subscription, from: place, after: decoder.options.since)
        case .fresh, .anew:
            guard decoder.options.initial else { return }
            let isAnew = beginning.isResumed == false
            let gone = isAnew ? goneKeys(of: wanted, request, line, for: session) : []
            oweSnapshot(of: wanted, gone: gone, line, subscription)
        }
    }

    /// Answers what a new subscription is called, from which revision on it is told, and where it
    /// asked for what it missed, whether that follows.
    mutating func replyRegistered(
        _ subscription: SubscriptionReference,
        _ request: Request,
        _ line: Span<UInt8>,
        isResumed: Bool? = nil
    ) {
        let session = subscription.pointee.session
        if session.pointee.isBehind { awaitReply(subscription) }
        openReply(to: session)
        let id = request.id.bytes(of: line)
        ReplyEncoder.appendStart(request.operation, id: id, to: &session.pointee.outbox.own)
        session.pointee.outbox.own.append(#","sub":"#)
        session.pointee.outbox.own.append(subscription.pointee.text.pointee.sub)
        session.pointee.outbox.own.append(#","revision":"#)
        session.pointee.outbox.own.append(decimal: revision)
        if let isResumed {
            session.pointee.outbox.own.append(isResumed ? #","resumed":true"# : #","resumed":false"#)
        }
        session.pointee.outbox.own.append("}\n")
    }

    /// A client that is behind is answered later, and told nothing of this subscription before.
    private func awaitReply(_ subscription: SubscriptionReference) {
        subscription.pointee.makeBacklog()
        subscription.pointee.backlog?.pointee.awaitsReply = true
        subscription.pointee.session.pointee.makeCatchup()
        subscription.pointee.session.pointee.catchup?.pointee.unanswered.append(subscription)
    }

    mutating func unsubscribe(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        let sub = Self.subText(request, line)
        end(try subscription(request, line, of: session))
        openReply(to: session)
        ReplyEncoder.appendStart(
            .unsubscribe,
            id: request.id.bytes(of: line),
            to: &session.pointee.outbox.own
        )
        session.pointee.outbox.own.append(#","sub":"#)
        session.pointee.outbox.own.append(sub.bytes)
        session.pointee.outbox.own.append("}\n")
    }

    /// Takes a subscription out of the bus and frees it.
    mutating func end(_ subscription: SubscriptionReference) {
        if !supervision.onDemand.isEmpty { noteDemand(of: subscription, -1) }
        access.charge(subscription, traced: tracing.patterns(of: subscription).count, -1)
        if subscription.pointee.isTracer { tracing.remove(subscription) }
        writeOff(subscription)
        for place in subscription.pointee.keys.elements {
            let (observable, index) = (place.observable, Int(place.index))
            observable.pointee.observersGeneration = 0
            observable.pointee.exactObservers.removeSwapping(at: index)
            if index < observable.pointee.exactObservers.count {
                let moved = observable.pointee.exactObservers.elements[index]
                moved.pointee.noteMoved(in: observable, to: index)
            }
            if observable.pointee.exactObservers.isEmpty { observable.pointee.exactObservers.releaseMemory() }
            removeIfUnneeded(observable)
        }
        for place in subscription.pointee.patterns.elements {
            place.node._withUnsafeGuaranteedRef { node in
                let moved = patterns.remove(at: Int(place.index), from: node)
                moved?.pointee.noteMoved(in: node, to: Int(place.index))
            }
            place.node.release()
        }
        if subscription.pointee.acknowledges { noteAcknowledged(subscription, upTo: .max) }
        subscription.pointee.session.pointee.subscriptions.remove(subscription)
        texts.release(subscription.pointee.text)
        subscription.deinitialize(count: 1)
        subscription.deallocate()
    }

    /// The patterns of a request, each of them well-formed and none twice.
    func patterns(of request: Request, _ line: Span<UInt8>) throws(Refusal) -> [ByteRange] {
        if request.has(.key) {
            try Self.checkPattern(request.key, line)
            return [request.key]
        }
        var wanted: [ByteRange] = []
        for range in decoder.patterns {
            try Self.checkPattern(range, line)
            let bytes = range.bytes(of: line)
            if !Self.contains(bytes, among: wanted, of: line) { wanted.append(range) }
        }
        return wanted
    }

    private static func contains(
        _ pattern: Span<UInt8>,
        among wanted: [ByteRange],
        of line: Span<UInt8>
    ) -> Bool {
        for range in wanted where range.bytes(of: line).isEqual(to: pattern) { return true }
        return false
    }

    /// The JSON of the sub that was asked for, or of the smallest free one.
    func chooseSub(
        _ request: Request,
        patterns count: Int,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) -> ByteBuffer {
        try access.checkSubscriptions(of: session, patterns: count)
        guard session.pointee.subscriptions.count < Limits.subscriptionsMax else {
            throw Refusal(.limit, "a client has at most \(Limits.subscriptionsMax) subscriptions")
        }
        if !request.has(.sub) {
            var sub = ByteBuffer()
            sub.append(decimal: smallestFreeSub(of: session))
            return sub
        }
        let sub = Self.subText(request, line)
        if hasSubscription(sub, session) { throw Self.duplicate(sub, request) }
        return sub
    }

    private func hasSubscription(_ sub: borrowing ByteBuffer, _ session: SessionReference) -> Bool {
        guard let text = texts.find(sub.bytes) else { return false }
        return session.pointee.subscriptions.find(text) != nil
    }

    private func smallestFreeSub(of session: SessionReference) -> UInt64 {
        var digits = ByteBuffer()
        return session.pointee.subscriptions.smallestFree { number in
            digits.removeAll()
            digits.append(decimal: number)
            return texts.find(digits.bytes).flatMap { session.pointee.subscriptions.find($0) } != nil
        }
    }

    static func subText(_ request: Request, _ line: Span<UInt8>) -> ByteBuffer {
        var text = ByteBuffer()
        let bytes = request.sub.bytes(of: line)
        if request.subIsInteger { text.append(bytes) } else { JSONText.append(bytes, to: &text) }
        return text
    }

    mutating func register(
        _ sub: borrowing ByteBuffer,
        _ wanted: [ByteRange],
        _ filter: Filter?,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) -> SubscriptionReference {
        lastSerial += 1
        let subscription = SubscriptionReference.allocate(capacity: 1)
        subscription.initialize(
            to: Subscription(
                session: session,
                text: texts.retain(sub.bytes),
                serial: lastSerial,
                kind: EventKind(old: decoder.options.old, values: decoder.options.values),
                options: decoder.options,
                filter: filter
            )
        )
        session.pointee.subscriptions.insert(subscription)
        for range in wanted { attach(subscription, to: range.bytes(of: line)) }
        access.charge(subscription, traced: 0)
        throttle(subscription, milliseconds: decoder.options.every)
        if !supervision.onDemand.isEmpty { noteDemand(of: subscription, 1) }
        return subscription
    }

    private mutating func attach(_ subscription: SubscriptionReference, to pattern: Span<UInt8>) {
        if Pattern.hasWildcard(pattern) {
            let (node, index) = patterns.insert(pattern, subscription)
            let place = PatternPlace(node: Unmanaged.passRetained(node), index: Int32(index))
            return subscription.pointee.patterns.append(place)
        }
        let hash = observables.hash(pattern)
        let observable = observables.find(pattern, hash: hash) ?? observables.insert(pattern, hash: hash)
        let index = Int32(observable.pointee.exactObservers.count)
        observable.pointee.exactObservers.append(subscription)
        observable.pointee.observersGeneration = 0
        subscription.pointee.keys.append(ExactPlace(observable: observable, index: index))
    }

    /// Forgets what a subscription is owed, and its rhythm.
    mutating func writeOff(_ subscription: SubscriptionReference) {
        endThrottle(of: subscription)
        endReplay(of: subscription)
        guard let backlog = subscription.pointee.backlog else { return }
        let session = subscription.pointee.session
        while let owed = backlog.pointee.keys.front {
            let observable = owed.pointee.observable
            forgetOwed(owed, of: subscription)
            removeIfUnneeded(observable)
        }
        if let catchup = session.pointee.catchup {
            catchup.pointee.queuedBytes -= backlog.pointee.lines.byteCount
            if backlog.pointee.isReady,
                let place = catchup.pointee.ready.elements.firstIndex(of: subscription)
            {
                catchup.pointee.ready.removeSwapping(at: place)
            }
            if backlog.pointee.awaitsReply,
                let place = catchup.pointee.unanswered.elements.firstIndex(of: subscription)
            {
                catchup.pointee.unanswered.removeSwapping(at: place)
            }
        }
        subscription.pointee.releaseBacklog()
    }
}
