// Checks that the answers to clients fit one order: for each key, every write and every read happens at
// one moment between its request and its reply. The order of a key's writes is known from their
// revisions, so this can be decided. A read comes after the write that it read. Nothing may come before a
// request that had ended when it began.

/// Compares the replies of a run with its writes.
struct KeyCheck {
    /// The client that asked for a value.
    private struct Author {
        let key: String
        let by: String
        let bond: Wish.Bond?
        let conversation: Conversation
    }

    /// A request with its place among a key's writes.
    private struct Placed {
        let begun: Int
        let ended: Int
        /// For a write, its place. For a read, the places at which it may have read.
        let places: [Int]
        let isWrite: Bool
        let wish: Wish
    }

    private let log: WriteLog
    private let policies: PolicySequence
    private var placed: [String: [Placed]] = [:]
    private(set) var complaints: [String] = []
    /// The client that asked for each value.
    private var authors: [String: Author] = [:]

    init(_ conversations: [Conversation], _ log: WriteLog, _ terms: OrderCheck.Terms) {
        self.log = log
        policies = terms.policies
        for conversation in conversations { collectAuthors(conversation) }
        checkLog(conversations)
        checkEnds(conversations)
        for conversation in conversations {
            for asked in conversation.asked { place(asked, conversation) }
        }
        for (key, requests) in placed { checkOrder(of: key, requests) }
        checkCounter(conversations)
    }

    // MARK: The writes

    private mutating func collectAuthors(_ conversation: Conversation) {
        for asked in conversation.asked {
            for write in asked.wish.writes + asked.wish.will {
                guard let value = write.value else { continue }
                var bond: Wish.Bond?
                if case .bind(_, _, let asked) = asked.wish { bond = asked }
                authors[value] = Author(
                    key: write.key, by: conversation.client, bond: bond, conversation: conversation
                )
            }
        }
    }

    /// Checks that each write was requested by the client that it names, and was made once, and that
    /// revisions count up by one.
    private mutating func checkLog(_ conversations: [Conversation]) {
        var last: UInt64 = 0
        var seen: Set<String> = []
        var keysOfRevision: Set<String> = []
        for write in log.writes {
            if write.revision == last {
                if !keysOfRevision.insert(write.key).inserted || !isBatch(write, conversations) {
                    complain("revision \(write.revision) is used twice: \(write)")
                }
            } else {
                if write.revision != last + 1 { complain("after revision \(last) comes \(write)") }
                keysOfRevision = [write.key]
            }
            last = write.revision
            guard let value = write.value else { continue }
            guard let author = authors[value], author.by == write.by else {
                complain("nobody of that name wrote \(write)")
                continue
            }
            if !seen.insert(value).inserted { complain("it was written twice: \(write)") }
        }
    }

    /// Checks that each delete was requested or is the end of a bound value, and that bound values whose
    /// end has come are gone.
    private mutating func checkEnds(_ conversations: [Conversation]) {
        for (key, writes) in log.keys {
            var before: Author?
            for write in writes {
                defer { before = write.value.flatMap { authors[$0] } }
                guard write.value == nil else { continue }
                switch write.reason {
                case "disconnected":
                    if before?.bond != .connection || before?.conversation.ended == nil {
                        complain("ended early: \(write)")
                    }
                case "expired":
                    guard case .time? = before?.bond else {
                        complain("ended early: \(write)")
                        continue
                    }
                default:
                    if !wasAsked(write, conversations) { complain("nobody deleted it: \(write)") }
                }
                if write.reason != "", write.by != before?.by { complain("ended by another: \(write)") }
            }
            switch before?.bond {
            case .time?: complain("\(key) didn't end with its time")
            case .connection? where before?.conversation.ended != nil:
                complain("\(key) didn't end with its connection")
            default: break
            }
        }
    }

    private func wasAsked(_ write: Write, _ conversations: [Conversation]) -> Bool {
        conversations.contains { conversation in
            conversation.client == write.by
                && conversation.asked.contains {
                    guard case .delete(write.key, _) = $0.wish else { return false }
                    return $0.reply == nil || $0.reply?.revision == write.revision
                }
        }
    }

    private func isBatch(_ write: Write, _ conversations: [Conversation]) -> Bool {
        conversations.contains { conversation in
            conversation.client == write.by
                && conversation.asked.contains {
                    if case .batch = $0.wish {
                        $0.wish.writes.contains { $0.value == write.value }
                    } else {
                        false
                    }
                }
        }
    }

    // MARK: Each request's place

    private mutating func place(_ asked: Asked, _ conversation: Conversation) {
        guard let reply = asked.reply else { return placeUnanswered(asked) }
        if reply.name == "forbidden", !policies.isEmpty { return }
        switch (asked.wish, reply.kind) {
        case (.get(let key), .done): placeRead(key, asked, reply)
        case (.get(let key), .refused):
            let sight = policies.verdict(conversation.user, asked.policy, reply.policy) {
                $0.may(.subscribe, key)
            }
            if sight == .always { placeAbsent(key, asked, reply, "not_found") }
        case (let wish, .done) where !wish.writes.isEmpty: placeWrites(asked, reply, conversation.client)
        case (.publish(let key, _, let condition?), .refused), (.delete(let key, let condition?), .refused):
            placeRefusal(key, condition, asked, reply)
        case (.delete(let key, nil), .refused): placeAbsent(key, asked, reply, "not_found")
        case (let wish, .refused) where !wish.writes.isEmpty: complain("refused: \(reply.text)")
        default: break
        }
    }

    /// Places a request without an answer. If it was made, that was after it began.
    private mutating func placeUnanswered(_ asked: Asked) {
        for write in asked.wish.writes {
            guard let value = write.value,
                let place = log.keys[write.key]?.firstIndex(where: { $0.value == value })
            else { continue }
            add(write.key, asked, [place + 1], isWrite: true, ended: .max)
        }
    }

    private mutating func placeWrites(_ asked: Asked, _ reply: Told, _ by: String) {
        for write in asked.wish.writes {
            guard let place = log.place(of: write.key, at: reply.revision ?? 0),
                let found = log.write(of: write.key, place), found.value == write.value, found.by == by,
                found.origin == asked.origin
            else {
                complain("answered, and not there: \(asked.wish) \(reply.text)")
                continue
            }
            add(write.key, asked, [place], isWrite: true, ended: reply.time)
            checkCondition(asked, write.key, place)
        }
    }

    private mutating func checkCondition(_ asked: Asked, _ key: String, _ place: Int) {
        let before = log.write(of: key, place - 1)
        let revision = before?.value == nil ? 0 : before?.revision ?? 0
        switch asked.wish {
        case .publish(_, _, let condition?) where condition != revision,
            .delete(_, let condition?) where condition != revision:
            complain("\(asked.wish) was done, though the key was at \(revision)")
        default: break
        }
    }

    private mutating func placeRefusal(_ key: String, _ condition: UInt64, _ asked: Asked, _ reply: Told) {
        if reply.name == "not_found" || reply.revision == 0 {
            if condition == 0 { complain("refused, though it was so: \(reply.text)") }
            return placeAbsent(key, asked, reply, reply.name)
        }
        guard reply.name == "conflict", let revision = reply.revision, revision != condition,
            let place = log.place(of: key, at: revision), !log.isAbsent(key, after: place)
        else { return complain("refused for no reason: \(asked.wish) \(reply.text)") }
        add(key, asked, [place], isWrite: false, ended: reply.time)
    }

    private mutating func placeRead(_ key: String, _ asked: Asked, _ reply: Told) {
        guard let place = log.place(of: key, at: reply.revision ?? 0), let write = log.write(of: key, place),
            write.value == reply.value, write.by == reply.by, write.origin == reply.origin,
            write.when == reply.when
        else { return complain("never was: \(reply.text)") }
        add(key, asked, [place], isWrite: false, ended: reply.time)
    }

    private mutating func placeAbsent(_ key: String, _ asked: Asked, _ reply: Told, _ name: String) {
        guard reply.name == name else { return complain("refused: \(reply.text)") }
        let count = log.keys[key]?.count ?? 0
        let places = (0...count).filter { log.isAbsent(key, after: $0) }
        add(key, asked, places, isWrite: false, ended: reply.time)
    }

    private mutating func add(_ key: String, _ asked: Asked, _ places: [Int], isWrite: Bool, ended: Int) {
        let one = Placed(begun: asked.begun, ended: ended, places: places, isWrite: isWrite, wish: asked.wish)
        placed[key, default: []].append(one)
    }

    // MARK: The order

    /// Gives each request the earliest place that is still possible.
    private mutating func checkOrder(of key: String, _ requests: [Placed]) {
        var done: [(ended: Int, place: Int, wish: Wish)] = []
        for request in requests.sorted(by: { $0.begun < $1.begun }) {
            var least = (place: 0, wish: Wish?.none)
            for one in done where one.ended < request.begun && one.place >= least.place {
                least = (one.place, one.wish)
            }
            let place = request.places.first {
                request.isWrite ? $0 > least.place || least.wish == nil : $0 >= least.place
            }
            guard let place else {
                let earlier = least.wish.map { "\($0)" } ?? ""
                complain("\(request.wish) is answered from before \(earlier), which had ended")
                continue
            }
            done.append((request.ended, place, request.wish))
        }
    }

    /// Checks the bus's one counter: no reply has a lower revision than a reply that came before its
    /// request.
    private mutating func checkCounter(_ conversations: [Conversation]) {
        let all = conversations.flatMap(\.asked).filter { asked in
            switch asked.wish {
            // The revision of a value is an old one, and `explain` names one that doesn't exist.
            case .get, .look: return false
            default: break
            }
            return asked.reply?.kind == .done && asked.reply?.revision != nil
        }
        let byEnd = all.sorted { ($0.ended ?? 0) < ($1.ended ?? 0) }
        var (next, highest) = (0, UInt64(0))
        for asked in all.sorted(by: { $0.begun < $1.begun }) {
            while next < byEnd.count, (byEnd[next].ended ?? 0) < asked.begun {
                highest = max(highest, byEnd[next].reply?.revision ?? 0)
                next += 1
            }
            let revision = asked.reply?.revision ?? 0
            if revision < highest || revision == highest && !asked.wish.writes.isEmpty {
                complain("\(asked.wish) was answered \(revision) after \(highest)")
            }
        }
    }

    private mutating func complain(_ complaint: String) {
        complaints.append(complaint)
    }
}
