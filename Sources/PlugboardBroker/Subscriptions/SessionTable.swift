// All sessions, for the requests that name another client by its number. They are
// seldom, so a row in which one looks, instead of a table that every client pays for.

import PlugboardMemory

/// The sessions that are connected now.
struct SessionTable: ~Copyable {
    private var row = List<SessionReference?>()

    init() {}

    /// The sessions, by slot.
    var all: UnsafeBufferPointer<SessionReference?> { row.elements }

    func find(client: UInt64) -> SessionReference? {
        for session in row.elements {
            if let session, session.pointee.client == client, session.pointee.isOpen { return session }
        }
        return nil
    }

    /// The session in a slot, if it is still that client's.
    func find(slot: Int, client: UInt64) -> SessionReference? {
        guard slot < row.count, let session = row.elements[slot], session.pointee.client == client else {
            return nil
        }
        return session
    }

    mutating func insert(_ session: SessionReference) {
        while row.count <= session.pointee.slot { row.append(nil) }
        row.mutableElements[session.pointee.slot] = session
    }

    mutating func remove(_ session: SessionReference) {
        row.mutableElements[session.pointee.slot] = nil
    }
}

extension SessionTable {
    /// Each session stands in its slot. Notes in `living` who is there, and what they observe.
    func checkInvariants(_ living: inout Living) throws(BrokenInvariant) {
        let always = Invariants(of: "SessionTable")
        for slot in 0..<row.count {
            guard let session = row.elements[slot] else { continue }
            try always.agree("a session knows its slot", session.pointee.slot, slot)
            let isNew = living.sessions.insert(session).inserted
            try always.hold("a session stands in one slot", isNew, of: "client \(session.pointee.client)")
            living.subscriptions.formUnion(session.pointee.subscriptions.list.elements)
        }
    }
}
