// A debugger for notifications: pauses, steps and resumes a subscription. It may be one's own, another
// client's of the same user, or one that the policy allows. A paused subscription is owed events like a slow
// one.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func control(_ asked: AskedRequest) throws(Refusal) {
        let options = requests.decoder.options
        let subscription = try target(of: asked, options.client)
        switch asked.request.operation {
        case .pause: openBacklog(of: subscription).backlog.isPaused = true
        case .resume: matching[subscription].backlog?.resume()
        default:
            // Only owed lines pass, not later ones.
            guard let backlog = matching[subscription].backlog, backlog.isPaused else {
                let message = "subscription \(String(matching.sub(of: subscription))) is not paused"
                throw Refusal(.conflict, message, hint: "pause it first", at: asked.request.sub.start)
            }
            backlog.steps = min(options.count, owedCount(of: subscription))
        }
        dissolveRuns()
        // The reply counts what is owed before anything passes.
        var reply = beginReply(to: asked)
        reply.append(member: "sub", json: matching.sub(of: subscription))
        if asked.request.has(.client) { reply.append(member: "client", options.client) }
        reply.append(member: "owed", UInt64(owedCount(of: subscription)))
        finish(reply, to: asked.session)
        review(subscription)
    }

    func owedCount(of subscription: SubscriptionHandle) -> Int {
        (matching[subscription].backlog?.owedCount ?? 0) + Int(matching[subscription].lag.owedCount)
    }

    private func target(of asked: AskedRequest, _ client: UInt64) throws(Refusal) -> SubscriptionHandle {
        let session = asked.session
        guard asked.request.has(.client) else {
            return try asked.subscription(of: session, matching)
        }
        guard sessions[session].isGuarded else {
            return try asked.subscription(of: sessions.find(client, for: session), matching)
        }
        // Whether there is no such subscription or no right to it, the refusal is the same.
        if let owner = sessions.find(client: client), let found = matching.find(asked.sub.bytes, of: owner) {
            let isControllable = allPatterns(of: found).allSatisfy {
                sessions[session].authorize(.control, $0.span, .all)
            }
            if owner == session || isControllable { return found }
        }
        let message = "client \(client) has no such subscription that this client may act on"
        throw Refusal(.notFound, message, hint: "the broker's --policy says who may control what")
    }

    /// Those that it observes and those that it traces.
    func allPatterns(of subscription: SubscriptionHandle) -> [[UInt8]] {
        matching[subscription].allPatterns(keyspace) + insight.tracing.patterns(of: subscription)
    }

    // MARK: Ending other clients' connections

    /// `disconnect`. The loop tells the other client at the end of the turn.
    mutating func disconnect(_ asked: AskedRequest) throws(Refusal) {
        let (session, client) = (asked.session, requests.decoder.options.client)
        let other = try target(client, by: session)
        let message = message(from: session)
        if other == session {
            delivery.setMessage(message, to: other)
            sessions[other].closeReason = .disconnected
        } else {
            delivery.setAside(other, .disconnected, saying: message, &sessions)
        }
        leave(other, until: requests.effortEnd)
        var reply = beginReply(to: asked)
        reply.append(member: "client", client)
        reply.append(member: "revision", revision)
        finish(reply, to: session)
        if other == session { appendBye(to: other) }
    }

    /// Under a policy, this takes the right to control all keys.
    private func target(_ client: UInt64, by session: SessionHandle) throws(Refusal) -> SessionHandle {
        guard sessions[session].isGuarded, sessions[session].client != client else {
            return try sessions.find(client, for: session)
        }
        guard sessions[session].authorize(.control, Pattern.everything.bytes, .all) else {
            let hint = "it takes the right to control **"
            throw Refusal(.forbidden, "this client may not disconnect others", hint: hint)
        }
        guard let other = sessions.find(client: client) else { throw .noClient(client) }
        return other
    }

    private func message(from session: SessionHandle) -> String {
        var name = ByteBuffer()
        sessions[session].appendName(keyspace, to: &name)
        // A client without a name is called by its number.
        let isNumber = sessions[session].signature == nil || name.bytes[1] == UInt8(ascii: "#")
        let who = isNumber ? "" : " \(String(name.bytes))"
        return "client \(sessions[session].client)\(who) has ended this connection"
    }

    // MARK: Acknowledgements and help

    /// `ack`: an observer of an earlier phase has handled an event.
    mutating func acknowledge(_ asked: AskedRequest) throws(Refusal) {
        let options = requests.decoder.options
        let subscription = try asked.subscription(of: asked.session, matching)
        guard matching[subscription].acknowledges else {
            let message = "subscription \(String(matching.sub(of: subscription))) does not acknowledge"
            let hint = "subscribe with \"ack\":true"
            throw Refusal(.conflict, message, hint: hint, at: asked.request.sub.start)
        }
        guard options.revision <= revision else {
            let message = "revision \(options.revision) is still to come: the bus is at \(revision)"
            var refusal = Refusal(.conflict, message, at: options.revisionStart)
            refusal.revision = revision
            throw refusal
        }
        acknowledge(subscription, upTo: options.revision)
        if asked.request.wantsReply { replyDone(.acknowledge, id: asked.id, to: asked.session) }
    }

    mutating func help(_ asked: AskedRequest) throws(Refusal) {
        var operation: Operation?
        if asked.request.has(.about) {
            let about = requests.decoder.options.about
            operation = Operation(about.bytes(of: asked.line))
            if operation == nil {
                let word = String(about.bytes(of: asked.line)[..<min(48, about.count)])
                let names = Operation.allCases.map { $0.name.description }.joined(separator: ", ")
                let hint = OperationHelp.hint(for: word) ?? "the operations are \(names)"
                let message = "there is no help about \"\(word)\""
                throw Refusal(.notFound, message, hint: hint, at: about.start)
            }
        }
        delivery.openReply(to: asked.session, &sessions)
        insight.count(steps: Cost.words)
        ReplyEncoder.appendHelp(about: operation, id: asked.id, to: &sessions[asked.session].outbox.own)
    }
}
