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
        try checkSeen(request, line, session)
        if key.first == UInt8(ascii: "$") { refreshOwnState(matching: key) }
        guard let observable = observables.find(key, hash: observables.hash(key)),
            observables[observable].hasValue
        else {
            try Self.checkKey(request.key, line)
            throw notFound(request, line, session)
        }
        openReply(to: session)
        ReplyEncoder.appendStart(.get, id: request.id.bytes(of: line), to: &sessions[session].outbox.own)
        var tail = tail(of: observable, isInitial: false)
        tail.live = authors.isLive(observables[observable].writer)
        EventEncoder.appendTail(tail, to: &sessions[session].outbox.own)
    }

    mutating func listKeys(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        if request.has(.key) { try Self.checkPattern(request.key, line) }
        if request.has(.after) { try Self.checkKey(decoder.options.after, line) }
        if request.has(.key) { refreshOwnState(matching: request.key.bytes(of: line)) }
        openReply(to: session)
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
        return forEachMatch(of: pattern, after: after, for: sessions[session].clearance) { observable in
            if count == limit { return false }
            buffer.append(count == 0 ? #"{"key":""# : #",{"key":""#)
            buffer.append(observables[observable].key)
            buffer.append(#"","revision":"#)
            buffer.append(decimal: observables[observable].revision)
            EventEncoder.appendLive(authors.isLive(observables[observable].writer), to: &buffer)
            buffer.append("}")
            count += 1
            return true
        }
    }

    /// Visits the keys with a value that match and that a client may see, in order, while `body`
    /// returns true. Returns whether it was stopped.
    func forEachMatch(
        of pattern: Span<UInt8>,
        after: Span<UInt8> = Span(),
        for clearance: Clearance?,
        _ body: (ObservableHandle) -> Bool
    ) -> Bool {
        let prefix = Pattern.literalPrefix(pattern)
        let start = !after.isEmpty && KeyOrder.precedes(prefix, after) ? after : prefix
        var next = observables.first(from: start)
        while let observable = next {
            let key = observables[observable].key
            guard key.starts(with: prefix) else { return false }
            next = observables.next(after: observable)
            guard observables[observable].hasValue, Pattern.matches(pattern, key) else { continue }
            if !after.isEmpty, !KeyOrder.precedes(after, key) { continue }
            guard clearance?.permit(.subscribe, key) ?? true else { continue }
            if !body(observable) { return true }
        }
        return false
    }

    /// What is kept of a key, as an event or a reply tells it. A snapshot says whether the
    /// writer is still there, as news needn't.
    @_lifetime(immortal)
    func tail(of observable: ObservableHandle, isInitial: Bool) -> EventTail {
        let tail = EventTail(
            keyPrefix: observables[observable].keyPrefix,
            revision: observables[observable].revision,
            value: observables[observable].value,
            by: authors.by(observables[observable].writer),
            cause: observables[observable].cause,
            reason: observables[observable].marks.reason,
            isInitial: isInitial,
            live: isInitial ? authors.isLive(observables[observable].writer) : nil
        )
        return tail.kept
    }

    private static var everything: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("**").bytes }
    }
}
