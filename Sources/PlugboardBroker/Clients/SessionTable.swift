// All sessions. They are found by their handles or by the slots of their connections. Requests that name
// another client by its number are rare, so these search the row of slots; a table would cost memory for
// every client.

import PlugboardMemory
import PlugboardWire

/// The sessions of open connections. Owns them.
struct SessionTable: ~Copyable {
    private var all = Slab<Session>()
    /// The session of each slot; `.none` if the slot is free.
    private var row = List<SessionHandle>()

    init() {}

    subscript(session: SessionHandle) -> Session {
        @inline(__always)
        _read { yield all[session] }
        @inline(__always)
        _modify { yield &all[session] }
    }

    /// The number of slots, used or free.
    var slotCount: Int { row.count }

    /// The session in a slot.
    func inSlot(_ slot: Int) -> SessionHandle? {
        slot < row.count && row[slot] != .none ? row[slot] : nil
    }

    func find(client: UInt64) -> SessionHandle? {
        for slot in row.indices {
            let session = row[slot]
            if session != .none, all[session].client == client, all[session].isOpen { return session }
        }
        return nil
    }

    /// A client by its number. It must be of the same user, unless root asks.
    func find(_ client: UInt64, for session: SessionHandle) throws(Refusal) -> SessionHandle {
        guard let other = find(client: client) else { throw .noClient(client) }
        guard all[other].peer.user == all[session].peer.user || all[session].peer.user == 0 else {
            throw Refusal(.forbidden, "client \(client) is another user's")
        }
        return other
    }

    /// The session in a slot, if it is still that client's.
    func find(slot: Int, client: UInt64) -> SessionHandle? {
        guard let session = inSlot(slot), all[session].client == client else { return nil }
        return session
    }

    /// Takes a session's own bytes out, so that they can grow while the hub is used. Call `giveBack`
    /// afterwards.
    @inline(__always)
    mutating func takeOwn(of session: SessionHandle) -> ByteBuffer {
        var own = ByteBuffer()
        swap(&own, &all[session].outbox.own)
        return own
    }

    @inline(__always)
    mutating func giveBack(_ own: consuming ByteBuffer, to session: SessionHandle) {
        all[session].outbox.own = own
    }

    /// The backlog of a subscription and the catch-up of its session; makes them if there are none.
    @discardableResult
    mutating func openBacklog(of subscription: SubscriptionHandle, _ matching: inout Matching)
        -> (backlog: Backlog, catchup: Catchup)
    {
        let session = matching[subscription].session
        if matching[subscription].isDirect { all[session].indirectCount += 1 }
        return (matching[subscription].makeBacklog(), all[session].makeCatchup())
    }

    /// A session's own bytes that it hasn't been sent.
    @_lifetime(borrow self)
    func ownBytes(of session: SessionHandle) -> Span<UInt8> { all[session].outbox.own.bytes }

    mutating func insert(_ session: consuming Session) -> SessionHandle {
        let slot = session.slot
        while row.count <= slot { row.append(.none) }
        row[slot] = all.insert(session)
        return row[slot]
    }

    mutating func remove(_ session: SessionHandle, _ keyspace: inout Keyspace) {
        row[all[session].slot] = .none
        if let author = all.remove(session).signature { keyspace.release(author) }
    }
}

extension SessionTable {
    /// Each session is in its slot. Notes in `living` which sessions and subscriptions exist.
    func checkInvariants(_ living: inout Living) throws(BrokenInvariant) {
        let always = Invariants(of: "SessionTable")
        for slot in row.indices where row[slot] != .none {
            let session = row[slot]
            try always.hold("who stands in a slot is there", all.contains(session), of: "slot \(slot)")
            try always.agree("a session knows its slot", all[session].slot, slot)
            let isNew = living.sessions.insert(session).inserted
            try always.hold("a session stands in one slot", isNew, of: "client \(all[session].client)")
            for place in all[session].subscriptions.list.indices {
                living.subscriptions.insert(all[session].subscriptions.list[place])
            }
        }
        try always.agree("each session stands in a slot", all.count, living.sessions.count)
    }
}
