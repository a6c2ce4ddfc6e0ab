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
