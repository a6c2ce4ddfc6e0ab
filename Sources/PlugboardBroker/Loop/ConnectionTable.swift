// All connections, found by the number that the poller hands back. Owns them.

import PlugboardMemory
import PlugboardPosix

/// The connections of a broker by slot.
struct ConnectionTable: ~Copyable {
    private var slots = List<ConnectionReference?>()
    private var free = List<Int>()
    private(set) var count = 0
    private var lastClient: UInt64 = 0

    init() {}

    deinit {
        for connection in slots.elements { connection.map(Self.destroy) }
    }

    /// Makes the connection of a new client.
    mutating func insert(_ descriptor: consuming Descriptor, _ peer: PeerIdentity, since: UInt64)
        -> ConnectionReference
    {
        lastClient += 1
        let slot = free.popLast() ?? appendSlot()
        let session = SessionReference.allocate(capacity: 1)
        session.initialize(to: Session(client: lastClient, slot: slot, peer: peer, since: since))
        let connection = ConnectionReference.allocate(capacity: 1)
        // The low half finds the slot, the high half tells a late event for whoever had it before.
        let token = UInt64(slot) | lastClient << 32
        connection.initialize(to: Connection(descriptor: descriptor, session: session, token: token))
        slots.mutableElements[slot] = connection
        count += 1
        return connection
    }

    /// The connection that a token was made for, while it lives.
    @inline(__always)
    func find(token: UInt64) -> ConnectionReference? {
        let slot = Int(token & 0xFFFF_FFFF)
        guard slot < slots.count, let connection = slots.elements[slot] else { return nil }
        return connection.pointee.token == token ? connection : nil
    }

    @inline(__always)
    func find(slot: Int) -> ConnectionReference? {
        slots.elements[slot]
    }

    /// Ends a connection and closes its descriptor.
    mutating func remove(_ connection: ConnectionReference) {
        let slot = connection.pointee.session.pointee.slot
        slots.mutableElements[slot] = nil
        free.append(slot)
        count -= 1
        Self.destroy(connection)
    }

    /// Every connection there is now.
    func all() -> [ConnectionReference] {
        slots.elements.compactMap { $0 }
    }

    private mutating func appendSlot() -> Int {
        slots.append(nil)
        return slots.count - 1
    }

    private static func destroy(_ connection: ConnectionReference) {
        connection.deinitialize(count: 1)
        connection.deallocate()
    }
}

extension ConnectionTable {
    private static var always: Invariants { Invariants(of: "ConnectionTable") }

    /// Each connection's session is the one that the hub knows, and no other is.
    func checkInvariants(_ sessions: borrowing SessionTable) throws(BrokenInvariant) {
        var found = 0
        for slot in 0..<slots.count {
            guard let connection = slots.elements[slot] else { continue }
            found += 1
            let session = connection.pointee.session
            let isKnown = slot < sessions.all.count && sessions.all[slot] == session
            try Self.always.hold("a connection's session is known", isKnown, of: "slot \(slot)")
        }
        try Self.always.agree("its count is that of its connections", count, found)
        try Self.always.agree("a slot is free or a connection's", slots.count, found + free.count)
        let known = sessions.all.count { $0 != nil }
        try Self.always.agree("no session outlives its connection", known, found)
    }
}
