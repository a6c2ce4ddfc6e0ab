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
        EventEncoder.appendTail(tail, to: &sessions[session].outbox.own)
    }
}
