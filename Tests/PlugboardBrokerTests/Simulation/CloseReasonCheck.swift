// Checks what ends by itself. A will is written once, when its client is gone, and not before. A bound
// value ends with its connection or after its time, and not before.

/// Compares what ended with which clients had left and how much time had passed.
struct CloseReasonCheck {
    private let conversations: [Conversation]
    private let log: WriteLog
    private let terms: OrderCheck.Terms
    /// The first line about each revision, and the first about each emit by its value.
    private var firstOfRevision: [UInt64: Told] = [:]
    private var firstOfEmit: [String: Told] = [:]
    private(set) var complaints: [String] = []

    init(_ conversations: [Conversation], _ log: WriteLog, _ terms: OrderCheck.Terms) {
        self.conversations = conversations
        self.log = log
        self.terms = terms
        collect()
        checkEnds()
        for conversation in conversations { checkWills(of: conversation) }
    }

    private mutating func collect() {
        for told in conversations.flatMap(\.told) {
            if told.kind == .event, told.name == "emit", told.time < firstOfEmit[told.value]?.time ?? .max {
                firstOfEmit[told.value] = told
            }
            // Whatever names a revision came after it.
            guard let revision = told.revision, told.time < firstOfRevision[revision]?.time ?? .max else {
                continue
            }
            firstOfRevision[revision] = told
        }
    }

    // MARK: What was bound

    private mutating func checkEnds() {
        var bound: [String: (asked: Asked, conversation: Conversation)] = [:]
        for conversation in conversations {
            for asked in conversation.asked {
                if case .bind(_, let value, _) = asked.wish { bound[value] = (asked, conversation) }
            }
        }
        for writes in log.keys.values {
            for (before, write) in zip(writes, writes.dropFirst())
            where !write.reason.isEmpty && write.value == nil {
                guard let (asked, conversation) = before.value.flatMap({ bound[$0] }) else { continue }
                check(write, asked, conversation)
            }
        }
    }

    private mutating func check(_ write: Write, _ asked: Asked, _ conversation: Conversation) {
        guard let told = firstOfRevision[write.revision], case .bind(_, _, let bond) = asked.wish else {
            return
        }
        switch (write.reason, bond) {
        case ("disconnected", .connection):
            if told.time < conversation.leftAt ?? .max {
                complaints.append("ended before \(conversation.client) had left: \(told.text)")
            }
        case ("expired", .time(let milliseconds)):
            // The time of an earlier life is known only in milliseconds.
            let slack = conversation.life < terms.lastLife ? 1 : 0
            if told.at < asked.begunAt + UInt64(max(0, milliseconds - slack)) * 1_000_000 {
                complaints.append("ended before its time: \(told.text)")
            }
        default: break
        }
    }

    // MARK: Wills

    private mutating func checkWills(of conversation: Conversation) {
        let wishes = conversation.asked.filter(\.wish.isAboutWill)
        guard !wishes.isEmpty else { return }
        // The last request counts. A request without an answer may have had no effect.
        let answered = wishes.lastIndex { $0.reply?.kind == .done }
        let last = answered.map { wishes[$0...] } ?? wishes[...]
        for (place, asked) in wishes.enumerated() {
            guard case .will(let key, let value, let isEvent) = asked.wish else { continue }
            let times = isEvent ? tellings(of: value) : log.writes.count { $0.value == value }
            let mayBe = last.indices.contains(place) && asked.reply?.kind != .refused
            if times > 0, !mayBe {
                complaints.append("not the will of \(conversation.client) any more: \(value)")
            }
            if times > 0 { checkTime(value, isEvent, conversation) }
            if times > 1, !isEvent { complaints.append("written \(times) times: the will \(value)") }
            let isDue =
                last.count == 1 && mayBe && answered == place && isOver(conversation)
                && terms.policies.verdict(conversation.user, asked.policy, terms.policies.count - 1) {
                    $0.permit(asked.wish)
                } == .always
            if isDue, times == 0, !isEvent || isWitnessed(conversation) && !terms.isHeavy {
                complaints.append(
                    "\(conversation.client) is gone, and its will was not made: \(key) \(value)"
                )
            }
        }
        checkOrder(of: conversation)
    }

    private func tellings(of value: String) -> Int { firstOfEmit[value] == nil ? 0 : 1 }

    /// Whether the client had left, and the broker had enough time to notice.
    private func isOver(_ conversation: Conversation) -> Bool {
        guard let ended = conversation.ended, conversation.life == terms.lastLife else { return false }
        return ended < terms.restedAt
    }

    /// Whether the witness, which sees everything, had got its snapshot before the client left.
    private func isWitnessed(_ conversation: Conversation) -> Bool {
        conversations.contains { witness in
            witness.client == conversations.first?.client && witness.life == conversation.life
                && witness.told.contains { $0.name == "synced" && $0.time < conversation.leftAt ?? 0 }
        }
    }

    private mutating func checkTime(_ value: String, _ isEvent: Bool, _ conversation: Conversation) {
        let write = log.writes.first { $0.value == value }
        let told = isEvent ? firstOfEmit[value] : write.flatMap { firstOfRevision[$0.revision] }
        if let told, told.time < conversation.leftAt ?? .max {
            complaints.append("a will before \(conversation.client) had left: \(told.text)")
        }
        if !isEvent, write?.reason != "will" { complaints.append("a will that isn't called one: \(value)") }
    }

    /// Checks that the will was written before the values of the connection were deleted.
    private mutating func checkOrder(of conversation: Conversation) {
        let wills = Set(conversation.asked.flatMap(\.wish.will).compactMap(\.value))
        let bound = Set(
            conversation.asked.compactMap { asked -> String? in
                if case .bind(_, let value, .connection) = asked.wish { value } else { nil }
            }
        )
        guard !bound.isEmpty, let will = log.writes.first(where: { $0.value.map(wills.contains) ?? false })
        else {
            return
        }
        for writes in log.keys.values {
            for (before, write) in zip(writes, writes.dropFirst())
            where write.reason == "disconnected" && before.value.map(bound.contains) ?? false {
                if write.revision < will.revision { complaints.append("ended before the will: \(write)") }
            }
        }
    }
}

extension Wish {
    /// Whether the request decides what is written when its client is gone.
    var isAboutWill: Bool {
        switch self {
        case .will, .forgetWill, .goodbye: true
        default: false
        }
    }
}
