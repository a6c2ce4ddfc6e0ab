// While etcd is away, the bridge doesn't read the bus, so the bus is as fast as one without a bridge. When
// etcd is back, the mirror compares itself with the bus: what was written, and what is gone. If something was
// written and deleted again in between, there is nothing to send.

extension Mirror {
    /// Takes all values of the bus after a time without events.
    mutating func catchUp(with present: [BusValue], at revision: Int) {
        // These writes are known, and their events don't come any more.
        ownRevisions = []
        let gone = missing(in: Set(present.map(\.key)))
        for value in present { note(value) }
        // The time of the delete isn't known, only that it was after the last write.
        for (key, last) in gone { noteDelete(of: key, at: max(revision, last + 1)) }
        noted = max(noted, revision)
        isReading = true
    }

    /// Keys with a value that aren't in `present`, with the revisions of their last writes, the oldest first.
    private func missing(in present: Set<String>) -> [(key: String, last: Int)] {
        keys.filter { $0.value.value != nil && !present.contains($0.key) }
            .map { (key: $0.key, last: $0.value.revision) }
            .sorted { ($0.last, $0.key) < ($1.last, $1.key) }
    }

    /// How many keys etcd has yet to get if the bus has these revisions of all shared keys.
    func owed(with present: [String: Int]) -> Int {
        let written = present.count { key, revision in
            let state = keys[key]
            let isNewer = revision > state?.revision ?? 0
            return (state?.isOwed == true || isNewer) && sharing.direction(of: key).contains(.out)
        }
        return written
            + keys.count { key, state in
                let isGone = state.value != nil && state.direction.contains(.out)
                return present[key] == nil && (isGone || state.isOwed)
            }
    }
}
