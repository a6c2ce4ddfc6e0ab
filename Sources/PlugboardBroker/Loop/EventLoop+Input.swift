// From readable descriptors to executed lines. A whole line is executed where it was
// read; only half a line is copied, to its connection's inbox.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// Unread replies past which a client's requests wait: it is answered as fast as it reads.
    static var unreadRepliesMax: Int { 1_048_576 }

    /// Reads once and executes what is complete.
    mutating func receive(_ connection: ConnectionReference) {
        if connection.pointee.inputEnded || connection.pointee.isHeldBack || connection.pointee.isReleased {
            return
        }
        guard connection.pointee.session.pointee.isOpen else { return endInput(connection) }
        if connection.pointee.inbox.isEmpty {
            receiveDirectly(connection)
        } else {
            receiveBehindHalfLine(connection)
        }
    }

    private mutating func receiveDirectly(_ connection: ConnectionReference) {
        var input = takeInput()
        var isAtEnd = false
        input.append(upTo: Self.readBytes) { room in read(connection, into: &room, &isAtEnd) }
        if isAtEnd { endInput(connection) }
        if !input.isEmpty {
            var bytes = input.mutableBytes
            let executed = executeLines(of: connection, in: &bytes, searchFrom: 0)
            keep(bytes.span[executed...], for: connection)
        }
        returnInput(input)
    }

    private mutating func receiveBehindHalfLine(_ connection: ConnectionReference) {
        let before = connection.pointee.inbox.count
        var isAtEnd = false
        connection.pointee.inbox.append(upTo: Self.readBytes) { room in
            read(connection, into: &room, &isAtEnd)
        }
        if isAtEnd { return endInput(connection) }
        if connection.pointee.inbox.count > before { executeInbox(connection) }
    }

    /// Executes what is complete in the inbox and keeps the rest there.
    mutating func executeInbox(_ connection: ConnectionReference) {
        let searched = connection.pointee.searchedBytes
        // Taken out meanwhile: who is dismissed for a line has its inbox freed at once.
        var inbox = ByteBuffer()
        swap(&inbox, &connection.pointee.inbox)
        var bytes = inbox.mutableBytes
        let executed = executeLines(of: connection, in: &bytes, searchFrom: searched)
        inbox.removeFirst(executed)
        swap(&inbox, &connection.pointee.inbox)
        noteHalfLine(connection)
    }

    /// Returns how many bytes were read; 0 where there is nothing to look at. The inbox may be what is
    /// read into, so that nothing here changes it: `isAtEnd` says that no more will come.
    private mutating func read(
        _ connection: ConnectionReference,
        into target: inout MutableSpan<UInt8>,
        _ isAtEnd: inout Bool
    ) -> Int {
        switch network.read(connection.pointee.descriptor, into: &target) {
        case .bytes(let count):
            hub.own.received &+= UInt64(count)
            return count
        case .wouldBlock: return 0
        case .ended, .failed:
            isAtEnd = true
            return 0
        }
    }

    /// Executes lines, while the client reads its replies and others needn't wait for too
    /// long. Returns how many bytes are done with.
    private mutating func executeLines(
        of connection: ConnectionReference,
        in bytes: inout MutableSpan<UInt8>,
        searchFrom: Int
    ) -> Int {
        let session = connection.pointee.session
        var (start, search) = (0, searchFrom)
        while let feed = LineFramer.lineFeed(in: bytes.span, from: search) {
            let end = LineFramer.trimmed(bytes.span, from: start, to: feed)
            var line = bytes._mutatingExtracting(start..<end)
            finishLine(&line, of: connection)
            start = feed + 1
            search = start
            if !session.pointee.isOpen || mustWait(session) { break }
        }
        hub.finishLines()
        if !session.pointee.isOpen { return bytes.count }
        if start > 0, mustWait(session) { connection.pointee.isHeldBack = true }
        return start
    }

    /// Whether a client has to read before more of its lines are executed, or others come
    /// first.
    @inline(__always)
    private func mustWait(_ session: SessionReference) -> Bool {
        session.pointee.outbox.count > Self.unreadRepliesMax || session.pointee.isHeld
            || hub.own.events > eventsEnd
    }

    @inline(__always)
    private mutating func finishLine(
        _ line: inout MutableSpan<UInt8>,
        of connection: ConnectionReference
    ) {
        if connection.pointee.isDiscarding {
            connection.pointee.isDiscarding = false
            return
        }
        let session = connection.pointee.session
        session.pointee.line += 1
        guard line.count <= Limits.lineBytesMax else { return refuseOverlong(connection) }
        connection.pointee.overlongLines = 0
        hub.take(&line, from: session)
    }

    /// Keeps half a line, or lines that must wait, until there is more to do with them.
    private mutating func keep(_ rest: Span<UInt8>, for connection: ConnectionReference) {
        if rest.isEmpty || connection.pointee.isDiscarding { return }
        hub.bufferMemory.lend(rest.count, to: &connection.pointee.inbox)
        connection.pointee.inbox.append(rest)
        noteHalfLine(connection)
    }

    /// Leaves out a line that has grown past the limit; else remembers what was searched.
    private mutating func noteHalfLine(_ connection: ConnectionReference) {
        let count = connection.pointee.inbox.count
        if connection.pointee.isHeldBack {
            connection.pointee.searchedBytes = 0
            return
        }
        // One byte more may be the carriage return before the line feed.
        if count > Limits.lineBytesMax + 1, !connection.pointee.isDiscarding {
            connection.pointee.isDiscarding = true
            let session = connection.pointee.session
            session.pointee.line += 1
            refuseOverlong(connection)
        }
        if connection.pointee.isDiscarding || count == 0 {
            connection.pointee.inbox.removeAll()
            hub.bufferMemory.takeBack(from: &connection.pointee.inbox)
        }
        connection.pointee.searchedBytes = connection.pointee.inbox.count
    }

    private mutating func refuseOverlong(_ connection: ConnectionReference) {
        hub.finishLines()
        connection.pointee.overlongLines += 1
        hub.refuseOverlong(from: connection.pointee.session)
        if connection.pointee.overlongLines > Limits.overlongLinesMax,
            connection.pointee.session.pointee.isOpen
        {
            dismiss(connection, .overlong, keepingUnread: true)
        }
    }

    /// Goes on with clients that have read their replies.
    mutating func goOnWithReleased() {
        for token in released.elements {
            guard let connection = connections.find(token: token) else { continue }
            connection.pointee.isReleased = false
            if connection.pointee.isHeldBack || !connection.pointee.session.pointee.isOpen { continue }
            hub.touch(connection.pointee.session)
            executeInbox(connection)
        }
        released.removeAll()
    }

    /// No more will come. Half a line is not executed.
    private mutating func endInput(_ connection: ConnectionReference) {
        connection.pointee.inputEnded = true
        if !connection.pointee.isHeldBack { connection.pointee.inbox.releaseMemory() }
    }

    /// Nobody reads any more: what waits is dropped, what was sent before is still read.
    mutating func noteGone(_ connection: ConnectionReference) {
        connection.pointee.outputEnded = true
    }
}
