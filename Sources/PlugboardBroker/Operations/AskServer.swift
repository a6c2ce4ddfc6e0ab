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
                hold(call, asked, for: plugin, &calls, &keyspace, &sessions, &insight, deadlines)
                return supervision.weigh(plugin, at: keyspace.revision, &sessions, &delivery, &deadlines)
            }
            if insight.isTracingCalls {
                CallTrace.note(unserved: asked, &insight, &keyspace, &sessions)
            }
            throw .noProvider(asked.request, asked.line)
        }
        try PendingCall.checkRoom(for: asked.request, from: sessions[session], to: sessions[service.session])
        let call = begin(asked, timeout, to: service.session, &calls, &sessions, &deadlines)
        ask(service, call, value(of: asked), &calls, &keyspace, &sessions, &delivery, &insight, deadlines)
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
            cause: asked.request.cause,
            at: now,
            from: asked.session,
            to: server,
            &sessions
        )
        // A plugin that gets a call isn't idle.
        sessions[server].clearance?.plugin?.demand?.quietSince = now
        call.deadline = deadlines.add(after: UInt64(timeout), .call(call.number))
        return call
    }

    /// The value of a call; empty if it has none.
    @_lifetime(copy asked)
    private static func value(of asked: AskedRequest) -> Span<UInt8> {
        asked.request.has(.value) ? asked.request.value.bytes(of: asked.line) : Span()
    }

    /// Sends a call to the client of a service. The call is remembered like a write that somebody got.
    private static func ask(
        _ service: Service,
        _ call: PendingCall,
        _ value: Span<UInt8>,
        _ calls: inout Calls,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) {
        let author = sessions[call.caller].author(&keyspace)
        var event = delivery.takeLine()
        CallEncoder.appendEvent(
            call: call.number,
            key: call.key.span,
            revision: keyspace.revision,
            value: value,
            by: keyspace.authors[author].by,
            cause: call.cause,
            timeout: call.timeLeft,
            to: &event
        )
        keyspace.note(callOf: call.key.span, by: author, call.cause)
        if call.cause.isNamed { insight.noteReturns(&keyspace) }
        calls.noteSent(call, by: service)
        if insight.isTracingCalls {
            CallTrace.note(call, .asked, at: deadlines.now, &insight, &keyspace, &sessions)
        }
        delivery.send(event, to: service.session, at: keyspace.revision, &sessions)
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
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) {
        calls.hold(call, value(of: asked), for: plugin)
        guard insight.isTracingCalls else { return }
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
                let value = calls.held.value(of: number)
            else { continue }
            if let plugin = calls.letGo(call) {
                supervision.weigh(plugin, at: keyspace.revision, &sessions, &delivery, &deadlines)
            }
            let reporter = call.server
            calls.move(call, to: service.session, &sessions)
            call.noteHeld(until: deadlines.now)
            Duties.noteEnd(for: reporter, &sessions, &delivery)
            ask(service, call, value.span, &calls, &keyspace, &sessions, &delivery, &insight, deadlines)
        }
    }
}
