// Output: each connection that has something to send gets one write. Then it waits for room, goes on reading,
// or is closed. The turn of the loop says when.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// Serves each connection that was heard, then the others that have something to be sent. If these are
    /// very many, the rest waits for the next turn.
    mutating func writeOut(heardOnly: Bool = false) throws {
        var (heard, dirty) = (0, 0)
        // Also if the journal fails meanwhile, because some of the served connections are gone then.
        defer { hub.delivery.forgetServed(heard: heard, dirty: dirty) }
        while true {
            let session: SessionHandle
            if heard < hub.delivery.heard.count {
                session = hub.delivery.heard[heard]
                heard += 1
            } else if !heardOnly, dirty < hub.delivery.dirty.count, dirty == 0 || mayServeMore {
                session = hub.delivery.dirty[dirty]
                dirty += 1
            } else {
                return
            }
            if hub.sessions[session].isTouched, let connection = connections.find(session) {
                try serve(connection)
            }
        }
    }

    private mutating func serve(_ connection: Connection) throws {
        let session = connection.session
        switch hub.sessions[session].ending.take() {
        case .dismissed: dismiss(connection)
        case .orphaned: network.end(connection.descriptor)
        case nil: break
        }
        hub.delivery.beginServing(session, &hub.sessions)
        flush(connection)
        if connection.isWaitingToWrite || hub.sessions[session].isCounted { hub.countOwed(to: session) }
        hub.insight.count(steps: Cost.serve)
        hub.read(for: session)
        if connection.isThrottled { goOnThrottled(connection) }
        if connection.isHeldBack, hub.sessions[session].mayGoOn(unreadMax: Self.unreadRepliesMax / 2) {
            connection.isHeldBack = false
            queue.add(connection, .lines)
        }
        queue.add(connection, errands(of: connection))
        try watch(connection)
    }

    /// What a connection has to do now, besides what it has noted.
    private func errands(of connection: Connection) -> Errands {
        let session = connection.session
        var errands: Errands = []
        if hub.sessions[session].isBusy { errands.insert(.request) }
        if owesMore(connection) { errands.insert(.owed) }
        if connection.isReadOn { errands.insert(.read) }
        if hub.sessions[session].isParting || connection.isFinished(hub.sessions[session]) {
            errands.insert(.close)
        }
        return errands
    }

    /// Before the rights of a client shrink, it is sent what it may still see, so everybody is served.
    var mayServeMore: Bool { !hub.hasDoneEnough || isStopping || isPolicyWaiting }

    /// Ends a client that has left and, when it has got its last line, its connection.
    mutating func close(_ connection: Connection) {
        let session = connection.session
        if hub.sessions[session].isMute, !hub.endServing(of: session, until: hub.requests.effortEnd) {
            return queue.add(connection, .close)
        }
        if hub.sessions[session].isParting, !connection.outputEnded {
            // It is served again when an answer comes.
            if !hub.goOnParting(session) { queue.add(connection, .close) }
            return
        }
        guard connection.isFinished(hub.sessions[session]) || !hub.sessions[session].isOpen else { return }
        guard hub.leave(session, until: hub.requests.effortEnd) else {
            return queue.add(connection, .close)
        }
        guard connection.isFinished(hub.sessions[session]) else {
            return hub.delivery.touch(session, &hub.sessions)
        }
        hub.insight.count(steps: connection.inputEnded ? Cost.close : Cost.closeUnread)
        hub.forget(session)
        endThrottling(connection)
        poller.remove(connection.descriptor.raw)
        connections.remove(connection)
        tidying.begin(after: Tidying.nanoseconds, time)
    }

    /// Has a connection get its last line, and then end.
    mutating func end(_ connection: Connection, _ closeReason: CloseReason) {
        hub.sessions[connection.session].closeReason = closeReason
        queue.add(connection, .close)
        connection.inbox.releaseMemory()
        connection.isHeldBack = false
        hub.appendBye(to: connection.session)
    }

    /// The same without what it hasn't read, but for the rest of a line that was sent in part.
    private mutating func dismiss(_ connection: Connection) {
        dropUnread(connection)
        end(connection, hub.sessions[connection.session].closeReason ?? .slow)
    }

    mutating func dropUnread(_ connection: Connection) {
        let session = connection.session
        var rest = ByteBuffer()
        if connection.isMidLine, hub.sessions[session].outbox.heldCount > 0 {
            rest.append(hub.sessions[session].outbox.heldLineRest.span)
        } else if connection.isMidLine {
            // Half a line was sent, so the other half comes first among the session's own bytes.
            let end =
                LineFramer.lineFeed(in: hub.sessions[session].outbox.own.bytes, from: 0).map { $0 + 1 } ?? 0
            rest.append(hub.sessions[session].outbox.own.bytes[..<end])
        }
        hub.sessions[session].outbox.dropAll()
        hub.sessions[session].outbox.own = rest
    }

    /// Writes each held part, and all else at once. What is left is kept, because the log ends with the turn.
    private mutating func flush(_ connection: Connection) {
        let session = connection.session
        if connection.outputEnded { hub.sessions[session].outbox.dropAll() }
        while !hub.sessions[session].outbox.isEmpty, !connection.isWaitingToWrite {
            send(connection)
        }
        keepUnsent(session)
    }

    private mutating func keepUnsent(_ session: SessionHandle) {
        if !hub.sessions[session].outbox.isEmpty {
            let kept = hub.delivery.takeOverLog(session, &hub.sessions)
            hub.insight.count(steps: kept / Cost.bytesKeptPerStep)
        }
        if hub.sessions[session].outbox.own.isEmpty {
            hub.delivery.buffers.takeBack(from: &hub.sessions[session].outbox.own)
        }
    }

    private mutating func send(_ connection: Connection) {
        let session = connection.session
        let total = hub.sessions[session].outbox.count
        let offered = hub.sessions[session].outbox.offeredBytes
        switch writeOnce(connection) {
        case .bytes(let count):
            hub.insight.count(sent: count)
            hub.insight.count(steps: count / Cost.bytesSentPerStep)
            hub.sessions[session].sent &+= UInt64(count)
            connection.isWaitingToWrite = count < offered
            if hub.insight.tracing.isOnForCalls, count == total {
                hub.insight.tracing.setSent(hub.sessions[session].client)
            }
            removeSent(count, connection)
        case .wouldBlock:
            connection.isWaitingToWrite = true
        case .ended, .failed:
            connection.outputEnded = true
            hub.sessions[session].outbox.dropAll()
        }
    }

    /// Makes one system call, straight from the log if only its share of that waits.
    private mutating func writeOnce(_ connection: Connection) -> Transfer {
        let session = connection.session
        if hub.sessions[session].outbox.heldCount > 0 {
            let part = hub.sessions[session].outbox.heldPart
            return network.write(part.span, to: connection.descriptor)
        }
        if hub.sessions[session].outbox.own.isEmpty {
            let run = hub.sessions[session].outbox.run
            return network.write(hub.delivery.log.bytes(of: run), to: connection.descriptor)
        }
        if hub.sessions[session].outbox.sharedBytes > 0 { hub.delivery.copyRun(of: session, &hub.sessions) }
        return network.write(hub.sessions[session].outbox.own.bytes, to: connection.descriptor)
    }

    /// Removes what one call has sent from the outbox, and notes whether it ended within a line.
    private mutating func removeSent(_ count: Int, _ connection: Connection) {
        let session = connection.session
        if hub.sessions[session].outbox.heldCount > 0 {
            connection.isMidLine = !hub.sessions[session].outbox.removeHeld(count)
        } else if hub.sessions[session].outbox.own.isEmpty {
            let run = hub.sessions[session].outbox.run
            // All of it is whole lines.
            connection.isMidLine = count < run.count && hub.delivery.log.bytes(of: run)[count - 1] != 0x0A
            hub.sessions[session].outbox.removeShared(count)
        } else {
            let own = hub.sessions[session].outbox.own.count
            connection.isMidLine =
                count < own && hub.sessions[session].outbox.own.bytes[count - 1] != 0x0A
            hub.sessions[session].outbox.removeOwn(count)
        }
    }

    /// It has taken all that it was sent, and is owed more that can be sent now.
    func owesMore(_ connection: Connection) -> Bool {
        let session = connection.session
        return hub.sessions[session].isBehind && hub.sessions[session].isOpen && !connection.isWaitingToWrite
            && hub.sessions[session].backlog?.awaitsJournal(hub.matching) != true
    }

    func watch(_ connection: Connection) throws {
        let wanted = connection.wantedInterest(hub.sessions[connection.session])
        guard wanted != connection.interest else { return }
        connection.interest = wanted
        let fd = connection.descriptor.raw
        try poller.change(fd, token: connection.session.word, interest: wanted)
    }
}
