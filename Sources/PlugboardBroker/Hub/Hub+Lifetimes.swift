// What the hub does without a request: deadlines, and disconnect actions. When a connection ends, the will
// comes first, and then its bound keys are deleted in the order of their writes. Each of these is a write of
// its own.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension Hub {
    /// If the journal has no room for the end of a value, it is tried again after this time.
    static let roomPatienceNanoseconds: UInt64 = 100_000_000

    /// Does what has fallen due by `now`, as much as fits into a turn. The rest is left for the next one.
    mutating func expire(now: UInt64) {
        deadlines.begin(at: now)
        var fired = 0
        while fired < Deadlines.firedPerTurnMax, delivery.hasRoomInLog,
            let deadline = deadlines.popDue(at: now)
        {
            fired += 1
            fire(deadline, now)
        }
    }

    private mutating func fire(_ deadline: Deadline, _ now: UInt64) {
        switch deadline {
        case .expiry(let bond, let revision):
            guard let observable = keyspace.bound(at: bond, revision: revision) else { return }
            if durability.hasOwnRoom { return end(observable, .expired) }
            keyspace.note(deadlines.add(at: now &+ Self.roomPatienceNanoseconds, deadline), ofBondAt: bond)
        case .ended:
            keyspace.isEnding = false
            deleteEnded(goingOnAt: now &+ 1)
        case .window(let subscription): endWindow(of: subscription)
        case .gate(let observable): expireGate(of: observable)
        case .call(let number): end(CallEnding.late(number, calls))
        case .trace(let subscription): insight.wakeTracer(subscription)
        case .ownState: lookRound()
        case .idle(let plugin):
            supervision.checkIdle(plugin, now: now, at: revision, &sessions, &delivery, &deadlines)
        }
    }

    /// Call after a write: what bound the key before doesn't bind it any more, and the write may bind it
    /// anew.
    mutating func renewLifetime(
        of observable: ObservableHandle, _ request: Request, _ reason: EventReason?, _ session: SessionHandle
    ) {
        keyspace.unbind(observable, &deadlines)
        keyspace.set(reason, of: observable)
        if let reason { keyspace.note(reason) }
        guard request.isBounded else { return }
        let legacy = request.has(.whileConnected) ? sessions[session].makeLegacy(&keyspace) : nil
        let bond = keyspace.bind(observable, to: legacy)
        if keyspace[observable].isReserved { takeReport(observable, from: session) }
        guard request.has(.timeToLive) else { return }
        let end = Deadline.expiry(bond: bond, revision: keyspace[observable].revision)
        let ticket = deadlines.add(after: request.timeToLive, end)
        keyspace.note(ticket, ofBondAt: bond)
    }

    /// Ends a connection at its client's request. Everything of it ends at once, without the will. But the reply
    /// waits for the answers to what it has asked. The loop closes the connection when the last line was sent.
    mutating func part(_ asked: AskedRequest) {
        let session = asked.session
        try? KeepWill.replace(by: nil, of: session, &keyspace, &sessions, access)
        sessions[session].farewell = .goodbye
        sessions[session].makeCatchup().goodbye = Array(asked.id)
        if supervision.reporter == session { supervision.reporter = nil }
        endServing(of: session)
        leaveKeys(of: session)
        answerGoodbye(of: session)
    }

    /// Answers a goodbye, unless other answers come first or this was done.
    mutating func answerGoodbye(of session: SessionHandle) {
        guard sessions[session].isAnswered, let catchup = sessions[session].catchup,
            let id = catchup.goodbye.take()
        else { return }
        sessions[session].dropEmptyCatchup()
        replyDone(.goodbye, id: id.span, to: session)
        appendBye(to: session)
    }

    /// A client will send nothing more, but may still wait for answers or observe keys. Nobody waits for it any more:
    /// its services end, and it has acknowledged everything.
    mutating func endInput(of session: SessionHandle) {
        sessions[session].isMute = true
        endServing(of: session)
        for subscription in phases.awaited(from: session, matching) {
            noteAcknowledged(subscription, upTo: .max)
        }
    }

    /// Makes the disconnect actions of a client. A broker that stops doesn't make them, because the bus ends
    /// for everybody.
    mutating func executeLegacy(of session: SessionHandle) {
        guard let legacy = sessions[session].legacy.take() else {
            return sessions[session].endPresence(keyspace)
        }
        sessions[session].clearance?.account?.kept -= keyspace.willBytes(of: legacy)
        let will = keyspace.end(legacy)
        if keyspace.isClosed { return }
        // A client that has written nothing yet has no author until now.
        if will != nil { _ = sessions[session].author(&keyspace) }
        sessions[session].endPresence(keyspace)
        if let will { writeWill(will, of: session) }
        deleteEnded(goingOnAt: 0)
    }

    /// Makes the write of a will. If that fails, nobody is left to be told.
    private mutating func writeWill(_ will: borrowing Will, of session: SessionHandle) {
        do throws(Refusal) {
            let asked = AskedRequest(will.write, will.bytes, from: session)
            try make(try plan(asked), asked, reason: .will)
        } catch {}
    }

    /// Deletes bound keys of connections that have ended, as many as fit into a turn and find room in the
    /// journal. Without room, clients could be told of deletes that the journal loses with a killed broker.
    /// The rest is due at `time`, or when there may be room.
    mutating func deleteEnded(goingOnAt time: UInt64) {
        var deleted = 0
        while let observable = keyspace.nextEnded() {
            let hasRoom = durability.hasOwnRoom
            guard hasRoom, deleted < Deadlines.firedPerTurnMax, delivery.hasRoomInLog
            else {
                let next = hasRoom ? time : deadlines.now &+ Self.roomPatienceNanoseconds
                if !keyspace.isEnding { deadlines.add(at: next, .ended) }
                keyspace.isEnding = true
                return
            }
            deleted += 1
            end(observable, .disconnected)
        }
    }

    /// Call after the last record: deletes what ended with the earlier broker. Of its writes up to
    /// `snapshotRevision`, only the values that were left are known.
    mutating func endRestoring(snapshotRevision: UInt64) {
        keyspace.endRestoring(snapshotRevision: snapshotRevision)
        forgetReleased()
        deleteEnded(goingOnAt: 0)
    }

    /// Removes keys that the history has let go, and that nobody else needs.
    @inline(__always)
    mutating func forgetReleased() {
        while let observable = keyspace.takeReleased() { matching.forget(observable, &keyspace) }
    }

    /// Call before a line reads a key, or writes it depending on its value: a value that has expired is over
    /// for every line. In nearly all turns no deadline is late, and this looks nothing up.
    @discardableResult
    mutating func endExpired(_ key: Span<UInt8>) -> Bool {
        guard deadlines.areLate, let known = keyspace.find(key) else { return false }
        return endExpired(known)
    }

    /// Ends an expired value now; if very many expire at once, its turn would come later. Returns whether it
    /// has expired, even if the journal has no room for that yet.
    private mutating func endExpired(_ observable: ObservableHandle) -> Bool {
        guard deadlines.isOver(keyspace.bond(of: observable)) else { return false }
        if durability.hasOwnRoom { self.end(observable, .expired) }
        return true
    }

    /// Ends those whose time is over that a search has passed by: what it finds is then all there is.
    mutating func endFound() {
        while let observable = requests.nextExpired() {
            if keyspace.contains(observable) { _ = endExpired(observable) }
        }
    }

    /// Deletes a value that has ended, in its writer's name.
    private mutating func end(_ observable: ObservableHandle, _ reason: EventReason) {
        keyspace.unbind(observable, &deadlines)
        guard let author = keyspace.writer(of: observable) else { return }
        keyspace.retain(author)
        keyspace.advance()
        delete(observable, by: author, cause: .none, reason: reason)
        keyspace.release(author)
    }
}
