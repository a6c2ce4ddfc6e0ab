// Calls: asked by one client, answered by another. The caller's reply comes when there is
// an answer, or as soon as there can be none: exactly one, whatever happens to the server.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func call(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        try Self.checkKey(request.key, line)
        let key = request.key.bytes(of: line)
        try access.check(.call, request, line, session)
        guard let server = services.server(of: key)?.pointee.session, server.pointee.isOpen else {
            if try hold(request, line, session) { return }
            throw Self.noProvider(request, line)
        }
        try checkRoom(for: request, from: session, to: server)
        _ = begin(request, line, session, to: server)
        appendScratch(to: server)
    }

    /// Makes a call, and leaves its event in `scratch`.
    mutating func begin(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference,
        to server: SessionReference
    ) -> CallReference {
        let key = request.key.bytes(of: line)
        let (id, timeout) = (request.id.bytes(of: line), decoder.options.timeout)
        let call = calls.insert(id: id, key: key, timeout: timeout, from: session, to: server)
        let now = clock()
        if server.pointee.isGuarded { noteAsked(server, at: now) }
        let time = Deadlines.time(milliseconds: UInt64(timeout), after: now)
        call.pointee.deadline = deadlines.add(at: time, .call(call.pointee.number))
        scratch.removeAll()
        CallEncoder.appendEvent(
            call: call.pointee.number,
            key: key,
            value: request.has(.value) ? request.value.bytes(of: line) : nil,
            by: session.pointee.author.pointee.by,
            cause: request.cause,
            to: &scratch
        )
        return call
    }

    /// A client's answer to a call: to the caller, if it still waits.
    mutating func answer(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        let name = decoder.options.call.bytes(of: line)
        guard let number = Self.callNumber(name), calls.wasAsked(session.pointee.client, number) else {
            throw unknownCall(line)
        }
        let call = calls.find(number)
        if let call { passOn(call, request, line) }
        guard request.wantsReply else { return }
        openReply(to: session)
        CallEncoder.appendReturned(
            id: request.id.bytes(of: line),
            call: number,
            isLate: call == nil,
            to: &session.pointee.outbox.own
        )
    }

    /// A call has waited long enough, if it still waits.
    mutating func timeOut(call number: UInt64) {
        guard let call = calls.find(number) else { return }
        call.pointee.deadline = nil
        let plugin = supervision.heldCalls.plugin(of: number)
        let what = plugin.map { "the plugin \"\($0.name)\" didn't serve it" } ?? "no answer came"
        fail(call, Refusal(.timeout, "\(what) within \(call.pointee.timeout) ms"))
    }

    /// Ends what a client serves, what it was asked and what it asked.
    mutating func leaveCalls(_ session: SessionReference) {
        while let service = session.pointee.duties?.pointee.services.elements.last { end(service) }
        while let call = session.pointee.duties?.pointee.made.elements.last { finish(call) }
        // Callers hear of it in the order in which they asked.
        let unanswered = session.pointee.duties?.pointee.toAnswer.elements.map { $0 } ?? []
        for call in unanswered.sorted(by: { $0.pointee.number < $1.pointee.number }) {
            fail(call, Self.providerGone)
        }
    }

    /// Tells the caller what its server said.
    private mutating func passOn(_ call: CallReference, _ request: Request, _ line: Span<UInt8>) {
        let caller = call.pointee.caller
        let value = request.value.bytes(of: line)
        let message = decoder.options.errorMessage.bytes(of: line)
        guard room(of: caller) >= max(value.count, message.count) + Self.wrappingBytes else {
            return fail(call, Self.unreadAnswer)
        }
        let by = call.pointee.server.pointee.author.pointee.by
        scratch.removeAll()
        if request.has(.error) {
            CallEncoder.appendFailure(
                code: decoder.options.errorCode.bytes(of: line),
                message: message,
                id: call.pointee.id,
                line: call.pointee.line,
                by: by,
                to: &scratch
            )
        } else {
            CallEncoder.appendAnswer(
                id: call.pointee.id,
                key: call.pointee.key,
                value: value,
                by: by,
                to: &scratch
            )
        }
        appendScratch(to: caller)
        finish(call)
    }

    /// Tells the caller that there is no answer.
    mutating func fail(_ call: CallReference, _ refusal: Refusal) {
        scratch.removeAll()
        ReplyEncoder.appendRefusal(refusal, id: call.pointee.id, line: call.pointee.line, to: &scratch)
        appendScratch(to: call.pointee.caller)
        finish(call)
    }

    private mutating func finish(_ call: CallReference) {
        if let deadline = call.pointee.deadline { deadlines.cancel(deadline) }
        if !supervision.heldCalls.isEmpty { forgetHeld(call) }
        calls.remove(call)
    }

    /// Adds a line that is no reply to the line being executed. A client that is behind gets
    /// it after what it is owed by now.
    mutating func appendScratch(to session: SessionReference) {
        guard session.pointee.isOpen else { return }
        touch(session)
        guard session.pointee.isBehind else {
            openOwn(of: session)
            return session.pointee.outbox.own.append(scratch.bytes)
        }
        session.pointee.makeCatchup()
        guard let catchup = session.pointee.catchup else { return }
        catchup.pointee.deferred.append(scratch.bytes)
        catchup.pointee.deferredUntil = revision
        session.pointee.isHeld = true
    }
}
