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
        let beginning = beginning(asked, wanted)
        if !beginning.isResumed, requests.decoder.options.initial {
            beginSnapshot(of: subscription)
            guard goOnWithSnapshot(of: subscription, isFirst: true) else {
                return requests.putOff(asked, .snapshot(subscription), &sessions)
            }
        }
        begin(subscription, asked, beginning)
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
        _ subscription: SubscriptionHandle, _ asked: AskedRequest, _ beginning: Beginning
    ) {
        // What the observer knew before isn't known here. It will only have been sent what it missed.
        if beginning.isResumed {
            matching[subscription].filter?.unsentRevision = requests.decoder.options.since
        }
        let isResumed = asked.request.has(.since) ? beginning.isResumed : nil
        reply(subscription, asked, isResumed: isResumed, emits: countEmits(asked, by: subscription))
        owe(beginning, to: subscription, asked)
        review(subscription)
    }

    // MARK: What comes before the first live event

    private mutating func owe(
        _ beginning: Beginning, to subscription: SubscriptionHandle, _ asked: AskedRequest
    ) {
        let (since, owesSynced) = (requests.decoder.options.since, requests.decoder.options.initial)
        switch beginning {
        case .remembered:
            openBacklog(of: subscription).backlog.begin(at: revision, owingSynced: owesSynced)
            for entry in missed(asked, by: subscription) {
                if entry.operation == .delete { keyspace.keepDeleter(entry.author, of: entry.observable) }
                owe(missed: entry.observable, revision: entry.revision, to: subscription)
            }
        case .kept(let place):
            openBacklog(of: subscription).backlog.begin(at: since, owingSynced: owesSynced)
            replay(to: subscription, from: place, after: since)
        case .anew:
            guard owesSynced else { break }
            let backlog = openBacklog(of: subscription).backlog
            backlog.snapshot = nil
            backlog.begin(at: revision, owingSynced: true)
            let gone = asked.request.has(.since) ? goneKeys(asked, by: subscription) : []
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
            let before = sessions[session].subscriptions.lowestFree
            let name = sessions[session].subscriptions.freeName(of: session, matching)
            insight.count(steps: 2 * (sessions[session].subscriptions.lowestFree - before))
            return name
        }
        if matching.find(asked.sub.bytes, of: session) != nil { throw .duplicate(asked.sub, asked.request) }
        return asked.sub
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
    /// With what the observer missed, from the history.
    case remembered
    /// With what the observer missed, from this place in the journal.
    case kept(ReadPlace)
    /// With all current values: nobody knows what the observer missed, or it doesn't ask.
    case anew

    /// Whether what was missed comes first, and not all current values.
    var isResumed: Bool { if case .anew = self { false } else { true } }
}

extension Hub {
    /// How a subscription begins. All that it missed since a revision is known if the revision has this
    /// epoch, and the history or the journal goes back that far. Neither has the broker's own keys. The
    /// history has no values, so it isn't enough for `delivery` "all".
    private func beginning(_ asked: AskedRequest, _ wanted: [ByteRange]) -> Beginning {
        let options = requests.decoder.options
        for range in wanted where Key.isReserved(range.bytes(of: asked.line)) { return .anew }
        // With another policy, the client may now see older keys that it couldn't see then.
        guard asked.request.has(.since), isOfThisLife(asked), access.hasStood(since: options.since)
        else { return .anew }
        let isRemembered = options.since >= keyspace.history.completeSince
        if isRemembered, options.delivery == .latest || options.since == revision { return .remembered }
        if let place = durability.journal?.beginReading(after: options.since) { return .kept(place) }
        return isRemembered ? .remembered : .anew
    }

    /// The changes that an observer missed of the keys that it wants, as far as they are remembered, or only the
    /// deletes of those that are still gone.
    private mutating func missed(
        _ asked: AskedRequest, by subscription: SubscriptionHandle, onlyGone: Bool = false
    ) -> [History.Entry] {
        let since = requests.decoder.options.since
        let wanted = PatternSet(matching[subscription].allPatterns(keyspace))
        let first = isOfThisLife(asked) ? keyspace.history.first(after: since) : keyspace.history.oldest
        let numbers = first..<keyspace.history.count
        let missed = numbers.compactMap { number in
            let entry = keyspace.history[number]
            let isGone = entry.operation == .delete && !keyspace[entry.observable].hasValue
            let isMeant = onlyGone ? isGone : entry.isChange
            return isMeant && isSeen(keyspace[entry.observable].key, asked, wanted) ? entry : nil
        }
        count(numbers.count, wanted)
        return missed
    }

    /// The latest deletes of keys that the observer may still know.
    private mutating func goneKeys(
        _ asked: AskedRequest, by subscription: SubscriptionHandle
    ) -> [History.Entry] {
        var later: Set<ObservableHandle> = []
        let deletes = missed(asked, by: subscription, onlyGone: true)
        return deletes.reversed().filter { later.insert($0.observable).inserted }.reversed()
    }

    /// How many emits the observer missed, if it asks: those of the revision that it names and of later ones, nil
    /// if not all of them are known; and those with the current revision.
    private mutating func countEmits(
        _ asked: AskedRequest, by subscription: SubscriptionHandle
    ) -> (missed: UInt64?, latest: UInt64)? {
        guard asked.request.has(.emits) else { return nil }
        let first = requests.decoder.options.emits
        let wanted = PatternSet(matching[subscription].allPatterns(keyspace))
        let isKnown = isOfThisLife(asked) && first <= revision && first >= keyspace.emits.completeSince
        let latest = keyspace.emits.places(from: revision)
        let places = isKnown ? keyspace.emits.places(from: first) : latest
        var times: (all: UInt64, latest: UInt64) = (0, 0)
        for place in places where isSeen(keyspace.emits.key(place), asked, wanted) {
            times.all += keyspace.emits.times(place)
            if latest.contains(place) { times.latest += keyspace.emits.times(place) }
        }
        count(places.count, wanted)
        return (isKnown ? times.all : nil, times.latest)
    }

    private func isOfThisLife(_ asked: AskedRequest) -> Bool {
        let options = requests.decoder.options
        if asked.request.has(.epoch), String(options.epoch.bytes(of: asked.line)) != keyspace.epoch {
            return false
        }
        return options.since <= revision
    }

    private func isSeen(_ key: Span<UInt8>, _ asked: AskedRequest, _ wanted: PatternSet) -> Bool {
        sessions[asked.session].authorize(.subscribe, key) && wanted.match(key)
    }

    /// So many remembered entries were held against what is wanted.
    private mutating func count(_ entries: Int, _ wanted: PatternSet) {
        insight.count(steps: entries / Cost.entriesPerStep + wanted.takeVisits() / Cost.matchesPerStep)
    }
}
