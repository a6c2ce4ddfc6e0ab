// Output: each connection that has something to send gets one write. Then it waits for room, goes on reading,
// or is closed. The turn of the loop says when.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// Up to so many runs of the log are sent from their place. More runs are smaller, and cheaper to copy
    /// together.
    private static var gatheredRunsMax: Int32 { 16 }

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
            guard hub.sessions[session].isTouched, let connection = connections.find(session)
            else { continue }
                dirty += 1
            } else {
                return
            }
            hub.delivery.beginServing(session, &hub.sessions)
            guard let connection = connections.find(session) else { continue }
            flush(connection)
            if connection.isWaitingToWrite || hub.sessions[session].isCounted {
                hub.countOwed(to: session)
            }
            hub.insight.count(steps: Cost.serve)
            try judge(connection)
        }
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
        // Who is dismissed has to get the last line before that.
        guard hub.delivery.dismissed.isEmpty, hub.leave(session, until: hub.requests.effortEnd) else {
            return queue.add(connection, .close)
        }
        guard connection.isFinished(hub.sessions[session]) else {
            return hub.delivery.touch(session, &hub.sessions)
        }
        hub.insight.count(steps: connection.inputEnded ? Cost.close : Cost.closeUnread)
        hub.forget(session)
        poller.remove(connection.descriptor.raw)
        connections.remove(connection)
        tidying.begin(after: Tidying.nanoseconds, time)
    }

    /// Ends the connections of plugins' processes that have ended. Their lines that have come still count.
    mutating func endOrphaned() {
        for session in hub.supervision.orphaned.all {
            if let connection = connections.find(session) { network.end(connection.descriptor) }
        }
        hub.supervision.orphaned.removeAll()
    }

    /// Closes clients that are owed too much, or whose users are. Closing one may add others to the list.
    mutating func dismissSlow() {
        var index = 0
        while index < hub.delivery.dismissed.count {
            let session = hub.delivery.dismissed[index]
            index += 1
            if let connection = connections.find(session) {
                dismiss(connection, hub.sessions[session].closeReason ?? .slow, keepingUnread: false)
            }
        }
        hub.delivery.forgetDismissed()
    }

    /// Queues the last line of a connection, and ends its session. Unless `keepingUnread`, drops all unread
    /// lines except the rest of a line that was sent in part.
    mutating func dismiss(_ connection: Connection, _ closeReason: CloseReason, keepingUnread: Bool) {
        let session = connection.session
        hub.sessions[session].closeReason = closeReason
        if !hub.leave(session, until: hub.requests.effortEnd) { queue.add(connection, .close) }
        connection.inbox.releaseMemory()
        connection.isHeldBack = false
        if !keepingUnread { dropUnread(connection) }
        hub.appendBye(to: session)
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
        drop(session)
        hub.sessions[session].outbox.own = rest
    }

    /// Writes each held part, and all else at once. What is left is kept, because the log ends with the turn.
    private mutating func flush(_ connection: Connection) {
        let session = connection.session
        if connection.outputEnded { drop(session) }
        while !hub.sessions[session].outbox.isEmpty, !connection.isWaitingToWrite {
            send(connection)
        }
        keepUnsent(session)
    }

    private mutating func keepUnsent(_ session: SessionHandle) {
        if hub.sessions[session].outbox.sharedBytes > 0 {
            let kept = hub.delivery.takeOverLog(session, &hub.sessions)
            hub.insight.count(steps: kept / Cost.bytesKeptPerStep)
        }
        if hub.sessions[session].outbox.own.isEmpty {
            hub.delivery.buffers.takeBack(from: &hub.sessions[session].outbox.own)
        }
    }

    private mutating func drop(_ session: SessionHandle) {
        hub.sessions[session].outbox.own.removeAll()
        hub.sessions[session].outbox.dropShared()
        hub.sessions[session].outbox.dropHeld()
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
            if hub.insight.hasTraces, count == total {
                hub.insight.tracing.setSent(hub.sessions[session].client)
            }
            removeSent(count, connection)
        case .wouldBlock:
            connection.isWaitingToWrite = true
        case .ended, .failed:
            connection.outputEnded = true
            drop(session)
        }
    }

    /// Makes one system call, straight from the log if the session's share is one run or a few.
    private mutating func writeOnce(_ connection: Connection) -> Transfer {
        let session = connection.session
        if hub.sessions[session].outbox.runs > Self.gatheredRunsMax {
            hub.delivery.takeOverLog(session, &hub.sessions)
        }
        if hub.sessions[session].outbox.heldCount > 0 {
            let part = hub.sessions[session].outbox.heldPart
            return network.write(part.span, to: connection.descriptor)
        }
        if hub.sessions[session].outbox.sharedBytes == 0 {
            return network.write(hub.sessions[session].outbox.own.bytes, to: connection.descriptor)
        }
        if hub.sessions[session].outbox.own.isEmpty, hub.sessions[session].outbox.runs == 1 {
            var next = FanoutBuffer.newestRun
            return network.write(
                hub.delivery.log.run(&next, of: hub.sessions[session].outbox), to: connection.descriptor
            )
        }
        return Self.write(using: &gathering, connection, hub, network)
    }

    /// Writes a session's own bytes and its share of the log in one system call.
    private static func write(
        using room: inout GatheringRoom, _ connection: Connection, _ hub: borrowing Hub, _ network: Network
    ) -> Transfer {
        var pieces = GatheredBytes(using: room)
        pieces.append(hub.sessions.ownBytes(of: connection.session))
        var next = FanoutBuffer.firstRun(of: hub.sessions[connection.session].outbox)
        while next != FanoutBuffer.noRun {
            pieces.append(hub.delivery.log.run(&next, of: hub.sessions[connection.session].outbox))
        }
        let transfer = network.write(gathering: pieces, to: connection.descriptor)
        room = pieces.finish()
        return transfer
    }

    /// Removes what was sent from the outbox, and notes whether it ended within a line.
    private mutating func removeSent(_ count: Int, _ connection: Connection) {
        let session = connection.session
        if hub.sessions[session].outbox.heldCount > 0 {
            let ofHeld = min(count, Int(hub.sessions[session].outbox.heldCount))
            connection.isMidLine = !hub.sessions[session].outbox.removeHeld(ofHeld)
            if ofHeld == count { return }
            return removeSent(count - ofHeld, connection)
        }
        let ownCount = hub.sessions[session].outbox.own.count
        if count < ownCount {
            connection.isMidLine = hub.sessions[session].outbox.own.bytes[count - 1] != 0x0A
            return hub.sessions[session].outbox.own.removeFirst(count)
        }
        hub.sessions[session].outbox.own.removeAll()
        let sentShared = count - ownCount
        let isAll = sentShared == hub.sessions[session].outbox.sharedBytes
        // The log has only whole lines, so the end of all of it is the end of a line.
        connection.isMidLine = !isAll && !endsLine(sentShared, session)
        if isAll {
            hub.sessions[session].outbox.dropShared()
        } else {
            hub.delivery.takeOverLog(session, skipping: sentShared, &hub.sessions)
        }
    }

    /// Whether the first `count` bytes of a session's share end with a line. No bytes do.
    private func endsLine(_ count: Int, _ session: SessionHandle) -> Bool {
        if count == 0 { return true }
        var left = count
        var next = FanoutBuffer.firstRun(of: hub.sessions[session].outbox)
        while next != FanoutBuffer.noRun {
            let run = hub.delivery.log.run(&next, of: hub.sessions[session].outbox)
            if left <= run.count { return run[left - 1] == 0x0A }
            left -= run.count
        }
        return true
    }

    private mutating func judge(_ connection: Connection) throws {
        let session = connection.session
        if hub.sessions[session].isParting, !hub.goOnParting(session) { queue.add(connection, .close) }
        if connection.isHeldBack, hub.sessions[session].mayGoOn(unreadMax: Self.unreadRepliesMax / 2) {
            connection.isHeldBack = false
            queue.add(connection, .lines)
        }
        if owesMore(connection) { queue.add(connection, .owed) }
        if connection.isReadOn { queue.add(connection, .read) }
        if connection.isFinished(hub.sessions[session]) { queue.add(connection, .close) }
        try watch(connection)
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
