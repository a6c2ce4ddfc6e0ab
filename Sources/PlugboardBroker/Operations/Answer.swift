// A client's answer to a call. The caller gets it if it still waits.

import PlugboardMemory
import PlugboardWire

/// `answer`.
struct Answer: ~Escapable {
    private let asked: AskedRequest
    private let options: RequestOptions
    private let number: UInt64
    /// Nil if the call is over already.
    let call: PendingCall?

    @_lifetime(copy asked)
    init(
        _ asked: AskedRequest,
        _ options: RequestOptions,
        _ calls: borrowing Calls,
        _ sessions: borrowing SessionTable
    ) throws(Refusal) {
        guard let number = PendingCall.number(options.call.bytes(of: asked.line)),
            calls.wasAsked(sessions[asked.session].client, number)
        else { throw .unknownCall(options.call, asked.line) }
        (self.options, self.number, call) = (options, number, calls.find(number))
        self.asked = asked
    }

    /// Sends the answer to the caller. Returns how the call ended.
    func pass(
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) -> CallOutcome {
        guard let call else { return .abandoned }
        let value = asked.request.value.bytes(of: asked.line)
        let (code, message) = (options.errorCode, options.errorMessage)
        var reply = delivery.takeLine()
        var outcome = CallOutcome.answered
        if sessions[call.caller].room < max(value.count, message.count) + PendingCall.wrappingBytes {
            ReplyEncoder.appendRefusal(.unreadAnswer, id: call.id.span, line: call.line, to: &reply)
            outcome = .failed(code: Refusal.unreadAnswer.code.rawValue)
        } else if asked.request.has(.error) {
            let author = sessions[call.server].author(&keyspace)
            CallEncoder.appendFailure(
                code: code.bytes(of: asked.line),
                message: message.bytes(of: asked.line),
                id: call.id.span,
                line: call.line,
                by: keyspace.authors[author].by,
                to: &reply
            )
            outcome = .failed(code: String(code.bytes(of: asked.line)))
        } else {
            let author = sessions[call.server].author(&keyspace)
            let by = keyspace.authors[author].by
            CallEncoder.appendAnswer(id: call.id.span, key: call.key.span, value: value, by: by, to: &reply)
        }
        delivery.send(reply, to: call.caller, at: keyspace.revision, &sessions)
        return outcome
    }

    func reply(_ sessions: inout SessionTable, _ delivery: inout Delivery) {
        delivery.openReply(to: asked.session, &sessions)
        CallEncoder.appendReturned(
            id: asked.id,
            call: number,
            isLate: call == nil,
            to: &sessions[asked.session].outbox.own
        )
    }
}
