// What the hub does without being asked: things whose time has come, and what a client
// left to be done when its connection ends. First the will, then the keys that go with
// the connection, in the order they were written, each a write of its own.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension Hub {
    /// How long what ends by itself waits for room in the journal before it is tried again.
    static let roomPatienceNanoseconds: UInt64 = 100_000_000

    /// Does what has fallen due by `now`, as much as fits one turn: the rest is for the next.
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

    /// After a write: what bound the key before doesn't any more, what the write asks for
    /// does from now on.
    mutating func renewLifetime(
        of observable: ObservableHandle,
        _ request: Request,
        _ reason: EventReason?,
        _ session: SessionHandle
    ) {
        keyspace.unbind(observable, &deadlines)
        keyspace[observable].marks.reason = reason
        if let reason { keyspace.note(reason) }
        guard request.isBounded else { return }
        let legacy = request.has(.whileConnected) ? sessions[session].makeLegacy(&keyspace) : nil
        let bond = keyspace.bind(observable, to: legacy)
        if keyspace[observable].isReserved { takeReport(observable, from: session) }
        guard request.has(.timeToLive) else { return }
        let time = Deadlines.time(milliseconds: request.timeToLive, after: deadlines.now)
        let ticket = deadlines.add(at: time, .expiry(bond: bond, revision: keyspace[observable].revision))
        keyspace.note(ticket, ofBondAt: bond)
    }

    /// Ends a connection as its client wishes: everything of it goes but the will. The loop
    /// closes it when the last line was sent.
    mutating func part(_ asked: AskedRequest) {
        let session = asked.session
        try? KeepWill.replace(by: nil, of: session, &keyspace, &sessions, access)
        sessions[session].farewell = .goodbye
        leave(session)
        replyDone(.goodbye, id: asked.id, to: session)
        appendBye(to: session)
    }

    /// Does what a client left to be done. A broker that stops does nothing of it: the bus
    /// ends for everybody.
    mutating func executeLegacy(of session: SessionHandle) {
        guard let legacy = sessions[session].legacy.take() else {
            return sessions[session].endPresence(keyspace)
        }
        sessions[session].clearance?.account?.kept -= keyspace.willBytes(of: legacy)
        let will = keyspace.end(legacy)
        if keyspace.isClosed { return }
        // A client that has written nothing yet is nobody until now.
        if will != nil { _ = sessions[session].author(&keyspace) }
        sessions[session].endPresence(keyspace)
        if let will { write(will, session) }
        deleteEnded(goingOnAt: 0)
    }

    /// Makes the write of a will. If it can't be made, nobody is left to be told.
    private mutating func write(_ will: borrowing Will, _ session: SessionHandle) {
        do throws(Refusal) {
            let asked = AskedRequest(will.write, will.bytes, from: session)
            try make(try plan(asked), asked, reason: .will)
        } catch {}
    }

    /// Deletes keys of connections that have ended, as many as fit one turn, and as find room in the
    /// journal: else a broker that is killed would have told of deletes that it doesn't know. The rest
    /// is due at `time`, or when there may be room.
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

    /// After the last: ends what ended with the earlier broker. Of its writes up to
    /// `snapshotRevision` only what was left of them is known.
    mutating func endRestoring(snapshotRevision: UInt64) {
        keyspace.endRestoring(snapshotRevision: snapshotRevision)
        deleteEnded(goingOnAt: 0)
    }

    /// Ends a value now if its time is over: with very many that fell due at once, its turn would come later.
    /// Returns whether it is over, also where the journal has no room for that yet.
    mutating func endExpired(_ observable: ObservableHandle) -> Bool {
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

    /// Deletes a key whose time is over, in the name of who wrote it.
    private mutating func end(_ observable: ObservableHandle, _ reason: EventReason) {
        keyspace.unbind(observable, &deadlines)
        guard let author = keyspace[observable].writer else { return }
        keyspace.retain(author)
        keyspace.advance()
        delete(observable, by: author, cause: .none, reason: reason)
        keyspace.release(author)
    }
}
