// Clients that have not acknowledged in time. The lines of later phases name them in `unacked`.

import PlugboardMemory

/// A client that is late with its `ack` of a key.
struct LateClient {
    let client: UInt64
    /// Its name as JSON.
    let name: [UInt8]
    /// The first revision of the key that it has not acknowledged.
    var first: UInt64
}

/// Who was late with one line. Never changes, so that many lines can share it.
final class LateNames {
    private let clients: [UInt64]
    /// The names as JSON, with commas between.
    private let names: [UInt8]

    private init(_ clients: [UInt64], _ names: [UInt8]) {
        (self.clients, self.names) = (clients, names)
    }

    /// Those who were late with a write of this revision, after those of earlier phases. A client is named once. Nil
    /// if there is none.
    fileprivate static func make(
        _ late: [LateClient],
        at revision: UInt64,
        after before: LateNames?
    ) -> LateNames? {
        var (clients, names) = (before?.clients ?? [], before?.names ?? [])
        for each in late where each.first <= revision && !clients.contains(each.client) {
            if !clients.isEmpty { names.append(UInt8(ascii: ",")) }
            clients.append(each.client)
            names += each.name
        }
        if clients.count == before?.clients.count ?? 0 { return before }
        return LateNames(clients, names)
    }

    /// Adds `,"unacked":[…]`.
    func append(to buffer: inout ByteBuffer) {
        let names = names
        buffer.append(#","unacked":["#)
        buffer.append(names.span)
        buffer.append("]")
    }

    /// Adds the same to an event's line that is the end of the buffer.
    func append(toLineAtEndOf buffer: inout ByteBuffer) {
        let end: StaticString = "}\n"
        buffer.truncate(to: buffer.count - end.utf8CodeUnitCount)
        append(to: &buffer)
        buffer.append(end)
    }
}

/// Finds the names for one line after the other. Most lines get the same.
struct LateNaming {
    private let late: [LateClient]
    private var last: (revision: UInt64, before: LateNames?, names: LateNames?)?

    init(_ late: [LateClient]) {
        self.late = late
    }

    /// The names for a line of this revision that has the names `before` already.
    mutating func names(at revision: UInt64, after before: LateNames?) -> LateNames? {
        if let last, last.revision == revision, last.before === before { return last.names }
        let names = LateNames.make(late, at: revision, after: before)
        last = (revision, before, names)
        return names
    }
}
