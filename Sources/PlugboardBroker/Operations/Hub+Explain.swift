// What a write would do, without doing it: the refusal it would get, or who would be told
// what, and what would become of it on the way to each.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func explain(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        guard let write = requests.decoder.writes.first else {
            throw Refusal(.missingField, "explain needs \"write\"")
        }
        let key = write.key.bytes(of: line)
        let refusal = refusal(of: write, line, session)
        // What is refused may be no key at all, of which there is nothing to be asked.
        let isSeen = refusal == nil && sessions[session].authorize(.subscribe, key)
        if refusal == nil {
            let observable = keyspace.find(key)
            let steps = matching.list(key, observable, &keyspace, sessions, isSelective, isSeen: isSeen)
            insight.count(steps: steps)
        }
        delivery.openReply(to: session, &sessions)
        var reply = sessions.takeOwn(of: session)
        ReplyEncoder.appendStart(.explain, id: request.id.bytes(of: line), to: &reply)
        reply.append(#","op":""#)
        reply.append(write.operation.name)
        reply.append(#"","key":"#)
        JSONText.append(key, to: &reply)
        if let refusal {
            reply.append(#","refused":{"error":""#)
            reply.append(string: refusal.code.rawValue)
            reply.append("\"")
            ReplyEncoder.appendDetails(of: refusal, to: &reply)
            reply.append("}")
        } else {
            appendEffect(of: write, line, isSeen: isSeen, to: &reply)
        }
        reply.append("}\n")
        sessions.giveBack(reply, to: session)
    }

    /// Why a write would be refused; nil where it would not. What a patch or a sum comes to is left in
    /// `requests.merged`.
    private mutating func refusal(
        of write: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> Refusal? {
        do throws(Refusal) {
            let planned = try plan(write, line, session)
            if write.operation.combines { try combine(planned, write, line, session) }
            return nil
        } catch {
            return error
        }
    }

    /// Adds what the observers in `matches` would be told, and what would become of it.
    private mutating func appendEffect(
        of write: Request,
        _ line: Span<UInt8>,
        isSeen: Bool,
        to buffer: inout ByteBuffer
    ) {
        let event = Event(write.operation)
        let key = write.key.bytes(of: line)
        let observable = keyspace.find(key)
        let old = keyspace.value(of: observable)
        let value: Span<UInt8> =
            event == .delete
            ? Span() : write.operation.combines ? requests.merged.bytes.kept : write.value.bytes(of: line)
        buffer.append(#","effect":""#)
        buffer.append(event.name)
        buffer.append(#"","revision":"#)
        buffer.append(decimal: event == .emit ? revision : revision + 1)
        if !value.isEmpty {
            buffer.append(#","value":"#)
            buffer.append(value)
        }
        let barrier = barrier(for: event, of: observable, matching.found.all, from: old, to: value)
        buffer.append(#","observers":["#)
        for (index, subscription) in matching.listed(sessions).enumerated() {
            buffer.append(index == 0 ? "{" : ",{")
            Who.append(subscription, of: key, keyspace, matching, sessions, to: &buffer)
            append(
                outcome(of: event, key, from: old, to: value, behind: barrier, for: subscription),
                to: &buffer
            )
            buffer.append("}")
        }
        buffer.append(matching.found.count > Limits.listedObserversMax ? #"],"more":true"# : "]")
        // Of a key that the client may not see it isn't told whether somebody observes it.
        if isSeen, matching.found.isEmpty { buffer.append(event.nobodysNote) }
    }
}

extension Event {
    /// What a write causes.
    init(_ operation: Operation) {
        switch operation {
        case .emit: self = .emit
        case .delete: self = .delete
        default: self = .update
        }
    }

    var name: StaticString {
        switch self {
        case .update: "update"
        case .emit: "emit"
        case .delete: "delete"
        }
    }

    fileprivate var nobodysNote: StaticString {
        switch self {
        case .update: #","note":"nobody observes this key: it is kept for whoever asks or subscribes later""#
        case .emit: #","note":"nobody observes this key, and an emit is not kept: nobody would ever know""#
        case .delete: #","note":"nobody observes this key: it would just be gone""#
        }
    }
}
