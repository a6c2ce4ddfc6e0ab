// Names with a grace: such a name stands for a program, also between two of its connections. Knows the open clients
// that have one, and what those left behind that are gone and may come back. Owned by the hub.
//
// What always holds: what waits for a client has a deadline and belongs to no other connection, and at most one
// lease waits for each name.

import PlugboardWire

struct ProgramName: Hashable {
    let user: UInt32
    let name: [UInt8]
}

struct Graces: ~Copyable {
    /// The clients of each name. Who was the last to take it is last.
    private var takers: [ProgramName: [SessionHandle]] = [:]
    /// What waits for each name.
    var waiting: [ProgramName: LeaseHandle] = [:]

    func hasRoom(for name: ProgramName) -> Bool {
        waiting.count < Limits.absencesMax || waiting[name] != nil
    }

    func clients(named name: ProgramName) -> [SessionHandle] { takers[name] ?? [] }

    mutating func enter(_ session: SessionHandle, _ name: ProgramName) {
        takers[name, default: []].append(session)
    }

    /// A client ends, or has another name from now on.
    mutating func withdraw(_ session: SessionHandle, from name: ProgramName) {
        if let place = takers[name]?.lastIndex(of: session) { takers[name]?.remove(at: place) }
        if takers[name]?.isEmpty == true { takers[name] = nil }
    }
}
