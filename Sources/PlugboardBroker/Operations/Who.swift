// Who has to do with a key: its observers in the order in which they are told, with their states; its writer;
// and its server. Off the path of writes.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func who(_ asked: AskedRequest) throws(Refusal) {
        endExpired(asked.key)
        try Key.check(asked.request.key, asked.line)
        refreshOwnState(matching: asked.key)
        let (key, session) = (asked.key, asked.session)
        let observable = keyspace.find(key)
        let queued = sessions[session].outbox.count
        let isSeen = sessions[session].authorize(.subscribe, key)
        let observers = findObservers(of: key, observable, isSeen: isSeen)
        var reply = beginReply(to: asked)
        reply.append(member: "key", text: key)
        appendObservers(observers, of: key, to: &reply) { place, reply in
            // While the asker's reply is being written, its outbox isn't what it was.
            let subscription = observers.named[place]
            let isAsker = matching[subscription].session == session
            appendState(of: subscription, queued: isAsker ? queued : nil, to: &reply)
        }
        if isSeen, let observable { appendWriter(of: observable, to: &reply) }
        if isSeen || sessions[session].authorize(.call, key), let service = calls.server(of: key) {
            append(service, to: &reply)
        }
        finish(reply, to: session)
    }

    /// All observers of a key, and those that a reply names.
    typealias Observers = (all: [SubscriptionHandle], named: [SubscriptionHandle])

    /// Finds the observers of a key for a reply; nobody if the asking client may not see the key. Those whose snapshot
    /// is still looked for don't observe yet, because their `subscribe` isn't answered.
    mutating func findObservers(
        of key: Span<UInt8>, _ observable: ObservableHandle?, isSeen: Bool
    ) -> Observers {
        if !isSeen { return ([], []) }
        if let observable { refreshObservers(of: observable) }
        let all = matching.find(key, observable, sessions).filter { matching[$0].hasBegun }
        insight.count(steps: all.count + min(all.count, Limits.listedObserversMax) * Cost.listed)
        return (all, matching.listed(all, sessions))
    }

    /// Appends the observers that a reply names, each with what `appendRest` adds about the one at a place.
    func appendObservers(
        _ observers: Observers, of key: Span<UInt8>, to buffer: inout ByteBuffer,
        _ appendRest: (Int, inout ByteBuffer) -> Void
    ) {
        buffer.append(#","observers":["#)
        for (place, subscription) in observers.named.enumerated() {
            buffer.append(place == 0 ? "{" : ",{")
            sessions[matching[subscription].session].appendIdentity(keyspace, to: &buffer)
            buffer.append(member: "sub", json: matching.sub(of: subscription))
            let pattern = matching[subscription].pattern(matching: key, keyspace)
            buffer.append(member: "pattern", text: pattern.span)
            buffer.append(member: "phase", UInt64(matching[subscription].phase))
            appendRest(place, &buffer)
            buffer.append("}")
        }
        buffer.append(observers.named.count < observers.all.count ? #"],"more":true"# : "]")
    }

    /// Appends the members that show the state of an observer. `queued` replaces the size of its outbox.
    private func appendState(of subscription: SubscriptionHandle, queued: Int?, to buffer: inout ByteBuffer) {
        let session = matching[subscription].session
        let state = matching[subscription].state(isBehind: sessions[session].isBehind)
        buffer.append(member: "state", text: state.rawValue)
        let waiting = sessions[session].backlog?.queuedBytes ?? 0
        buffer.append(member: "queued", UInt64((queued ?? sessions[session].outbox.count) + waiting))
        buffer.append(member: "owed", UInt64(owedCount(of: subscription)))
        // All events for it up to this revision were sent or are in its outbox.
        let told = nextRevision(of: subscription).map { $0 > 0 ? $0 - 1 : 0 } ?? .max
        buffer.append(member: "revision", min(told, revision))
    }

    /// The revision of what comes next for an observer; nil if nothing does.
    func nextRevision(of subscription: SubscriptionHandle) -> UInt64? {
        let first = matching.firstKey(of: subscription)
        guard let backlog = matching[subscription].backlog else { return first?.revision }
        return backlog.nextRevision(first)
    }

    private func appendWriter(of observable: ObservableHandle, to buffer: inout ByteBuffer) {
        guard keyspace[observable].hasValue, let writer = keyspace.writer(of: observable) else { return }
        buffer.append(#","writer":{"#)
        // A writer of an earlier broker's time has no number in this one.
        if keyspace.authors[writer].client > 0 {
            buffer.append(member: "client", keyspace.authors[writer].client, isFirst: true)
            buffer.append(",")
        }
        buffer.append(#""name":"#)
        buffer.append(keyspace.authors[writer].name)
        buffer.append(keyspace.authors[writer].origin)
        EventEncoder.appendLive(keyspace.authors[writer].isLive, to: &buffer)
        let grace = keyspace.bond(of: observable)?.grace
        EventEncoder.appendGrace(deadlines.millisecondsLeft(of: grace), to: &buffer)
        buffer.append(member: "revision", keyspace[observable].revision)
        buffer.append("}")
    }

    /// Appends the client that would answer a call of the key, and those that wait to take over.
    private func append(_ service: Service, to buffer: inout ByteBuffer) {
        buffer.append(#","server":{"#)
        sessions[service.session].appendIdentity(keyspace, to: &buffer)
        buffer.append(member: "pattern", text: service.pattern.span)
        buffer.append(member: "calls", UInt64(sessions[service.session].calls?.toAnswer.count ?? 0))
        for (place, spare) in service.spares.enumerated() {
            buffer.append(place == 0 ? #","spares":[{"# : "},{")
            sessions[spare.session].appendIdentity(keyspace, to: &buffer)
        }
        buffer.append(service.spares.isEmpty ? "}" : "}]}")
    }
}

enum ObserverState: String {
    case live
    /// It waits until somebody resumes it.
    case paused
    /// It is owed something, or reads too slowly.
    case lagging
}
