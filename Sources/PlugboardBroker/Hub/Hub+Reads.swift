// Reading without observing: one value, or a page of keys.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func get(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        let key = request.key.bytes(of: line)
        try checkSeen(request, line, session)
        if key.first == UInt8(ascii: "$") { refreshOwnState(matching: key) }
        guard let observable = observables.find(key, hash: observables.hash(key)), observable.pointee.hasValue
        else {
            try Self.checkKey(request.key, line)
            throw notFound(request, line, session)
        }
        openReply(to: session)
        ReplyEncoder.appendStart(.get, id: request.id.bytes(of: line), to: &session.pointee.outbox.own)
        var tail = Self.tail(of: observable, isInitial: false)
        tail.live = observable.pointee.isLive
        EventEncoder.appendTail(tail, to: &session.pointee.outbox.own)
    }

    mutating func listKeys(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        if request.has(.key) { try Self.checkPattern(request.key, line) }
        if request.has(.after) { try Self.checkKey(decoder.options.after, line) }
        if request.has(.key) { refreshOwnState(matching: request.key.bytes(of: line)) }
        openReply(to: session)
        ReplyEncoder.appendStart(.keys, id: request.id.bytes(of: line), to: &session.pointee.outbox.own)
        session.pointee.outbox.own.append(#","keys":["#)
        let hasMore = appendPage(request, line, session)
        session.pointee.outbox.own.append(hasMore ? #"],"more":true}"# : #"],"more":false}"#)
        session.pointee.outbox.own.append("\n")
    }

    /// Adds up to `limit` keys; returns whether there are more.
    private func appendPage(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) -> Bool {
        var count = 0
        let limit = decoder.options.limit
        let pattern = request.has(.key) ? request.key.bytes(of: line) : Self.everything
        let after = request.has(.after) ? decoder.options.after.bytes(of: line) : Span()
        return forEachMatch(of: pattern, after: after, for: session) { observable in
            if count == limit { return false }
            session.pointee.outbox.own.append(count == 0 ? #"{"key":""# : #",{"key":""#)
            session.pointee.outbox.own.append(observable.pointee.key)
            session.pointee.outbox.own.append(#"","revision":"#)
            session.pointee.outbox.own.append(decimal: observable.pointee.revision)
            EventEncoder.appendLive(observable.pointee.isLive, to: &session.pointee.outbox.own)
            session.pointee.outbox.own.append("}")
            count += 1
            return true
        }
    }

    /// Visits the keys with a value that match and that a client may see, in order, while `body`
    /// returns true. Returns whether it was stopped.
    func forEachMatch(
        of pattern: Span<UInt8>,
        after: Span<UInt8> = Span(),
        for session: SessionReference,
        _ body: (ObservableReference) -> Bool
    ) -> Bool {
        let prefix = Pattern.literalPrefix(pattern)
        let start = !after.isEmpty && KeyOrder.precedes(prefix, after) ? after : prefix
        var next = observables.order.first(from: start)
        while let observable = next {
            let key = observable.pointee.key
            guard key.starts(with: prefix) else { return false }
            next = KeyOrder.next(after: observable)
            guard observable.pointee.hasValue, Pattern.matches(pattern, key) else { continue }
            if !after.isEmpty, !KeyOrder.precedes(after, key) { continue }
            guard session.pointee.authorize(.subscribe, key) else { continue }
            if !body(observable) { return true }
        }
        return false
    }

    /// What is kept of a key, as an event or a reply tells it. A snapshot says whether the
    /// writer is still there, as news needn't.
    @_lifetime(immortal)
    static func tail(of observable: ObservableReference, isInitial: Bool) -> EventTail {
        let tail = EventTail(
            keyPrefix: observable.pointee.keyPrefix,
            revision: observable.pointee.revision,
            value: observable.pointee.value,
            by: observable.pointee.by,
            cause: observable.pointee.cause,
            reason: observable.pointee.marks.reason,
            isInitial: isInitial,
            live: isInitial ? observable.pointee.isLive : nil
        )
        return _overrideLifetime(tail, copying: ())
    }

    private static var everything: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("**").bytes }
    }
}
