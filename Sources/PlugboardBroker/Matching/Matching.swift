// The room of subscriptions: who observes which keys. It finds the observers of a key by exact names and by
// patterns, and keeps each key's list of observers up to date.
//
// What always holds: a subscription is among those who name each key that it names, and at the end of each of its
// patterns, and knows its places. A key's list of observers is right while it has the current generation. A key
// goes only when nobody needs it; see `forget`. The room knows keys and clients, but nothing of what is
// sent to them.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// All subscriptions of a bus, and what they match. Used by the loop's thread alone.
struct Matching: ~Copyable {
    private(set) var patterns = UserPatterns()
    private var subscriptions = Slab<SubscriptionRecord>()
    /// Finds each by its client and its text.
    private var index = HashIndex()
    private var texts = SubscriptionTexts()
    private var lastSerial: UInt64 = 0
    /// How many nodes of pattern trees all searches have visited, and how many observers they have found.
    private(set) var visits: UInt64 = 0
    var reach = Reach()
    /// What paused and slow readers are owed together.
    var lanes = Lanes()
    /// Some clients may not see all keys, and have to be left out of lists of observers.
    private(set) var isSelective = false
    /// Where the patterns end that the last search found.
    private var ends: [Reach.PatternEnd] = []

    subscript(subscription: SubscriptionHandle) -> SubscriptionRecord {
        @inline(__always)
        _read { yield subscriptions[subscription] }
        @inline(__always)
        _modify { yield &subscriptions[subscription] }
    }

    func contains(_ subscription: SubscriptionHandle) -> Bool { subscriptions.contains(subscription) }

    /// All subscriptions, in the order of their slots.
    var handles: [SubscriptionHandle] { subscriptions.handles }

    /// A subscription begins to share what it is owed, after an event.
    mutating func joinLane(_ subscription: SubscriptionHandle, at event: UInt64) {
        subscriptions[subscription].lag = lanes.join(subscriptions[subscription], at: event)
    }

    func firstKey(of subscription: SubscriptionHandle) -> OwedKey? {
        let lag = subscriptions[subscription].lag
        if lag.lane != .none { return lanes[lag.lane].first(for: lag) }
        guard let backlog = subscriptions[subscription].backlog else { return nil }
        return backlog.keys.front.map { backlog.keys[$0] }
    }

    subscript(text: TextHandle) -> SubscriptionText {
        @inline(__always)
        _read { yield texts[text] }
        @inline(__always)
        _modify { yield &texts[text] }
    }

    @_lifetime(borrow self)
    func sub(of subscription: SubscriptionHandle) -> Span<UInt8> {
        texts.sub(of: subscriptions[subscription].text)
    }

    /// The subscription of a client with this `sub`, given as JSON.
    func find(_ sub: Span<UInt8>, of session: SessionHandle) -> SubscriptionHandle? {
        guard let text = texts.find(sub) else { return nil }
        var search = index.search(Self.hash(text, session))
        while let slot = index.next(&search) {
            if let found = subscriptions.handle(inSlot: slot), subscriptions[found].text == text,
                subscriptions[found].session == session
            {
                return found
            }
        }
        return nil
    }

    private static func hash(_ text: TextHandle, _ session: SessionHandle) -> UInt64 {
        (((text.word &* 0x9E37_79B9_7F4A_7C15) ^ session.word) &* 0x9E37_79B9_7F4A_7C15) >> 32
    }

    /// From now on, some clients may not see all keys.
    mutating func select() { isSelective = true }

    /// Whether one of the listed observers of a key isn't still to begin.
    func hasBegunObserver(of observable: ObservableHandle) -> Bool {
        let observers = reach.observers(of: observable)
        return observers.indices.contains { subscriptions[observers[$0].subscription].hasBegun }
    }

    // MARK: Coming and going

    /// Makes a subscription with this `sub` that observes nothing yet.
    mutating func add(
        _ sub: Span<UInt8>, of session: SessionHandle, _ options: RequestOptions, _ filter: Filter?
    ) -> SubscriptionHandle {
        lastSerial += 1
        let text = texts.add(sub)
        let record = SubscriptionRecord(options, of: session, text, serial: lastSerial, filter)
        let subscription = subscriptions.insert(record)
        index.insert(Self.hash(text, session), subscription.slot)
        return subscription
    }

    /// Makes a subscription observe the keys of a pattern, or the one key that it names.
    mutating func attach(
        _ subscription: SubscriptionHandle,
        of user: UInt32,
        to pattern: Span<UInt8>,
        _ keyspace: inout Keyspace
    ) {
        if Pattern.hasWildcard(pattern) {
            let place = patterns.insert(pattern, subscription, of: user)
            reach.outdate()
            return subscriptions[subscription].patterns.append(place)
        }
        let observable = keyspace.findOrInsert(pattern)
        let index = Int32(reach.name(observable, by: subscription))
        subscriptions[subscription].keys.append(ExactPlace(observable: observable, index: index))
    }

    /// Makes a subscription observe nothing any more. Removes keys that only it needed.
    mutating func detach(_ subscription: SubscriptionHandle, of user: UInt32, _ keyspace: inout Keyspace) {
        for place in subscriptions[subscription].keys.all {
            let (observable, index) = (place.observable, Int(place.index))
            if let moved = reach.unname(observable, at: index) {
                subscriptions[moved].setPlace(in: observable, to: index)
            }
            forget(observable, &keyspace)
        }
        for place in subscriptions[subscription].patterns {
            reach.outdate()
            if let moved = patterns.remove(place, of: user) {
                subscriptions[moved].setPlace(in: place.node, to: Int(place.index))
            }
        }
    }

    mutating func remove(_ subscription: SubscriptionHandle) {
        let (text, session) = (subscriptions[subscription].text, subscriptions[subscription].session)
        index.remove(Self.hash(text, session), subscription.slot)
        texts.remove(text)
        _ = subscriptions.remove(subscription)
    }

    // MARK: Keys that stay

    /// Removes a key that has no value, that nobody names or is owed, and that the history doesn't name. Nothing
    /// else removes keys. Does nothing if it is needed.
    mutating func forget(_ observable: ObservableHandle, _ keyspace: inout Keyspace) {
        if keyspace[observable].isNeeded || reach.needs(observable) { return }
        reach.forget(observable)
        keyspace.remove(observable)
    }

    // MARK: Searching

    /// Finds the observers of a key, in the order in which they are told. `observable` is the key's, if there is one.
    mutating func find(
        _ key: Span<UInt8>, _ observable: ObservableHandle?, _ sessions: borrowing SessionTable
    ) -> [SubscriptionHandle] {
        // Sorting very many observers takes long. This list was sorted when they were told last.
        if let observable, reach.isListed(observable) { return reach.observers(of: observable).subscriptions }
        search(key)
        var list = gather(at: ends, naming: observable)
        visits &+= UInt64(list.count)
        arrange(&list, of: key, sessions)
        return list.all
    }

    /// Those of the observers of a key that one reply names. If there are too many, those that aren't live come first,
    /// because they are what people look for.
    func listed(
        _ found: [SubscriptionHandle], _ sessions: borrowing SessionTable
    ) -> [SubscriptionHandle] {
        guard found.count > Limits.listedObserversMax else { return found }
        var (behind, live): ([SubscriptionHandle], [SubscriptionHandle]) = ([], [])
        for subscription in found where behind.count < Limits.listedObserversMax {
            let isBehind = sessions[self[subscription].session].isBehind
            let isLive = self[subscription].state(isBehind: isBehind) == .live
            if !isLive { behind.append(subscription) }
            if isLive, live.count < Limits.listedObserversMax { live.append(subscription) }
        }
        return behind + live.prefix(Limits.listedObserversMax - behind.count)
    }

    @inline(__always)
    mutating func refreshObservers(
        of observable: ObservableHandle, _ keyspace: borrowing Keyspace, _ sessions: borrowing SessionTable
    ) {
        if reach.isListed(observable) { return }
        findObservers(of: observable, keyspace, sessions)
    }

    @inline(never)
    private mutating func findObservers(
        of observable: ObservableHandle, _ keyspace: borrowing Keyspace, _ sessions: borrowing SessionTable
    ) {
        let key = keyspace[observable].key
        search(key)
        let isShared = !isSelective && !reach.isNamed(observable)
        if isShared, reach.share(ends, with: observable) { return }
        var list = gather(at: ends, naming: observable)
        visits &+= UInt64(list.count)
        arrange(&list, of: key, sessions)
        reach.list(list, subscriptions, of: observable, sharedBy: isShared ? ends : [])
    }

    /// Looks at `visits` of what may be given back, and returns whether it is done.
    mutating func shrink(visits: Int) -> Bool {
        let areShort =
            subscriptions.shrink(visits: visits, MemoryPages.giveBack) && reach.shrink(visits: visits)
        let isFoundShort = index.shrink(visits: visits)
        return texts.shrink(visits: visits) && lanes.shrink(visits: visits) && areShort && isFoundShort
    }

    /// Finds the ends of the patterns that match a key.
    private mutating func search(_ key: Span<UInt8>) {
        ends.removeAll(keepingCapacity: true)
        visits &+= UInt64(patterns.match(key, into: &ends))
    }

    /// All who name a key, or stand at these ends of patterns, in any order.
    private func gather(
        at ends: [Reach.PatternEnd], naming observable: ObservableHandle?
    ) -> List<SubscriptionHandle> {
        var list = List<SubscriptionHandle>()
        if let observable {
            let naming = reach.naming(observable)
            for place in naming.indices { list.append(naming[place]) }
        }
        for end in ends {
            for subscription in end.entries { list.append(subscription) }
        }
        return list
    }

    /// Observers of a single key or pattern are in order already, and sorting very many takes long.
    private func isInOrder(_ list: borrowing List<SubscriptionHandle>) -> Bool {
        for place in list.indices.dropFirst()
        where subscriptions[list[place]].rank < subscriptions[list[place - 1]].rank { return false }
        return true
    }

    /// Those who may observe a key, by phase and age. A subscription with overlapping patterns is told once.
    private func arrange(
        _ list: inout List<SubscriptionHandle>, of key: Span<UInt8>, _ sessions: borrowing SessionTable
    ) {
        if !isInOrder(list) { list.sort { subscriptions[$0].rank < subscriptions[$1].rank } }
        var kept = 0
        for index in list.indices where kept == 0 || list[kept - 1] != list[index] {
            let session = subscriptions[list[index]].session
            if isSelective, !sessions[session].authorize(.subscribe, key) { continue }
            list[kept] = list[index]
            kept += 1
        }
        list.truncate(to: kept)
    }
}

extension Matching: Checked {
    func checkInvariants(
        _ keyspace: borrowing Keyspace, _ sessions: borrowing SessionTable
    ) throws(BrokenInvariant) {
        try texts.checkInvariants(self)
        try Self.always.hold("the index of subscriptions is sound", index.isSound)
        try Self.always.agree("each subscription is indexed once", index.count, subscriptions.count)
        try reach.checkInvariants(keyspace)
        try observersAreWhereTheySay(keyspace)
        for observable in keyspace.all.handles where reach.isListed(observable) {
            let key = keyspace[observable].key
            var ends: [Reach.PatternEnd] = []
            _ = patterns.match(key, into: &ends)
            var list = gather(at: ends, naming: observable)
            arrange(&list, of: key, sessions)
            let (name, observers) = (String(key), reach.observers(of: observable).subscriptions)
            let isRight = observers.elementsEqual(list.all)
            try Observable.always.hold("its observers are those who match", isRight, of: name)
            let acknowledges = observers.contains { self[$0].acknowledges }
            let isNoted = reach.hasAcknowledgers(observable) == acknowledges
            try Observable.always.hold("it knows whether one of them acknowledges", isNoted, of: name)
        }
    }

    private func observersAreWhereTheySay(_ keyspace: borrowing Keyspace) throws(BrokenInvariant) {
        var (places, observers, ends) = (0, 0, 0)
        for subscription in handles {
            for place in self[subscription].patterns {
                ends += 1
                let (there, index) = (place.node.entries, Int(place.index))
                let isThere = there.indices.contains(index) && there[index] == subscription
                try Self.always.hold("it stands at the end of its patterns", isThere)
            }
            for place in self[subscription].keys.all {
                places += 1
                try Self.always.hold("its keys are there", keyspace.contains(place.observable))
                let index = Int(place.index)
                let naming = reach.naming(place.observable)
                let isThere = naming.indices.contains(index) && naming[index] == subscription
                try Self.always.hold(
                    "it observes its keys where it says", isThere, of: String(keyspace[place.observable].key)
                )
            }
        }
        for observable in keyspace.all.handles { observers += reach.naming(observable).count }
        try Self.always.agree("keys have no observers that are gone", places, observers)
        try patterns.checkInvariants(standing: ends)
    }
}
