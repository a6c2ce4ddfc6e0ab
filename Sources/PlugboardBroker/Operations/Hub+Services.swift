// Who answers calls: serving comes and goes, and ends with its connection.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func serve(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        try Pattern.check(request.key, line)
        let pattern = request.key.bytes(of: line)
        if Key.isReserved(pattern) { throw .reserved(request, line) }
        guard sessions[session].authorizeAll(.serve, pattern) else {
            throw Access.forbidden(.serve, request.key, line, sessions[session])
        }
        if let other = calls.service(at: pattern) { throw served(other, request, line, session) }
        try access.checkSubscriptions(of: sessions[session], patterns: 1)
        guard sessions[session].duties?.services.count ?? 0 < Limits.servicesMax else {
            throw Refusal(.limit, "a client serves at most \(Limits.servicesMax) keys and patterns")
        }
        guard calls.serve(pattern, session, &sessions) else {
            let steps = "finding who serves a key could take more than \(Limits.patternStepsMax) steps"
            throw Refusal(.limit, "with this pattern, \(steps)", hint: Self.fewerSteps)
        }
        sessions[session].clearance?.account?.subscriptions += 1
        replyWithKey(request, line, session)
        if !calls.held.isEmpty { askHeld() }
    }

    mutating func unserve(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        try Pattern.check(request.key, line)
        guard let service = calls.service(at: request.key.bytes(of: line)),
            service.session == session
        else { throw notServed(request, line, session) }
        end(service)
        replyWithKey(request, line, session)
    }

    /// Takes a service out of the bus. Calls that came by it may still be answered.
    mutating func end(_ service: Service) {
        sessions[service.session].clearance?.account?.subscriptions -= 1
        calls.end(service, &sessions)
        judgeAgain(service.session)
    }

    private mutating func replyWithKey(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) {
        delivery.openReply(to: session, &sessions)
        CallEncoder.appendServed(
            request.operation,
            id: request.id.bytes(of: line),
            key: request.key.bytes(of: line),
            to: &sessions[session].outbox.own
        )
    }

    private func served(
        _ other: Service,
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> Refusal {
        let isOwn = other.session == session
        let who = isOwn ? "this client" : "client \(sessions[other.session].client)"
        let message = "\"\(request.key.excerpt(of: line))\" is served by \(who) already"
        let hint = isOwn ? nil : "a more specific key or pattern goes before it"
        return Refusal(.conflict, message, hint: hint, at: request.key.start)
    }

    private func notServed(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> Refusal {
        let message = "this client does not serve \"\(request.key.excerpt(of: line))\""
        let own = sessions[session].duties?.services.map { String($0.pattern) }
        let word = request.key.excerpt(of: line)
        let hint = Suggestion.hint(for: word, among: Array((own ?? []).prefix(64)))
        return Refusal(.notFound, message, hint: hint, at: request.key.start)
    }
}
