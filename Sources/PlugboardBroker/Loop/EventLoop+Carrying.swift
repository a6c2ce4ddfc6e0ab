// A broker without a journal whose place another takes: its state goes with the process, in
// a file without a name.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// Writes the state to a file. Nothing may change it any more. Throws `SystemError`.
    func carry() throws -> DataFile {
        let file = try DataFile.unnamed()
        try CarriedState.write(
            to: file,
            epoch: hub.epoch,
            revision: hub.revision,
            lastWrite: hub.history.lastRevision,
            keys: hub.carriedCount,
            when: time.millisecondsSince1970()
        ) { add in
            try hub.forEachCarried(now: time.nanoseconds(), wall: time.millisecondsSince1970(), add)
        }
        return file
    }

    /// Goes on with the state that the broker before had. Throws `JournalError`, `SystemError`.
    mutating func goOn(withState file: DataFile) throws {
        hub.beginRestoring()
        var authors = RestoredAuthors()
        let recovered = try CarriedState.read(from: file) { record, line in
            hub.restore(record, line, &authors)
        }
        hub.resumeEpoch(recovered.epoch ?? hub.epoch, at: recovered.revision)
        hub.endRestoring(snapshotRevision: recovered.snapshotRevision)
    }
}

extension Hub {
    /// Values that go on: all but the broker's own.
    var carriedCount: Int {
        var count = 0
        forEachValue { _ in count += 1 }
        return count
    }

    /// Gives each of them to `body`. `now` is monotonic, `wall` the time of day of that moment.
    func forEachCarried(now: UInt64, wall: UInt64, _ body: (Commit) throws -> Void) throws {
        var failure: (any Error)?
        forEachValue { observable in
            guard failure == nil else { return }
            var commit = Commit(
                keyPrefix: observable.pointee.keyPrefix,
                revision: observable.pointee.revision,
                value: observable.pointee.value,
                by: observable.pointee.recordedBy,
                cause: observable.pointee.cause,
                reason: observable.pointee.marks.reason
            )
            if let bond = lifetimes.bond(of: observable) {
                commit.isWhileConnected = bond.isWhileConnected
                let end = bond.ticket.flatMap { deadlines.time(of: $0) }
                commit.expires = end.map { wall + ($0 > now ? ($0 - now) / 1_000_000 : 0) } ?? 0
            }
            do { try body(commit) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    private func forEachValue(_ body: (ObservableReference) -> Void) {
        var next = observables.order.first(from: Span())
        while let observable = next {
            next = KeyOrder.next(after: observable)
            if observable.pointee.hasValue, !observable.pointee.isReserved { body(observable) }
        }
    }
}
