// Who answers calls. A service ends with its connection at the latest.

import PlugboardMemory
import PlugboardWire

/// `serve` and `unserve`.
enum Serve {
    static func perform(
        _ asked: AskedRequest,
        _ calls: inout Calls,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) throws(Refusal) {
        let (pattern, session) = (asked.request.key, asked.session)
        try Pattern.check(pattern, asked.line)
        if Key.isReserved(asked.key) { throw .reserved(asked.request, asked.line) }
        guard sessions[session].authorizeAll(.serve, asked.key) else {
            throw Access.forbidden(.serve, pattern, asked.line, sessions[session])
        }
        if let other = calls.service(at: asked.key) { throw served(other, asked, sessions) }
        try Access.checkSubscriptions(of: sessions[session], patterns: 1)
        guard sessions[session].duties?.services.count ?? 0 < Limits.servicesMax else {
            throw Refusal(.limit, "a client serves at most \(Limits.servicesMax) keys and patterns")
        }
        guard calls.serve(asked.key, session, &sessions) else {
            let steps = "finding who serves a key could take more than \(Limits.patternStepsMax) steps"
            throw Refusal(.limit, "with this pattern, \(steps)", hint: Pattern.fewerSteps)
        }
        sessions[session].clearance?.account?.subscriptions += 1
        reply(to: asked, &sessions, &delivery)
    }

    /// `unserve`.
    static func undo(
        _ asked: AskedRequest,
        _ calls: inout Calls,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) throws(Refusal) {
        try Pattern.check(asked.request.key, asked.line)
        guard let service = calls.service(at: asked.key), service.session == asked.session else {
            throw notServed(asked, sessions[asked.session])
        }
        end(service, &calls, &sessions, &delivery)
        reply(to: asked, &sessions, &delivery)
    }

    /// Ends a service. Calls that it got may still be answered.
    static func end(
        _ service: Service,
        _ calls: inout Calls,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        sessions[service.session].clearance?.account?.subscriptions -= 1
        calls.end(service, &sessions)
        Duties.noteEnd(for: service.session, &sessions, &delivery)
    }

    /// Ends all services of a client.
    static func endAll(
        of session: SessionHandle,
        _ calls: inout Calls,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        while let service = sessions[session].duties?.services.last {
            end(service, &calls, &sessions, &delivery)
        }
    }

    /// Ends the services of a client that aren't permitted any more.
    static func endForbidden(
        of session: SessionHandle,
        _ calls: inout Calls,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        for service in sessions[session].duties?.services ?? []
        where !sessions[session].authorizeAll(.serve, service.pattern.span) {
            end(service, &calls, &sessions, &delivery)
        }
    }

    private static func reply(
        to asked: AskedRequest,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        delivery.openReply(to: asked.session, &sessions)
        CallEncoder.appendServed(
            asked.request.operation,
            id: asked.id,
            key: asked.key,
            to: &sessions[asked.session].outbox.own
        )
    }

    private static func served(
        _ other: Service,
        _ asked: AskedRequest,
        _ sessions: borrowing SessionTable
    ) -> Refusal {
        let isOwn = other.session == asked.session
        let who = isOwn ? "this client" : "client \(sessions[other.session].client)"
        let message = "\"\(asked.request.key.excerpt(of: asked.line))\" is served by \(who) already"
        let hint = isOwn ? nil : "a more specific key or pattern goes before it"
        return Refusal(.conflict, message, hint: hint, at: asked.request.key.start)
    }

    private static func notServed(_ asked: AskedRequest, _ session: borrowing Session) -> Refusal {
        let word = asked.request.key.excerpt(of: asked.line)
        let own = session.duties?.services.map { String($0.pattern.span) }
        let hint = Suggestion.hint(for: word, among: Array((own ?? []).prefix(64)))
        let message = "this client does not serve \"\(word)\""
        return Refusal(.notFound, message, hint: hint, at: asked.request.key.start)
    }
}
