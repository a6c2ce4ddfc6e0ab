// A subscription begins. The reply, the snapshot, `synced` and the first live event are in that order because
// nothing is sent before the reply, and all that comes first is owed by then.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

extension Hub {
    /// After a break very many clients may come back at once. So one that has missed very much begins when others have
    /// had their turn, unless it was put off already.
    mutating func subscribe(_ asked: AskedRequest, isPutOff: Bool = false) throws(Refusal) {
        let wanted = try requests.patterns(of: asked)
        if !isPutOff, asked.request.has(.since) {
            let first = keyspace.history.first(after: requests.decoder.options.since)
            if keyspace.history.count - first > requests.visitsMax {
                return requests.putOff(asked, .resumption, &sessions)
            }
        }
        let subscription = try makeSubscription(asked, wanted)
        let beginning = resumption(asked, wanted)
        if beginning.isResumed != true, requests.decoder.options.initial {
            beginSnapshot(of: subscription)
            guard goOnWithSnapshot(of: subscription, isFirst: true) else {
                return requests.putOff(asked, .snapshot(subscription, wanted: wanted), &sessions)
            }
        }
        begin(subscription, asked, wanted, beginning)
    }

    mutating func unsubscribe(_ asked: AskedRequest) throws(Refusal) {
        let session = asked.session
        end(try asked.subscription(of: session, matching))
        var reply = beginReply(to: asked)
        reply.append(member: "sub", json: asked.sub.bytes)
        finish(reply, to: session)
    }

    /// Answers, and owes what comes before the first live event.
    mutating func begin(
        _ subscription: SubscriptionHandle, _ asked: AskedRequest, _ wanted: [ByteRange],
        _ beginning: Beginning
    ) {
        // What the observer knew before isn't known here. It will only have been sent what it missed.
        if beginning.isResumed == true {
            matching[subscription].filter?.unsentRevision = requests.decoder.options.since
        }
        let emits = countEmits(asked, wanted)
        reply(subscription, asked, isResumed: beginning.isResumed, emits: emits)
        owe(beginning, to: subscription, asked, wanted)
        review(subscription)
    }

    // MARK: What comes before the first live event

    private mutating func owe(
        _ beginning: Beginning, to subscription: SubscriptionHandle, _ asked: AskedRequest,
        _ wanted: [ByteRange]
    ) {
        let (since, owesSynced) = (requests.decoder.options.since, requests.decoder.options.initial)
        switch beginning {
        case .remembered:
            let missed = missed(asked, PatternSet(wanted, of: asked.line))
            openBacklog(of: subscription).backlog.begin(at: revision, owingSynced: owesSynced)
            for entry in missed {
                if entry.operation == .delete { keyspace.keepDeleter(entry.author, of: entry.observable) }
                owe(missed: entry.observable, revision: entry.revision, to: subscription)
            }
        case .kept(let place):
            openBacklog(of: subscription).backlog.begin(at: since, owingSynced: owesSynced)
            replay(to: subscription, from: place, after: since)
        case .fresh, .anew:
            guard owesSynced else { break }
            let backlog = openBacklog(of: subscription).backlog
            backlog.snapshot = nil
            backlog.begin(at: revision, owingSynced: true)
            let gone = beginning.isResumed == false ? goneKeys(asked, PatternSet(wanted, of: asked.line)) : []
            for entry in gone { keyspace.keepDeleter(entry.author, of: entry.observable) }
            owe(older: gone.map { OwedKey($0.observable, revision: $0.revision, .unsure) }, to: subscription)
        }
    }

    // MARK: Name, patterns and reply

    /// The `sub` of the request as JSON, or else the smallest free number.
    mutating func chooseSub(_ asked: AskedRequest, patterns count: Int) throws(Refusal) -> ByteBuffer {
        let session = asked.session
        try access.account(of: sessions[session]).checkRoom(subscriptions: count)
        guard sessions[session].subscriptions.count < Limits.subscriptionsMax else {
            throw Refusal(.limit, "a client has at most \(Limits.subscriptionsMax) subscriptions")
        }
        guard asked.request.has(.sub) else {
            var digits = ByteBuffer()
            digits.append(decimal: UInt64(sessions[session].subscriptions.lowestFree(matching)))
            return digits
        }
        let sub = asked.sub
        if has(sub, session) { throw .duplicate(sub, asked.request) }
        return sub
    }

    private func has(_ sub: borrowing ByteBuffer, _ session: SessionHandle) -> Bool {
        matching.find(sub.bytes, of: session) != nil
    }

    /// Makes a subscription that observes what is wanted.
    private mutating func makeSubscription(
        _ asked: AskedRequest, _ wanted: [ByteRange]
    ) throws(Refusal) -> SubscriptionHandle {
        let (session, options) = (asked.session, requests.decoder.options)
        try Access.checkPatterns(wanted, asked.line, sessions[session])
        let sub = try chooseSub(asked, patterns: wanted.count)
        for range in wanted { refreshOwnState(matching: range.bytes(of: asked.line)) }
        let filter = Filter(requests.decoder, asked.line, revision: revision)
        try access.account(of: sessions[session]).checkRoom(kept: filter?.bytes ?? 0)
        let subscription = matching.add(sub.bytes, of: session, options, filter)
        insight.count(steps: wanted.count * Cost.pattern + (filter?.bytes ?? 0))
        let user = sessions[session].peer.user
        for range in wanted {
            matching.attach(subscription, of: user, to: range.bytes(of: asked.line), &keyspace)
        }
        // If keys would then visit too many nodes, there is none.
        guard matching.patterns.steps(of: user) <= Limits.patternStepsMax else {
            detach(subscription)
            matching.remove(subscription)
            throw .steps("observes", these: "these patterns")
        }
        sessions[session].subscriptions.insert(subscription, &matching)
        if !matching[subscription].isDirect { sessions[session].indirectCount += 1 }
        if options.every > 0 {
            openBacklog(of: subscription).backlog.window = Window(milliseconds: options.every)
        }
        updateDemand(of: subscription, 1)
        return subscription
    }

    /// Replies with the name of a new subscription, the revision from which on it gets events, and whether
    /// what it missed follows, if it asked for that. A client that is behind gets the reply later, and no
    /// event of this subscription before it.
    mutating func reply(
        _ subscription: SubscriptionHandle, _ asked: AskedRequest, isResumed: Bool? = nil,
        emits: (missed: UInt64?, latest: UInt64)? = nil
    ) {
        let session = asked.session
        if sessions[session].isBehind {
            let (backlog, sessionBacklog) = openBacklog(of: subscription)
            backlog.awaitsReply = true
            sessionBacklog.unanswered.append(subscription)
        }
        var reply = beginReply(to: asked)
        reply.append(member: "sub", json: matching.sub(of: subscription))
        reply.append(member: "revision", revision)
        if let isResumed { reply.append(isResumed ? #","resumed":true"# : #","resumed":false"#) }
        if let emits {
            reply.append(#","emits":{"#)
            if let missed = emits.missed { reply.append(member: "missed", missed, isFirst: true) }
            reply.append(member: "latest", emits.latest, isFirst: emits.missed == nil)
            reply.append("}")
        }
        finish(reply, to: session)
    }
}

// What an observer missed while it was away. Like a slow reader, it is owed the newest value of each key that
// was written meanwhile. The history or the journal knows these keys. If neither goes back far enough, the
// observer gets all current values.

enum Beginning {
    case fresh
    /// With what the observer missed, from the history.
    case remembered
    /// With what the observer missed, from this place in the journal.
    case kept(ReadPlace)
    /// With all current values, because nobody knows what the observer missed.
    case anew

    /// Whether what was missed comes first, and not all current values; nil if nothing was asked about that.
    var isResumed: Bool? {
        switch self {
        case .fresh: nil
        case .remembered, .kept: true
        case .anew: false
        }
    }
}

extension Hub {
    /// How a subscription begins. All that it missed since a revision is known if the revision has this
    /// epoch, and the history or the journal goes back that far. Neither has the broker's own keys. The
    /// history has no values, so it isn't enough for `delivery` "all".
    private func resumption(_ asked: AskedRequest, _ wanted: [ByteRange]) -> Beginning {
        guard asked.request.has(.since) else { return .fresh }
        let options = requests.decoder.options
        var wantsOwnKeys = false
        for range in wanted where Key.isReserved(range.bytes(of: asked.line)) { wantsOwnKeys = true }
        // With another policy, the client may now see older keys that it couldn't see then.
        guard isOfThisLife(asked), access.hasStood(since: options.since), !wantsOwnKeys else { return .anew }
        let isRemembered = options.since >= keyspace.history.completeSince
        if isRemembered, options.delivery == .latest || options.since == revision { return .remembered }
        if let place = durability.journal?.beginReading(after: options.since) { return .kept(place) }
        return isRemembered ? .remembered : .anew
    }

    private mutating func missed(_ asked: AskedRequest, _ wanted: PatternSet) -> [History.Entry] {
        let first = keyspace.history.first(after: requests.decoder.options.since)
        defer { count(keyspace.history.count - first, wanted) }
        return entries(from: first, asked, wanted) { $0.isChange }.map { keyspace.history[$0] }
    }

    /// The numbers of the entries about wanted keys that `body` accepts.
    private func entries(
        from first: UInt64, _ asked: AskedRequest, _ wanted: PatternSet, _ body: (History.Entry) -> Bool
    ) -> [UInt64] {
        (first..<keyspace.history.count).filter { number in
            let entry = keyspace.history[number]
            return body(entry) && isWanted(keyspace[entry.observable].key, asked, wanted)
        }
    }

    /// The latest deletes of keys that the observer may still know. Only keys that are still gone.
    private mutating func goneKeys(_ asked: AskedRequest, _ wanted: PatternSet) -> [History.Entry] {
        let since = requests.decoder.options.since
        let first = isOfThisLife(asked) ? keyspace.history.first(after: since) : keyspace.history.oldest
        defer { count(keyspace.history.count - first, wanted) }
        let deletes = entries(from: first, asked, wanted) {
            $0.operation == .delete && !keyspace[$0.observable].hasValue
        }
        var latest: [ObservableHandle: UInt64] = [:]
        for number in deletes { latest[keyspace.history[number].observable] = number }
        return latest.values.sorted().map { keyspace.history[$0] }
    }

    /// How many emits the observer missed, if it asks: those of the revision that it names and of later ones, nil
    /// if not all of them are known; and those with the current revision.
    private mutating func countEmits(
        _ asked: AskedRequest, _ wanted: [ByteRange]
    ) -> (missed: UInt64?, latest: UInt64)? {
        guard asked.request.has(.emits) else { return nil }
        let (first, wanted) = (requests.decoder.options.emits, PatternSet(wanted, of: asked.line))
        let isKnown = isOfThisLife(asked) && first <= revision && first >= keyspace.emits.completeSince
        let missed = isKnown ? countEmits(from: first, asked, wanted) : nil
        return (missed, countEmits(from: revision, asked, wanted))
    }

    private mutating func countEmits(
        from revision: UInt64, _ asked: AskedRequest, _ wanted: PatternSet
    ) -> UInt64 {
        var times: UInt64 = 0
        let places = keyspace.emits.places(from: revision)
        for place in places
        where isWanted(keyspace.emits.key(place), asked, wanted) {
            times += keyspace.emits.times(place)
        }
        count(UInt64(places.count), wanted)
        return times
    }

    private func isOfThisLife(_ asked: AskedRequest) -> Bool {
        let options = requests.decoder.options
        if asked.request.has(.epoch), String(options.epoch.bytes(of: asked.line)) != keyspace.epoch {
            return false
        }
        return options.since <= revision
    }

    private func isWanted(_ key: Span<UInt8>, _ asked: AskedRequest, _ wanted: PatternSet) -> Bool {
        sessions[asked.session].authorize(.subscribe, key) && wanted.match(key)
    }

    /// So many remembered entries were held against what is wanted.
    private mutating func count(_ entries: UInt64, _ wanted: PatternSet) {
        insight.count(steps: Int(entries) / Cost.entriesPerStep + wanted.takeVisits() / Cost.matchesPerStep)
    }
}
