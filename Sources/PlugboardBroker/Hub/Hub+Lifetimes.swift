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
        while fired < Deadlines.firedPerTurnMax, delivery.log.hasRoom, fired == 0 || !hasDoneEnough,
            let deadline = deadlines.popDue(at: now)
        {
            fired += 1
            fire(deadline, now)
        }
    }

    private mutating func fire(_ deadline: Deadline, _ now: UInt64) {
        switch deadline {
        case .expiry(let observable):
            if durability.records.hasOwnRoom { return end(observable, .expired) }
            let ticket = deadlines.retry(deadline, at: now &+ Self.roomPatienceNanoseconds)
            keyspace.setDeadline(ticket, of: observable)
        case .ended:
            keyspace.lifetimes.isGoingOn = false
            deleteEnded(goingOnAt: now &+ 1)
        case .window(let subscription): endWindow(of: subscription)
        case .gate(let observable): expireGate(of: observable)
        case .grace(let lease): endGrace(of: lease)
        case .call(let number): endLate(number)
        case .trace(let subscription): insight.tracing.wake(subscription)
        case .ownState: lookRound()
        case .idle: checkIdle(now: now)
        case .share(let session): delivery.touch(first: session, &sessions)
        }
    }

    /// Call after a write: what bound the key before doesn't any more, and the write may bind it anew.
    @inline(never)
    mutating func renewLifetime(
        of observable: ObservableHandle, _ request: Request, _ reason: EventReason?, _ session: SessionHandle
    ) {
        keyspace.unbind(observable, &deadlines)
        keyspace.set(reason, of: observable)
        guard request.isBounded else { return }
        let lease = request.has(.whileConnected) ? sessions[session].makeLease(&keyspace) : nil
        keyspace.bind(observable, to: lease)
        if keyspace[observable].isReserved { takeReport(observable, from: session) }
        guard request.has(.timeToLive) else { return }
        keyspace.setDeadline(deadlines.add(after: request.timeToLive, .expiry(observable)), of: observable)
    }

    /// Ends a connection at its client's request: everything of it, without the will. The loop goes on with that, and
    /// closes the connection when the last line was sent.
    mutating func part(_ asked: AskedRequest) {
        let session = asked.session
        dropWill(of: session)
        sessions[session].closeReason = .goodbye
        let backlog = sessions[session].makeBacklog()
        backlog.goodbye = Array(asked.id)
        // What answers earlier requests waits no more for events, which it isn't sent any more.
        delivery.openOwn(of: session, &sessions)
        backlog.deferred.release(before: .max, to: &sessions[session].outbox.own)
        if supervision.reporter == session { supervision.reporter = nil }
        goOnParting(session)
    }

    /// Ends what is left of a client that has said goodbye. When it has got the answers to what it has asked, too, answers
    /// the goodbye. Returns false if others should have their turn first; then call it again.
    @discardableResult
    mutating func goOnParting(_ session: SessionHandle) -> Bool {
        let effortEnd = requests.effortEnd
        guard endServing(of: session, until: effortEnd), leaveKeys(of: session, until: effortEnd) else {
            return false
        }
        guard sessions[session].isAnswered, let id = sessions[session].backlog?.goodbye.take() else {
            return true
        }
        sessions[session].dropEmptyBacklog()
        replyDone(.goodbye, id: id.span, to: session)
        appendBye(to: session)
        return true
    }

    /// A client will send nothing more, but may still wait for answers or observe keys. Nobody waits for it any more:
    /// its services end, and it has acknowledged everything. If it has very many calls to answer, they end in later turns.
    mutating func endInput(of session: SessionHandle) {
        sessions[session].isMute = true
        endServing(of: session, until: requests.effortEnd)
        for subscription in phases.awaited(from: session, matching) {
            acknowledge(subscription, upTo: .max)
        }
    }

    /// A broker that stops makes no disconnect actions, because the bus ends for everybody.
    mutating func endLease(of session: SessionHandle) {
        guard let lease = sessions[session].lease.take() else {
            return sessions[session].endPresence(keyspace)
        }
        if let name = keyspace.lifetimes.leases[lease].name {
            graces.withdraw(session, from: name)
            let isLeft = !keyspace.isClosed && !keyspace.lifetimes.leases[lease].isEmpty
            if isLeft, sessions[session].closeReason != .goodbye, graces.hasRoom(for: name) {
                return postpone(lease, of: session, name)
            }
        }
        let will = keyspace.lifetimes.end(lease)
        if keyspace.isClosed { return }
        // A client that has written nothing yet has no author until now.
        if will != nil { _ = sessions[session].author(&keyspace) }
        sessions[session].endPresence(keyspace)
        if let will { write(will.write, of: will.bytes.span, for: session) }
        deleteEnded(goingOnAt: 0)
    }

    /// Makes the write of a will. If it fails, nobody is left to be told.
    private mutating func write(_ will: Request, of bytes: Span<UInt8>, for session: SessionHandle) {
        insight.count(steps: bytes.count / Cost.bytesChangedPerStep)
        do throws(Refusal) {
            let asked = AskedRequest(will, bytes, from: session)
            try make(try plan(asked), asked, reason: .will)
        } catch {}
    }

    /// Deletes bound keys of connections that have ended, as many as fit into a turn and find room in the
    /// journal. Without room, clients could be told of deletes that the journal loses with a killed broker.
    /// The rest is due at `time`, or when there may be room.
    mutating func deleteEnded(goingOnAt time: UInt64) {
        var deleted = 0
        while let observable = keyspace.lifetimes.nextEnded() {
            let hasRoom = durability.records.hasOwnRoom
            guard hasRoom, deleted < Deadlines.firedPerTurnMax, delivery.log.hasRoom
            else {
                let next = hasRoom ? time : deadlines.now &+ Self.roomPatienceNanoseconds
                if !keyspace.lifetimes.isGoingOn { deadlines.add(at: next, .ended) }
                keyspace.lifetimes.isGoingOn = true
                return
            }
            deleted += 1
            insight.count(steps: Cost.ended)
            end(observable, .disconnected)
        }
    }

    /// Call after the last record: begins a snapshot of what was read, if it is time for one, and deletes what ended with
    /// the earlier broker.
    mutating func endRestoring(snapshotRevision: UInt64) throws {
        keyspace.endRestoring(snapshotRevision: snapshotRevision)
        forgetReleased()
        _ = beginSnapshot()
        try durability.journal?.settleFirst(&durability.records)
        try beginSnapshots()
        deleteEnded(goingOnAt: 0)
    }

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
    @discardableResult
    mutating func endExpired(_ observable: ObservableHandle) -> Bool {
        guard deadlines.isOver(keyspace.bond(of: observable)) else { return false }
        if durability.records.hasOwnRoom { self.end(observable, .expired) }
        return true
    }

    private mutating func end(_ observable: ObservableHandle, _ reason: EventReason) {
        keyspace.unbind(observable, &deadlines)
        guard let author = keyspace.writer(of: observable) else { return }
        keyspace.authors.retain(author)
        keyspace.advance()
        delete(observable, by: author, cause: .none, reason: reason)
        keyspace.authors.release(author)
    }

    // A name with a grace stands for a program. When its client is gone, the will and the bound keys wait for
    // the next client of this name and user, which has them from then on. That client may be there already,
    // if the new program was started before the old one ended.

    /// A client has taken a name. Returns whether it has what an earlier client of that name left behind. The
    /// supervisor has no grace: its keys say which plugins there are.
    mutating func setGrace(_ milliseconds: UInt64, of session: SessionHandle) -> Bool {
        withdrawName(of: session)
        guard milliseconds > 0, sessions[session].grant?.isSupervisor != true else { return false }
        let author = sessions[session].author(&keyspace)
        let name = ProgramName(user: sessions[session].peer.user, name: Array(keyspace.authors[author].name))
        let lease = sessions[session].makeLease(&keyspace)
        (keyspace.lifetimes.leases[lease].name, keyspace.lifetimes.leases[lease].grace) = (name, milliseconds)
        graces.enter(session, name)
        guard let left = graces.waiting.removeValue(forKey: name) else { return false }
        // Others may have overwritten all of it meanwhile.
        let isLeft = !keyspace.lifetimes.leases[left].isEmpty
        deadlines.cancel(keyspace.lifetimes.leases[left].deadline)
        sessions[session].lease = inherit(left, by: lease)
        return isLeft
    }

    /// A client's name, if it had one, stands for no program any more.
    mutating func withdrawName(of session: SessionHandle) {
        guard let lease = sessions[session].lease, let name = keyspace.lifetimes.leases[lease].name else {
            return
        }
        graces.withdraw(session, from: name)
        (keyspace.lifetimes.leases[lease].name, keyspace.lifetimes.leases[lease].grace) = (nil, 0)
    }

    /// A client with a grace has ended. What it leaves behind waits for the next one.
    private mutating func postpone(_ lease: LeaseHandle, of session: SessionHandle, _ name: ProgramName) {
        sessions[session].endPresence(keyspace)
        let others = graces.clients(named: name)
        if let other = others.last(where: { sessions[$0].isOpen }), let own = sessions[other].lease {
            return sessions[other].lease = inherit(lease, by: own)
        }
        keyspace.lifetimes.leases[lease].client = sessions[session].client
        keyspace.lifetimes.leases[lease].groups = sessions[session].grant?.groups ?? []
        waitForReturn(lease, name)
    }

    /// Waits for a client of this name, with all that earlier ones left behind.
    private mutating func waitForReturn(_ newest: LeaseHandle, _ name: ProgramName) {
        var lease = newest
        if let before = graces.waiting.removeValue(forKey: name) {
            deadlines.cancel(keyspace.lifetimes.leases[before].deadline)
            lease = inherit(before, by: newest)
        }
        let grace = keyspace.lifetimes.leases[lease].grace
        keyspace.lifetimes.leases[lease].deadline = deadlines.add(after: grace, .grace(lease))
        graces.waiting[name] = lease
    }

    /// What two clients leave behind is one from now on.
    private mutating func inherit(_ earlier: LeaseHandle, by later: LeaseHandle) -> LeaseHandle {
        let (lease, moved) = keyspace.lifetimes.inherit(earlier, by: later)
        insight.count(steps: moved / Cost.movedPerStep)
        return lease
    }

    /// What an earlier broker's clients had bound waits for those that may come back, if it wasn't deleted or overwritten
    /// later. Their time begins anew.
    mutating func waitForReturns(_ leases: [LeaseHandle]) {
        for lease in leases.sorted(by: { $0.slot < $1.slot }) {
            let left = keyspace.lifetimes.leases[lease]
            if let name = left.name, !left.isEmpty, graces.hasRoom(for: name) {
                waitForReturn(lease, name)
            } else {
                keyspace.lifetimes.end(lease)
            }
        }
    }

    /// A client hasn't come back in time. For its will, it is here once more for a moment.
    private mutating func endGrace(of lease: LeaseHandle) {
        guard let name = keyspace.lifetimes.leases[lease].name.take() else { return }
        graces.waiting[name] = nil
        let peer = PeerIdentity(process: 0, user: name.user)
        let client = keyspace.lifetimes.leases[lease].client
        let groups = keyspace.lifetimes.leases[lease].groups
        if keyspace.lifetimes.leases[lease].will == nil || !access.admits(peer, groups) {
            keyspace.lifetimes.end(lease)
            return deleteEnded(goingOnAt: 0)
        }
        let session = sessions.insert(Session(client: client, peer: peer))
        place(session, groups)
        let characters = JSONText.characters(name.name.span.extracting(1..<(name.name.count - 1)))
        sessions[session].rename(characters.span, &keyspace)
        applyRules(characters.span, of: session)
        sessions[session].lease = lease
        forget(session)
    }
}
