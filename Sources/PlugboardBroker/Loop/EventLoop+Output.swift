// Output: each connection that has something to send gets one write. Then it waits for room, goes on reading,
// or is closed. The turn of the loop says when.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// Up to so many runs of the log are sent from their place. More runs are smaller, and cheaper to copy
    /// together.
    private static var gatheredRunsMax: Int32 { 16 }

    /// How often in a turn one connection gets more of what it is owed.
    private static var settlingRoundsMax: Int { 4 }

    /// How many connections are closed in a turn. This takes a millisecond or two.
    static var closedPerTurn: Int { 128 }
    /// A connection that may have unread input, up to a socket's buffer, takes as long to close as so many
    /// others.
    static var closedPerUnread: Int { 4 }

    /// How many connections that only observe are served in a turn. This takes a few milliseconds, for which
    /// others wait.
    static var servedPerTurn: Int { 512 }

    /// Keeping so many bytes of a session's share of the log takes as long as serving one more connection.
    private static var keptBytesPerServed: Int { 512 }
    /// So does sending so many.
    private static var sentBytesPerServed: Int { 4_096 }

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
            } else if !heardOnly, dirty < hub.delivery.dirty.count, mayServeMore {
                session = hub.delivery.dirty[dirty]
                dirty += 1
                servedCount += 1
            } else {
                return
            }
            hub.delivery.beginServing(session, &hub.sessions)
            guard let connection = connections.find(slot: hub.sessions[session].slot) else { continue }
            serve(connection)
            try judge(connection)
        }
    }

    /// Before the rights of a client shrink, it is sent what it may still see, so everybody is served. A
    /// trace says when observers were sent an event, and names about twice as many of them as a turn serves.
    /// So while anybody traces, the turn serves twice as many.
    var mayServeMore: Bool {
        let most = max(1, servedMax >> pace.shift)
        return servedCount / (hub.insight.hasTraces ? 2 : 1) < most || isStopping || isPolicyWaiting
    }

    /// Closes the finished connections. Dismissed clients have to get their last line before that.
    mutating func closeFinished() throws {
        guard hub.delivery.dismissed.isEmpty else { return }
        var count = 0
        defer { finished.removeFirst(count) }
        while closedCount < Self.closedPerTurn, count < finished.count {
            let token = finished[count]
            count += 1
            guard let connection = connections.find(token: token),
                connection.isFinished(hub.sessions[connection.session])
            else { continue }
            closedCount += connection.inputEnded ? 1 : Self.closedPerUnread
            guard hub.leave(connection.session, until: leavingEnd) else {
                noteLeaving(token)
                try watch(connection)
                continue
            }
            hub.forget(connection.session)
            poller.remove(connection.descriptor.raw)
            connections.remove(connection)
            noteFreed()
        }
    }

    /// Ends the connections of plugins' processes that have ended. Their lines that have come still count.
    mutating func endOrphaned() {
        for session in hub.supervision.orphaned.all {
            guard let connection = connections.all().first(where: { $0.session == session }) else { continue }
            network.end(connection.descriptor)
        }
        hub.supervision.forgetOrphans()
    }

    /// Closes clients that are owed too much, or whose users are. Closing one may add others to the list.
    mutating func dismissSlow() {
        var index = 0
        while index < hub.delivery.dismissed.count {
            let session = hub.delivery.dismissed[index]
            index += 1
            if let connection = connections.find(slot: hub.sessions[session].slot) {
                dismiss(connection, hub.sessions[session].farewell ?? .slow, keepingUnread: false)
            }
        }
        hub.delivery.forgetDismissed()
    }

    /// Sends what is there and, while the peer takes all of it, more of what it is owed. Both have a limit,
    /// because others wait.
    private mutating func serve(_ connection: Connection) {
        let session = connection.session
        flush(connection)
        var rounds = 0
        while hub.sessions[session].isBehind, hub.sessions[session].isOpen, hub.effort <= settlingEnd,
            hub.sessions[session].outbox.count <= Limits.lowWaterBytes, rounds < Self.settlingRoundsMax
        {
            rounds += 1
            hub.settle(session)
            if hub.sessions[session].outbox.isEmpty { break }
            flush(connection)
        }
        if connection.isWaitingToWrite || hub.sessions[session].isCounted {
            Excess.countOwed(to: session, &hub.access, &hub.sessions, &hub.delivery)
        }
        if hub.sessions[session].isBehind, hub.sessions[session].isOpen, !connection.isWaitingToWrite,
            hub.sessions[session].catchup?.awaitsJournal(hub.matching) != true
        {
            if rounds == 0 { passedOver.append(connection.token) } else { unsettled.append(connection.token) }
        }
    }

    /// Goes on with clients that are owed more than one turn could give. Those that got nothing in the last
    /// turn come first.
    mutating func goOnWithUnsettled() {
        settlingEnd = hub.effort &+ effort / 2
        for place in passedOver.indices { touch(passedOver[place]) }
        for place in unsettled.indices { touch(unsettled[place]) }
        passedOver.removeAll()
        unsettled.removeAll()
        if hub.insight.tracing.hasGaps { hub.tellGaps(until: hub.effort &+ effort / 4) }
    }

    private mutating func touch(_ token: UInt64) {
        guard let connection = connections.find(token: token) else { return }
        hub.delivery.touch(connection.session, &hub.sessions)
    }

    /// Goes on with clients that have left and had very many subscriptions.
    mutating func goOnWithLeaving() {
        leavingEnd = hub.effort &+ effort / 2
        var place = 0
        while place < leaving.count {
            let connection = connections.find(token: leaving[place])
            if let connection, !hub.leave(connection.session, until: leavingEnd) {
                place += 1
                continue
            }
            if let connection { hub.delivery.touch(connection.session, &hub.sessions) }
            leaving.removeSwapping(at: place)
        }
    }

    private mutating func noteLeaving(_ token: UInt64) {
        if !leaving.all.contains(token) { leaving.append(token) }
    }

    /// Queues the last line of a connection, and ends its session. Unless `keepingUnread`, drops all unread
    /// lines except the rest of a line that was sent in part.
    mutating func dismiss(_ connection: Connection, _ farewell: Farewell, keepingUnread: Bool) {
        let session = connection.session
        hub.sessions[session].farewell = farewell
        if !hub.leave(session, until: leavingEnd) { noteLeaving(connection.token) }
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

    /// Writes once. What is left becomes the session's own, because the log ends with the turn.
    private mutating func flush(_ connection: Connection) {
        let session = connection.session
        if connection.outputEnded { drop(session) }
        if !hub.sessions[session].outbox.isEmpty, !connection.isWaitingToWrite {
            send(connection)
        }
        keepUnsent(session)
    }

    private mutating func keepUnsent(_ session: SessionHandle) {
        if hub.sessions[session].outbox.sharedBytes > 0 {
            let before = hub.sessions[session].outbox.own.count
            hub.delivery.takeOverLog(session, &hub.sessions)
            servedCount += (hub.sessions[session].outbox.own.count - before) / Self.keptBytesPerServed
        }
        if hub.sessions[session].outbox.own.isEmpty {
            hub.delivery.takeBack(from: &hub.sessions[session].outbox.own)
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
        switch writeOnce(connection) {
        case .bytes(let count):
            hub.insight.count(sent: count)
            servedCount += count / Self.sentBytesPerServed
            hub.sessions[session].sent &+= UInt64(count)
            connection.isWaitingToWrite = count < total
            if hub.insight.hasTraces, count == total {
                hub.insight.noteSent(hub.sessions[session].client)
            }
            noteSent(count, connection)
        case .wouldBlock:
            connection.isWaitingToWrite = true
        case .ended, .failed:
            noteGone(connection)
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
            var next = TurnLog.newestRun
            return network.write(
                hub.delivery.log.run(&next, of: hub.sessions[session].outbox), to: connection.descriptor
            )
        }
        return writeGathered(connection)
    }

    private mutating func writeGathered(_ connection: Connection) -> Transfer {
        var room = takeGathering()
        let transfer = Self.write(using: &room, connection, hub.sessions, hub.delivery, network)
        returnGathering(room)
        return transfer
    }

    /// Writes a session's own bytes and its share of the log in one system call.
    private static func write(
        using room: inout GatheringRoom,
        _ connection: Connection,
        _ sessions: borrowing SessionTable,
        _ delivery: borrowing Delivery,
        _ network: Network
    ) -> Transfer {
        var pieces = GatheredBytes(using: room)
        pieces.append(sessions.ownBytes(of: connection.session))
        var next = TurnLog.firstRun(of: sessions[connection.session].outbox)
        while next != TurnLog.noRun {
            pieces.append(delivery.log.run(&next, of: sessions[connection.session].outbox))
        }
        let transfer = network.write(gathering: pieces, to: connection.descriptor)
        room = pieces.finish()
        return transfer
    }

    /// Removes what was sent from the outbox, and notes whether it ended within a line.
    private mutating func noteSent(_ count: Int, _ connection: Connection) {
        let session = connection.session
        if hub.sessions[session].outbox.heldCount > 0 {
            let ofHeld = min(count, Int(hub.sessions[session].outbox.heldCount))
            connection.isMidLine = !hub.sessions[session].outbox.noteHeldSent(ofHeld)
            if ofHeld == count { return }
            return noteSent(count - ofHeld, connection)
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
        var next = TurnLog.firstRun(of: hub.sessions[session].outbox)
        while next != TurnLog.noRun {
            let run = hub.delivery.log.run(&next, of: hub.sessions[session].outbox)
            if left <= run.count { return run[left - 1] == 0x0A }
            left -= run.count
        }
        return true
    }

    /// Decides what happens to a connection after it was served.
    private mutating func judge(_ connection: Connection) throws {
        if hub.sessions[connection.session].farewell == .goodbye { hub.answerGoodbye(of: connection.session) }
        if connection.isHeldBack, !hub.sessions[connection.session].isHeld,
            !hub.sessions[connection.session].isBusy,
            hub.sessions[connection.session].outbox.count <= Self.unreadRepliesMax / 2
        {
            connection.isHeldBack = false
            connection.isReleased = true
            released.append(connection.token)
            return try watch(connection)
        }
        if connection.isFinished(hub.sessions[connection.session]) {
            finished.append(connection.token)
        } else {
            try watch(connection)
            if connection.isReadOn { try noteSlow(connection) }
        }
    }

    /// Tells the system what to report about a connection.
    func watch(_ connection: Connection) throws {
        let wanted = connection.wantedInterest(hub.sessions[connection.session])
        guard wanted != connection.interest else { return }
        connection.interest = wanted
        let fd = connection.descriptor.raw
        try poller.change(fd, token: connection.token, interest: wanted)
    }
}
