// A debugger for notifications: a subscription is paused, stepped and resumed, one's
// own or that of another client: of the same user, or as the policy says. A paused one is
// owed, like a slow one.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func pause(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        let subscription = try target(of: request, line, session)
        subscription.pointee.makeBacklog()
        subscription.pointee.backlog?.pointee.isPaused = true
        replyControl(request, line, subscription, session)
    }

    mutating func resume(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        let subscription = try target(of: request, line, session)
        subscription.pointee.backlog?.pointee.isPaused = false
        subscription.pointee.backlog?.pointee.steps = 0
        replyControl(request, line, subscription, session)
        waitForReplay(of: subscription)
        subscription.pointee.dropEmptyBacklog()
        tellOwed(to: subscription)
    }

    /// Lets so many lines pass that are owed; none that are still to come.
    mutating func step(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) {
        let subscription = try target(of: request, line, session)
        guard let backlog = subscription.pointee.backlog, backlog.pointee.isPaused else {
            throw Self.notPaused(subscription, request)
        }
        backlog.pointee.steps = min(decoder.options.count, backlog.pointee.owedCount)
        replyControl(request, line, subscription, session)
        tellOwed(to: subscription)
    }

    /// The subscription that a request names, of this client or of the one it names.
    private func target(
        of request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) -> SubscriptionReference {
        let sub = Self.subText(request, line)
        if session.pointee.isGuarded, request.has(.client) {
            let owner = sessions.find(client: decoder.options.client)
            let found = texts.find(sub.bytes).flatMap { owner?.pointee.subscriptions.find($0) }
            return try checkControl(of: found, request, session)
        }
        let owner = try request.has(.client) ? other(decoder.options.client, for: session) : session
        return try subscription(request, line, of: owner)
    }

    /// The subscription of a session that a request names.
    func subscription(
        _ request: Request,
        _ line: Span<UInt8>,
        of owner: SessionReference
    ) throws(Refusal) -> SubscriptionReference {
        let sub = Self.subText(request, line)
        guard let text = texts.find(sub.bytes), let found = owner.pointee.subscriptions.find(text) else {
            throw Self.unknown(sub, request)
        }
        return found
    }

    private func other(_ client: UInt64, for session: SessionReference) throws(Refusal) -> SessionReference {
        guard let other = sessions.find(client: client) else {
            throw Refusal(.notFound, "there is no client \(client)", hint: "who tells the clients of a key")
        }
        guard other.pointee.peer.user == session.pointee.peer.user || session.pointee.peer.user == 0 else {
            throw Refusal(.forbidden, "client \(client) is another user's")
        }
        return other
    }

    /// Says what is owed: before anything passes.
    private mutating func replyControl(
        _ request: Request,
        _ line: Span<UInt8>,
        _ subscription: SubscriptionReference,
        _ session: SessionReference
    ) {
        let backlog = subscription.pointee.backlog
        openReply(to: session)
        ReplyEncoder.appendControl(
            request.operation,
            id: request.id.bytes(of: line),
            sub: subscription.pointee.text.pointee.sub,
            client: request.has(.client) ? decoder.options.client : nil,
            owed: backlog?.pointee.owedCount ?? 0,
            to: &session.pointee.outbox.own
        )
    }

    private static func notPaused(_ subscription: SubscriptionReference, _ request: Request) -> Refusal {
        let text = String(subscription.pointee.text.pointee.sub)
        var refusal = Refusal(.conflict, "subscription \(text) is not paused", hint: "pause it first")
        refusal.offset = request.sub.start
        return refusal
    }

    /// Throws unless a client may hold another's subscription. Where it may not, it is told
    /// the same as if there were none.
    func checkControl(
        of subscription: SubscriptionReference?,
        _ request: Request,
        _ session: SessionReference
    ) throws(Refusal) -> SubscriptionReference {
        if let subscription, isControllable(subscription, by: session) { return subscription }
        let message = "client \(decoder.options.client) has no such subscription that this client may act on"
        throw Refusal(.notFound, message, hint: "the broker's --policy says who may control what")
    }

    private func isControllable(_ subscription: SubscriptionReference, by session: SessionReference) -> Bool {
        if subscription.pointee.session == session { return true }
        for place in subscription.pointee.keys.elements
        where !session.pointee.authorize(.control, place.observable.pointee.key) {
            return false
        }
        var pattern = ByteBuffer()
        for place in subscription.pointee.patterns.elements {
            pattern.removeAll()
            place.node._withUnsafeGuaranteedRef { $0.appendPattern(to: &pattern) }
            if !session.pointee.authorizeAll(.control, pattern.bytes) { return false }
        }
        guard subscription.pointee.isTracer else { return true }
        return tracing.patterns(of: subscription).allSatisfy { pattern in
            session.pointee.authorizeAll(.control, pattern.span)
        }
    }
}
