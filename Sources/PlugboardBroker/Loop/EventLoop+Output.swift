// The end of a turn, the one place that writes: each connection that has something
// gets one write, and then is judged: wait for room, go on reading, or close.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// Runs of the log up to which a session is sent them in place; more, smaller ones are
    /// cheaper copied together.
    private static var gatheredRunsMax: Int32 { 16 }

    /// How often in a turn one connection is given more of what it is owed.
    private static var settlingRoundsMax: Int { 4 }

    /// Sends what the turn queued and closes what is finished.
    mutating func finishTurn() throws {
        dismissSlow()
        try keepRecords()
        repeat {
            dismissSlow()
            try serveTouched()
            // Those who trace are told when it is known how long others waited; what their own
            // connections leave behind may be traced, too.
            if !hub.tracing.isEmpty { hub.tellTraces() }
            try keepRecords()
            // The journal may have had news for somebody by then, and nothing else may wake the loop.
        } while !hub.touched.isEmpty || !hub.slow.isEmpty || !hub.tracing.isEmpty
        if hub.replays.hasRequests { readAgain() }
        hub.endTurn()
        if hub.own.isActive { hub.own.turns.end() }
        try checkTurn()
    }

    private mutating func serveTouched() throws {
        var index = 0
        // Also where the journal fails in between: of those who were served some are gone by then.
        defer { hub.touched.removeFirst(index) }
        while index < hub.touched.count {
            let session = hub.touched.elements[index]
            index += 1
            session.pointee.isTouched = false
            guard let connection = connections.find(slot: session.pointee.slot) else { continue }
            // The end of one connection may have been a write.
            try keepRecords()
            serve(connection)
            // Who is given up is told so before it is closed.
            if !hub.slow.isEmpty { dismissSlow() }
            try judge(connection)
            // The end of one connection may be too much for another, which is known here alone.
            if !hub.slow.isEmpty { dismissSlow() }
        }
    }

    /// Takes leave of clients that are too far behind, or whose users are; of more, where that makes more of them.
    private mutating func dismissSlow() {
        var index = 0
        while index < hub.slow.count {
            let session = hub.slow.elements[index]
            index += 1
            if let connection = connections.find(slot: session.pointee.slot) {
                dismiss(connection, session.pointee.farewell ?? .slow, keepingUnread: false)
            }
        }
        hub.slow.removeAll()
    }

    /// Sends what is there and, while the peer takes all of it, what it is owed; for so long
    /// and no longer, since others wait.
    private mutating func serve(_ connection: ConnectionReference) {
        let session = connection.pointee.session
        flush(connection)
        var rounds = 0
        while session.pointee.isBehind, session.pointee.isOpen,
            session.pointee.outbox.count <= Limits.lowWaterBytes, rounds < Self.settlingRoundsMax
        {
            rounds += 1
            hub.settle(session)
            if session.pointee.outbox.isEmpty { break }
            flush(connection)
        }
        if session.pointee.isGuarded { hub.recountOwed(session) }
        if session.pointee.isBehind, session.pointee.isOpen, !connection.pointee.isWaitingToWrite,
            !hub.awaitsJournal(session)
        {
            unsettled.append(connection.pointee.token)
        }
    }

    /// Goes on with clients that are owed more than one turn gave them.
    mutating func goOnWithUnsettled() {
        for token in unsettled.elements {
            if let connection = connections.find(token: token) { hub.touch(connection.pointee.session) }
        }
        unsettled.removeAll()
    }

    /// Queues the last line of a connection and takes it out of the bus. What waited
    /// unread is dropped up to the next whole line, unless it is worth keeping.
    mutating func dismiss(_ connection: ConnectionReference, _ farewell: Farewell, keepingUnread: Bool) {
        let session = connection.pointee.session
        session.pointee.farewell = farewell
        hub.leave(session)
        connection.pointee.inbox.releaseMemory()
        connection.pointee.isHeldBack = false
        if !keepingUnread { dropUnread(connection) }
        hub.appendBye(to: session)
    }

    func dropUnread(_ connection: ConnectionReference) {
        let session = connection.pointee.session
        var rest = ByteBuffer()
        if connection.pointee.isMidLine {
            // Half a line was sent, so its other half lies first among the session's own bytes.
            let unread = session.pointee.outbox.own.bytes
            let end = LineFramer.lineFeed(in: unread, from: 0).map { $0 + 1 } ?? 0
            rest.append(unread[..<end])
        }
        session.pointee.outbox.own = rest
        session.pointee.outbox.dropShared()
    }

    /// Writes once. Whatever is left afterwards is the session's own: the log ends with the turn.
    private mutating func flush(_ connection: ConnectionReference) {
        let session = connection.pointee.session
        if connection.pointee.outputEnded { drop(session) }
        if !session.pointee.outbox.isEmpty, !connection.pointee.isWaitingToWrite {
            send(connection)
        }
        keepUnsent(session)
    }

    private mutating func keepUnsent(_ session: SessionReference) {
        if session.pointee.outbox.sharedBytes > 0 {
            hub.takeOverLog(session)
        }
        if session.pointee.outbox.own.isEmpty {
            hub.bufferMemory.takeBack(from: &session.pointee.outbox.own)
        }
    }

    private func drop(_ session: SessionReference) {
        session.pointee.outbox.own.removeAll()
        session.pointee.outbox.dropShared()
    }

    private mutating func send(_ connection: ConnectionReference) {
        let session = connection.pointee.session
        let total = session.pointee.outbox.count
        switch writeOnce(connection) {
        case .bytes(let count):
            hub.own.sent &+= UInt64(count)
            session.pointee.sent &+= UInt64(count)
            connection.pointee.isWaitingToWrite = count < total
            if hub.tracing.isOn, count == total { hub.tracing.noteSent(session.pointee.client) }
            noteSent(count, connection)
        case .wouldBlock:
            connection.pointee.isWaitingToWrite = true
        case .ended, .failed:
            noteGone(connection)
            drop(session)
        }
    }

    /// One system call: straight from the log where the session's share is one run, or few.
    private mutating func writeOnce(_ connection: ConnectionReference) -> Transfer {
        let session = connection.pointee.session
        if session.pointee.outbox.runs > Self.gatheredRunsMax {
            hub.takeOverLog(session)
        }
        if session.pointee.outbox.sharedBytes == 0 {
            return network.write(session.pointee.outbox.own.bytes, to: connection.pointee.descriptor)
        }
        if session.pointee.outbox.own.isEmpty, session.pointee.outbox.runs == 1 {
            var next = session.pointee.outbox.firstExtent
            return network.write(hub.log.run(&next), to: connection.pointee.descriptor)
        }
        var pieces = GatheredBytes(using: takeGathering())
        if !session.pointee.outbox.own.isEmpty { pieces.append(session.pointee.outbox.own.bytes) }
        var next = session.pointee.outbox.firstExtent
        while next >= 0 { pieces.append(hub.log.run(&next).kept) }
        let transfer = network.write(gathering: pieces, to: connection.pointee.descriptor)
        returnGathering(pieces.finish())
        return transfer
    }

    /// Takes what was sent out of the outbox, and notes whether it ended within a line.
    private mutating func noteSent(_ count: Int, _ connection: ConnectionReference) {
        let session = connection.pointee.session
        let ownCount = session.pointee.outbox.own.count
        if count < ownCount {
            connection.pointee.isMidLine = session.pointee.outbox.own.bytes[count - 1] != 0x0A
            return session.pointee.outbox.own.removeFirst(count)
        }
        session.pointee.outbox.own.removeAll()
        let sentShared = count - ownCount
        let isAll = sentShared == session.pointee.outbox.sharedBytes
        // Lines are whole in the log, so only a part of it can end within one.
        connection.pointee.isMidLine = !isAll && !endsLine(sentShared, session)
        if isAll {
            session.pointee.outbox.dropShared()
        } else {
            hub.takeOverLog(session, skipping: sentShared)
        }
    }

    /// Whether the first `count` bytes of a session's share end with a line; none do.
    private func endsLine(_ count: Int, _ session: SessionReference) -> Bool {
        if count == 0 { return true }
        var left = count
        var next = session.pointee.outbox.firstExtent
        while next >= 0 {
            let run = hub.log.run(&next)
            if left <= run.count { return run[left - 1] == 0x0A }
            left -= run.count
        }
        return true
    }

    /// Decides what becomes of a connection after its turn.
    private mutating func judge(_ connection: ConnectionReference) throws {
        if connection.pointee.isHeldBack, !connection.pointee.session.pointee.isHeld,
            connection.pointee.session.pointee.outbox.count <= Self.unreadRepliesMax / 2
        {
            connection.pointee.isHeldBack = false
            connection.pointee.isReleased = true
            released.append(connection.pointee.token)
            return try watch(connection)
        }
        if connection.pointee.isFinished {
            close(connection)
        } else {
            try watch(connection)
        }
    }

    private func watch(_ connection: ConnectionReference) throws {
        let wanted = connection.pointee.wantedInterest
        guard wanted != connection.pointee.interest else { return }
        connection.pointee.interest = wanted
        let fd = connection.pointee.descriptor.raw
        try poller.change(fd, token: connection.pointee.token, interest: wanted)
    }

    private mutating func close(_ connection: ConnectionReference) {
        hub.forget(connection.pointee.session)
        poller.remove(connection.pointee.descriptor.raw)
        connections.remove(connection)
    }
}
