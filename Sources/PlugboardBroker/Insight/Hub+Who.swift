// Who has to do with a key: its observers, in the order in which they are told, with how
// far each of them is; and who wrote it. Off the path of writes.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func who(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        try Self.checkKey(request.key, line)
        let key = request.key.bytes(of: line)
        let observable = observables.find(key, hash: observables.hash(key))
        let queued = session.pointee.outbox.count
        let isSeen = session.pointee.authorize(.subscribe, key)
        findObservers(of: key, observable)
        if !isSeen { matches.removeAll() }
        openReply(to: session)
        ReplyEncoder.appendStart(.who, id: request.id.bytes(of: line), to: &session.pointee.outbox.own)
        session.pointee.outbox.own.append(#","key":""#)
        session.pointee.outbox.own.append(key)
        session.pointee.outbox.own.append(#"","observers":["#)
        var isFirst = true
        for subscription in listedObservers() {
            session.pointee.outbox.own.append(isFirst ? "{" : ",{")
            isFirst = false
            let isAsker = subscription.pointee.session == session
            appendObserver(subscription, of: key, queued: isAsker ? queued : nil, &session.pointee.outbox.own)
            session.pointee.outbox.own.append("}")
        }
        let hasMore = matches.count > Limits.listedObserversMax
        session.pointee.outbox.own.append(hasMore ? #"],"more":true"# : "]")
        if isSeen, let observable { appendWriter(of: observable, &session.pointee.outbox.own) }
        if isSeen || session.pointee.authorize(.call, key) {
            appendServer(of: key, &session.pointee.outbox.own)
        }
        session.pointee.outbox.own.append("}\n")
    }

    /// Leaves those whom a write of a key would reach in `matches`.
    mutating func findObservers(of key: Span<UInt8>, _ observable: ObservableReference?) {
        matches.removeAll()
        if let observable {
            for subscription in observable.pointee.exactObservers.elements { matches.append(subscription) }
        }
        patterns.match(key, into: &matches)
        if isSelective { dropForbidden(key) }
        Self.arrange(&matches)
    }

    /// Of `matches` as many as one reply names. Where those are not all, the ones that are
    /// not up to date come first: they are what is looked for.
    func listedObservers() -> [SubscriptionReference] {
        guard matches.count > Limits.listedObserversMax else { return Array(matches.elements) }
        var (behind, live): ([SubscriptionReference], [SubscriptionReference]) = ([], [])
        for subscription in matches.elements where behind.count < Limits.listedObserversMax {
            if state(of: subscription) != .live {
                behind.append(subscription)
            } else if live.count < Limits.listedObserversMax {
                live.append(subscription)
            }
        }
        return behind + live.prefix(Limits.listedObserversMax - behind.count)
    }

    /// Adds the members that say who an observer is and how far. `queued` where it can't be
    /// seen from the outbox, as a reply to the observer itself is just being written there.
    func appendObserver(
        _ subscription: SubscriptionReference,
        of key: Span<UInt8>,
        queued: Int?,
        _ buffer: inout ByteBuffer
    ) {
        appendIdentity(of: subscription, of: key, &buffer)
        let session = subscription.pointee.session
        buffer.append(#","state":""#)
        buffer.append(state(of: subscription).name)
        buffer.append(#"","queued":"#)
        let waiting = session.pointee.catchup?.pointee.queuedBytes ?? 0
        buffer.append(decimal: UInt64((queued ?? session.pointee.outbox.count) + waiting))
        buffer.append(#","owed":"#)
        buffer.append(decimal: UInt64(subscription.pointee.backlog?.pointee.owedCount ?? 0))
        buffer.append(#","revision":"#)
        buffer.append(decimal: toldRevision(of: subscription))
    }

    /// Adds the members that say who an observer is.
    func appendIdentity(
        of subscription: SubscriptionReference,
        of key: Span<UInt8>,
        _ buffer: inout ByteBuffer
    ) {
        let session = subscription.pointee.session
        buffer.append(#""client":"#)
        buffer.append(decimal: session.pointee.client)
        buffer.append(#","name":"#)
        session.pointee.appendName(to: &buffer)
        if session.pointee.peer.process > 0 {
            buffer.append(#","pid":"#)
            buffer.append(decimal: UInt64(session.pointee.peer.process))
        }
        buffer.append(#","sub":"#)
        buffer.append(subscription.pointee.text.pointee.sub)
        buffer.append(#","pattern":""#)
        subscription.pointee.appendPattern(matching: key, to: &buffer)
        buffer.append(#"","phase":"#)
        buffer.append(decimal: UInt64(subscription.pointee.phase))
    }

    private func state(of subscription: SubscriptionReference) -> ObserverState {
        if let backlog = subscription.pointee.backlog {
            if backlog.pointee.isPaused { return .paused }
            if !backlog.pointee.isEmpty { return .lagging }
        }
        return subscription.pointee.session.pointee.isBehind ? .lagging : .live
    }

    /// Everything up to this revision that concerns a subscription is on its way to it.
    private func toldRevision(of subscription: SubscriptionReference) -> UInt64 {
        guard let front = subscription.pointee.backlog?.pointee.frontRevision else { return revision }
        return front > 0 ? min(front - 1, revision) : 0
    }

    private func appendWriter(of observable: ObservableReference, _ buffer: inout ByteBuffer) {
        guard observable.pointee.hasValue, let writer = observable.pointee.writer else { return }
        buffer.append(#","writer":{"#)
        // Who wrote to an earlier broker has no number in this one.
        if writer.pointee.client > 0 {
            buffer.append(#""client":"#)
            buffer.append(decimal: writer.pointee.client)
            buffer.append(",")
        }
        buffer.append(#""name":"#)
        buffer.append(writer.pointee.name)
        buffer.append(writer.pointee.isLive ? #","live":true,"revision":"# : #","live":false,"revision":"#)
        buffer.append(decimal: observable.pointee.revision)
        buffer.append("}")
    }
}

/// How far an observer is.
enum ObserverState {
    /// It is told at once.
    case live
    /// It waits for somebody to resume it.
    case paused
    /// It is owed something, or reads too slowly to be told at once.
    case lagging

    var name: StaticString {
        switch self {
        case .live: "live"
        case .paused: "paused"
        case .lagging: "lagging"
        }
    }
}
