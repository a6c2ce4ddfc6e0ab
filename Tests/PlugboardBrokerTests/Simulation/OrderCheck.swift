// Checks the order of what one connection was told: replies in the order of the requests; events of a
// subscription only between its reply and the reply to its end; and before each reply, everything up to
// the revision that it names.

/// Compares a conversation with all writes.
struct OrderCheck {
    private let conversation: Conversation
    private let log: WriteLog
    private let terms: Terms
    private let emits: [String: Emitted]
    private var subscriptions: [String: SubscriptionCheck] = [:]
    private var lastReply = -1
    private var complaints: [String] = []

    /// What the checks may expect of a run.
    struct Terms {
        /// Whether updates may have to wait for other observers.
        var hasPhases: Bool
        /// Whether values are so large that clients lag behind.
        var isHeavy: Bool
        /// Whether turns are so short that clients are behind without being slow.
        var isHurried: Bool
        /// When the world had come to rest. A barrier after that is one for all subscriptions.
        var restedAt: Int
        /// The broker's last life. Earlier lives ended without warning, unless the disk failed.
        var lastLife: Int
        var isDiskFailing: Bool
        var policies: PolicySequence
        var batches = BatchPlaces()
    }

    /// An emit: its writer, its place, and when its reply came.
    struct Emitted {
        var key: String
        let by: String
        /// The number of the connection. Emits on two connections of one client have no order.
        let connection: Int
        var begun: Int
        var ended: Int
        /// Its place in its batch.
        var place = 0
        var isOfBatch = false
        /// Made when its connection had ended, whenever that was.
        var isWill = false
    }

    private init(_ conversation: Conversation, _ log: WriteLog, _ terms: Terms, _ emits: [String: Emitted]) {
        self.conversation = conversation
        self.log = log
        self.terms = terms
        self.emits = emits
    }

    static func complaints(_ conversations: [Conversation], _ log: WriteLog, _ terms: Terms) -> [String] {
        let emits = emits(of: conversations)
        var terms = terms
        for asked in conversations.flatMap(\.asked) { terms.batches.collect(asked) }
        return conversations.flatMap { conversation -> [String] in
            var check = OrderCheck(conversation, log, terms, emits)
            check.run()
            return check.complaints.map { "\(conversation.client), life \(conversation.life): \($0)" }
        }
    }

    /// All emits by value.
    private static func emits(of conversations: [Conversation]) -> [String: Emitted] {
        var emits: [String: Emitted] = [:]
        for (number, conversation) in conversations.enumerated() {
            for asked in conversation.asked {
                var emitted = Emitted(
                    key: "", by: conversation.client, connection: number, begun: .max, ended: .max
                )
                if case .will(let key, let value, true) = asked.wish {
                    emitted.key = key
                    emitted.isWill = true
                    emits[value] = emitted
                    continue
                }
                emitted.begun = asked.begun
                if asked.reply?.kind == .done { emitted.ended = asked.ended ?? .max }
                if case .batch = asked.wish { emitted.isOfBatch = true }
                for (key, value, place) in asked.wish.emits {
                    emitted.key = key
                    emitted.place = place
                    emits[value] = emitted
                }
            }
        }
        return emits
    }

    private mutating func run() {
        for told in conversation.told {
            switch told.kind {
            case .event: take(event: told)
            case .done, .refused: take(reply: told)
            }
        }
    }

    private mutating func take(event: Told) {
        if ["hello", "bye"].contains(event.name) {
            if event.name == "hello", event.time != conversation.told.first?.time { complain("greeted late") }
            return
        }
        if event.name == "call" { return }
        guard subscriptions[event.sub] != nil else {
            return complain("told of a subscription that isn't there: \(event.text)")
        }
        if let complaint = subscriptions[event.sub]?.take(event, emits) { complain(complaint) }
    }

    private mutating func take(reply: Told) {
        guard let id = reply.id, conversation.asked.indices.contains(id) else {
            return complain("not asked: \(reply.text)")
        }
        let asked = conversation.asked[id]
        if !asked.isLate {
            if id <= lastReply { complain("replies out of order: \(reply.text)") }
            lastReply = id
        }
        if let revision = reply.revision { passBarrier(revision, asked, reply) }
        if reply.kind == .done { for emit in asked.wish.emits { checkOwn(emit.value, reply) } }
        if reply.kind == .done { begin(asked, reply) }
    }

    /// Checks a reply with a revision: everything that is owed up to that revision must come before it.
    private mutating func passBarrier(_ revision: UInt64, _ asked: Asked, _ reply: Told) {
        // After a goodbye, a client doesn't get what it is owed, but still the replies to what it asked before.
        if let goodbye = conversation.goodbye, goodbye.begun < reply.time {
            if asked.begun == goodbye.begun { checkAllIsAnswered(before: reply) }
            return
        }
        let isRested = asked.begun > terms.restedAt
        for sub in subscriptions.keys {
            guard let one = subscriptions[sub] else { continue }
            guard !one.waits || isRested else {
                let held = one.heldWithoutReason(upTo: revision, at: asked.begunAt, emits)
                for complaint in held { complain("\(complaint) above the reply \(reply.text)") }
                continue
            }
            for complaint in one.missing(upTo: revision) {
                complain("\(complaint) above the reply \(reply.text)")
            }
            if case .sync = asked.wish {
                for complaint in one.missingEmits(before: asked.begun, emits) {
                    complain("\(complaint) above the reply \(reply.text)")
                }
            }
        }
    }

    private mutating func checkAllIsAnswered(before goodbye: Told) {
        for asked in conversation.asked.dropLast() where asked.reply?.time ?? .max > goodbye.time {
            complain("answered before \(asked.wish): \(goodbye.text)")
        }
    }

    /// Checks that a client gets its own emit before the reply.
    private mutating func checkOwn(_ value: String, _ reply: Told) {
        for one in subscriptions.values where !one.waits {
            if let complaint = one.missing(emit: value, emits) { complain("\(complaint): \(reply.text)") }
        }
    }

    private mutating func begin(_ asked: Asked, _ reply: Told) {
        switch asked.wish {
        case .subscribe(let plan):
            let (user, policies) = (conversation.user, terms.policies)
            let last = max(conversation.lastPolicy, reply.policy)
            subscriptions[plan.sub] = SubscriptionCheck(plan, asked: asked.begun, reply, terms, log) { key in
                policies.verdict(user, asked.policy, last) { $0.may(.subscribe, key) }
            }
            if plan.since != nil { loosen() }
        case .unsubscribe(let sub): subscriptions[sub] = nil
        case .pause(let sub):
            subscriptions[sub]?.isPaused = true
            subscriptions[sub]?.mayFold = true
        case .resume(let sub): subscriptions[sub]?.isPaused = false
        default: break
        }
    }

    /// From now on something may be owed on this connection, so updates may be folded.
    private mutating func loosen() {
        for sub in subscriptions.keys { subscriptions[sub]?.mayFold = true }
    }

    private mutating func complain(_ complaint: String) {
        complaints.append(complaint)
    }
}

/// The place of each write in its batch. All writes of a batch share a revision, and observers get them in the
/// order in which they were written.
struct BatchPlaces {
    /// The places by revision and key.
    private var places: [UInt64: [String: Int]] = [:]

    /// Notes a batch that is known to have been made.
    mutating func collect(_ asked: Asked) {
        guard case .batch(let parts) = asked.wish, let reply = asked.reply, reply.kind == .done,
            let revision = reply.revision
        else { return }
        for (place, part) in parts.enumerated() where !part.isEvent {
            places[revision, default: [:]][part.key] = place
        }
    }

    /// The place of a key's write in its batch; nil if it isn't of a batch.
    func place(of key: String, at revision: UInt64) -> Int? { places[revision]?[key] }
}
