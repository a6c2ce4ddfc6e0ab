// Who answers calls: serving comes and goes, and ends with its connection.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func serve(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        try Self.checkPattern(request.key, line)
        let pattern = request.key.bytes(of: line)
        if Key.isReserved(pattern) { throw Self.reserved(request, line) }
        guard session.pointee.authorizeAll(.serve, pattern) else {
            throw Access.forbidden(.serve, request.key, line, session)
        }
        if let other = services.find(pattern: pattern) { throw Self.served(other, request, line, session) }
        try access.checkSubscriptions(of: session, patterns: 1)
        let duties = session.pointee.makeDuties()
        guard duties.pointee.services.count < Limits.servicesMax else {
            throw Refusal(.limit, "a client serves at most \(Limits.servicesMax) keys and patterns")
        }
        duties.pointee.add(services.insert(pattern, session))
        session.pointee.clearance?.account?.subscriptions += 1
        replyWithKey(request, line, session)
        if !supervision.heldCalls.isEmpty { askHeld() }
    }

    mutating func unserve(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        try Self.checkPattern(request.key, line)
        guard let service = services.find(pattern: request.key.bytes(of: line)),
            service.pointee.session == session
        else { throw Self.notServed(request, line, session) }
        end(service)
        replyWithKey(request, line, session)
    }

    /// Takes a service out of the bus. Calls that came by it may still be answered.
    mutating func end(_ service: ServiceReference) {
        let session = service.pointee.session
        session.pointee.duties?.pointee.remove(service)
        session.pointee.clearance?.account?.subscriptions -= 1
        services.remove(service)
        session.pointee.dropEmptyDuties()
    }

    /// Adds who would answer a call of a key, if anybody serves it, for `who`.
    func appendServer(of key: Span<UInt8>, _ buffer: inout ByteBuffer) {
        guard let service = services.server(of: key) else { return }
        let session = service.pointee.session
        buffer.append(#","server":{"client":"#)
        buffer.append(decimal: session.pointee.client)
        buffer.append(#","name":"#)
        session.pointee.appendName(to: &buffer)
        if session.pointee.peer.process > 0 {
            buffer.append(#","pid":"#)
            buffer.append(decimal: UInt64(session.pointee.peer.process))
        }
        buffer.append(#","pattern":""#)
        buffer.append(service.pointee.pattern)
        buffer.append(#"","calls":"#)
        buffer.append(decimal: UInt64(session.pointee.duties?.pointee.toAnswer.count ?? 0))
        buffer.append("}")
    }

    private mutating func replyWithKey(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) {
        openReply(to: session)
        CallEncoder.appendServed(
            request.operation,
            id: request.id.bytes(of: line),
            key: request.key.bytes(of: line),
            to: &session.pointee.outbox.own
        )
    }

    private static func served(
        _ other: ServiceReference,
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) -> Refusal {
        let isOwn = other.pointee.session == session
        let who = isOwn ? "this client" : "client \(other.pointee.session.pointee.client)"
        let message = "\"\(excerpt(request.key, line))\" is served by \(who) already"
        let hint = isOwn ? nil : "a more specific key or pattern goes before it"
        return Refusal(.conflict, message, hint: hint, at: request.key.start)
    }

    private static func notServed(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) -> Refusal {
        let message = "this client does not serve \"\(excerpt(request.key, line))\""
        let own = session.pointee.duties?.pointee.services.elements.map {
            String($0.pointee.pattern)
        }
        let word = excerpt(request.key, line)
        let hint = Suggestion.hint(for: word, among: Array((own ?? []).prefix(64)))
        return Refusal(.notFound, message, hint: hint, at: request.key.start)
    }
}
