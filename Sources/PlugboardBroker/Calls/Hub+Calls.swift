// Calls: asked by one client, answered by another. The caller's reply comes when there is
// an answer, or as soon as there can be none: exactly one, whatever happens to the server.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func call(_ asked: AskedRequest) throws(Refusal) {
        let session = asked.session
        try Key.check(asked.request.key, asked.line)
        try Access.check(.call, asked.request, asked.line, sessions[session])
        guard let service = calls.server(of: asked.key), sessions[service.session].isOpen else {
            if try hold(asked) { return }
            if insight.isTracing { noteTrace(ofUnserved: asked.key, by: session) }
            throw .noProvider(asked.request, asked.line)
        }
        let server = service.session
        try Call.checkRoom(for: asked.request, from: sessions[session], to: sessions[server])
        var event = delivery.takeLine()
        let call = begin(asked, to: server, &event)
        calls.noteSent(call, by: service)
        if insight.isTracing { noteTrace(of: call, .asked) }
        send(event, to: server)
    }

    /// Has a call that nobody serves wait for the plugin that is to serve it: so nobody has to know whether it is
    /// just being started. False where there is none.
    private mutating func hold(_ asked: AskedRequest) throws(Refusal) -> Bool {
        let session = asked.session
        guard let reporter = supervision.reporter,
            let plugin = supervision.server(of: asked.key, for: sessions[session].clearance?.plugin)
        else { return false }
        let bytes = asked.request.value.count + Call.wrappingBytes
        guard calls.held.bytes + bytes <= HeldCalls.bytesMax else {
            throw Refusal(.limit, "too much waits for plugins to be started", hint: "try again later")
        }
        try Call.checkRoom(for: asked.request, from: sessions[session], to: sessions[reporter])
        var event = delivery.takeLine()
        let call = begin(asked, to: reporter, &event)
        calls.hold(call, event.bytes, for: plugin)
        if insight.isTracing { noteTrace(of: call, .held) }
        delivery.giveBack(event)
        weigh(plugin)
        return true
    }

    /// Makes a call, and its event.
    private mutating func begin(
        _ asked: AskedRequest,
        to server: SessionHandle,
        _ event: inout ByteBuffer
    ) -> Call {
        let (timeout, now) = (requests.decoder.options.timeout, deadlines.now)
        let call = calls.insert(
            id: asked.id,
            key: asked.key,
            timeout: timeout,
            at: now,
            from: asked.session,
            to: server,
            &sessions
        )
        // A plugin that is asked something isn't idle.
        sessions[server].clearance?.plugin?.demand?.quietSince = now
        let time = Deadlines.time(milliseconds: UInt64(timeout), after: now)
        call.deadline = deadlines.add(at: time, .call(call.number))
        let author = sessions[asked.session].author(&keyspace)
        CallEncoder.appendEvent(
            call: call.number,
            key: asked.key,
            value: asked.request.has(.value) ? asked.request.value.bytes(of: asked.line) : nil,
            by: keyspace.authors[author].by,
            cause: asked.request.cause,
            to: &event
        )
        return call
    }

    mutating func answer(_ asked: AskedRequest) throws(Refusal) {
        let answer = try Answer(asked, requests.decoder.options, calls, sessions)
        if let call = answer.call { finish(call, answer.pass(&keyspace, &sessions, &delivery)) }
        if asked.request.wantsReply { answer.reply(&sessions, &delivery) }
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

    // MARK: Held calls

    /// Somebody serves more than before: what waited for that is asked.
    mutating func askHeld() {
        for number in calls.held.numbers {
            guard let call = calls.find(number), let service = calls.server(of: call.key),
                let event = calls.held.event(of: number)
            else { continue }
            forgetHeld(call)
            let reporter = call.server
            calls.move(call, to: service.session, &sessions)
            calls.noteSent(call, by: service)
            if insight.isTracing { noteTrace(of: call, .asked) }
            Duties.noteEnd(for: reporter, &sessions, &delivery)
            var line = delivery.takeLine()
            line.append(event.span)
            send(line, to: service.session)
        }
    }

    /// A call waits no more, if it did.
    private mutating func forgetHeld(_ call: Call) {
        guard let plugin = calls.letGo(call) else { return }
        weigh(plugin)
    }

    /// Refuses the calls that wait for a plugin which isn't to serve them any more.
    mutating func failHeld(for plugin: SupervisedPlugin) {
        guard plugin.heldCalls > 0 else { return }
        for number in calls.held.numbers {
            guard calls.held.plugin(of: number) === plugin, let call = calls.find(number),
                !plugin.willServe(call.key)
            else { continue }
            let what = plugin.isExpected ? "may not any more" : "isn't running"
            fail(call, Refusal(.noProvider, "the plugin \"\(plugin.name)\" that would serve it \(what)"))
        }
    }

    private mutating func weigh(_ plugin: SupervisedPlugin) {
        supervision.weigh(plugin, at: revision, &sessions, &delivery, &deadlines)
    }
}
