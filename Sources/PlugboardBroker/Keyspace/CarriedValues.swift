// The values that outlive a broker: in a journal's snapshot, and in the files that a broker without a journal
// hands to its successor. Only reads the keyspace; used by the loop's thread.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

/// Values as records, as of one moment.
struct CarriedValues {
    /// The moment, in monotonic nanoseconds.
    let now: UInt64
    /// The same moment, in milliseconds since 1970.
    let wall: UInt64

    init(_ time: TimeSource) {
        (now, wall) = (time.nanoseconds(), time.millisecondsSince1970())
    }

    /// Gives each value up to `revision` to `body`. Leaves out the broker's own keys: its successor writes
    /// those anew.
    func forEach(
        in keyspace: borrowing Keyspace,
        upTo revision: UInt64 = .max,
        _ deadlines: borrowing Deadlines,
        _ body: (borrowing Commit) throws -> Void
    ) rethrows {
        var next = keyspace.first(from: Span())
        while let observable = next {
            next = keyspace.next(after: observable)
            let isWanted = keyspace[observable].hasValue && keyspace[observable].revision <= revision
            guard isWanted, !keyspace[observable].isReserved else { continue }
            try body(commit(observable, keyspace, deadlines))
        }
    }

    /// Gives each remembered write to `body`, with its time in milliseconds since 1970: those that a journal
    /// would have. The values of overwritten ones are gone. In their place stands null, which the later write
    /// replaces.
    func forEachRemembered(
        in keyspace: borrowing Keyspace,
        _ deadlines: borrowing Deadlines,
        _ body: (borrowing Commit, UInt64) throws -> Void
    ) rethrows {
        for number in keyspace.history.first(after: keyspace.history.completeSince)..<keyspace.history.count {
            let entry = keyspace.history[number]
            let observable = entry.observable
            // The next broker writes its own keys anew.
            guard entry.isChange, !keyspace[observable].isReserved else { continue }
            let isPresent = keyspace[observable].hasValue && keyspace[observable].revision == entry.revision
            if isPresent, entry.operation != .delete {
                try body(commit(observable, keyspace, deadlines), entry.milliseconds)
            } else {
                try body(past(entry, keyspace), entry.milliseconds)
            }
        }
    }

    /// A delete, or a write that was overwritten. Neither counts for a user.
    @_lifetime(borrow keyspace)
    private func past(_ entry: History.Entry, _ keyspace: borrowing Keyspace) -> Commit {
        Commit(
            key: keyspace.observables.all[entry.observable].key,
            revision: entry.revision,
            value: entry.operation == .delete ? Span() : StaticString("null").bytes,
            by: keyspace.authors.by(entry.author),
            cause: entry.cause,
            reason: entry.reason
        )
    }

    /// The write that made a key's value.
    @_lifetime(borrow keyspace)
    private func commit(
        _ observable: ObservableHandle,
        _ keyspace: borrowing Keyspace,
        _ deadlines: borrowing Deadlines
    ) -> Commit {
        var commit = Commit(observable, keyspace)
        if let bond = keyspace.bond(of: observable) {
            commit.isWhileConnected = bond.isWhileConnected
            let left = bond.ticket.flatMap {
                deadlines.millisecondsLeft(of: $0, at: now, roundedUp: false)
            }
            if let left { (commit.expires, commit.end) = (wall + left, deadlines.end(in: left)) }
        }
        return commit
    }
}
