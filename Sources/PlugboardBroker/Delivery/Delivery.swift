// The room of output: the events of the turn, memory for outboxes, and which clients have something to be sent.
//
// What always holds: a client whose session says that it is touched is listed, as heard or as dirty. Between two
// turns no reply is half written, and the log is empty unless some dirty clients are still to be served. The room
// changes outboxes, and knows nothing of keys or subscriptions.

import PlugboardMemory
import PlugboardWire

/// The output of a turn. Used by the loop's thread alone.
struct Delivery: ~Copyable {
    /// If several clients have to wait for a line of at least so many bytes, only one copy is kept.
    static let sharedBytesMin = 4_096

    var log = FanoutBuffer()
    /// Decides what an observer with a filter is told.
    var judge = FilterEvaluator()
    /// Memory for outboxes and inboxes.
    var buffers = BufferPool()
    /// Sessions that were heard in this turn, or for whose lines somebody waits. They are served before those
    /// that only observe. So a reply never waits for the observers of a key, however many there are.
    private(set) var heard = List<SessionHandle>(reserving: 64)
    /// Other sessions that have something to be sent. Some of them were heard since.
    private(set) var dirty = List<SessionHandle>(reserving: 64)
    /// The messages of last lines that differ from the message of their close reason.
    private var messages: [SessionHandle: String] = [:]
    /// Sessions that may get owed events again since the present event began. Nothing can be sent in the middle of
    /// an event, and later events must not be folded into the owed ones. So these are sent before the next event.
    private(set) var freed = List<SessionHandle>()
    /// They are sent something: an event is about to be told, and its revision is counted already.
    private(set) var isWithinEvent = false
    /// The session whose line is executed.
    private var executing: SessionHandle?
    /// Work space for a line to one client.
    private var workSpace = ByteBuffer()
    private var replyStart: Int?
    /// Values before, for those that are told later what they became.
    var olds = OldValues()

    // MARK: Dirty clients

    /// Notes that a session has something to be sent.
    @inline(__always)
    mutating func touch(_ session: SessionHandle, _ sessions: inout SessionTable) {
        if sessions[session].isTouched { return }
        sessions[session].isTouched = true
        dirty.append(session)
    }

    /// The same for one that was heard, or for whose lines somebody waits. If others wait to be served before it, it goes
    /// before them.
    @inline(__always)
    mutating func touch(first session: SessionHandle, _ sessions: inout SessionTable) {
        if sessions[session].isServedFirst { return }
        (sessions[session].isTouched, sessions[session].isServedFirst) = (true, true)
        heard.append(session)
    }

    @inline(__always)
    mutating func beginServing(_ session: SessionHandle, _ sessions: inout SessionTable) {
        sessions[session].isTouched = false
        sessions[session].isServedFirst = false
    }

    /// Nobody has anything to be sent.
    @inline(__always) var isDone: Bool { heard.isEmpty && dirty.isEmpty }

    /// Forgets the first sessions of both lists, which were served.
    mutating func forgetServed(heard heardCount: Int, dirty dirtyCount: Int) {
        heard.removeFirst(heardCount)
        dirty.removeFirst(dirtyCount)
    }

    /// Dismisses a client, unless it is being closed. Its last line has the message, if there is one.
    mutating func setAside(
        _ session: SessionHandle, _ closeReason: CloseReason, saying message: String? = nil,
        _ sessions: inout SessionTable
    ) {
        guard sessions[session].takesAnswers else { return }
        messages[session] = message
        dismiss(session, closeReason, &sessions)
    }

    /// A client gets its last line in place of all that waits to be read, when it is served next, and is closed.
    mutating func dismiss(
        _ session: SessionHandle, _ closeReason: CloseReason, _ sessions: inout SessionTable
    ) {
        sessions[session].closeReason = closeReason
        sessions[session].ending = .dismissed
        touch(first: session, &sessions)
    }

    mutating func setMessage(_ message: String, to session: SessionHandle) { messages[session] = message }

    /// The message for a session's last line, if it differs from that of the close reason.
    mutating func takeMessage(to session: SessionHandle) -> String? {
        messages.isEmpty ? nil : messages.removeValue(forKey: session)
    }

    mutating func addFreed(_ session: SessionHandle) { freed.append(session) }
    mutating func beginFreed() { isWithinEvent = true }
    mutating func endFreed() {
        freed.removeAll()
        isWithinEvent = false
    }

    /// Removes a session that ends from all lists of the turn. An event may have come in the moment in which
    /// its connection was found to be gone.
    mutating func strike(_ session: SessionHandle, _ sessions: inout SessionTable) {
        heard.remove(session)
        while dirty.remove(session) {}
        beginServing(session, &sessions)
        _ = takeMessage(to: session)
        while freed.remove(session) {}
    }

    // MARK: Replies

    /// Call before a request is executed. Its replies go to this client.
    @inline(__always)
    mutating func begin(_ session: SessionHandle) { executing = session }

    /// Call after a request. A client that is behind gets the reply later.
    @inline(__always)
    mutating func end(_ session: SessionHandle, at revision: UInt64, _ sessions: inout SessionTable) {
        guard let start = replyStart else { return }
        replyStart = nil
        if sessions[session].isBehind { sessions[session].putOffOwn(from: start, until: revision) }
    }

    /// Prepares a session so that a reply can be appended to its own bytes.
    @inline(__always)
    mutating func openReply(to session: SessionHandle, _ sessions: inout SessionTable) {
        if !sessions[session].takesReplies { prepareReply(to: session, &sessions) }
    }

    @inline(never)
    private mutating func prepareReply(to session: SessionHandle, _ sessions: inout SessionTable) {
        touch(session, &sessions)
        openOwn(of: session, &sessions)
        if sessions[session].isBehind, replyStart == nil, session == executing {
            replyStart = sessions[session].outbox.own.count
        }
    }

    /// Makes a session's own bytes the end of its outbox.
    @inline(__always)
    mutating func openOwn(of session: SessionHandle, _ sessions: inout SessionTable) {
        if sessions[session].outbox.own.allocatedBytes == 0 {
            buffers.lend(to: &sessions[session].outbox.own)
        }
        if sessions[session].outbox.sharedBytes > 0 { copyRun(of: session, &sessions) }
    }

    /// Work space for a line to one client. Call `send` or `giveBack` afterwards.
    mutating func takeLine() -> ByteBuffer {
        var line = ByteBuffer()
        swap(&line, &workSpace)
        return line
    }

    mutating func giveBack(_ line: consuming ByteBuffer) {
        line.removeAll()
        workSpace = line
    }

    /// Appends a line that was made in the work space, and doesn't reply to the line being executed. A client that is
    /// behind gets it after all that it is owed up to `revision`.
    mutating func send(
        _ line: consuming ByteBuffer,
        to session: SessionHandle,
        at revision: UInt64,
        _ sessions: inout SessionTable
    ) {
        if sessions[session].takesAnswers {
            touch(first: session, &sessions)
            if sessions[session].isBehind {
                sessions[session].putOff(line.bytes, until: revision)
            } else {
                openOwn(of: session, &sessions)
                sessions[session].outbox.own.append(contentsOf: line)
            }
        }
        giveBack(line)
    }

    // MARK: Events

    @inline(__always) var eventNumber: UInt64 { log.eventNumber }

    /// Appends a line of the log to a session's outbox. If too much is unread, the session is behind.
    @inline(__always)
    mutating func append(_ line: ByteRange, to session: SessionHandle, _ sessions: inout SessionTable) {
        if !sessions[session].outbox.extend(with: line) {
            if sessions[session].outbox.sharedBytes > 0 { copyRun(of: session, goesOn: true, &sessions) }
            sessions[session].outbox.beginRun(with: line)
        }
        touch(session, &sessions)
        sessions[session].checkUnread()
    }

    /// Adds a session's share of the log to its own bytes. More of this turn may follow.
    @inline(never)
    mutating func copyRun(
        of session: SessionHandle, goesOn: Bool = false, _ sessions: inout SessionTable
    ) {
        buffers.lend(sessions[session].outbox.sharedBytes, to: &sessions[session].outbox.own)
        sessions[session].outbox.copyRun(of: log, goesOn: goesOn)
    }

    /// If the log has grown very large, starts it anew, even in the middle of an event. Returns whether it
    /// did.
    @inline(__always)
    mutating func hasCopiedOut(_ sessions: inout SessionTable) -> Bool {
        if log.count <= FanoutBuffer.bytesMax { return false }
        copyOut(&sessions)
        return true
    }

    @inline(never)
    private mutating func copyOut(_ sessions: inout SessionTable) {
        for place in heard.indices { takeOverLog(heard[place], &sessions) }
        for place in dirty.indices { takeOverLog(dirty[place], &sessions) }
        log.removeAll()
    }

    /// Keeps a session's share of the log, because the log ends: as parts that others keep, too, and the rest as bytes of
    /// its own. Returns how many bytes it copied.
    @discardableResult
    mutating func takeOverLog(_ session: SessionHandle, _ sessions: inout SessionTable) -> Int {
        var copied = 0
        if var run = sessions[session].outbox.runToHold {
            log.keep(run)
            while let part = log.takeKept(from: &run) {
                copied += sessions[session].outbox.hold(part)
                sessions[session].outbox.removeShared(part.count)
            }
        }
        copied += sessions[session].outbox.sharedBytes
        copyRun(of: session, &sessions)
        sessions[session].outbox.endServing()
        return copied
    }

    /// Ends the turn. Its events are no longer needed, unless somebody is still to be served.
    mutating func endTurn() {
        if isDone { log.removeAll() }
        log.beginTurn()
        freed.removeAll()
        olds.endTurn()
        judge.forget()
    }
}

extension Delivery: Checked {
    func checkInvariants(_ sessions: borrowing SessionTable) throws(BrokenInvariant) {
        try Self.always.hold("the log ends with its turn", !isDone || log.isEmpty)
        try buffers.checkInvariants()
        try Self.always.hold("no event has an old value any more", olds.isSettled)
        try Self.always.hold("no reply is half written", replyStart == nil)
        try Self.always.agree("nobody is heard twice", heard.count, Set(heard.all).count)
        let listed = Set(dirty.all).union(heard.all)
        try Self.always.hold("who is touched is there", listed.isSubset(of: sessions.handles))
        for session in sessions.handles {
            let (client, isTouched) = (sessions[session].client, sessions[session].isTouched)
            let isListed = !isTouched || listed.contains(session)
            try Self.always.hold("who is touched is listed", isListed, of: "client \(client)")
            let hasReason = sessions[session].ending != .dismissed || !sessions[session].isOpen
            try Self.always.hold("who is to be dismissed is told why", hasReason, of: "client \(client)")
            if !isTouched { try sessions[session].outbox.checkInvariants(client) }
        }
    }
}
