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
            epoch: hub.epoch,
            since: hub.history.completeSince,
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
        authors.release(&hub.authors)
        hub.resumeEpoch(recovered.epoch ?? hub.epoch, at: recovered.revision)
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
            guard failure == nil, observables[observable].hasValue else { return }
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
        for number in history.first(after: history.completeSince)..<history.count {
            let entry = history[number]
            let observable = entry.observable
            // An emit changes nothing, and has the revision of the write before it. The broker's own keys
            // are the next broker's to write.
            guard entry.operation != .emit, !observables[observable].isReserved else { continue }
            if observables[observable].hasValue {
                guard observables[observable].revision == entry.revision else { continue }
                try body(commit(observable, now: now, wall: wall), entry.milliseconds)
            } else if entry.operation == .delete, history.lastEntry(of: observable, observables) == number {
                let commit = Commit(
                    keyPrefix: observables[observable].keyPrefix,
                    revision: entry.revision,
                    value: Span(),
                    by: authors[entry.author].by,
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
            keyPrefix: observables[observable].keyPrefix,
            revision: observables[observable].revision,
            value: observables[observable].value,
            by: authors.recorded(observables[observable].writer),
            cause: observables[observable].cause,
            reason: observables[observable].marks.reason
        )
        if let bond = lifetimes.bond(of: observables[observable].marks) {
            commit.isWhileConnected = bond.isWhileConnected
            let end = bond.ticket.flatMap { deadlines.time(of: $0) }
            commit.expires = end.map { wall + ($0 > now ? ($0 - now) / 1_000_000 : 0) } ?? 0
        }
        return commit
    }

    private func forEachValue(_ body: (ObservableHandle) -> Void) {
        var next = observables.first(from: Span())
        while let observable = next {
            next = observables.next(after: observable)
            if observables[observable].hasValue, !observables[observable].isReserved,
                observables[observable].revision <= history.completeSince
            {
                body(observable)
            }
        }
    }
}
