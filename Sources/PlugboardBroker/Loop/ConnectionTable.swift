// All connections, found by the number that the poller returns. Owns them.

import PlugboardMemory
import PlugboardPosix

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
        let connection = Connection(
            descriptor: descriptor,
            session: session,
            slot: slot,
            number: lastClient
        )
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
        let known = (0..<sessions.slotCount).count { sessions.inSlot($0) != nil }
        try Self.always.agree("no session outlives its connection", known, found)
    }
}
