// A debugger for notifications: pauses, steps and resumes a subscription. It may be one's own, another
// client's of the same user, or one that the policy allows. A paused subscription is owed events like a slow
// one.

import PlugboardMemory
import PlugboardWire

/// `pause`, `resume` and `step`.
enum Control {
    /// Returns the subscription, which may have to go on now.
    static func perform(
        _ asked: AskedRequest,
        _ options: RequestOptions,
        _ keyspace: borrowing Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: borrowing Insight
    ) throws(Refusal) -> SubscriptionHandle {
        let subscription = try target(of: asked, options.client, keyspace, matching, sessions, insight)
        switch asked.request.operation {
        case .pause:
            let isPlain =
                matching[subscription].delivery == .latest && matching[subscription].filter == nil
                && !matching[subscription].kind.hasOld
            sessions.openBacklog(of: subscription, &matching).backlog.pause(isPlain: isPlain)
        case .resume: matching[subscription].backlog?.resume()
        default:
            // Only owed lines pass, not later ones.
            guard let backlog = matching[subscription].backlog, backlog.isPaused else {
                throw notPaused(String(matching.sub(of: subscription)), asked.request)
            }
            backlog.step(options.count)
        }
        // The reply counts what is owed before anything passes.
        delivery.openReply(to: asked.session, &sessions)
        ReplyEncoder.appendControl(
            asked.request.operation,
            id: asked.id,
            sub: matching.sub(of: subscription),
            client: asked.request.has(.client) ? options.client : nil,
            owed: matching[subscription].backlog?.owedCount ?? 0,
            to: &sessions[asked.session].outbox.own
        )
        return subscription
    }

    /// The subscription that a request names, of this client or of the client that it names.
    private static func target(
        of asked: AskedRequest,
        _ client: UInt64,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        _ insight: borrowing Insight
    ) throws(Refusal) -> SubscriptionHandle {
        let session = asked.session
        guard asked.request.has(.client) else {
            return try asked.subscription(of: session, matching, sessions)
        }
        guard sessions[session].isGuarded else {
            return try asked.subscription(of: sessions.find(client, for: session), matching, sessions)
        }
        // Whether there is no such subscription or no right to it, the refusal is the same.
        if let owner = sessions.find(client: client),
            let found = matching.find(asked.sub.bytes, in: sessions[owner].subscriptions),
            owner == session || isControllable(found, by: sessions[session], keyspace, matching, insight)
        {
            return found
        }
        let message = "client \(client) has no such subscription that this client may act on"
        throw Refusal(.notFound, message, hint: "the broker's --policy says who may control what")
    }

    private static func isControllable(
        _ subscription: SubscriptionHandle,
        by session: borrowing Session,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ insight: borrowing Insight
    ) -> Bool {
        for place in matching[subscription].keys.all
        where !session.authorize(.control, keyspace[place.observable].key) {
            return false
        }
        var pattern = ByteBuffer()
        for place in matching[subscription].patterns {
            pattern.removeAll()
            place.node.appendPattern(to: &pattern)
            if !session.authorizeAll(.control, pattern.bytes) { return false }
        }
        guard matching[subscription].isTracer else { return true }
        for pattern in insight.tracing.patterns(of: subscription)
        where !session.authorizeAll(.control, pattern.span) {
            return false
        }
        return true
    }

    private static func notPaused(_ sub: String, _ request: Request) -> Refusal {
        var refusal = Refusal(.conflict, "subscription \(sub) is not paused", hint: "pause it first")
        refusal.offset = request.sub.start
        return refusal
    }
}

// Ends another client's connection. The loop tells that client at the end of the turn.

/// `disconnect`.
enum Disconnect {
    /// Returns the client to close. Call `reply` after what that causes.
    static func perform(
        _ asked: AskedRequest,
        _ client: UInt64,
        _ keyspace: borrowing Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) throws(Refusal) -> SessionHandle {
        let other = try target(client, by: asked.session, sessions)
        let message = message(from: sessions[asked.session], keyspace)
        if other == asked.session {
            delivery.note(message, to: other)
            sessions[other].farewell = .disconnected
        } else {
            delivery.setAside(other, .disconnected, saying: message, &sessions)
        }
        return other
    }

    static func reply(
        _ asked: AskedRequest,
        _ client: UInt64,
        revision: UInt64,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        delivery.openReply(to: asked.session, &sessions)
        ReplyEncoder.appendDisconnected(
            client: client, id: asked.id, revision: revision, to: &sessions[asked.session].outbox.own
        )
    }

    /// Under a policy, this takes the right to control all keys.
    private static func target(
        _ client: UInt64, by session: SessionHandle, _ sessions: borrowing SessionTable
    ) throws(Refusal) -> SessionHandle {
        guard sessions[session].isGuarded, sessions[session].client != client else {
            return try sessions.find(client, for: session)
        }
        guard sessions[session].authorizeAll(.control, Pattern.everything) else {
            let hint = "it takes the right to control **"
            throw Refusal(.forbidden, "this client may not disconnect others", hint: hint)
        }
        guard let other = sessions.find(client: client) else { throw .noClient(client) }
        return other
    }

    private static func message(from session: borrowing Session, _ keyspace: borrowing Keyspace) -> String {
        var name = ByteBuffer()
        session.appendName(keyspace, to: &name)
        // A client without a name is called by its number.
        let isNumber = session.signature == nil || name.bytes[1] == UInt8(ascii: "#")
        let who = isNumber ? "" : " \(String(name.bytes))"
        return "client \(session.client)\(who) has ended this connection"
    }
}

// An observer of an earlier phase has handled an event.

/// `ack`.
enum Acknowledge {
    /// The subscription that acknowledges. `revision` is that of the bus.
    static func check(
        _ asked: AskedRequest,
        _ options: RequestOptions,
        at revision: UInt64,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable
    ) throws(Refusal) -> SubscriptionHandle {
        let subscription = try asked.subscription(of: asked.session, matching, sessions)
        guard matching[subscription].acknowledges else {
            let message = "subscription \(String(matching.sub(of: subscription))) does not acknowledge"
            let hint = "subscribe with \"ack\":true"
            throw Refusal(.conflict, message, hint: hint, at: asked.request.sub.start)
        }
        if options.revision <= revision { return subscription }
        let message = "revision \(options.revision) is still to come: the bus is at \(revision)"
        var refusal = Refusal(.conflict, message, at: options.revisionStart)
        refusal.revision = revision
        throw refusal
    }
}

// What the protocol offers: all operations, or one of them.

/// `help`.
enum Help {
    static func perform(
        _ asked: AskedRequest, _ about: ByteRange, _ sessions: inout SessionTable, _ delivery: inout Delivery
    ) throws(Refusal) {
        var operation: Operation?
        if asked.request.has(.about) {
            operation = Operation(about.bytes(of: asked.line))
            if operation == nil { throw unknown(about, asked.line) }
        }
        delivery.openReply(to: asked.session, &sessions)
        ReplyEncoder.appendHelp(about: operation, id: asked.id, to: &sessions[asked.session].outbox.own)
    }

    private static func unknown(_ about: ByteRange, _ line: Span<UInt8>) -> Refusal {
        let word = String(about.bytes(of: line)[..<min(48, about.count)])
        let names = Operation.allCases.map { $0.name.description }.joined(separator: ", ")
        let hint = OperationHelp.hint(for: word) ?? "the operations are \(names)"
        return Refusal(.notFound, "there is no help about \"\(word)\"", hint: hint, at: about.start)
    }
}
