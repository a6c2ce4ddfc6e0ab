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
        try access.checkSeen(request, line, sessions[session])
        if key.first == UInt8(ascii: "$") { refreshOwnState(matching: key) }
        guard let observable = keyspace.find(key),
            keyspace[observable].hasValue
        else {
            try Key.check(request.key, line)
            throw notFound(request, line, session)
        }
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendStart(.get, id: request.id.bytes(of: line), to: &sessions[session].outbox.own)
        var tail = keyspace.tail(of: observable, isInitial: false)
        tail.live = keyspace.isLive(observable)
        EventEncoder.appendTail(tail, to: &sessions[session].outbox.own)
    }

    mutating func listKeys(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        if request.has(.key) { try Pattern.check(request.key, line) }
        if request.has(.after) { try Key.check(decoder.options.after, line) }
        if request.has(.key) { refreshOwnState(matching: request.key.bytes(of: line)) }
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendStart(.keys, id: request.id.bytes(of: line), to: &sessions[session].outbox.own)
        sessions[session].outbox.own.append(#","keys":["#)
        let hasMore = appendPage(request, line, session)
        sessions[session].outbox.own.append(hasMore ? #"],"more":true}"# : #"],"more":false}"#)
        sessions[session].outbox.own.append("\n")
    }

    /// Adds up to `limit` keys; returns whether there are more.
    private mutating func appendPage(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> Bool {
        var count = 0
        let limit = decoder.options.limit
        let pattern = request.has(.key) ? request.key.bytes(of: line) : Self.everything
        let after = request.has(.after) ? decoder.options.after.bytes(of: line) : Span()
        // Taken out meanwhile: who is looked at may see the keys.
        var buffer = ByteBuffer()
        swap(&buffer, &sessions[session].outbox.own)
        defer { swap(&buffer, &sessions[session].outbox.own) }
        let clearance = sessions[session].clearance
        return keyspace.forEachMatch(of: pattern, after: after) { observable in
            guard clearance?.permit(.subscribe, keyspace[observable].key) ?? true else { return true }
            if count == limit { return false }
            buffer.append(count == 0 ? #"{"key":""# : #",{"key":""#)
            buffer.append(keyspace[observable].key)
            buffer.append(#"","revision":"#)
            buffer.append(decimal: keyspace[observable].revision)
            EventEncoder.appendLive(keyspace.isLive(observable), to: &buffer)
            buffer.append("}")
            count += 1
            return true
        }
    }

    /// A key has no value: the refusal names keys that may have been meant.
    mutating func notFound(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> Refusal {
        let hint = keyspace.hint(for: request.key.bytes(of: line), to: sessions[session].clearance)
        return .noValue(request, line, hint: hint ?? "keys lists what there is")
    }

    private static var everything: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("**").bytes }
    }
}
