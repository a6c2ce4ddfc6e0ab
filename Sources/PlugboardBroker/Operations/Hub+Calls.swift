// Calls: asked by one client, answered by another. The caller's reply comes when there is
// an answer, or as soon as there can be none: exactly one, whatever happens to the server.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func call(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        try Key.check(request.key, line)
        let key = request.key.bytes(of: line)
        try Access.check(.call, request, line, sessions[session])
        guard let service = calls.server(of: key), sessions[service.session].isOpen else {
            if try hold(request, line, session) { return }
            if insight.isTracing { noteTrace(ofUnserved: key, by: session) }
            throw .noProvider(request, line)
        }
        let server = service.session
        try Call.checkRoom(for: request, from: sessions[session], to: sessions[server])
        var event = delivery.takeLine()
        let call = begin(request, line, session, to: server, &event)
        calls.noteSent(call, by: service)
        if insight.isTracing { noteTrace(of: call, .asked) }
        send(event, to: server)
    }

    /// Makes a call, and its event.
    mutating func begin(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle,
        to server: SessionHandle,
        _ event: inout ByteBuffer
    ) -> Call {
        let key = request.key.bytes(of: line)
        let (id, timeout) = (request.id.bytes(of: line), requests.decoder.options.timeout)
        let now = deadlines.now
        let call = calls.insert(
            id: id,
            key: key,
            timeout: timeout,
            at: now,
            from: session,
            to: server,
            &sessions
        )
        if sessions[server].isGuarded { noteAsked(server, at: now) }
        let time = Deadlines.time(milliseconds: UInt64(timeout), after: now)
        call.deadline = deadlines.add(at: time, .call(call.number))
        let author = sessions[session].author(&keyspace)
        CallEncoder.appendEvent(
            call: call.number,
            key: key,
            value: request.has(.value) ? request.value.bytes(of: line) : nil,
            by: keyspace.authors[author].by,
            cause: request.cause,
            to: &event
        )
        return call
    }

    /// A client's answer to a call: to the caller, if it still waits.
    mutating func answer(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let name = requests.decoder.options.call.bytes(of: line)
        guard let number = Call.number(name), calls.wasAsked(sessions[session].client, number) else {
            throw .unknownCall(requests.decoder.options.call, line)
        }
        let call = calls.find(number)
        if let call { passOn(call, request, line) }
        guard request.wantsReply else { return }
        delivery.openReply(to: session, &sessions)
        CallEncoder.appendReturned(
            id: request.id.bytes(of: line),
            call: number,
            isLate: call == nil,
            to: &sessions[session].outbox.own
        )
    }

    /// A call has waited long enough, if it still waits.
    mutating func timeOut(call number: UInt64) {
        guard let call = calls.find(number) else { return }
        call.deadline = nil
        let plugin = calls.held.plugin(of: number)
        let what = plugin.map { "the plugin \"\($0.name)\" didn't serve it" } ?? "no answer came"
        fail(call, Refusal(.timeout, "\(what) within \(call.timeout) ms"))
    }

    /// Ends what a client serves, what it was asked and what it asked.
    mutating func leaveCalls(_ session: SessionHandle) {
        while let service = sessions[session].duties?.services.last {
            Serve.end(service, &calls, &sessions, &delivery)
        }
        while let call = sessions[session].duties?.made.last { finish(call, .abandoned) }
        // Callers hear of it in the order in which they asked.
        let unanswered = sessions[session].duties?.toAnswer ?? []
        for call in unanswered.sorted(by: { $0.number < $1.number }) {
            fail(call, .providerGone)
        }
    }

    /// Tells the caller what its server said.
    private mutating func passOn(_ call: Call, _ request: Request, _ line: Span<UInt8>) {
        let caller = call.caller
        let value = request.value.bytes(of: line)
        let message = requests.decoder.options.errorMessage.bytes(of: line)
        guard sessions[caller].room >= max(value.count, message.count) + Call.wrappingBytes else {
            return fail(call, .unreadAnswer)
        }
        let author = sessions[call.server].author(&keyspace)
        let by = keyspace.authors[author].by
        var reply = delivery.takeLine()
        if request.has(.error) {
            CallEncoder.appendFailure(
                code: requests.decoder.options.errorCode.bytes(of: line),
                message: message,
                id: call.id,
                line: call.line,
                by: by,
                to: &reply
            )
        } else {
            CallEncoder.appendAnswer(
                id: call.id,
                key: call.key,
                value: value,
                by: by,
                to: &reply
            )
        }
        send(reply, to: caller)
        if request.has(.error) {
            finish(call, .failed(code: String(requests.decoder.options.errorCode.bytes(of: line))))
        } else {
            finish(call, .answered)
        }
    }

    /// Tells the caller that there is no answer.
    mutating func fail(_ call: Call, _ refusal: Refusal) {
        var reply = delivery.takeLine()
        ReplyEncoder.appendRefusal(refusal, id: call.id, line: call.line, to: &reply)
        send(reply, to: call.caller)
        finish(call, .failed(code: refusal.code.rawValue))
    }

    private mutating func finish(_ call: Call, _ outcome: CallOutcome) {
        calls.noteEnd(of: call, isAnswer: outcome == .answered, at: deadlines.now)
        if insight.isTracing { noteTrace(of: call, outcome) }
        if let deadline = call.deadline { deadlines.cancel(deadline) }
        if !calls.held.isEmpty { forgetHeld(call) }
        calls.remove(call, &sessions)
        Duties.noteEnd(for: call.server, &sessions, &delivery)
    }

    /// Adds a line to what a client is sent; one that is behind gets it after what it is owed by now.
    mutating func send(_ line: consuming ByteBuffer, to session: SessionHandle) {
        delivery.send(line, to: session, at: keyspace.revision, &sessions)
    }
}
