// Calls: made by one client, to be answered by another. A call that nobody serves waits for the plugin that
// declares its key. So callers don't have to know whether the plugin is just starting.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func call(_ asked: AskedRequest) throws(Refusal) {
        let session = asked.session
        try Key.check(asked.request.key, asked.line)
        try Access.check(.call, asked.request, asked.line, sessions[session])
        guard let service = server(of: asked.key) else {
            let caller = sessions[session].grant?.plugin
            if let reporter = supervision.reporter,
                let plugin = supervision.server(of: asked.key, for: caller)
            {
                return try hold(asked, for: plugin, of: reporter)
            }
            traceEvent(unserved: asked)
            throw .noProvider(asked.request, asked.line)
        }
        try PendingCall.checkRoom(for: asked.request, from: sessions[session], to: sessions[service.session])
        ask(service, begin(asked, to: service.session), asked.request.value.bytes(of: asked.line))
    }

    /// Who answers a call of a key. A client that is about to be closed serves no more: who stands in line behind it
    /// takes over at once, and not at the end of the turn.
    private mutating func server(of key: Span<UInt8>) -> Service? {
        while let service = calls.server(of: key) {
            if sessions[service.session].isOpen { return service }
            end(service)
        }
        return nil
    }

    private mutating func begin(_ asked: AskedRequest, to server: SessionHandle) -> PendingCall {
        let (now, timeout) = (deadlines.now, requests.decoder.options.timeout)
        let (number, line) = (calls.nextNumber, sessions[asked.session].line)
        let call = PendingCall(asked, number: number, line: line, timeout: timeout, at: now, to: server)
        calls.insert(call, &sessions)
        // A plugin that gets a call isn't idle.
        sessions[server].grant?.plugin?.demand?.quietSince = now
        call.deadline = deadlines.add(after: UInt64(timeout), .call(call.number))
        return call
    }

    /// Sends a call to the client of a service. The call is remembered like a write that somebody got.
    private mutating func ask(_ service: Service, _ call: PendingCall, _ value: Span<UInt8>) {
        let author = sessions[call.caller].author(&keyspace)
        var event = delivery.takeLine()
        CallEncoder.appendEvent(
            call: call.number,
            key: call.key.span,
            revision: revision,
            value: value,
            by: keyspace.authors[author].by,
            cause: call.cause,
            timeout: call.timeLeft,
            to: &event
        )
        let observable = keyspace.findOrInsert(call.key.span)
        remember(History.Entry(.call, observable, author, revision, call.cause))
        keyspace.history.countCall()
        call.service = service
        service.counts.asked &+= 1
        traceEvent(of: call, .asked)
        delivery.send(event, to: service.session, at: revision, &sessions)
    }

    // MARK: Held calls

    private mutating func hold(
        _ asked: AskedRequest, for plugin: SupervisedPlugin, of reporter: SessionHandle
    ) throws(Refusal) {
        let bytes = asked.request.value.count + PendingCall.wrappingBytes
        guard calls.heldBytes + bytes <= PendingCall.heldBytesMax else {
            throw Refusal(.limit, "too much waits for plugins to be started", hint: "try again later")
        }
        try PendingCall.checkRoom(for: asked.request, from: sessions[asked.session], to: sessions[reporter])
        let call = begin(asked, to: reporter)
        calls.hold(call, Array(asked.request.value.bytes(of: asked.line)), for: plugin)
        traceEvent(of: call, .held)
        weigh(plugin)
    }

    /// Somebody serves more keys than before. Sends the held calls of these keys.
    private mutating func askHeld() {
        for call in supervision.heldCalls {
            guard let service = server(of: call.key.span), let held = calls.endHolding(call) else { continue }
            weigh(held.plugin)
            let reporter = call.server
            calls.move(call, to: service.session, &sessions)
            call.shortenTimeLeft(until: deadlines.now)
            touchIfIdle(reporter)
            ask(service, call, held.value.span)
        }
    }

    // MARK: Answers

    /// `answer`: the caller gets it if it still waits.
    mutating func answer(_ asked: AskedRequest) throws(Refusal) {
        let (session, name) = (asked.session, requests.decoder.options.call)
        guard let number = PendingCall.number(name.bytes(of: asked.line)),
            calls.asked.wasAsked(sessions[session].client, number)
        else { throw .unknownCall(name, asked.line) }
        let call = calls.find(number)
        if let call { end(call, pass(asked, to: call)) }
        guard asked.request.wantsReply else { return }
        var reply = beginReply(to: asked)
        reply.append(member: "call", text: name.bytes(of: asked.line))
        if call == nil { reply.append(#","late":true"#) }
        finish(reply, to: session)
    }

    private mutating func pass(_ asked: AskedRequest, to call: PendingCall) -> CallOutcome {
        let (value, options) = (asked.request.value.bytes(of: asked.line), requests.decoder.options)
        let (code, message) = (options.errorCode, options.errorMessage)
        var reply = delivery.takeLine()
        if sessions[call.caller].room < max(value.count, message.count) + PendingCall.wrappingBytes {
            ReplyEncoder.appendRefusal(.unreadAnswer, id: call.id.span, line: call.line, to: &reply)
            call.error = Refusal.unreadAnswer.code.rawValue
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
            call.error = String(code.bytes(of: asked.line))
        } else {
            let author = sessions[call.server].author(&keyspace)
            let by = keyspace.authors[author].by
            CallEncoder.appendAnswer(id: call.id.span, key: call.key.span, value: value, by: by, to: &reply)
        }
        delivery.send(reply, to: call.caller, at: revision, &sessions)
        return call.error == nil ? .answered : .failed
    }

    // MARK: Services, which end with their connections at the latest

    mutating func serve(_ asked: AskedRequest) throws(Refusal) {
        let (pattern, session) = (asked.request.key, asked.session)
        try Pattern.check(pattern, asked.line)
        if Key.isReserved(asked.key) { throw .reserved(asked.request, asked.line) }
        guard sessions[session].authorize(.serve, asked.key, .all) else {
            throw Access.forbidden(.serve, pattern, asked.line, sessions[session])
        }
        let others = calls.services(at: asked.key)
        if !others.isEmpty { try checkRoom(behind: others, asked) }
        let account = access.account(of: sessions[session])
        try account.checkRoom(subscriptions: 1)
        guard sessions[session].calls?.services.count ?? 0 < Limits.servicesMax else {
            throw Refusal(.limit, "a client serves at most \(Limits.servicesMax) keys and patterns")
        }
        guard calls.serve(asked.key, session, &sessions) else { throw .steps("serves") }
        account.used.subscriptions += 1
        replyServed(asked, waits: !others.isEmpty)
        if calls.heldBytes > 0 { askHeld() }
    }

    mutating func unserve(_ asked: AskedRequest) throws(Refusal) {
        try Pattern.check(asked.request.key, asked.line)
        let line = calls.services(at: asked.key)
        guard let service = line.first(where: { $0.session == asked.session }) else {
            let word = asked.request.key.excerpt(of: asked.line)
            let own = sessions[asked.session].calls?.services.map { String($0.pattern.span) }
            let hint = Suggestion.hint(for: word, among: Array((own ?? []).prefix(64)))
            let message = "this client does not serve \"\(word)\""
            throw Refusal(.notFound, message, hint: hint, at: asked.request.key.start)
        }
        end(service)
        replyServed(asked, waits: false)
    }

    /// Ends the services of a client, and the calls that it has to answer. Returns false if others should have their
    /// turn first; then call it again.
    @discardableResult
    mutating func endServing(of session: SessionHandle, until effortEnd: UInt64 = .max) -> Bool {
        while let service = sessions[session].calls?.services.last {
            if effort > effortEnd { return false }
            insight.count(steps: Cost.subscription)
            end(service)
        }
        // Callers are told in the order of their calls.
        while let call = sessions[session].calls?.toAnswer.first {
            if effort > effortEnd { return false }
            end([call], call.held == nil ? .providerGone : .supervisorGone)
        }
        return true
    }

    mutating func endForbidden(of session: SessionHandle) {
        for service in sessions[session].calls?.services ?? []
        where !sessions[session].authorize(.serve, service.pattern.span, .all) {
            end(service)
        }
        guard let calls = sessions[session].calls else { return }
        let made = calls.made.all.filter { !sessions[session].authorize(.call, $0.key.span) }
        let toAnswer = calls.toAnswer.all.filter { !sessions[session].authorize(.serve, $0.key.span) }
        end(made, Refusal(.forbidden, "the policy does not let this client call it any more"))
        end(toAnswer, Refusal(.providerGone, "its server may not answer it any more"))
    }

    /// Ends a service. Calls that it got may still be answered. Tells the one that takes over.
    private mutating func end(_ service: Service) {
        access.account(of: sessions[service.session]).used.subscriptions -= 1
        if let next = calls.end(service, &sessions) {
            var event = delivery.takeLine()
            CallEncoder.appendServing(next.pattern.span, to: &event)
            delivery.send(event, to: next.session, at: revision, &sessions)
        }
        touchIfIdle(service.session)
    }

    /// Perhaps a client's connection stayed open only for a call or a service that has just ended.
    mutating func touchIfIdle(_ session: SessionHandle) {
        if sessions[session].isOpen, sessions[session].calls == nil { delivery.touch(session, &sessions) }
    }

    private mutating func replyServed(_ asked: AskedRequest, waits: Bool) {
        var reply = beginReply(to: asked)
        reply.append(member: "key", text: asked.key)
        if waits { reply.append(#","spare":true"#) }
        finish(reply, to: asked.session)
    }

    /// Throws unless the client may stand in line behind others, and asks for that.
    private func checkRoom(behind others: [Service], _ asked: AskedRequest) throws(Refusal) {
        let key = asked.request.key.excerpt(of: asked.line)
        let own = others.first { $0.session == asked.session }
        if requests.decoder.options.isSpare, own == nil {
            guard others.count > Limits.sparesMax else { return }
            throw Refusal(.limit, "at most \(Limits.sparesMax) clients stand in line for \"\(key)\"")
        }
        let other = own == nil ? others.first : nil
        let who = other.map { "client \(sessions[$0.session].client)" } ?? "this client"
        let waits = own?.isSpare == true
        let message = waits ? "this client stands in line for \"\(key)\"" : "\"\(key)\" is served by \(who)"
        let hint = #"a more specific key or pattern goes before it, or "spare":true waits in line"#
        let place = asked.request.key.start
        throw Refusal(.conflict, "\(message) already", hint: own == nil ? hint : nil, at: place)
    }
}
