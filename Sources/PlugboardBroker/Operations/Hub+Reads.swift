// Reading without observing: one value, or a page of keys.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func get(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let key = request.key.bytes(of: line)
        try Access.checkSeen(request, line, sessions[session])
        if key.first == UInt8(ascii: "$") { refreshOwnState(matching: key) }
        guard let observable = keyspace.find(key),
            keyspace[observable].hasValue, !endExpired(observable)
        else {
            try Key.check(request.key, line)
            throw .notFound(request, line, for: sessions[session].clearance, &keyspace)
        }
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendStart(.get, id: request.id.bytes(of: line), to: &sessions[session].outbox.own)
        var tail = keyspace.tail(of: observable, isInitial: false)
        tail.live = keyspace.isLive(observable)
        var ending = ByteBuffer()
        appendEnd(of: observable, to: &ending)
        tail.ending = ending.bytes.kept
        EventEncoder.appendTail(tail, to: &sessions[session].outbox.own)
    }

    mutating func listKeys(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        if request.has(.key) { try Pattern.check(request.key, line) }
        if request.has(.after) { try Key.check(requests.decoder.options.after, line) }
        let pattern = request.has(.key) ? request.key.bytes(of: line) : Self.everything
        let after = request.has(.after) ? requests.decoder.options.after.bytes(of: line) : Span()
        let limit = requests.decoder.options.limit
        if request.has(.key) { refreshOwnState(matching: pattern) }
        let found = lookFor(
            [Array(pattern)],
            after: Array(after),
            countMax: limit + 1,
            request,
            line,
            session
        )
        guard let found else { return }
        delivery.openReply(to: session, &sessions)
        var reply = sessions.takeOwn(of: session)
        ReplyEncoder.appendStart(.keys, id: request.id.bytes(of: line), to: &reply)
        reply.append(#","keys":["#)
        for (index, observable) in found.prefix(limit).enumerated() {
            reply.append(index == 0 ? #"{"key":""# : #",{"key":""#)
            reply.append(keyspace[observable].key)
            reply.append(#"","revision":"#)
            reply.append(decimal: keyspace[observable].revision)
            EventEncoder.appendLive(keyspace.isLive(observable), to: &reply)
            appendEnd(of: observable, to: &reply)
            reply.append("}")
        }
        reply.append(found.count > limit ? #"],"more":true}"# : #"],"more":false}"#)
        reply.append("\n")
        sessions.giveBack(reply, to: session)
    }

    static var everything: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("**").bytes }
    }
}
