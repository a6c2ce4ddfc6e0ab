// From readable descriptors to executed lines. A whole line is executed where it was read. Only half a line
// is copied, to its connection's inbox.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// After so many bytes of unread replies, a client's requests wait. So it is answered as fast as it
    /// reads.
    static var unreadRepliesMax: Int { 1_048_576 }

    /// Reads once, and executes whole lines. Returns how many bytes were read.
    @discardableResult
    mutating func receive(_ connection: Connection, upTo bytes: Int) -> Int {
        if connection.inputEnded || connection.isHeldBack || connection.isThrottled { return 0 }
        guard hub.sessions[connection.session].isOpen else {
            endInput(connection)
            return 0
        }
        let before = hub.insight.receivedBytes
        hub.insight.count(steps: Cost.read)
        if connection.inbox.isEmpty {
            receiveDirectly(connection, upTo: bytes)
        } else {
            receiveBehindHalfLine(connection)
        }
        return Int(hub.insight.receivedBytes &- before)
    }

    /// Goes on with those that may take long, with what is left of the turn's budget, or half of it anew.
    mutating func goOnWithPatient() -> Int {
        if queue[.patient].isEmpty { return 0 }
        hub.requests.beginPart(until: max(hub.requests.effortEnd, hub.effort &+ pace.effort / 2))
        return run(.patient)
    }

    /// Gives each connection in one of the queues a slice, as many as fit into this part of the turn, but one at least.
    /// What it still has to do then waits among those that may take long. Returns how many had their slice. The prompt
    /// share what is read of them. While a turn can't hear all of them, each is read little, because others wait.
    mutating func run(_ part: RunQueue.Part) -> Int {
        let length = queue[part].count
        var share = Self.readBytes
        if part == .prompt { share = max(Self.shareMin, min(share, Self.sharedBytes / max(1, length))) }
        if part == .prompt, queue.isCrowded { share = Self.shareMin }
        var count = 0
        while count < length, hub.delivery.log.hasRoom, count == 0 || !hub.hasDoneEnough {
            let session = queue[part][count]
            count += 1
            if let connection = connections.find(session) { goOn(connection, in: part, upTo: share) }
        }
        queue.removeFirst(count, of: part)
        return count
    }

    private mutating func goOn(_ connection: Connection, in part: RunQueue.Part, upTo bytes: Int) {
        let (session, work) = (connection.session, connection.todo)
        (connection.todo, connection.isQuiet) = ([], false)
        if work.contains(.lines), !connection.isHeldBack, hub.sessions[session].isOpen {
            hub.delivery.touch(first: session, &hub.sessions)
            executeInbox(connection)
        }
        if work.contains(.request) {
            hub.delivery.touch(session, &hub.sessions)
            hub.goOnWithRequest(of: session)
        }
        if work.contains(.read), connection.isHungUp, connection.isHeldBack, hub.sessions[session].isOpen {
            hub.delivery.touch(first: session, &hub.sessions)
            if !hub.stopTelling(session, until: hub.requests.effortEnd) { queue.add(connection, .read) }
        } else if work.contains(.read) {
            hub.delivery.touch(first: session, &hub.sessions)
            let before = connection.inbox.allocatedBytes
            // More may wait. It is heard with the patient, after those that are owed what it has written by now.
            if receive(connection, upTo: bytes) == bytes { connection.isBulky = true }
            // The system takes long to take back memory.
            hub.insight.count(steps: max(0, before - connection.inbox.allocatedBytes) / Cost.bytesReadPerStep)
        }
        if work.contains(.owed), owesMore(connection) {
            hub.delivery.touch(session, &hub.sessions)
            hub.settle(session)
        }
        guard work.contains(.close) || connection.inputEnded else { return }
        if part == .patient { close(connection) } else { queue.add(connection, .close) }
    }

    private mutating func receiveDirectly(_ connection: Connection, upTo bytes: Int) {
        var input = ByteBuffer()
        swap(&input, &self.input)
        input.append(upTo: bytes) { room in read(connection, into: &room) }
        if connection.inputEnded { endInput(connection) }
        if !input.isEmpty {
            var lines = input.mutableBytes
            let executed = executeLines(of: connection, in: &lines, searchFrom: 0)
            keep(lines.span[executed...], for: connection)
        }
        input.removeAll()
        swap(&input, &self.input)
    }

    private mutating func receiveBehindHalfLine(_ connection: Connection) {
        let before = connection.inbox.count
        connection.inbox.append(upTo: Self.readBytes) { room in read(connection, into: &room) }
        if connection.inputEnded { return endInput(connection) }
        if connection.inbox.count > before { executeInbox(connection) }
    }

    /// Executes the whole lines in the inbox, and keeps the rest there.
    mutating func executeInbox(_ connection: Connection) {
        // The inbox is taken out, because dismissing a client for a line frees its inbox at once.
        var inbox = ByteBuffer()
        swap(&inbox, &connection.inbox)
        var bytes = inbox.mutableBytes
        let executed = executeLines(of: connection, in: &bytes, searchFrom: Int(connection.searchedBytes))
        inbox.removeFirst(executed)
        swap(&inbox, &connection.inbox)
        keepHalfLine(connection)
    }

    /// Returns how many bytes were read; 0 if there is nothing to do. Doesn't touch the inbox, which may be
    /// `target`.
    private mutating func read(_ connection: Connection, into target: inout MutableSpan<UInt8>) -> Int {
        switch network.read(connection.descriptor, into: &target) {
        case .bytes(let count):
            hub.insight.count(received: count)
            hub.insight.count(steps: count / Cost.bytesReadPerStep)
            connection.isBulky = count >= Self.fewBytes
            return count
        case .wouldBlock: return 0
        case .ended, .failed:
            connection.inputEnded = true
            return 0
        }
    }

    /// Executes lines while the client reads its replies, and others needn't wait too long. Returns how many
    /// bytes are done.
    private mutating func executeLines(
        of connection: Connection, in bytes: inout MutableSpan<UInt8>, searchFrom: Int
    ) -> Int {
        let session = connection.session
        let before = hub.effort
        let recorded = hub.durability.records.addedBytes
        defer {
            connection.isHeavy = hub.effort &- before > pace.effort / 4
            if hub.durability.journal?.pressure != nil {
                throttle(connection, hub.durability.records.addedBytes - recorded)
            }
        }
        var (start, search) = (0, searchFrom)
        // Noted here, because whether somebody else uses a field of an object is checked at each use.
        var lines = LineCount(number: hub.sessions[session].line)
        var isDiscarding = connection.isDiscarding
        // Lines that only wait in the hub's group of publishes don't change this.
        let mayWait = mayGoOn(session)
        while let feed = LineFramer.lineFeed(in: bytes.span, from: search) {
            let end = LineFramer.trimmed(bytes.span, from: start, to: feed)
            let waits =
                isDiscarding ? false : finishLine(start..<end, in: &bytes, of: connection, &lines)
            isDiscarding = false
            start = feed + 1
            if waits, mayWait {
                start = hub.takeRepeats(from: start, of: bytes.span, &lines.number)
            } else if !mayGoOn(session) {
                break
            }
            search = start
        }
        hub.finishLines(in: bytes.span)
        if let left = hub.requests.group.leftOver.take() {
            (start, lines.number) = (left.start, left.number - 1)
        }
        connection.isDiscarding = isDiscarding
        if lines.hasLine { connection.overlongLines = 0 }
        hub.sessions[session].line = lines.number
        if !hub.sessions[session].isOpen { return bytes.count }
        // It has to read its replies before more of its lines are executed, or others come first.
        if start > 0, !mayGoOn(session) { connection.isHeldBack = true }
        return start
    }

    @inline(__always)
    private func mayGoOn(_ session: SessionHandle) -> Bool {
        !hub.hasDoneEnough && hub.sessions[session].mayGoOn(unreadMax: Self.unreadRepliesMax)
    }

    /// Executes a line, or lets it wait for those that follow, and counts it. Returns whether it only waits.
    @inline(__always)
    private mutating func finishLine(
        _ line: Range<Int>, in bytes: inout MutableSpan<UInt8>, of connection: Connection,
        _ lines: inout LineCount
    ) -> Bool {
        lines.number &+= 1
        guard line.count <= Limits.lineBytesMax else {
            if lines.hasLine { connection.overlongLines = 0 }
            lines.hasLine = false
            if hub.finishLines(in: bytes.span) { refuseOverlong(lines.number, of: connection) }
            return false
        }
        lines.hasLine = true
        return hub.take(line, of: &bytes, number: lines.number, from: connection.session)
    }

    /// Keeps half a line, or lines that have to wait.
    private mutating func keep(_ rest: Span<UInt8>, for connection: Connection) {
        if rest.isEmpty || connection.isDiscarding { return }
        hub.delivery.buffers.lend(rest.count, to: &connection.inbox)
        connection.inbox.append(rest)
        keepHalfLine(connection)
    }

    /// Skips a line that has grown over the limit, or else remembers how far the inbox was searched.
    private mutating func keepHalfLine(_ connection: Connection) {
        let count = connection.inbox.count
        if connection.isHeldBack {
            connection.searchedBytes = 0
            return
        }
        // One more byte may be the carriage return before the line feed.
        if count > Limits.lineBytesMax + 1, !connection.isDiscarding {
            connection.isDiscarding = true
            refuseOverlong(hub.sessions[connection.session].line &+ 1, of: connection)
        }
        if connection.isDiscarding || count == 0 {
            connection.inbox.removeAll()
            hub.delivery.buffers.takeBack(from: &connection.inbox)
        }
        connection.searchedBytes = UInt32(truncatingIfNeeded: connection.inbox.count)
        hub.recount(.partial, connection.inbox.count, of: connection.session)
    }

    private mutating func refuseOverlong(_ line: UInt64, of connection: Connection) {
        connection.overlongLines += 1
        hub.sessions[connection.session].line = line
        hub.refuseOverlong(from: connection.session)
        if connection.overlongLines > Limits.overlongLinesMax,
            hub.sessions[connection.session].isOpen
        {
            end(connection, .overlong)
        }
    }

    /// No more bytes will come. Half a line isn't executed, and its client is told, if it still reads.
    private mutating func endInput(_ connection: Connection) {
        connection.inputEnded = true
        // All lines were executed: while some have to wait, nothing is read.
        if hub.sessions[connection.session].isOpen, !connection.outputEnded {
            hub.endInput(of: connection.session)
        }
        if connection.isHeldBack { return }
        var rest = ByteBuffer()
        swap(&rest, &connection.inbox)
        if !rest.isEmpty, !connection.outputEnded {
            hub.sessions[connection.session].line &+= 1
            var line = rest.mutableBytes
            hub.refuseUnended(&line, from: connection.session)
        }
        hub.recount(.partial, 0, of: connection.session)
    }
}

private struct LineCount {
    var number: UInt64
    /// Whether a line within the limit has come since the last one over it.
    var hasLine = false
}
