// The value of one key, without observing it.

import PlugboardMemory
import PlugboardWire

/// `get`.
enum Get {
    /// `isOver` means that the value has expired, even if it is still there.
    static func perform(
        _ asked: AskedRequest,
        isOver: Bool,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ deadlines: borrowing Deadlines
    ) throws(Refusal) {
        let session = asked.session
        guard !isOver, let observable = keyspace.find(asked.key), keyspace[observable].hasValue else {
            try Key.check(asked.request.key, asked.line)
            throw .notFound(asked.request, asked.line, for: sessions[session].clearance, &keyspace)
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
}

// A page of the keys that match a pattern, in their order, without observing them.

/// `keys`.
enum ListKeys {
    /// Throws unless the pattern and the key `after` are well-formed.
    static func check(_ asked: AskedRequest, _ options: RequestOptions) throws(Refusal) {
        if asked.request.has(.key) { try Pattern.check(asked.request.key, asked.line) }
        if asked.request.has(.after) { try Key.check(options.after, asked.line) }
    }

    static func perform(
        _ asked: AskedRequest,
        _ requests: inout Requests,
        _ keyspace: borrowing Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) {
        let (options, session) = (requests.decoder.options, asked.session)
        let search = KeySearch(
            [Array(asked.request.has(.key) ? asked.key : Pattern.everything)],
            for: sessions[session].clearance,
            after: asked.request.has(.after) ? Array(options.after.bytes(of: asked.line)) : [],
            countMax: options.limit + 1
        )
        guard let found = requests.look(for: asked, search, keyspace, &sessions, &insight, deadlines) else {
            return
        }
        delivery.openReply(to: session, &sessions)
        var reply = sessions.takeOwn(of: session)
        ReplyEncoder.appendStart(.keys, id: asked.id, to: &reply)
        reply.append(#","keys":["#)
        for (index, observable) in found.prefix(options.limit).enumerated() {
            reply.append(index == 0 ? #"{"key":""# : #",{"key":""#)
            reply.append(keyspace[observable].key)
            reply.append(#"","revision":"#)
            reply.append(decimal: keyspace[observable].revision)
            EventEncoder.appendLive(keyspace.isLive(observable), to: &reply)
            deadlines.appendEnd(of: keyspace.bond(of: observable), to: &reply)
            reply.append("}")
        }
        reply.append(found.count > options.limit ? #"],"more":true}"# : #"],"more":false}"#)
        reply.append("\n")
        sessions.giveBack(reply, to: session)
    }
}
