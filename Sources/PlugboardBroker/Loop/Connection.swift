// One accepted socket: its descriptor, its unfinished line, and what it waits for. Owned by the loop, which
// closes the descriptor. The hub only sees its session.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// A client's connection, as the loop sees it.
final class Connection {
    let descriptor: Descriptor
    private var searched: UInt32 = 0
    let session: SessionHandle
    /// Its place in `ConnectionTable`, and what tells this connection from an earlier one there.
    let token: UInt64
    /// Bytes that were read but not executed: half a line, or lines that have to wait.
    var inbox = ByteBuffer()
    /// How many lines have come.
    var lines: UInt64 = 0
    /// How many lines in a row were over the limit.
    var overlongLines: UInt16 = 0
    var interest: Interest = .read
    /// The rest of a line over the limit is being skipped.
    var isDiscarding = false
    /// The peer will send no more.
    var inputEnded = false
    /// The peer can't be reached any more. What it sent before still counts.
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
    /// The last read brought very many bytes.
    var isBulky = false
    /// It has written more than its share while the disk is behind. It isn't read until others have caught up.
    var isThrottled = false
    /// What it has written beyond its share, in bytes, at a period of `Throttle`.
    private var debt: (bytes: UInt32, period: UInt32) = (0, 0)

    /// `number` tells this connection from an earlier one in the same slot.
    init(descriptor: consuming Descriptor, session: SessionHandle, slot: Int, number: UInt64) {
        self.descriptor = descriptor
        self.session = session
        token = UInt64(slot) | number << 32
    }

    /// The slot of a connection with this token.
    static func slot(of token: UInt64) -> Int { Int(token & 0xFFFF_FFFF) }

    /// Its place in `ConnectionTable`.
    var slot: Int { Self.slot(of: token) }

    /// How many bytes of the inbox are known to have no line feed.
    var searchedBytes: Int {
        get { Int(searched) }
        set { searched = UInt32(truncatingIfNeeded: newValue) }
    }

    /// It has begun a line, and nothing stands in the way of the rest.
    var hasHalfLine: Bool { !inbox.isEmpty && !isHeldBack && !todo.contains(.lines) }

    /// The peer has hung up, but bytes from before are still to be read, and only other connections stand in
    /// the way.
    var isReadOn: Bool { isHungUp && !inputEnded && !isHeldBack && !todo.contains(.lines) && !isThrottled }

    /// What the system should report about it.
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
        let isToBeAnswered = session.isHeld || session.isParting
        guard session.outbox.isEmpty, !isToBeAnswered || outputEnded else { return false }
        if !session.isOpen || outputEnded { return !session.isOpen || inputEnded }
        return inputEnded && !isHeldBack && !todo.contains(.lines) && session.subscriptions.isEmpty
            && session.isAnswered
    }
}

// All connections, found by the number that the poller returns. Owns them.

/// The connections of a broker by slot.
struct ConnectionTable: ~Copyable {
    private var slots: [Connection?] = []
    private var free = List<Int>()
    private(set) var count = 0
    private var lastClient: UInt64 = 0

    init() {}

    /// Makes the connection of a new client, and its session.
    mutating func insert(
        _ descriptor: consuming Descriptor,
        _ peer: PeerIdentity,
        since: UInt64,
        _ sessions: inout SessionTable
    ) -> Connection {
        lastClient += 1
        let slot = free.popLast() ?? appendSlot()
        let session = sessions.insert(Session(client: lastClient, slot: slot, peer: peer, since: since))
        let connection = Connection(descriptor: descriptor, session: session, slot: slot, number: lastClient)
        slots[slot] = connection
        count += 1
        return connection
    }

    /// The connection of a token, if it still exists.
    @inline(__always)
    func find(token: UInt64) -> Connection? {
        guard let connection = find(slot: Connection.slot(of: token)) else { return nil }
        return connection.token == token ? connection : nil
    }

    @inline(__always)
    func find(slot: Int) -> Connection? {
        slot < slots.count ? slots[slot] : nil
    }

    /// Removes a connection. Its descriptor is closed with the last reference to it.
    mutating func remove(_ connection: Connection) {
        slots[connection.slot] = nil
        free.append(connection.slot)
        count -= 1
    }

    /// All connections.
    func all() -> [Connection] {
        slots.compactMap { $0 }
    }

    private mutating func appendSlot() -> Int {
        slots.append(nil)
        return slots.count - 1
    }
}

extension ConnectionTable {
    private static var always: Invariants { Invariants(of: "ConnectionTable") }

    /// Each connection has one session of the hub, and the other way round.
    func checkInvariants(_ sessions: borrowing SessionTable) throws(BrokenInvariant) {
        var found = 0
        for slot in slots.indices {
            guard let connection = slots[slot] else { continue }
            found += 1
            let isKnown = connection.slot == slot && sessions.inSlot(slot) == connection.session
            try Self.always.hold("a connection's session is known", isKnown, of: "slot \(slot)")
        }
        try Self.always.agree("its count is that of its connections", count, found)
        try Self.always.agree("a slot is free or a connection's", slots.count, found + free.count)
        try Self.always.agree("no session outlives its connection", sessions.handles.count, found)
    }
}
