// Names with a grace: such a name stands for a program, also between two of its connections. Knows the open clients
// that have one, and what those left behind that are gone and may come back. Owned by the hub.
//
// What always holds: what waits for a client has a deadline and belongs to no other connection, and at most one
// lease waits for each name.

import PlugboardMemory
import PlugboardWire

struct ProgramName: Hashable {
    let user: UInt32
    let name: [UInt8]
}

struct Absence {
    let name: ProgramName
    /// The client that is gone; 0 for one of an earlier broker.
    var client: UInt64 = 0
    var groups: [UInt32] = []
    var account: Account?
}

struct Graces: ~Copyable {
    private var clients: [SessionHandle: (name: ProgramName, milliseconds: UInt64)] = [:]
    /// The clients of each name. Who was the last to take it is last.
    private var takers: [ProgramName: [SessionHandle]] = [:]
    private(set) var absences: [LeaseHandle: Absence] = [:]
    private var waiting: [ProgramName: LeaseHandle] = [:]

    func hasRoom(for name: ProgramName) -> Bool {
        absences.count < Limits.absencesMax || waiting[name] != nil
    }

    func milliseconds(of session: SessionHandle) -> UInt64 {
        clients.isEmpty ? 0 : clients[session]?.milliseconds ?? 0
    }

    func clients(named name: ProgramName) -> [SessionHandle] { takers[name] ?? [] }

    mutating func enter(_ session: SessionHandle, _ name: ProgramName, _ milliseconds: UInt64) {
        clients[session] = (name, milliseconds)
        takers[name, default: []].append(session)
    }

    /// A client ends, or has another name from now on. Returns its name and its grace, if it had one.
    mutating func withdraw(_ session: SessionHandle) -> (name: ProgramName, milliseconds: UInt64)? {
        guard !clients.isEmpty, let client = clients.removeValue(forKey: session) else { return nil }
        if let place = takers[client.name]?.lastIndex(of: session) { takers[client.name]?.remove(at: place) }
        if takers[client.name]?.isEmpty == true { takers[client.name] = nil }
        return client
    }

    mutating func wait(_ lease: LeaseHandle, _ absence: Absence) {
        absences[lease] = absence
        waiting[absence.name] = lease
    }

    /// What waits for a name, which isn't waited for any more.
    mutating func take(_ name: ProgramName) -> (LeaseHandle, Absence)? {
        guard let lease = waiting.removeValue(forKey: name), let absence = absences.removeValue(forKey: lease)
        else { return nil }
        return (lease, absence)
    }

    mutating func takeLate(_ lease: LeaseHandle) -> Absence? {
        guard let absence = absences.removeValue(forKey: lease) else { return nil }
        waiting[absence.name] = nil
        return absence
    }
}
