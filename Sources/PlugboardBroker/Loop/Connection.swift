// One accepted socket: its descriptor, its unfinished line, and what it waits for. Owned by the loop, which
// closes the descriptor. The hub only sees its session.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

final class Connection {
    let descriptor: Descriptor
    /// How many bytes of the inbox are known to have no line feed.
    var searchedBytes: UInt32 = 0
    /// The poller's token for it is the word of this handle.
    let session: SessionHandle
    /// Bytes that were read but not executed: half a line, or lines that have to wait.
    var inbox = ByteBuffer()
    var overlongLines: UInt16 = 0
    var interest: Interest = .read
    /// The rest of a line over the limit is being skipped.
    var isDiscarding = false
    var inputEnded = false
    /// The peer doesn't read any more. Waiting output is dropped, but what it sent before still counts.
    var outputEnded = false
    /// The peer has hung up, so the system needn't report that again.
    var isHungUp = false
    /// The system took only a part of a write, so the connection waits until it takes more.
    var isWaitingToWrite = false
    /// The last sent byte was within a line.
    var isMidLine = false
    /// It isn't read until the peer has read its replies, or others have had their turn.
    var isHeldBack = false
    /// What it does when its slice comes. It is in the loop's queue, once, exactly while there is something.
    var todo: Errands = []
    /// It is in the queue to be read, and that won't be soon. So it isn't watched for input.
    var isQuiet = false
    /// Its last lines took long, so the next ones may, too.
    var isHeavy = false
    /// The last read brought very many bytes, or as many as it was to bring, so more may wait.
    var isBulky = false
    /// The end of its wait for its next share, after it has written more than that while the disk is behind. It isn't
    /// read until then.
    var share = DeadlineTicket.none
    /// What it has written beyond its share, in bytes, at a period of `Throttle`.
    private var debt: (bytes: UInt32, period: UInt32) = (0, 0)

    init(descriptor: consuming Descriptor, session: SessionHandle) {
        self.descriptor = descriptor
        self.session = session
    }

    var isThrottled: Bool { share != .none }

    /// The peer has hung up, but bytes from before are still to be read, and only other connections stand in
    /// the way. What it is held back for, it waits for in vain.
    var isReadOn: Bool {
        isHungUp && (isHeldBack || !inputEnded && !todo.contains(.lines) && !isThrottled)
    }

    func wantedInterest(_ session: borrowing Session) -> Interest {
        if isHungUp { return .known }
        var wanted: Interest = []
        if !inputEnded, !isHeldBack, !isQuiet, !isThrottled, session.isOpen { wanted.insert(.read) }
        if isWaitingToWrite { wanted.insert(.write) }
        return wanted
    }

    /// Notes that it has written so many bytes. It may write `share` in each period. Returns whether it has written
    /// more than that.
    func owes(_ bytes: Int, share: Int, period: UInt32) -> Bool {
        let paid = Int(period &- debt.period).multipliedReportingOverflow(by: share)
        let left = paid.overflow ? 0 : max(0, Int(debt.bytes) - paid.partialValue)
        debt = (UInt32(clamping: left + bytes), period)
        return debt.bytes > share
    }

    /// Nothing is left to send to it or to read from it.
    func isFinished(_ session: borrowing Session) -> Bool {
        let isToBeAnswered = session.backlog?.deferred.isEmpty == false || session.isParting
        guard session.outbox.isEmpty, !isToBeAnswered || outputEnded else { return false }
        if !session.isOpen || outputEnded { return !session.isOpen || inputEnded }
        return inputEnded && !isHeldBack && !todo.contains(.lines) && session.subscriptions.isEmpty
            && session.isAnswered
    }
}

/// The connections of a broker, by the slots of their sessions. Owns them.
struct ConnectionTable: ~Copyable {
    private var slots: [Connection?] = []
    private var lastClient: UInt64 = 0

    mutating func insert(
        _ descriptor: consuming Descriptor,
        _ peer: PeerIdentity,
        since: UInt64,
        _ sessions: inout SessionTable
    ) -> Connection {
        lastClient += 1
        let session = sessions.insert(Session(client: lastClient, peer: peer, since: since))
        let connection = Connection(descriptor: descriptor, session: session)
        while slots.count <= session.slot { slots.append(nil) }
        slots[Int(session.slot)] = connection
        return connection
    }

    @inline(__always)
    func find(_ session: SessionHandle) -> Connection? {
        guard session.slot < slots.count, let connection = slots[Int(session.slot)] else { return nil }
        return connection.session == session ? connection : nil
    }

    /// Removes a connection. Its descriptor is closed with the last reference to it.
    mutating func remove(_ connection: Connection) {
        slots[Int(connection.session.slot)] = nil
    }

    func all() -> [Connection] {
        slots.compactMap { $0 }
    }
}

extension ConnectionTable: Checked {
    func checkInvariants(_ sessions: borrowing SessionTable) throws(BrokenInvariant) {
        for connection in all() {
            let isKnown = sessions.contains(connection.session) && find(connection.session) === connection
            try Self.always.hold("a connection's session is known", isKnown)
        }
        try Self.always.agree("no session outlives its connection", sessions.count, all().count)
    }
}
