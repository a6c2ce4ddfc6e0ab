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
            let ticket = deadlines.add(at: now &+ Self.roomPatienceNanoseconds, deadline)
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
        }
    }

    /// Call after a write: what bound the key before doesn't any more, and the write may bind it anew.
    mutating func renewLifetime(
        of observable: ObservableHandle, _ request: Request, _ reason: EventReason?, _ session: SessionHandle
    ) {
        keyspace.unbind(observable, &deadlines)
        keyspace.set(reason, of: observable)
        guard request.isBounded else { return }
        let lease = request.has(.whileConnected) ? sessions[session].makeLease(&keyspace) : nil
        if let lease { keyspace.lifetimes.leases[lease].grace = graces.milliseconds(of: session) }
        keyspace.bind(observable, to: lease)
        if keyspace[observable].isReserved { takeReport(observable, from: session) }
        guard request.has(.timeToLive) else { return }
        keyspace.setDeadline(deadlines.add(after: request.timeToLive, .expiry(observable)), of: observable)
    }

    /// Ends a connection at its client's request: everything of it, without the will. The loop goes on with that, and
    /// closes the connection when the last line was sent.
    mutating func part(_ asked: AskedRequest) {
        let session = asked.session
        try? replaceWill(of: session, by: nil)
        sessions[session].closeReason = .goodbye
        sessions[session].makeBacklog().goodbye = Array(asked.id)
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
        let program = graces.withdraw(session)
        guard let lease = sessions[session].lease.take() else {
            return sessions[session].endPresence(keyspace)
        }
        if let program, sessions[session].closeReason != .goodbye, !keyspace.isClosed,
            !keyspace.lifetimes.leases[lease].isEmpty, graces.hasRoom(for: program.name)
        {
            return postpone(lease, of: session, program.name, program.milliseconds)
        }
        access.account(of: sessions[session]).used.kept -= keyspace.willBytes(of: lease)
        let will = keyspace.lifetimes.end(lease)
        if keyspace.isClosed { return }
        // A client that has written nothing yet has no author until now.
        if will != nil { _ = sessions[session].author(&keyspace) }
        sessions[session].endPresence(keyspace)
        if let will { writeWill(will, of: session) }
        deleteEnded(goingOnAt: 0)
    }

    /// If the write of a will fails, nobody is left to be told.
    private mutating func writeWill(_ will: Will, of session: SessionHandle) {
        let bytes = will.bytes
        insight.count(steps: bytes.count / Cost.bytesChangedPerStep)
        do throws(Refusal) {
            let asked = AskedRequest(will.write, bytes.span, from: session)
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
        while beginSnapshot() { try durability.journal?.keepRoom(&durability.records) }
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
        _ = graces.withdraw(session)
        let isProgram = milliseconds > 0 && sessions[session].grant?.isSupervisor != true
        if let lease = sessions[session].lease {
            keyspace.lifetimes.setDeadline(.none, grace: isProgram ? milliseconds : 0, of: lease)
        }
        guard isProgram else { return false }
        let author = sessions[session].author(&keyspace)
        let name = ProgramName(user: sessions[session].peer.user, name: Array(keyspace.authors[author].name))
        graces.enter(session, name, milliseconds)
        guard let (lease, absence) = graces.take(name) else { return false }
        deadlines.cancel(keyspace.lifetimes.leases[lease].deadline)
        // Others may have overwritten all of it meanwhile.
        let isLeft = !keyspace.lifetimes.leases[lease].isEmpty
        handOver(lease, absence.account, to: session)
        return isLeft
    }

    private mutating func handOver(_ left: LeaseHandle, _ before: Account?, to session: SessionHandle) {
        let account = access.account(of: sessions[session])
        let lease = inherit(left, before, by: sessions[session].lease, account)
        sessions[session].lease = lease
        keyspace.lifetimes.setDeadline(.none, grace: graces.milliseconds(of: session), of: lease)
    }

    /// A client with a grace has ended. What it leaves behind waits for the next one.
    private mutating func postpone(
        _ lease: LeaseHandle, of session: SessionHandle, _ name: ProgramName, _ milliseconds: UInt64
    ) {
        sessions[session].endPresence(keyspace)
        let account = access.account(of: sessions[session])
        if let other = graces.clients(named: name).last(where: { sessions[$0].isOpen }) {
            return handOver(lease, account, to: other)
        }
        let groups = sessions[session].grant?.groups ?? []
        let absence = Absence(name: name, client: sessions[session].client, groups: groups, account: account)
        waitForReturn(lease, absence, milliseconds)
    }

    /// Waits for a client of this name, with all that earlier ones left behind.
    private mutating func waitForReturn(_ left: LeaseHandle, _ absence: Absence, _ milliseconds: UInt64) {
        var lease = left
        if let (earlier, before) = graces.take(absence.name) {
            deadlines.cancel(keyspace.lifetimes.leases[earlier].deadline)
            lease = inherit(earlier, before.account, by: lease, absence.account)
        }
        let deadline = deadlines.add(after: milliseconds, .grace(lease))
        keyspace.lifetimes.setDeadline(deadline, grace: milliseconds, of: lease)
        graces.wait(lease, absence)
    }

    /// What two clients leave behind is one from now on. The account of the later one pays for the will.
    private mutating func inherit(
        _ earlier: LeaseHandle, _ before: Account?, by later: LeaseHandle?, _ account: Account?
    ) -> LeaseHandle {
        var lease = earlier
        before?.used.kept -= keyspace.willBytes(of: earlier)
        account?.used.kept -= keyspace.willBytes(of: later)
        if let later {
            let (all, moved) = keyspace.lifetimes.inherit(earlier, by: later)
            lease = all
            insight.count(steps: moved / Cost.movedPerStep)
        }
        account?.used.kept += keyspace.willBytes(of: lease)
        return lease
    }

    /// What an earlier broker's clients had bound waits for those that may come back, if it wasn't deleted or overwritten
    /// later. Their time begins anew.
    mutating func waitForReturns(_ leases: [ProgramName?: LeaseHandle]) {
        for (name, lease) in leases.sorted(by: { $0.value.slot < $1.value.slot }) {
            let left = keyspace.lifetimes.leases[lease]
            if let name, !left.isEmpty, graces.hasRoom(for: name) {
                waitForReturn(lease, Absence(name: name), left.grace)
            } else {
                keyspace.lifetimes.end(lease)
            }
        }
    }

    /// A client hasn't come back in time. For its will, it is here once more for a moment.
    private mutating func endGrace(of lease: LeaseHandle) {
        guard let absence = graces.takeLate(lease) else { return }
        let peer = PeerIdentity(process: 0, user: absence.name.user)
        absence.account?.used.kept -= keyspace.willBytes(of: lease)
        if keyspace.willBytes(of: lease) == 0 || !access.admits(peer, absence.groups) {
            keyspace.lifetimes.end(lease)
            return deleteEnded(goingOnAt: 0)
        }
        let session = sessions.insert(Session(client: absence.client, peer: peer))
        place(session, absence.groups)
        let name = JSONText.characters(absence.name.name.span.extracting(1..<(absence.name.name.count - 1)))
        sessions[session].rename(name.span, &keyspace)
        applyRules(name.span, of: session)
        sessions[session].lease = lease
        access.account(of: sessions[session]).used.kept += keyspace.willBytes(of: lease)
        forget(session)
    }
}
