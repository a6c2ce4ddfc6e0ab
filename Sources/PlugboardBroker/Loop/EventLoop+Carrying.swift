// A broker without a journal whose place another takes: its state and the writes that it
// remembers go with the process, in files without names, so that who comes back is told what it
// missed and nothing twice.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// Writes the state to files. Nothing may change it any more. Throws `SystemError`.
    func carry() throws -> CarriedState {
        let (now, wall) = (time.nanoseconds(), time.millisecondsSince1970())
        return try CarriedState(
            epoch: hub.keyspace.epoch,
            since: hub.keyspace.history.completeSince,
            revision: hub.revision,
            keys: hub.carriedCount,
            when: wall,
            values: { add in try hub.forEachCarried(now: now, wall: wall, add) },
            writes: { add in try hub.forEachRemembered(now: now, wall: wall, add) }
        )
    }

    /// Goes on with the state that the broker before had. Throws `JournalError`, `SystemError`.
    mutating func goOn(with state: CarriedState) throws {
        hub.beginRestoring()
        var authors = RestoredAuthors()
        let recovered = try state.read { record, line in hub.restore(record, line, &authors) }
        authors.release(&hub.keyspace)
        hub.keyspace.resume(recovered.epoch ?? hub.keyspace.epoch, at: recovered.revision)
        hub.endRestoring(snapshotRevision: recovered.snapshotRevision)
    }
}

extension Hub {
    /// Values that go on, but for those whose write is remembered.
    var carriedCount: Int {
        var count = 0
        forEachValue { _ in count += 1 }
        return count
    }

    /// Gives each of them to `body`. `now` is monotonic, `wall` the time of day of that moment.
    func forEachCarried(now: UInt64, wall: UInt64, _ body: (Commit) throws -> Void) throws {
        var failure: (any Error)?
        forEachValue { observable in
            guard failure == nil, keyspace[observable].hasValue else { return }
            do {
                try body(commit(observable, now: now, wall: wall))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// Gives each write that is remembered to `body`, with its time in milliseconds since 1970: of each
    /// key the newest, as those before it have no values any more.
    func forEachRemembered(now: UInt64, wall: UInt64, _ body: (Commit, UInt64) throws -> Void) throws {
        for number in keyspace.history.first(after: keyspace.history.completeSince)..<keyspace.history.count {
            let entry = keyspace.history[number]
            let observable = entry.observable
            // An emit changes nothing, and has the revision of the write before it. The broker's own keys
            // are the next broker's to write.
            guard entry.operation != .emit, !keyspace[observable].isReserved else { continue }
            if keyspace[observable].hasValue {
                guard keyspace[observable].revision == entry.revision else { continue }
                try body(commit(observable, now: now, wall: wall), entry.milliseconds)
            } else if entry.operation == .delete, keyspace.lastEntry(of: observable) == number {
                let commit = Commit(
                    keyPrefix: keyspace[observable].keyPrefix,
                    revision: entry.revision,
                    value: Span(),
                    by: keyspace.authors[entry.author].by,
                    cause: entry.cause,
                    reason: entry.reason
                )
                try body(commit, entry.milliseconds)
            }
        }
    }

    /// The write that a key's value is from.
    @_lifetime(immortal)
    private func commit(_ observable: ObservableHandle, now: UInt64, wall: UInt64) -> Commit {
        var commit = Commit(
            keyPrefix: keyspace[observable].keyPrefix,
            revision: keyspace[observable].revision,
            value: keyspace[observable].value,
            by: keyspace.authors.recorded(keyspace[observable].writer),
            cause: keyspace[observable].cause,
            reason: keyspace[observable].marks.reason
        )
        if let bond = keyspace.bond(of: observable) {
            commit.isWhileConnected = bond.isWhileConnected
            let end = bond.ticket.flatMap { deadlines.time(of: $0) }
            commit.expires = end.map { wall + ($0 > now ? ($0 - now) / 1_000_000 : 0) } ?? 0
        }
        return commit
    }

    private func forEachValue(_ body: (ObservableHandle) -> Void) {
        var next = keyspace.first(from: Span())
        while let observable = next {
            next = keyspace.next(after: observable)
            if keyspace[observable].hasValue, !keyspace[observable].isReserved,
                keyspace[observable].revision <= keyspace.history.completeSince
            {
                body(observable)
            }
        }
    }
}
