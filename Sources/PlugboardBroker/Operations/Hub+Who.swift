// Who has to do with a key: its observers, in the order in which they are told, with how
// far each of them is; and who wrote it. Off the path of writes.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func who(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        try Key.check(request.key, line)
        let key = request.key.bytes(of: line)
        let observable = keyspace.find(key)
        let queued = sessions[session].outbox.count
        let isSeen = sessions[session].authorize(.subscribe, key)
        if let observable { refreshObservers(of: observable) }
        matching.find(key, observable, keyspace, sessions, isSelective: isSelective)
        if !isSeen { matching.forgetFound() }
        countListed()
        delivery.openReply(to: session, &sessions)
        var reply = sessions.takeOwn(of: session)
        ReplyEncoder.appendStart(.who, id: request.id.bytes(of: line), to: &reply)
        reply.append(#","key":""#)
        reply.append(key)
        reply.append(#"","observers":["#)
        var isFirst = true
        for subscription in listedObservers() {
            reply.append(isFirst ? "{" : ",{")
            isFirst = false
            let isAsker = matching[subscription].session == session
            appendObserver(subscription, of: key, queued: isAsker ? queued : nil, &reply)
            reply.append("}")
        }
        reply.append(matching.found.count > Limits.listedObserversMax ? #"],"more":true"# : "]")
        if isSeen, let observable { appendWriter(of: observable, &reply) }
        if isSeen || sessions[session].authorize(.call, key) { appendServer(of: key, &reply) }
        reply.append("}\n")
        sessions.giveBack(reply, to: session)
    }

    /// Naming observers takes time, for which others wait.
    mutating func countListed() {
        let listed = min(matching.found.count, Limits.listedObserversMax)
        insight.count(steps: matching.found.count + listed * Self.stepsPerListed)
    }

    /// What naming an observer costs, in observers that are told an event meanwhile.
    private static let stepsPerListed = 16

    /// Of those who were found as many as one reply names. Where those are not all, the ones that are
    /// not up to date come first: they are what is looked for.
    func listedObservers() -> [SubscriptionHandle] {
        guard matching.found.count > Limits.listedObserversMax else { return matching.found.all }
        var (behind, live): ([SubscriptionHandle], [SubscriptionHandle]) = ([], [])
        for subscription in matching.found.all where behind.count < Limits.listedObserversMax {
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
        _ subscription: SubscriptionHandle,
        of key: Span<UInt8>,
        queued: Int?,
        _ buffer: inout ByteBuffer
    ) {
        appendIdentity(of: subscription, of: key, &buffer)
        let session = matching[subscription].session
        buffer.append(#","state":""#)
        buffer.append(state(of: subscription).name)
        buffer.append(#"","queued":"#)
        let waiting = sessions[session].catchup?.queuedBytes ?? 0
        buffer.append(decimal: UInt64((queued ?? sessions[session].outbox.count) + waiting))
        buffer.append(#","owed":"#)
        buffer.append(decimal: UInt64(matching[subscription].backlog?.owedCount ?? 0))
        buffer.append(#","revision":"#)
        buffer.append(decimal: toldRevision(of: subscription))
    }

    /// Adds the members that say who an observer is.
    func appendIdentity(
        of subscription: SubscriptionHandle,
        of key: Span<UInt8>,
        _ buffer: inout ByteBuffer
    ) {
        let session = matching[subscription].session
        buffer.append(#""client":"#)
        buffer.append(decimal: sessions[session].client)
        buffer.append(#","name":"#)
        sessions[session].appendName(keyspace, to: &buffer)
        if sessions[session].peer.process > 0 {
            buffer.append(#","pid":"#)
            buffer.append(decimal: UInt64(sessions[session].peer.process))
        }
        buffer.append(#","sub":"#)
        buffer.append(matching.sub(of: subscription))
        buffer.append(#","pattern":""#)
        matching[subscription].appendPattern(matching: key, keyspace, to: &buffer)
        buffer.append(#"","phase":"#)
        buffer.append(decimal: UInt64(matching[subscription].phase))
    }

    private func state(of subscription: SubscriptionHandle) -> ObserverState {
        matching[subscription].state(isBehind: sessions[matching[subscription].session].isBehind)
    }

    /// Everything up to this revision that concerns a subscription is on its way to it.
    private func toldRevision(of subscription: SubscriptionHandle) -> UInt64 {
        guard let front = matching[subscription].backlog?.nextRevision else { return revision }
        return front > 0 ? min(front - 1, revision) : 0
    }

    private func appendWriter(of observable: ObservableHandle, _ buffer: inout ByteBuffer) {
        guard keyspace[observable].hasValue, let writer = keyspace[observable].writer else { return }
        buffer.append(#","writer":{"#)
        // Who wrote to an earlier broker has no number in this one.
        if keyspace.authors[writer].client > 0 {
            buffer.append(#""client":"#)
            buffer.append(decimal: keyspace.authors[writer].client)
            buffer.append(",")
        }
        buffer.append(#""name":"#)
        buffer.append(keyspace.authors[writer].name)
        buffer.append(keyspace.authors[writer].origin)
        buffer.append(
            keyspace.authors[writer].isLive ? #","live":true,"revision":"# : #","live":false,"revision":"#
        )
        buffer.append(decimal: keyspace[observable].revision)
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
