// Calls: made by one client, to be answered by another. A call that nobody serves waits for the plugin that
// declares its key. So callers don't have to know whether the plugin is just starting.

import PlugboardMemory
import PlugboardWire

/// `call`.
enum AskServer {
    static func perform(
        _ asked: AskedRequest,
        _ timeout: UInt32,
        _ calls: inout Calls,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: inout Insight,
        _ supervision: borrowing Supervision,
        _ deadlines: inout Deadlines
    ) throws(Refusal) {
        let session = asked.session
        try Key.check(asked.request.key, asked.line)
        try Access.check(.call, asked.request, asked.line, sessions[session])
        guard let service = calls.server(of: asked.key), sessions[service.session].isOpen else {
            let caller = sessions[session].clearance?.plugin
            if let reporter = supervision.reporter,
                let plugin = supervision.server(of: asked.key, for: caller)
            {
                try checkHeld(asked, by: reporter, calls, sessions)
                let call = begin(asked, timeout, to: reporter, &calls, &sessions, &deadlines)
                hold(call, asked, for: plugin, &calls, &keyspace, &sessions, &delivery, &insight, deadlines)
                return supervision.weigh(plugin, at: keyspace.revision, &sessions, &delivery, &deadlines)
            }
            if insight.isTracing {
                CallTrace.note(unserved: asked.key, by: session, &insight, &keyspace, &sessions)
            }
            throw .noProvider(asked.request, asked.line)
        }
        try PendingCall.checkRoom(for: asked.request, from: sessions[session], to: sessions[service.session])
        let call = begin(asked, timeout, to: service.session, &calls, &sessions, &deadlines)
        var event = delivery.takeLine()
        append(call, asked, &keyspace, &sessions, to: &event)
        ask(service, call, &calls, &keyspace, &sessions, &insight, deadlines)
        delivery.send(event, to: service.session, at: keyspace.revision, &sessions)
    }

    /// Makes a call.
    private static func begin(
        _ asked: AskedRequest,
        _ timeout: UInt32,
        to server: SessionHandle,
        _ calls: inout Calls,
        _ sessions: inout SessionTable,
        _ deadlines: inout Deadlines
    ) -> PendingCall {
        let now = deadlines.now
        let call = calls.insert(
            id: asked.id,
            key: asked.key,
            timeout: timeout,
            at: now,
            from: asked.session,
            to: server,
            &sessions
        )
        // A plugin that gets a call isn't idle.
        sessions[server].clearance?.plugin?.demand?.quietSince = now
        let time = Deadlines.time(milliseconds: UInt64(timeout), after: now)
        call.deadline = deadlines.add(at: time, .call(call.number))
        return call
    }

    /// Appends the event of a call.
    private static func append(
        _ call: PendingCall,
        _ asked: AskedRequest,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        to event: inout ByteBuffer
    ) {
        let author = sessions[call.caller].author(&keyspace)
        CallEncoder.appendEvent(
            call: call.number,
            key: call.key.span,
            value: asked.request.has(.value) ? asked.request.value.bytes(of: asked.line) : nil,
            by: keyspace.authors[author].by,
            cause: asked.request.cause,
            to: &event
        )
    }

    /// A call is sent to the client of a service.
    private static func ask(
        _ service: Service,
        _ call: PendingCall,
        _ calls: inout Calls,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) {
        calls.noteSent(call, by: service)
        guard insight.isTracing else { return }
        CallTrace.note(call, .asked, at: deadlines.now, &insight, &keyspace, &sessions)
    }

    // MARK: Held calls

    private static func checkHeld(
        _ asked: AskedRequest,
        by reporter: SessionHandle,
        _ calls: borrowing Calls,
        _ sessions: borrowing SessionTable
    ) throws(Refusal) {
        let bytes = asked.request.value.count + PendingCall.wrappingBytes
        guard calls.held.bytes + bytes <= HeldCalls.bytesMax else {
            throw Refusal(.limit, "too much waits for plugins to be started", hint: "try again later")
        }
        try PendingCall.checkRoom(for: asked.request, from: sessions[asked.session], to: sessions[reporter])
    }

    private static func hold(
        _ call: PendingCall,
        _ asked: AskedRequest,
        for plugin: SupervisedPlugin,
        _ calls: inout Calls,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) {
        var event = delivery.takeLine()
        append(call, asked, &keyspace, &sessions, to: &event)
        calls.hold(call, event.bytes, for: plugin)
        delivery.giveBack(event)
        guard insight.isTracing else { return }
        CallTrace.note(call, .held, at: deadlines.now, &insight, &keyspace, &sessions)
    }

    /// Somebody serves more keys than before. Sends the held calls of these keys.
    static func askHeld(
        _ calls: inout Calls,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: inout Insight,
        _ supervision: borrowing Supervision,
        _ deadlines: inout Deadlines
    ) {
        for number in calls.held.numbers {
            guard let call = calls.find(number), let service = calls.server(of: call.key.span),
                let event = calls.held.event(of: number)
            else { continue }
            if let plugin = calls.letGo(call) {
                supervision.weigh(plugin, at: keyspace.revision, &sessions, &delivery, &deadlines)
            }
            let reporter = call.server
            calls.move(call, to: service.session, &sessions)
            ask(service, call, &calls, &keyspace, &sessions, &insight, deadlines)
            Duties.noteEnd(for: reporter, &sessions, &delivery)
            var line = delivery.takeLine()
            line.append(event.span)
            delivery.send(line, to: service.session, at: keyspace.revision, &sessions)
        }
    }
}
