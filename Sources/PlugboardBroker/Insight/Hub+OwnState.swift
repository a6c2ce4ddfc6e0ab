// The broker's own keys: made when somebody subscribes to them or asks, looked at once a
// second while they are observed, gone when they are not. Written like any other key, but
// by the broker alone; the history leaves them out, or they would push others from it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension Hub {
    /// Makes sure that the own keys that match a pattern are there and say how it is now.
    mutating func refreshOwnState(matching pattern: Span<UInt8>) {
        guard Self.concernsBroker(pattern) else { return }
        let now = clock()
        beginOwnWrites()
        own.setKey("$broker.stats")
        if Pattern.matches(pattern, own.key.bytes) { refreshStats(now) }
        own.setKey("$broker.warnings")
        if Pattern.matches(pattern, own.key.bytes) { refreshWarnings() }
        refreshClients(matching: pattern)
        if own.isActive { return }
        own.isActive = true
        own.nextSlot = 0
        deadlines.add(at: now + OwnState.intervalNanoseconds, .ownState)
    }

    /// Tells of a warning before the next round.
    mutating func tellWarnings() {
        beginOwnWrites()
        own.setKey("$broker.warnings")
        if isOwnKeyObserved() { refreshWarnings() }
    }

    /// Looks round: what is observed is written anew where it changed, what isn't goes. Where the
    /// revision of that could not be kept, nothing is.
    mutating func lookRound() {
        let now = clock()
        guard durability.hasOwnRoom else {
            deadlines.add(at: now + OwnState.intervalNanoseconds, .ownState)
            return
        }
        beginOwnWrites()
        if own.nextSlot == 0 {
            own.roundStart = now
            own.setKey("$broker.stats")
            if isOwnKeyObserved() { refreshStats(now) } else { removeOwn() }
            own.setKey("$broker.warnings")
            if isOwnKeyObserved() { refreshWarnings() } else { removeOwn() }
        }
        let end = min(sessions.slotCount, own.nextSlot + OwnState.clientsPerTurn)
        for slot in own.nextSlot..<max(own.nextSlot, end) {
            if let session = sessions.inSlot(slot) { lookAt(session) }
        }
        own.nextSlot = end
        if end < sessions.slotCount {
            // Others are served in between.
            deadlines.add(at: now + 1, .ownState)
            return
        }
        own.nextSlot = 0
        own.isActive = matching.hasBranch("$broker") || hasExactOwnObserver()
        if own.isActive {
            deadlines.add(at: max(now, own.roundStart + OwnState.intervalNanoseconds), .ownState)
        }
    }

    /// A client came, or took a name.
    mutating func noteOwn(_ session: SessionHandle) {
        guard own.isActive else { return }
        beginOwnWrites()
        lookAt(session)
    }

    /// A client has left.
    mutating func noteOwnDeparture(of session: SessionHandle) {
        own.departedLines += sessions[session].line
        guard own.isActive else { return }
        own.setKey(client: sessions[session].client)
        guard let observable = ownObservable(), keyspace[observable].hasValue else { return }
        beginOwnWrites()
        takeOwnRevision()
        delete(own: observable)
    }

    private mutating func lookAt(_ session: SessionHandle) {
        own.setKey(client: sessions[session].client)
        if isOwnKeyObserved() { refreshClient(session) } else { removeOwn() }
    }

    private mutating func refreshClients(matching pattern: Span<UInt8>) {
        // Nobody's key is looked at for a pattern that can match none.
        let literal = Pattern.literalPrefix(pattern)
        own.setKey("$broker.clients.")
        let shorter = min(literal.count, own.key.count)
        guard literal[..<shorter].isEqual(to: own.key.bytes[..<shorter]) else { return }
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot), sessions[session].isOpen else { continue }
            own.setKey(client: sessions[session].client)
            if Pattern.matches(pattern, own.key.bytes) { refreshClient(session) }
        }
    }

    private mutating func refreshClient(_ session: SessionHandle) {
        guard sessions[session].isListed else { return }
        own.makeValue(of: sessions[session], keyspace, matching)
        writeOwn()
    }

    private mutating func refreshWarnings() {
        own.value.removeAll()
        warnings.append(to: &own.value)
        writeOwn()
    }

    private mutating func refreshStats(_ now: UInt64) {
        let isFresh = own.sampledAt > 0 && now - own.sampledAt < OwnState.freshNanoseconds
        if isFresh, let observable = ownObservable(), keyspace[observable].hasValue { return }
        own.makeStats(now, keyspace, sessions)
        writeOwn()
    }

    /// Each group of own writes is one revision, if it writes anything.
    private mutating func beginOwnWrites() {
        own.hasRevision = false
    }

    private mutating func takeOwnRevision() {
        if own.hasRevision { return }
        own.hasRevision = true
        keyspace.advance()
        durability.pass(revision)
    }

    private func ownObservable() -> ObservableHandle? {
        let key = own.key.bytes
        return keyspace.find(key)
    }

    private mutating func isOwnKeyObserved() -> Bool {
        if let observable = ownObservable() {
            refreshObservers(of: observable)
            return !keyspace[observable].observers.isEmpty
        }
        let (key, isSelective) = (own.key.bytes.kept, isSelective)
        matching.find(key, nil, keyspace, sessions, isSelective: isSelective)
        return !matching.found.isEmpty
    }

    /// Writes `own.value` to `own.key`, unless that is what it says already.
    private mutating func writeOwn() {
        let (key, value) = (own.key.bytes.kept, own.value.bytes.kept)
        let observable = keyspace.findOrInsert(key)
        if keyspace[observable].value.isEqual(to: value) { return }
        takeOwnRevision()
        if tracing.isOn { noteTrace(.publish, nil, observable, to: value, by: own.author, cause: .none) }
        tellNews(.update, of: observable, to: value, by: own.author, .none)
        keyspace.set(observable, value, cause: .none, writer: own.author)
    }

    /// Takes `own.key` away without a word: nobody observes it.
    private mutating func removeOwn() {
        guard let observable = ownObservable(), keyspace[observable].hasValue else { return }
        keyspace.removeValue(of: observable, cause: .none, writer: own.author)
        keyspace.removeIfUnneeded(observable)
    }

    private mutating func delete(own observable: ObservableHandle) {
        if tracing.isOn { noteTrace(.delete, nil, observable, to: Span(), by: own.author, cause: .none) }
        tellNews(.delete, of: observable, to: Span(), by: own.author, .none)
        keyspace.removeValue(of: observable, cause: .none, writer: own.author)
        keyspace.removeIfUnneeded(observable)
    }

    /// Whether somebody waits for an own key by its name, there or not.
    private func hasExactOwnObserver() -> Bool {
        let prefix = Self.ownPrefix
        var next = keyspace.first(from: prefix)
        while let observable = next, keyspace[observable].key.starts(with: prefix) {
            if !keyspace[observable].exactObservers.isEmpty { return true }
            next = keyspace.next(after: observable)
        }
        return false
    }

    /// Whether a pattern, or a key, spells the broker's own out.
    private static func concernsBroker(_ pattern: Span<UInt8>) -> Bool {
        pattern.starts(with: ownPrefix)
    }

    private static var ownPrefix: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("$broker.").bytes }
    }
}
