// Questions about keys, without observing them.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func get(_ asked: AskedRequest) throws(Refusal) {
        let session = asked.session
        try Access.checkSeen(asked.request, asked.line, sessions[session])
        refreshOwnState(matching: asked.key)
        // It may be there still, although its time is over.
        let isOver = endExpired(asked.key)
        guard !isOver, let observable = keyspace.find(asked.key), keyspace[observable].hasValue else {
            try Key.check(asked.request.key, asked.line)
            throw .notFound(asked.request, asked.line, for: sessions[session].grant, &keyspace)
        }
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendStart(.get, id: asked.id, to: &sessions[session].outbox.own)
        var tail = EventTail(observable, keyspace, isInitial: false)
        tail.live = keyspace.isLive(observable)
        var ending = ByteBuffer()
        deadlines.appendEnd(of: keyspace.bond(of: observable), to: &ending)
        tail.ending = ending.bytes
        EventEncoder.appendTail(tail, hasWhen: true, to: &sessions[session].outbox.own)
    }

    /// `keys`: a page of those that match a pattern, in their order.
    mutating func listKeys(_ asked: AskedRequest) throws(Refusal) {
        let (request, options) = (asked.request, requests.decoder.options)
        if request.has(.key) { try Pattern.check(request.key, asked.line) }
        if request.has(.after) { try Key.check(options.after, asked.line) }
        refreshOwnState(matching: asked.key)
        var search = KeySearch(
            [Array(request.has(.key) ? asked.key : Pattern.everything.bytes)],
            for: sessions[asked.session].grant,
            after: request.has(.after) ? Array(options.after.bytes(of: asked.line)) : [],
            countMax: options.limit + 1
        )
        guard goOn(with: &search, requests.visits(isFirst: true)) else {
            return requests.putOff(asked, .keys(search), &sessions)
        }
        reply(asked, listing: search)
    }

    mutating func reply(_ asked: AskedRequest, listing search: KeySearch) {
        let (found, limit) = (search.present(in: keyspace, deadlines), requests.decoder.options.limit)
        var reply = beginReply(to: asked)
        reply.append(#","keys":["#)
        for (index, observable) in found.prefix(limit).enumerated() {
            reply.append(index == 0 ? #"{"key":""# : #",{"key":""#)
            reply.append(keyspace[observable].key)
            reply.append("\"")
            reply.append(member: "revision", keyspace[observable].revision)
            EventEncoder.appendLive(keyspace.isLive(observable), to: &reply)
            deadlines.appendEnd(of: keyspace.bond(of: observable), to: &reply)
            reply.append("}")
        }
        // Some that were found may be gone since.
        reply.append(search.isFull ? #"],"more":true"# : #"],"more":false"#)
        finish(reply, to: asked.session)
    }
}
