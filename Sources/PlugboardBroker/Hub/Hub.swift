// The bus itself: keys, values, subscriptions and who is told what. Applies one
// request at a time and appends what follows from it to the outboxes; it does no
// input or output and knows no descriptor. Used by the loop's thread alone.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

/// The state of a bus.
struct Hub: ~Copyable {
    let time: TimeSource
    var keyspace: Keyspace
    /// What is kept of it all.
    var durability = Durability()
    /// Who is told again what the journal has.
    var replays = ReplayTable()
    var warnings = Warnings()
    /// What became of the writes of this turn, for those who trace.
    var tracing: Tracing
    /// What the broker tells of itself.
    var own: OwnState
    /// Who observes what.
    var matching = Matching()
    var decoder = RequestDecoder()
    /// Publishes that were read and not yet made.
    var group = PublishGroup()
    /// Something of each observable that was last looked for, so that they are really read.
    var fetched: UInt64 = 0
    /// The events of this turn.
    var log = TurnLog()
    /// Memory for the outboxes of this turn.
    var bufferMemory = BufferPool()
    /// Sessions that have something to be sent.
    var touched = List<SessionHandle>(reserving: 64)
    /// Sessions that were found to be too slow: the loop says goodbye.
    var slow = List<SessionHandle>()
    var sessions = SessionTable()
    /// Throttled subscriptions by serial.
    var windowed: [UInt64: SubscriptionHandle] = [:]
    /// Keys that have not reached all of their observers yet.
    var gates = GateTable()
    let services = ServiceTree()
    var calls = CallTable()
    /// What is to be done later.
    var deadlines = Deadlines()
    /// The time by which things fell due last, in monotonic nanoseconds.
    var lastMoment: UInt64 = 0
    /// Who may do what, and what users take up.
    var access = Access()
    /// Who looks after plugins, and what they are.
    var supervision = Supervision()
    /// The broker ends: nothing is written any more.
    var isStopping = false
    /// The value before the event under way, where somebody is owed it; which event that was.
    var heldOld: (event: UInt64, value: HeldBytes)?
    /// Whose line is executed, and where in its own bytes a reply began that has to wait.
    private var executing: SessionHandle?
    private var replyStart: Int?
    /// Searches for the nearest keys in this turn.
    var searches = 0
    /// Work space, kept from request to request.
    var scratch = ByteBuffer()
    var batch = PlannedBatch()
    /// Compares values for observers with a filter; the parts or the patch that one is told.
    var comparer = JSONComparer()
    var change = ByteBuffer()
    var judgement = Judgement()
    /// What was held against filters since a session's turn to be told began.
    var examinedBytes = 0

    init(time: TimeSource = .system) {
        self.time = time
        keyspace = Keyspace(time: time)
        tracing = Tracing(time: time)
        let author = keyspace.makeAuthor(name: StaticString("$broker").bytes, presence: Presence(client: 0))
        own = OwnState(time: time, author: author)
    }

    /// The revision of the last committed write.
    var revision: UInt64 { keyspace.revision }

    /// Greets a new client; the first thing it is ever sent.
    mutating func greet(_ session: SessionHandle) {
        openReply(to: session)
        EventEncoder.appendHello(
            epoch: keyspace.epoch,
            revision: revision,
            client: sessions[session].client,
            name: sessions[session].clearance?.plugin?.name,
            to: &sessions[session].outbox.own
        )
        noteOwn(session)
    }

    /// Before a request is executed: its replies are this client's.
    @inline(__always)
    mutating func begin(_ session: SessionHandle) {
        executing = session
    }

    /// After a request: a client that is behind gets the reply later.
    @inline(__always)
    mutating func end(_ session: SessionHandle) {
        if replyStart != nil { deferReply(of: session) }
    }

    /// Answers that a line was too long to be read.
    mutating func refuseOverlong(from session: SessionHandle) {
        let message = "a line has at most \(Limits.lineBytesMax) bytes; this one was left out"
        begin(session)
        refuse(Refusal(.tooLong, message), id: Span(), session)
        end(session)
    }

    /// Forgets a client: its subscriptions end, what it left to be done is done, what it
    /// wrote stays and says that it is gone. More than once does no harm.
    mutating func leave(_ session: SessionHandle) {
        if sessions[session].duties != nil { leaveCalls(session) }
        sessions[session].catchup?.ready.removeAll()
        sessions[session].catchup?.unanswered.removeAll()
        while let subscription = sessions[session].subscriptions.list.last {
            end(subscription)
        }
        sessions[session].isBehind = false
        sessions[session].isHeld = false
        executeLegacy(of: session)
    }

    /// Queues the last line of a client that is being closed.
    mutating func appendBye(to session: SessionHandle) {
        guard let farewell = sessions[session].farewell else { return }
        openReply(to: session)
        EventEncoder.appendBye(
            reason: farewell.reason,
            message: farewell.message,
            to: &sessions[session].outbox.own
        )
    }

    /// A client's connection is gone, and with it the session.
    mutating func forget(_ session: SessionHandle) {
        // What its end sets free for others must not be told to itself.
        if sessions[session].isOpen { sessions[session].farewell = .gone }
        leave(session)
        access.closeAccount(of: sessions[session])
        if supervision.reporter == session { supervision.reporter = nil }
        noteOwnDeparture(of: session)
        strike(session)
        sessions.remove(session, &keyspace)
    }

    /// Takes a session that ends out of what the turn still has to do. What it waited for may have
    /// come in the very moment in which its connection was found to be gone.
    private mutating func strike(_ session: SessionHandle) {
        if sessions[session].isTouched, let place = touched.firstIndex(of: session) {
            touched.removeSwapping(at: place)
            sessions[session].isTouched = false
        }
        if let place = slow.firstIndex(of: session) { slow.removeSwapping(at: place) }
    }

    /// Notes that a session has something to be sent.
    @inline(__always)
    mutating func touch(_ session: SessionHandle) {
        if sessions[session].isTouched { return }
        sessions[session].isTouched = true
        touched.append(session)
    }

    /// Makes a session's own bytes the end of what it is sent, for a reply to be added there.
    @inline(__always)
    mutating func openReply(to session: SessionHandle) {
        if !sessions[session].takesReplies { prepareReply(to: session) }
    }

    @inline(never)
    private mutating func prepareReply(to session: SessionHandle) {
        touch(session)
        openOwn(of: session)
        if sessions[session].isBehind, replyStart == nil, session == executing {
            replyStart = sessions[session].outbox.own.count
        }
    }

    /// Makes a session's own bytes the end of what it is sent.
    @inline(__always)
    mutating func openOwn(of session: SessionHandle) {
        if sessions[session].outbox.own.allocatedBytes == 0 {
            bufferMemory.lend(to: &sessions[session].outbox.own)
        }
        if sessions[session].outbox.sharedBytes > 0 { takeOverLog(session) }
    }

    /// Takes a session's own bytes out, to be added to while the hub is asked; `giveBack` follows.
    @inline(__always)
    mutating func takeOwn(of session: SessionHandle) -> ByteBuffer {
        var own = ByteBuffer()
        swap(&own, &sessions[session].outbox.own)
        return own
    }

    @inline(__always)
    mutating func giveBack(_ own: consuming ByteBuffer, to session: SessionHandle) {
        sessions[session].outbox.own = own
    }

    /// Makes a session's share of the log its own but for its first bytes.
    mutating func takeOverLog(_ session: SessionHandle, skipping: Int = 0) {
        bufferMemory.lend(sessions[session].outbox.sharedBytes - skipping, to: &sessions[session].outbox.own)
        sessions[session].outbox.takeOver(log, skipping: skipping)
    }

    /// Takes a reply back out: a client that is behind gets it after what it is owed by now.
    private mutating func deferReply(of session: SessionHandle) {
        guard let start = replyStart else { return }
        replyStart = nil
        guard sessions[session].isBehind else { return }
        sessions[session].makeCatchup()
        guard let catchup = sessions[session].catchup else { return }
        catchup.deferred.append(sessions[session].outbox.own.bytes[start...])
        catchup.deferredUntil = revision
        sessions[session].outbox.own.truncate(to: start)
        sessions[session].isHeld = true
    }

    /// The turn is over: what was shared by its events is not needed any more.
    mutating func endTurn() {
        log.removeAll()
        heldOld = nil
        searches = 0
        durability.endTurn()
        keyspace.endTurn()
    }

    @inline(__always)
    mutating func perform(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        switch request.operation {
        case .publish, .emit, .patch, .delete: try write(request, line, session)
        case .batch: try writeBatch(request, line, session)
        case .get: try get(request, line, session)
        case .keys: try listKeys(request, line, session)
        case .subscribe: try subscribe(request, line, session)
        case .unsubscribe: try unsubscribe(request, line, session)
        case .who: try who(request, line, session)
        case .why: try why(request, line, session)
        case .explain: try explain(request, line, session)
        case .trace: try trace(request, line, session)
        case .hello: try rename(request, line, session)
        case .sync: replyDone(request, line, session)
        case .help: try help(request, line, session)
        case .pause: try pause(request, line, session)
        case .resume: try resume(request, line, session)
        case .step: try step(request, line, session)
        case .acknowledge: try acknowledge(request, line, session)
        case .call: try call(request, line, session)
        case .answer: try answer(request, line, session)
        case .serve: try serve(request, line, session)
        case .unserve: try unserve(request, line, session)
        case .will: try keepWill(request, line, session)
        case .goodbye: part(request, line, session)
        }
    }

    /// The plainest success: the operation, the `id` and the revision.
    @inline(__always)
    mutating func replyDone(_ request: Request, _ line: Span<UInt8>, _ session: SessionHandle) {
        let id = request.id.bytes(of: line)
        openReply(to: session)
        ReplyEncoder.appendDone(
            request.operation,
            id: id,
            revision: revision,
            to: &sessions[session].outbox.own
        )
    }

    mutating func refuse(_ refusal: Refusal, id: Span<UInt8>, _ session: SessionHandle) {
        let number = sessions[session].line
        openReply(to: session)
        ReplyEncoder.appendRefusal(refusal, id: id, line: number, to: &sessions[session].outbox.own)
    }

    private mutating func rename(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        let name = decoder.options.name.bytes(of: line)
        try checkName(name, at: decoder.options.name.start, session)
        sessions[session].rename(name, &keyspace)
        noteSupervisor(name, session)
        noteName(name, of: session)
        openReply(to: session)
        ReplyEncoder.appendStart(.hello, id: request.id.bytes(of: line), to: &sessions[session].outbox.own)
        sessions[session].outbox.own.append(#","client":"#)
        sessions[session].outbox.own.append(decimal: sessions[session].client)
        sessions[session].outbox.own.append(#","name":"#)
        JSONText.append(name, to: &sessions[session].outbox.own)
        sessions[session].outbox.own.append("}\n")
        noteOwn(session)
    }

    private mutating func help(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        var operation: Operation?
        if request.has(.about) {
            let about = decoder.options.about
            operation = Operation(about.bytes(of: line))
            if operation == nil { throw Self.noSuchHelp(about, line) }
        }
        openReply(to: session)
        ReplyEncoder.appendHelp(
            about: operation,
            id: request.id.bytes(of: line),
            to: &sessions[session].outbox.own
        )
    }

    private static func noSuchHelp(_ about: ByteRange, _ line: Span<UInt8>) -> Refusal {
        let word = String(about.bytes(of: line)[..<min(48, about.count)])
        let names = Operation.allCases.map { $0.name.description }.joined(separator: ", ")
        let hint = OperationHelp.hint(for: word) ?? "the operations are \(names)"
        return Refusal(.notFound, "there is no help about \"\(word)\"", hint: hint, at: about.start)
    }
}
