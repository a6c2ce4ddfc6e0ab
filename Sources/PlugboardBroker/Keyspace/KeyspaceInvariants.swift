// Checks of the keyspace's invariants, made between two turns.

/// The invariants of the keyspace.
enum KeyspaceInvariants {
    /// Checks the whole room, and notes in `living` which keys exist. `owned` are the legacies of open
    /// connections.
    static func check(
        _ keyspace: borrowing Keyspace,
        _ living: inout Living,
        _ deadlines: borrowing Deadlines,
        _ owned: [LegacyHandle]
    ) throws(BrokenInvariant) {
        try keyspace.observables.checkInvariants(&living)
        let always = Invariants(of: "Keyspace")
        var (values, bound) = (0, 0)
        for observable in living.observables {
            try keyspace[observable].checkInvariants()
            let isKnown = keyspace[observable].revision <= keyspace.revision
            try always.hold("no value is newer than the bus", isKnown, of: String(keyspace[observable].key))
            if keyspace.observables.marks(of: observable).bond != nil { bound += 1 }
            if !keyspace[observable].isReserved, keyspace[observable].hasValue { values += 1 }
        }
        try always.agree("it counts the keys with a value", keyspace.keyCount, values)
        try keyspace.history.checkInvariants(living, keyspace.observables)
        let isPast = keyspace.history.lastRevision <= keyspace.revision
        try always.hold("no remembered write is newer than the bus", isPast)
        try always.agree("it binds the keys that say so", keyspace.lifetimes.count, bound)
        try keyspace.lifetimes.checkInvariants(living, deadlines, keyspace.observables, owned)
    }

    /// Each author has as many references as values, the history and `others` hold.
    static func checkAuthors(
        _ keyspace: borrowing Keyspace,
        _ living: borrowing Living,
        _ others: [AuthorHandle]
    ) throws(BrokenInvariant) {
        var found: [AuthorHandle: Int] = [:]
        for author in others + keyspace.history.keptAuthors { found[author, default: 0] += 1 }
        for observable in living.observables {
            if let writer = keyspace.writer(of: observable) { found[writer, default: 0] += 1 }
        }
        try keyspace.authors.checkInvariants(found)
    }
}
