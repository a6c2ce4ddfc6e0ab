// Notes what happens to a call, for those who trace it: when it is sent to its server, and when it is over.

import PlugboardMemory
import PlugboardWire

/// Notes calls.
enum CallTrace {
    /// Notes what has happened to a call.
    static func note(
        _ call: PendingCall,
        _ outcome: CallOutcome,
        at now: UInt64,
        _ insight: inout Insight,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable
    ) {
        var text = ByteBuffer()
        append(call.caller, &keyspace, &sessions, to: &text)
        call.cause.append(to: &text)
        text.append(#","call":""#)
        text.append(decimal: call.number)
        text.append("\"")
        if let server = call.service?.session {
            text.append(#","server":{"#)
            sessions[server].appendSource(keyspace, to: &text)
            text.append("}")
        }
        outcome.append(after: now - min(now, call.start), to: &text)
        insight.trace(callOf: call.key.span, text.bytes, revision: keyspace.revision, sessions)
    }

    /// Notes a call of a key that nobody serves.
    static func note(
        unserved asked: AskedRequest,
        _ insight: inout Insight,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable
    ) {
        var text = ByteBuffer()
        append(asked.session, &keyspace, &sessions, to: &text)
        asked.request.cause.append(to: &text)
        CallOutcome.failed(code: ErrorCode.noProvider.rawValue).append(after: nil, to: &text)
        insight.trace(callOf: asked.key, text.bytes, revision: keyspace.revision, sessions)
    }

    private static func append(
        _ caller: SessionHandle,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        to text: inout ByteBuffer
    ) {
        let author = sessions[caller].author(&keyspace)
        text.append(keyspace.authors[author].by)
    }
}
