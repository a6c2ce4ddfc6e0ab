// Who has to do with a key: its observers in the order in which they are told, with their states; its writer;
// and its server. Off the path of writes.

import PlugboardMemory
import PlugboardWire

/// `who`.
enum Who {
    static func perform(
        _ asked: AskedRequest,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ calls: borrowing Calls,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines,
        _ isSelective: Bool
    ) throws(Refusal) {
        try Key.check(asked.request.key, asked.line)
        let key = asked.key
        let session = asked.session
        let observable = keyspace.find(key)
        let queued = sessions[session].outbox.count
        let isSeen = sessions[session].authorize(.subscribe, key)
        let steps = matching.list(key, observable, keyspace, sessions, isSelective, isSeen: isSeen)
        insight.count(steps: steps)
        delivery.openReply(to: session, &sessions)
        var reply = sessions.takeOwn(of: session)
        ReplyEncoder.appendStart(.who, id: asked.id, to: &reply)
        reply.append(#","key":""#)
        reply.append(key)
        reply.append(#"","observers":["#)
        var isFirst = true
        for subscription in matching.listed(sessions) {
            reply.append(isFirst ? "{" : ",{")
            isFirst = false
            let isAsker = matching[subscription].session == session
            let queued = isAsker ? queued : nil
            append(subscription, of: key, queued: queued, keyspace, matching, sessions, to: &reply)
            reply.append("}")
        }
        reply.append(matching.found.count > Limits.listedObserversMax ? #"],"more":true"# : "]")
        if isSeen, let observable { appendWriter(of: observable, keyspace, deadlines, to: &reply) }
        if isSeen || sessions[session].authorize(.call, key), let service = calls.server(of: key) {
            append(service, keyspace, sessions, to: &reply)
        }
        reply.append("}\n")
        sessions.giveBack(reply, to: session)
    }

    /// Appends the members that name an observer of a key.
    static func append(
        _ subscription: SubscriptionHandle,
        of key: Span<UInt8>,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        to buffer: inout ByteBuffer
    ) {
        sessions[matching[subscription].session].appendIdentity(keyspace, to: &buffer)
        buffer.append(#","sub":"#)
        buffer.append(matching.sub(of: subscription))
        buffer.append(#","pattern":""#)
        matching[subscription].appendPattern(matching: key, keyspace, to: &buffer)
        buffer.append(#"","phase":"#)
        buffer.append(decimal: UInt64(matching[subscription].phase))
    }

    /// Appends the members that name an observer and show its state. `queued` replaces the size of the outbox
    /// while a reply to the observer itself is being written there.
    private static func append(
        _ subscription: SubscriptionHandle,
        of key: Span<UInt8>,
        queued: Int?,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        to buffer: inout ByteBuffer
    ) {
        append(subscription, of: key, keyspace, matching, sessions, to: &buffer)
        let session = matching[subscription].session
        let backlog = matching[subscription].backlog
        buffer.append(#","state":""#)
        buffer.append(matching[subscription].state(isBehind: sessions[session].isBehind).name)
        buffer.append(#"","queued":"#)
        let waiting = sessions[session].catchup?.queuedBytes ?? 0
        buffer.append(decimal: UInt64((queued ?? sessions[session].outbox.count) + waiting))
        buffer.append(#","owed":"#)
        buffer.append(decimal: UInt64(backlog?.owedCount ?? 0))
        buffer.append(#","revision":"#)
        // All events for it up to this revision were sent or are in its outbox.
        let told = backlog?.nextRevision.map { $0 > 0 ? $0 - 1 : 0 } ?? .max
        buffer.append(decimal: min(told, keyspace.revision))
    }

    private static func appendWriter(
        of observable: ObservableHandle,
        _ keyspace: borrowing Keyspace,
        _ deadlines: borrowing Deadlines,
        to buffer: inout ByteBuffer
    ) {
        guard keyspace[observable].hasValue, let writer = keyspace.writer(of: observable) else { return }
        buffer.append(#","writer":{"#)
        // A writer of an earlier broker's time has no number in this one.
        if keyspace.authors[writer].client > 0 {
            buffer.append(#""client":"#)
            buffer.append(decimal: keyspace.authors[writer].client)
            buffer.append(",")
        }
        buffer.append(#""name":"#)
        buffer.append(keyspace.authors[writer].name)
        buffer.append(keyspace.authors[writer].origin)
        EventEncoder.appendLive(keyspace.authors[writer].isLive, to: &buffer)
        EventEncoder.appendGrace(deadlines.graceLeft(of: keyspace.bond(of: observable)), to: &buffer)
        buffer.append(#","revision":"#)
        buffer.append(decimal: keyspace[observable].revision)
        buffer.append("}")
    }

    /// Appends the client that would answer a call of the key, and those that wait to take over.
    private static func append(
        _ service: Service,
        _ keyspace: borrowing Keyspace,
        _ sessions: borrowing SessionTable,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(#","server":{"#)
        sessions[service.session].appendIdentity(keyspace, to: &buffer)
        buffer.append(#","pattern":""#)
        buffer.append(service.pattern.span)
        buffer.append(#"","calls":"#)
        buffer.append(decimal: UInt64(sessions[service.session].duties?.toAnswer.count ?? 0))
        for (place, spare) in service.spares.enumerated() {
            buffer.append(place == 0 ? #","spares":[{"# : "},{")
            sessions[spare.session].appendIdentity(keyspace, to: &buffer)
        }
        buffer.append(service.spares.isEmpty ? "}" : "}]}")
    }
}

/// The state of an observer.
enum ObserverState {
    /// It gets events at once.
    case live
    /// It waits until somebody resumes it.
    case paused
    /// It is owed something, or reads too slowly.
    case lagging

    var name: StaticString {
        switch self {
        case .live: "live"
        case .paused: "paused"
        case .lagging: "lagging"
        }
    }
}
