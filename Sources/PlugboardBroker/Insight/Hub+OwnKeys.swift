// When the broker's own keys are made, updated and removed; see `OwnKey`. They are written like other keys,
// but only by the broker, and the history leaves them out.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Makes the own keys that match a pattern, or brings them up to date.
    mutating func refreshOwnState(matching pattern: Span<UInt8>) {
        guard pattern.starts(with: OwnKey.prefix) else { return }
        let now = deadlines.now
        insight.beginWrites()
        for key in OwnKey.all(matching: pattern, sessions) { refresh(key, now) }
        if insight.beginRounds() { deadlines.add(at: now + Round.intervalNanoseconds, .ownState) }
    }

    /// Warns of a problem, before the next round.
    mutating func warn(_ kind: Warnings.Kind, _ message: String) {
        insight.warn(kind, message, revision: revision, at: deadlines.timeOfDay)
        guard insight.isWatched else { return }
        insight.beginWrites()
        if isObserved(.warnings) { refresh(.warnings, deadlines.now) }
    }

    /// A round: updates own keys that are observed, and removes the others. If there is no room to record the
    /// revision, it does nothing.
    mutating func lookRound() {
        let now = deadlines.now
        guard durability.hasOwnRoom else {
            deadlines.add(at: now + Round.intervalNanoseconds, .ownState)
            return
        }
        insight.beginWrites()
        let slots = insight.nextSlots(of: sessions.slotCount, at: now)
        if slots.lowerBound == 0 {
            for key in [OwnKey.stats, .warnings, .services] { look(at: key, now) }
        }
        for slot in slots {
            if let session = sessions.inSlot(slot) { look(at: .client(session), now) }
        }
        // Others are served in between.
        if slots.upperBound < sessions.slotCount { return _ = deadlines.add(at: now + 1, .ownState) }
        let isObserved = matching.hasBranch("$broker") || OwnKey.hasExactObserver(keyspace)
        if let next = insight.endRound(isObserved: isObserved, at: now) { deadlines.add(at: next, .ownState) }
    }

    /// A client has connected, or has taken a name.
    mutating func noteOwn(_ session: SessionHandle) {
        guard insight.isWatched else { return }
        insight.beginWrites()
        look(at: .client(session), deadlines.now)
    }

    /// A client has left.
    mutating func noteOwnDeparture(of session: SessionHandle) {
        insight.count(departed: sessions[session].line)
        guard insight.isWatched else { return }
        let key = OwnKey.client(session).text(sessions)
        guard let observable = keyspace.find(key.bytes), keyspace[observable].hasValue else { return }
        insight.beginWrites()
        takeOwnRevision()
        deleteOwn(observable)
    }

    private mutating func look(at key: OwnKey, _ now: UInt64) {
        if isObserved(key) { return refresh(key, now) }
        // Without an event, because nobody observes it.
        let text = key.text(sessions)
        guard let observable = keyspace.find(text.bytes), keyspace[observable].hasValue else { return }
        keyspace.removeValue(of: observable, cause: .none, writer: insight.author)
        keyspace.removeIfUnneeded(observable)
    }

    private mutating func isObserved(_ key: OwnKey) -> Bool {
        key.isObserved(&keyspace, &matching, sessions, isSelective: isSelective)
    }

    /// Writes the present value, unless the key has it already.
    private mutating func refresh(_ key: OwnKey, _ now: UInt64) {
        var value = ByteBuffer()
        key.append(now, &insight, keyspace, matching, sessions, &calls, to: &value)
        if value.isEmpty { return }
        let observable = keyspace.findOrInsert(key.text(sessions).bytes)
        if keyspace.value(of: observable).isEqual(to: value.bytes) { return }
        takeOwnRevision()
        writeOwn(observable, value.bytes)
    }

    private mutating func takeOwnRevision() {
        guard insight.takesRevision() else { return }
        keyspace.advance()
        durability.pass(revision)
    }

    /// Writes one of the broker's own keys. The history leaves that out.
    private mutating func writeOwn(_ observable: ObservableHandle, _ value: Span<UInt8>) {
        let author = insight.author
        if insight.isTracing { noteTrace(.publish, nil, observable, to: value, by: author, .none) }
        tellNews(.update, of: observable, to: value, by: author, .none)
        keyspace.set(observable, value, cause: .none, writer: author)
    }

    /// Deletes one of the broker's own keys.
    private mutating func deleteOwn(_ observable: ObservableHandle) {
        let author = insight.author
        if insight.isTracing { noteTrace(.delete, nil, observable, to: Span(), by: author, .none) }
        tellNews(.delete, of: observable, to: Span(), by: author, .none)
        keyspace.removeValue(of: observable, cause: .none, writer: author)
        keyspace.removeIfUnneeded(observable)
    }
}
