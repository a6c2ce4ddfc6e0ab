// Checks that each call had exactly one answer, and the right one: what its server said, or an error with
// a reason. A client serves for certain from the reply to `serve` until it asks to stop, may have gone,
// or may have lost the right.

/// Compares calls with the clients that serve.
struct CallCheck {
    /// A client that served a pattern.
    private struct Service {
        let conversation: Conversation
        let pattern: String
        /// It may have served from `asked` on, and did from `begun` on.
        let asked: Int
        let begun: Int
        /// It did until `surelyUntil`, and may have until `until`.
        var surelyUntil: Int
        var until: Int

        /// Whether it served for certain during a whole span.
        func covers(_ from: Int, _ to: Int) -> Bool { begun < from && to < surelyUntil }

        func mayCover(_ from: Int, _ to: Int) -> Bool { asked < to && from < until }
    }

    /// A call that a client got, and its answers.
    private struct Duty {
        let server: Conversation
        let told: Told
        var answers: [Asked] = []
    }

    private let terms: OrderCheck.Terms
    private var services: [Service] = []
    /// The calls by their values, each of which is used once.
    private var duties: [String: Duty] = [:]
    private(set) var complaints: [String] = []

    init(_ conversations: [Conversation], _ terms: OrderCheck.Terms) {
        self.terms = terms
        for conversation in conversations { collect(conversation) }
        checkServices()
        for conversation in conversations { check(conversation) }
    }

    // MARK: Who serves

    private mutating func collect(_ conversation: Conversation) {
        for asked in conversation.asked { collectService(asked, conversation) }
        var numbers: [String: String] = [:]
        for told in conversation.told where told.kind == .event && told.name == "call" {
            if let other = duties.updateValue(Duty(server: conversation, told: told), forKey: told.value) {
                complaints.append("asked twice, also \(other.server.client): \(told.text)")
            }
            numbers[told.call] = told.value
        }
        for asked in conversation.asked {
            guard case .answer(let call, _, _) = asked.wish, let value = numbers[call] else { continue }
            duties[value]?.answers.append(asked)
        }
    }

    private mutating func collectService(_ asked: Asked, _ conversation: Conversation) {
        switch asked.wish {
        case .serve(let pattern) where asked.reply?.kind != .refused:
            let end = conversation.leftAt ?? .max
            let service = Service(
                conversation: conversation,
                pattern: pattern,
                asked: asked.begun,
                begun: asked.reply?.time ?? .max,
                surelyUntil: end,
                until: .max
            )
            services.append(service)
        case .unserve(let pattern) where asked.reply?.kind != .refused:
            for place in services.indices
            where services[place].conversation === conversation && services[place].pattern == pattern
                && services[place].until == .max
            {
                services[place].surelyUntil = min(services[place].surelyUntil, asked.begun)
                if let reply = asked.reply { services[place].until = reply.time }
            }
        default: break
        }
    }

    /// Checks that each pattern is served by only one client at a time.
    private mutating func checkServices() {
        for (place, one) in services.enumerated() where one.begun < .max {
            for other in services[(place + 1)...]
            where other.pattern == one.pattern && one.conversation.life == other.conversation.life
                && (one.covers(other.asked, other.begun) || other.covers(one.asked, one.begun))
            {
                complaints.append(
                    "\(one.pattern) is served by \(one.conversation.client) and \(other.conversation.client)"
                )
            }
        }
    }

    // MARK: Calls

    private mutating func check(_ conversation: Conversation) {
        // A client that is still there when the world is at rest must have all its answers.
        let isWhole = conversation.asked.contains { $0.begun > terms.restedAt && $0.reply != nil }
        for (id, asked) in conversation.asked.enumerated() {
            guard case .call(let key, let value, let timeout) = asked.wish else { continue }
            let answers = conversation.told.count { $0.id == id && $0.kind != .event }
            if answers > 1 || answers == 0 && isWhole {
                complaints.append("\(answers) answers to the call \(value) of \(conversation.client)")
            }
            if let duty = duties[value] { checkServer(duty, key, value, asked, conversation) }
            if let reply = asked.reply {
                check(reply, asked, key, value, timeout: timeout ?? 5_000, conversation)
            }
        }
    }

    /// Checks that the client that got the call serves the key, and that no client serves a more specific
    /// pattern for it.
    private mutating func checkServer(
        _ duty: Duty, _ key: String, _ value: String, _ asked: Asked, _ caller: Conversation
    ) {
        let told = duty.told
        let own = services.filter {
            $0.conversation === duty.server && UserRights.matches($0.pattern, key)
                && $0.mayCover(asked.begun, told.time)
        }
        if told.key != key || told.by != caller.client || own.isEmpty {
            complaints.append("\(duty.server.client) was asked for no reason: \(told.text)")
        }
        let nearest = own.map { Self.rank($0.pattern) }.max() ?? ""
        let nearer = services.first {
            $0.conversation.life == caller.life && UserRights.matches($0.pattern, key)
                && $0.covers(asked.begun, told.time) && Self.rank($0.pattern) > nearest
        }
        if let nearer { complaints.append("\(nearer.pattern) goes before who was asked: \(told.text)") }
    }

    /// How specific a pattern is: an exact token is more specific than `*`, and `*` than `**`.
    private static func rank(_ pattern: String) -> String {
        pattern.split(separator: ".").map { $0 == "**" ? "0" : $0 == "*" ? "1" : "2" }.joined()
    }

    private mutating func check(
        _ reply: Told, _ asked: Asked, _ key: String, _ value: String, timeout: Int, _ caller: Conversation
    ) {
        let duty = duties[value]
        if reply.kind == .done || !reply.by.isEmpty { return checkAnswer(reply, duty) }
        switch reply.name {
        case "no_provider":
            let server = services.first {
                $0.conversation.life == caller.life && UserRights.matches($0.pattern, key)
                    && $0.covers(asked.begun, reply.time)
            }
            if let server { complaints.append("\(server.conversation.client) serves it: \(reply.text)") }
            if duty != nil { complaints.append("somebody was asked: \(reply.text)") }
        case "timeout":
            if reply.at < asked.begunAt + UInt64(timeout) * 1_000_000 {
                complaints.append("too early: \(reply.text)")
            }
        case "provider_gone": checkGone(reply, asked, key, duty, caller)
        case "forbidden" where !terms.policies.isEmpty: break
        case "limit" where terms.isHeavy: break
        default: complaints.append("no answer to a call: \(reply.text)")
        }
    }

    private mutating func checkAnswer(_ reply: Told, _ duty: Duty?) {
        let isSaid = duty?.answers.contains { answer in
            guard case .answer(let call, let value, let code) = answer.wish, answer.begun < reply.time else {
                return false
            }
            guard reply.by == duty?.server.client, call == duty?.told.call else { return false }
            return reply.kind == .done ? value == reply.value : value == nil && code == reply.name
        }
        if isSaid != true { complaints.append("nobody who was asked said so: \(reply.text)") }
    }

    /// Checks that a server had left, or may have, or lost its right, or that the broker was ending.
    private mutating func checkGone(
        _ reply: Told, _ asked: Asked, _ key: String, _ duty: Duty?, _ caller: Conversation
    ) {
        let servers =
            duty.map { [$0.server] }
            ?? services.filter {
                $0.conversation.life == caller.life && UserRights.matches($0.pattern, key)
                    && $0.mayCover(asked.begun, reply.time)
            }.map(\.conversation)
        let hasLeft = servers.contains { ($0.leftAt ?? .max) < reply.time }
        let mayBeRevoked = !terms.policies.isEmpty && reply.policy > asked.policy
        // A broker whose disk fails ends all connections, one after another.
        let mayHaveEnded = terms.isDiskFailing && caller.life < terms.lastLife
        if !hasLeft, !mayBeRevoked, !mayHaveEnded { complaints.append("nobody is gone: \(reply.text)") }
    }
}
