// The bus itself: keys, values, subscriptions, and who is told what. It applies one request at a time and
// appends the results to the outboxes. It does no input or output and knows no descriptor. Used by the loop's
// thread alone.

import PlugboardJournal
import PlugboardMemory
import PlugboardPosix
import PlugboardWire

struct Hub: ~Copyable {
    var keyspace: Keyspace
    var durability = Durability()
    var insight: Insight
    var matching = Matching()
    var requests = Requests()
    /// Names that stand for a program between two of its connections.
    var graces = Graces()
    var delivery = Delivery()
    var sessions = SessionTable()
    var phases = Phases()
    var calls = Calls()
    var deadlines: Deadlines
    var access = Access()
    var supervision = Supervision()

    init(time: TimeSource = .system) {
        deadlines = Deadlines(clock: time)
        keyspace = Keyspace(time: time)
        let author = keyspace.authors.make(name: StaticString("$broker").bytes, presence: Liveness(client: 0))
        insight = Insight(time: time, author: author)
    }

    var revision: UInt64 { keyspace.revision }

    mutating func place(_ session: SessionHandle, _ groups: [UInt32]) {
        let peer = sessions[session].peer
        let isSupervisor = supervision.isSupervisor(peer)
        let plugin = isSupervisor ? nil : supervision.plugin(of: peer)
        let rights = isSupervisor ? nil : access.rights(of: peer, groups, name: plugin?.name)
        if isSupervisor || rights != nil {
            sessions[session].grant = Grant(groups: groups, rights: rights, isSupervisor: isSupervisor)
        }
        if let plugin { bind(session, to: plugin, groups) }
        access.openAccount(of: sessions[session])
    }

    /// Makes a client part of a plugin, for good. Then it has the plugin's name, can't take another one, and may only
    /// do what the plugin's declaration lists.
    mutating func bind(_ session: SessionHandle, to plugin: SupervisedPlugin, _ groups: [UInt32]) {
        let grant = sessions[session].grant ?? Grant(groups: groups, rights: nil)
        sessions[session].grant = grant
        grant.plugin = plugin
        grant.name = plugin.name
        sessions[session].rename(Array(plugin.name.utf8).span, &keyspace)
    }

    mutating func greet(_ session: SessionHandle) {
        delivery.openReply(to: session, &sessions)
        EventEncoder.appendHello(
            epoch: keyspace.epoch,
            revision: revision,
            client: sessions[session].client,
            name: sessions[session].grant?.plugin?.name,
            to: &sessions[session].outbox.own
        )
        writeClientKey(session)
    }

    /// Call after a request. A client that is behind gets the reply later.
    @inline(__always)
    mutating func end(_ session: SessionHandle) { delivery.end(session, at: revision, &sessions) }

    mutating func refuseOverlong(from session: SessionHandle) {
        let message = "a line has at most \(Limits.lineBytesMax) bytes; this one was left out"
        delivery.begin(session)
        refuse(Refusal(.tooLong, message), id: Span(), session)
        end(session)
    }

    /// Refuses what came after the last line feed, unless it would be ignored as a line.
    mutating func refuseUnended(_ line: inout MutableSpan<UInt8>, from session: SessionHandle) {
        guard sessions[session].isOpen, !RequestDecoder.isIgnored(line.span) else { return }
        var request = Request()
        // Only for its id.
        _ = try? requests.decoder.decodeUnusual(&line, into: &request)
        let hint = "the last line, too, ends with a line feed"
        delivery.begin(session)
        refuse(
            Refusal(.badJSON, "the line had no end", hint: hint, at: line.count),
            id: request.id.bytes(of: line.span),
            session
        )
        end(session)
    }

    /// Ends a session: ends its calls, makes its disconnect actions, and ends its subscriptions. Its values stay, and show
    /// that their writer is gone. Returns false if others should have their turn first; then call it again.
    /// Nothing is sent to the client any more. Further calls do no harm.
    @discardableResult
    mutating func leave(_ session: SessionHandle, until effortEnd: UInt64 = .max) -> Bool {
        // Events that its end sets free for others must not go to the client itself.
        if sessions[session].isOpen { sessions[session].closeReason = .gone }
        sessions[session].backlog?.goodbye = nil
        stopSending(to: session)
        return leaveCalls(of: session, until: effortEnd) && leaveKeys(of: session, until: effortEnd)
    }

    /// The same for a session that isn't open any more.
    mutating func leaveKeys(of session: SessionHandle, until effortEnd: UInt64) -> Bool {
        stopSending(to: session)
        // This comes before its phases end, so that later observers get both, the write and what ends with
        // the client.
        endLease(of: session)
        return endSubscriptions(of: session, until: effortEnd)
    }

    /// A client that has hung up is told nothing any more, and waits for nothing. Its lines that have come still count.
    /// Returns false if others should have their turn first; then call it again.
    mutating func stopTelling(_ session: SessionHandle, until effortEnd: UInt64) -> Bool {
        let (isBusy, newest) = (sessions[session].isBusy, sessions[session].subscriptions.list.last)
        cancelRequest(of: session)
        // What was cancelled may be the beginning of the newest one.
        if isBusy, let newest { end(newest) }
        guard endSubscriptions(of: session, until: effortEnd) else { return false }
        stopSending(to: session)
        sessions[session].dropEmptyBacklog()
        return true
    }

    private mutating func endSubscriptions(of session: SessionHandle, until effortEnd: UInt64) -> Bool {
        while let subscription = sessions[session].subscriptions.list.last {
            if effort > effortEnd { return false }
            end(subscription)
        }
        return true
    }

    private mutating func stopSending(to session: SessionHandle) {
        cancelRequest(of: session)
        sessions[session].backlog?.ready.removeAll()
        sessions[session].backlog?.unanswered.removeAll()
        sessions[session].backlog?.deferred.removeAll()
        sessions[session].isBehind = false
    }

    private mutating func cancelRequest(of session: SessionHandle) {
        if let request = sessions[session].backlog?.request.take() { requests.end(request) }
    }

    /// Ends what a client is sent by its last line.
    mutating func appendBye(to session: SessionHandle) {
        guard let closeReason = sessions[session].closeReason else { return }
        stopSending(to: session)
        delivery.openReply(to: session, &sessions)
        EventEncoder.appendBye(
            reason: closeReason.rawValue,
            message: delivery.takeMessage(to: session) ?? closeReason.message,
            to: &sessions[session].outbox.own
        )
    }

    mutating func forget(_ session: SessionHandle) {
        leave(session)
        access.closeAccount(of: sessions[session])
        if supervision.reporter == session { supervision.reporter = nil }
        removeClientKey(of: session)
        delivery.strike(session, &sessions)
        sessions.remove(session, &keyspace)
    }

    mutating func endTurn() {
        delivery.endTurn()
        keyspace.endTurn()
        matching.reach.endTurn()
        forgetReleased()
        insight.endTurn()
        if let turn = insight.tracing.endTurn() { requests.add(.tell(turn)) }
    }

    @inline(__always)
    mutating func perform(_ asked: AskedRequest) throws(Refusal) {
        switch asked.request.operation {
        case .publish, .emit, .patch, .add, .delete: try write(asked)
        case .batch: try writeBatch(asked)
        case .get: try get(asked)
        case .keys: try listKeys(asked)
        case .subscribe: try subscribe(asked)
        case .unsubscribe: try unsubscribe(asked)
        case .who: try who(asked)
        case .why: try why(asked)
        case .explain: try explain(asked)
        case .trace: try trace(asked)
        case .hello: try rename(asked)
        case .sync: replyDone(.sync, id: asked.id, to: asked.session)
        case .help: try help(asked)
        case .pause, .resume, .step: try control(asked)
        case .acknowledge: try acknowledge(asked)
        case .call: try call(asked)
        case .answer: try answer(asked)
        case .serve: try serve(asked)
        case .unserve: try unserve(asked)
        case .will: try keepWill(asked)
        case .goodbye: part(asked)
        case .disconnect: try disconnect(asked)
        }
    }

    @inline(__always)
    mutating func replyDone(_ operation: Operation, id: Span<UInt8>, to session: SessionHandle) {
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendDone(operation, id: id, revision: revision, to: &sessions[session].outbox.own)
    }

    /// Begins a reply with more members. Call `finish` afterwards.
    mutating func beginReply(to asked: AskedRequest) -> ByteBuffer {
        delivery.openReply(to: asked.session, &sessions)
        var reply = sessions.takeOwn(of: asked.session)
        ReplyEncoder.appendStart(asked.request.operation, id: asked.id, to: &reply)
        return reply
    }

    mutating func finish(_ reply: consuming ByteBuffer, to session: SessionHandle) {
        reply.append("}\n")
        sessions.giveBack(reply, to: session)
    }

    mutating func refuse(_ refusal: Refusal, id: Span<UInt8>, _ session: SessionHandle) {
        let number = sessions[session].line
        insight.count(steps: Cost.words)
        delivery.openReply(to: session, &sessions)
        ReplyEncoder.appendRefusal(refusal, id: id, line: number, to: &sessions[session].outbox.own)
    }

    private mutating func rename(_ asked: AskedRequest) throws(Refusal) {
        let session = asked.session
        let name = requests.decoder.options.name.bytes(of: asked.line)
        try supervision.checkName(name, at: requests.decoder.options.name.start, sessions[session])
        sessions[session].rename(name, &keyspace)
        if sessions[session].grant?.isSupervisor == true { supervision.supervisorName = String(name) }
        let isBack = setGrace(requests.decoder.options.grace, of: session)
        applyRules(name, of: session)
        guard sessions[session].isOpen else { return }
        var reply = beginReply(to: asked)
        reply.append(member: "client", sessions[session].client)
        reply.append(#","name":"#)
        JSONText.append(name, to: &reply)
        if isBack { reply.append(#","resumed":true"#) }
        finish(reply, to: session)
        writeClientKey(session)
    }
}

// Hands the state of a broker without a journal to the next one in this process: its values and its
// remembered writes, in a journal without a name. So a client that comes back learns what it missed, and gets
// nothing twice.

extension Hub {
    /// Writes the state to a journal. Nothing may change it afterwards. Throws `SystemError`.
    func carry(_ time: TimeSource) throws -> UnnamedJournal {
        let values = CarriedValues(time)
        // Newer values go with the remembered writes.
        let since = keyspace.history.completeSince
        var count = 0
        values.forEach(in: keyspace, upTo: since, deadlines) { _ in count += 1 }
        return try UnnamedJournal(
            epoch: keyspace.epoch,
            since: since,
            revision: revision,
            keys: count,
            when: values.wall,
            values: { add in try values.forEach(in: keyspace, upTo: since, deadlines, add) },
            writes: { add in try values.forEachRemembered(in: keyspace, deadlines, add) }
        )
    }

    /// Continues with the state of the broker before. Throws `JournalError` or `SystemError`.
    mutating func goOn(with state: UnnamedJournal) throws {
        let epoch = keyspace.epoch
        let recovered = try restore { take, _ in
            let recovered = try Journal.check(state, take)
            guard recovered.isClosed else { throw JournalError.missing(file: "the end of the carried state") }
            return (recovered, recovered.epoch ?? epoch)
        }
        try endRestoring(snapshotRevision: recovered.snapshotRevision)
    }
}
