// The broker's own keys: made when somebody subscribes to them or asks, looked at once a
// second while they are observed, gone when they are not. Written like any other key, but
// by the broker alone; the history leaves them out, or they would push others from it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension Hub {
    /// Makes sure that the own keys that match a pattern are there and say how it is now.
    mutating func refreshOwnState(matching pattern: Span<UInt8>) {
        guard pattern.starts(with: OwnKey.prefix) else { return }
        let now = deadlines.now
        insight.beginWrites()
        if Pattern.matches(pattern, OwnKey.stats) { refreshStats(now) }
        if Pattern.matches(pattern, OwnKey.warnings) { refreshWarnings() }
        if Pattern.matches(pattern, OwnKey.services) { refreshServices() }
        refreshClients(matching: pattern)
        if insight.beginRounds() { deadlines.add(at: now + Round.intervalNanoseconds, .ownState) }
    }

    /// Tells who looks after the broker of trouble with the journal.
    mutating func warn(storage message: String) {
        insight.warn(storage: message, revision: revision, at: deadlines.timeOfDay)
        if insight.isWatched { tellWarnings() }
    }

    /// Tells of a warning before the next round.
    private mutating func tellWarnings() {
        insight.beginWrites()
        if isObserved(own: OwnKey.warnings) { refreshWarnings() }
    }

    /// Looks round: what is observed is written anew where it changed, what isn't goes. Where the
    /// revision of that could not be kept, nothing is.
    mutating func lookRound() {
        let now = deadlines.now
        guard durability.hasOwnRoom else {
            deadlines.add(at: now + Round.intervalNanoseconds, .ownState)
            return
        }
        insight.beginWrites()
        let slots = insight.nextSlots(of: sessions.slotCount, at: now)
        if slots.lowerBound == 0 {
            if isObserved(own: OwnKey.stats) { refreshStats(now) } else { remove(own: OwnKey.stats) }
            if isObserved(own: OwnKey.warnings) { refreshWarnings() } else { remove(own: OwnKey.warnings) }
            if isObserved(own: OwnKey.services) { refreshServices() } else { remove(own: OwnKey.services) }
        }
        for slot in slots {
            if let session = sessions.inSlot(slot) { lookAt(session) }
        }
        // Others are served in between.
        if slots.upperBound < sessions.slotCount { return _ = deadlines.add(at: now + 1, .ownState) }
        let isObserved = matching.hasBranch("$broker") || hasExactOwnObserver()
        if let next = insight.endRound(isObserved: isObserved, at: now) { deadlines.add(at: next, .ownState) }
    }

    /// A client came, or took a name.
    mutating func noteOwn(_ session: SessionHandle) {
        guard insight.isWatched else { return }
        insight.beginWrites()
        lookAt(session)
    }

    /// A client has left.
    mutating func noteOwnDeparture(of session: SessionHandle) {
        insight.count(departed: sessions[session].line)
        guard insight.isWatched else { return }
        let key = OwnKey.client(sessions[session].client)
        guard let observable = keyspace.find(key.bytes), keyspace[observable].hasValue else { return }
        insight.beginWrites()
        takeOwnRevision()
        delete(own: observable)
    }

    private mutating func lookAt(_ session: SessionHandle) {
        let key = OwnKey.client(sessions[session].client)
        if isObserved(own: key.bytes) { refresh(session, key) } else { remove(own: key.bytes) }
    }

    private mutating func refreshClients(matching pattern: Span<UInt8>) {
        // Nobody's key is looked at for a pattern that can match none.
        let literal = Pattern.literalPrefix(pattern)
        let shorter = min(literal.count, OwnKey.clients.count)
        guard literal[..<shorter].isEqual(to: OwnKey.clients[..<shorter]) else { return }
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot), sessions[session].isOpen else { continue }
            let key = OwnKey.client(sessions[session].client)
            if Pattern.matches(pattern, key.bytes) { refresh(session, key) }
        }
    }

    private mutating func refresh(_ session: SessionHandle, _ key: borrowing ByteBuffer) {
        guard sessions[session].isListed else { return }
        var value = ByteBuffer()
        sessions[session].appendState(keyspace, matching, to: &value)
        write(value.bytes, own: key.bytes)
    }

    private mutating func refreshWarnings() {
        var value = ByteBuffer()
        insight.warnings.append(to: &value)
        write(value.bytes, own: OwnKey.warnings)
    }

    private mutating func refreshServices() {
        var value = ByteBuffer()
        sessions.appendServices(keyspace, to: &value)
        write(value.bytes, own: OwnKey.services)
    }

    private mutating func refreshStats(_ now: UInt64) {
        let known = keyspace.find(OwnKey.stats)
        if insight.areStatsFresh(at: now), let known, keyspace[known].hasValue { return }
        var value = ByteBuffer()
        insight.appendStats(now, keyspace, sessions, &calls, to: &value)
        write(value.bytes, own: OwnKey.stats)
    }

    private mutating func takeOwnRevision() {
        guard insight.takesRevision() else { return }
        keyspace.advance()
        durability.pass(revision)
    }

    private mutating func isObserved(own key: Span<UInt8>) -> Bool {
        if let observable = keyspace.find(key) {
            refreshObservers(of: observable)
            return keyspace[observable].hasObservers
        }
        matching.find(key, nil, keyspace, sessions, isSelective: isSelective)
        return !matching.found.isEmpty
    }

    /// Writes a value, unless that is what the key says already.
    private mutating func write(_ value: Span<UInt8>, own key: Span<UInt8>) {
        let observable = keyspace.findOrInsert(key)
        if keyspace[observable].value.isEqual(to: value) { return }
        takeOwnRevision()
        if insight.isTracing {
            noteTrace(.publish, nil, observable, to: value, by: insight.author, cause: .none)
        }
        tellNews(.update, of: observable, to: value, by: insight.author, .none)
        keyspace.set(observable, value, cause: .none, writer: insight.author)
    }

    /// Takes a value away without a word: nobody observes it.
    private mutating func remove(own key: Span<UInt8>) {
        guard let observable = keyspace.find(key), keyspace[observable].hasValue else { return }
        keyspace.removeValue(of: observable, cause: .none, writer: insight.author)
        keyspace.removeIfUnneeded(observable)
    }

    private mutating func delete(own observable: ObservableHandle) {
        if insight.isTracing {
            noteTrace(.delete, nil, observable, to: Span(), by: insight.author, cause: .none)
        }
        tellNews(.delete, of: observable, to: Span(), by: insight.author, .none)
        keyspace.removeValue(of: observable, cause: .none, writer: insight.author)
        keyspace.removeIfUnneeded(observable)
    }

    /// Whether somebody waits for an own key by its name, there or not.
    private func hasExactOwnObserver() -> Bool {
        var next = keyspace.first(from: OwnKey.prefix)
        while let observable = next, keyspace[observable].key.starts(with: OwnKey.prefix) {
            if keyspace[observable].hasExactObservers { return true }
            next = keyspace.next(after: observable)
        }
        return false
    }
}

/// The names of the broker's own keys.
private enum OwnKey {
    static var prefix: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("$broker.").bytes }
    }
    static var stats: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("$broker.stats").bytes }
    }
    static var warnings: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("$broker.warnings").bytes }
    }
    static var services: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("$broker.services").bytes }
    }
    static var clients: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("$broker.clients.").bytes }
    }

    static func client(_ number: UInt64) -> ByteBuffer {
        var key = ByteBuffer()
        key.append(clients)
        key.append(decimal: number)
        return key
    }
}
