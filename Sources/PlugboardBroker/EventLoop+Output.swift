// The end of a turn, the one place that writes: each connection that has something
// gets one write, and then is judged: wait for room, go on reading, or close.

import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// Sends what the turn queued and closes what is finished.
    mutating func finishTurn() throws {
        for session in hub.slow.elements {
            if let connection = connections.find(slot: session.pointee.slot) {
                dismiss(connection, .slow, keepingUnread: false)
            }
        }
        hub.slow.removeAll()
        var index = 0
        while index < hub.touched.count {
            let session = hub.touched.elements[index]
            index += 1
            session.pointee.isTouched = false
            guard let connection = connections.find(slot: session.pointee.slot) else { continue }
            flush(connection)
            try settle(connection)
        }
        hub.touched.removeAll()
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
        EventEncoder.appendBye(
            reason: farewell.reason,
            message: farewell.message,
            to: &session.pointee.outbox
        )
        hub.touch(session)
    }

    private func dropUnread(_ connection: ConnectionReference) {
        let session = connection.pointee.session
        var rest = ByteBuffer()
        if connection.pointee.isMidLine {
            let unread = session.pointee.outbox.bytes
            let end = LineFramer.lineFeed(in: unread, from: 0).map { $0 + 1 } ?? 0
            rest.append(UnsafeRawBufferPointer(rebasing: unread[..<end]))
        }
        session.pointee.outbox = rest
        session.pointee.snapshotBytes = 0
    }

    /// Writes once.
    private mutating func flush(_ connection: ConnectionReference) {
        let session = connection.pointee.session
        if connection.pointee.outputEnded { session.pointee.outbox.removeAll() }
        if !session.pointee.outbox.isEmpty, !connection.pointee.isWaitingToWrite {
            send(connection)
        }
        if session.pointee.outbox.isEmpty {
            session.pointee.snapshotBytes = 0
            hub.outboxMemory.takeBack(from: &session.pointee.outbox)
        }
    }

    private mutating func send(_ connection: ConnectionReference) {
        let session = connection.pointee.session
        let bytes = session.pointee.outbox.bytes
        switch connection.pointee.descriptor.write(bytes) {
        case .bytes(let count):
            connection.pointee.isMidLine = bytes[count - 1] != 0x0A
            connection.pointee.isWaitingToWrite = count < bytes.count
            session.pointee.snapshotBytes = max(0, session.pointee.snapshotBytes - count)
            session.pointee.outbox.removeFirst(count)
        case .wouldBlock:
            connection.pointee.isWaitingToWrite = true
        case .ended, .failed:
            noteGone(connection)
            session.pointee.outbox.removeAll()
        }
    }

    /// Decides what becomes of a connection after its turn.
    private mutating func settle(_ connection: ConnectionReference) throws {
        if connection.pointee.isHeldBack,
            connection.pointee.session.pointee.outbox.count <= Self.unreadRepliesMax / 2
        {
            connection.pointee.isHeldBack = false
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
        hub.leave(connection.pointee.session)
        poller.remove(connection.pointee.descriptor.raw)
        connections.remove(connection)
    }
}
