// Acting on other clients. A debugger for notifications: a subscription is paused, stepped and resumed, one's
// own or that of another client: of the same user, or as the policy says. A paused one is
// owed, like a slow one. And the end of a connection, with what its client left to be done.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func pause(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let subscription = try target(of: request, line, session)
        let isPlain =
            matching[subscription].delivery == .latest && matching[subscription].filter == nil
            && !matching[subscription].kind.hasOld
        openBacklog(of: subscription).backlog.pause(isPlain: isPlain)
        replyControl(request, line, subscription, session)
    }

    mutating func resume(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let subscription = try target(of: request, line, session)
        matching[subscription].backlog?.resume()
        replyControl(request, line, subscription, session)
        review(subscription)
    }

    /// Lets so many lines pass that are owed; none that are still to come.
    mutating func step(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let subscription = try target(of: request, line, session)
        guard let backlog = matching[subscription].backlog, backlog.isPaused else {
            throw notPaused(subscription, request)
        }
        backlog.step(requests.decoder.options.count)
        replyControl(request, line, subscription, session)
        review(subscription)
    }

    /// Ends the connection of a client. The reply comes after what that causes. The loop tells the client
    /// at the end of the turn.
    mutating func disconnect(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let client = requests.decoder.options.client
        let other = try disconnectable(client, by: session)
        if other == session {
            sessions[session].farewell = .disconnected
        } else if sessions[other].isOpen {
            delivery.setAside(other, .disconnected, saying: message(from: session), &sessions)
        }
        leave(other)
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendDisconnected(
            client: client,
            id: request.id.bytes(of: line),
            revision: revision,
            to: &sessions[session].outbox.own
        )
        if other == session { appendBye(to: session) }
    }

    /// Under a policy, only who may control all keys may do that.
    private func disconnectable(_ client: UInt64, by session: SessionHandle) throws(Refusal) -> SessionHandle
    {
        guard sessions[session].isGuarded, sessions[session].client != client else {
            return try other(client, for: session)
        }
        guard sessions[session].authorizeAll(.control, Self.everything) else {
            let hint = "it takes the right to control **"
            throw Refusal(.forbidden, "this client may not disconnect others", hint: hint)
        }
        guard let other = sessions.find(client: client) else { throw noClient(client) }
        return other
    }

    private func message(from session: SessionHandle) -> String {
        let number = "client \(sessions[session].client)"
        var name = ByteBuffer()
        sessions[session].appendName(keyspace, to: &name)
        // Without a name it is the number again.
        let who =
            sessions[session].signature == nil || name.bytes[1] == UInt8(ascii: "#")
            ? "" : " \(String(name.bytes))"
        return "\(number)\(who) has ended this connection"
    }

    /// The subscription that a request names, of this client or of the one it names.
    private func target(
        of request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) -> SubscriptionHandle {
        let sub = Self.subText(request, line)
        if sessions[session].isGuarded, request.has(.client) {
            let owner = sessions.find(client: requests.decoder.options.client)
            let found = owner.flatMap { matching.find(sub.bytes, in: sessions[$0].subscriptions) }
            return try checkControl(of: found, request, session)
        }
        let owner = try request.has(.client) ? other(requests.decoder.options.client, for: session) : session
        return try subscription(request, line, of: owner)
    }

    /// The subscription of a session that a request names.
    func subscription(
        _ request: Request,
        _ line: Span<UInt8>,
        of owner: SessionHandle
    ) throws(Refusal) -> SubscriptionHandle {
        let sub = Self.subText(request, line)
        guard let found = matching.find(sub.bytes, in: sessions[owner].subscriptions) else {
            throw .unknown(sub, request)
        }
        return found
    }

    private func other(_ client: UInt64, for session: SessionHandle) throws(Refusal) -> SessionHandle {
        guard let other = sessions.find(client: client) else {
            throw noClient(client)
        }
        guard sessions[other].peer.user == sessions[session].peer.user || sessions[session].peer.user == 0
        else {
            throw Refusal(.forbidden, "client \(client) is another user's")
        }
        return other
    }

    private func noClient(_ client: UInt64) -> Refusal {
        Refusal(.notFound, "there is no client \(client)", hint: "$broker.clients.* lists them")
    }

    /// Says what is owed: before anything passes.
    private mutating func replyControl(
        _ request: Request,
        _ line: Span<UInt8>,
        _ subscription: SubscriptionHandle,
        _ session: SessionHandle
    ) {
        let backlog = matching[subscription].backlog
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendControl(
            request.operation,
            id: request.id.bytes(of: line),
            sub: matching.sub(of: subscription),
            client: request.has(.client) ? requests.decoder.options.client : nil,
            owed: backlog?.owedCount ?? 0,
            to: &sessions[session].outbox.own
        )
    }

    private func notPaused(_ subscription: SubscriptionHandle, _ request: Request) -> Refusal {
        let text = String(matching.sub(of: subscription))
        var refusal = Refusal(.conflict, "subscription \(text) is not paused", hint: "pause it first")
        refusal.offset = request.sub.start
        return refusal
    }

    /// Throws unless a client may hold another's subscription. Where it may not, it is told
    /// the same as if there were none.
    func checkControl(
        of subscription: SubscriptionHandle?,
        _ request: Request,
        _ session: SessionHandle
    ) throws(Refusal) -> SubscriptionHandle {
        if let subscription, isControllable(subscription, by: session) { return subscription }
        let message =
            "client \(requests.decoder.options.client) has no such subscription that this client may act on"
        throw Refusal(.notFound, message, hint: "the broker's --policy says who may control what")
    }

    private func isControllable(_ subscription: SubscriptionHandle, by session: SessionHandle) -> Bool {
        if matching[subscription].session == session { return true }
        for place in matching[subscription].keys.all
        where !sessions[session].authorize(.control, keyspace[place.observable].key) {
            return false
        }
        var pattern = ByteBuffer()
        for place in matching[subscription].patterns {
            pattern.removeAll()
            place.node.appendPattern(to: &pattern)
            if !sessions[session].authorizeAll(.control, pattern.bytes) { return false }
        }
        guard matching[subscription].isTracer else { return true }
        return insight.tracing.patterns(of: subscription).allSatisfy { pattern in
            sessions[session].authorizeAll(.control, pattern.span)
        }
    }
}
