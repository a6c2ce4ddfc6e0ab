// All sessions. Found by their handles, by the slots of their connections, and for the requests that
// name another client by its number: those are seldom, so a row in which one looks, instead of a
// table that every client pays for.

import PlugboardMemory
import PlugboardWire

/// The sessions that are connected now. Owns them.
struct SessionTable: ~Copyable {
    private var all = Slab<Session>()
    /// `.none` in a slot that is free.
    private var row = List<SessionHandle>()

    init() {}

    subscript(session: SessionHandle) -> Session {
        @inline(__always)
        _read { yield all[session] }
        @inline(__always)
        _modify { yield &all[session] }
    }

    /// Slots, taken ones and free ones.
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

    /// A client that another one names, of the same user, or of any where that is root's.
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

    /// Takes a session's own bytes out, to be added to while the hub is asked; `giveBack` follows.
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

    /// Makes sure that a subscription, and its session, has a place for what it is owed.
    @discardableResult
    mutating func openBacklog(of subscription: SubscriptionHandle, _ matching: inout Matching)
        -> (backlog: Backlog, catchup: Catchup)
    {
        let session = matching[subscription].session
        if matching[subscription].isDirect { all[session].indirectCount += 1 }
        return (matching[subscription].makeBacklog(), all[session].makeCatchup())
    }

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
    /// Each session stands in its slot. Notes in `living` who is there, and what they observe.
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
