// Makes the state again from the records of a journal.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

/// The authors that a journal names. None of them is connected any more.
struct RestoredAuthors: ~Copyable {
    /// The revisions of values that end, as far as they weren't overwritten; and when they were written and end, in
    /// milliseconds since 1970.
    fileprivate var ends:
        [ObservableHandle: (revision: UInt64, when: UInt64, expires: UInt64, end: EndSinceBoot?)] = [:]
    /// The values that were bound to connections, by programs that may come back; those of others under nil.
    fileprivate var leases: [ProgramName?: LeaseHandle] = [:]
    /// The author of the last record, with a reference. Most records have the same author as the one before.
    private var last: AuthorHandle?

    /// The author with this name and origin, given as JSON, and with this account if its user is counted.
    mutating func author(
        _ name: Span<UInt8>, from origin: Span<UInt8>, _ account: Account?, _ keyspace: inout Keyspace
    ) -> AuthorHandle {
        if let last, origin.isEmpty, keyspace.authors[last].name.isEqual(to: name),
            keyspace.authors[last].origin.isEmpty, keyspace.authors[last].presence.account === account
        {
            return last
        }
        release(&keyspace)
        let presence = Liveness(client: 0, account: account, isLive: false)
        let author = keyspace.authors.author(name, from: origin, presence)
        last = author
        return author
    }

    /// Each author stays as long as a value or the history names it.
    mutating func release(_ keyspace: inout Keyspace) {
        if let author = last.take() { keyspace.authors.release(author) }
    }
}

extension Hub {
    /// Takes over what an earlier broker left. `read` passes all records to the first function that it gets, and may
    /// pass the key of each a little before to the second. It returns the epoch to go on in.
    mutating func restore(
        _ read: (RecordTaker, _ expect: (Span<UInt8>) -> Void) throws -> (Recovered, epoch: String)
    ) throws -> Recovered {
        keyspace.beginLoading()
        var authors = RestoredAuthors()
        let (recovered, epoch) = try read(
            { record, line in restore(record, line, &authors) },
            { key in keyspace.prefetch(keyspace.hash(key)) }
        )
        endRestoring(&authors, lastRecord: recovered.when)
        keyspace.resume(epoch, at: recovered.revision, isNew: epoch != recovered.epoch)
        return recovered
    }

    mutating func restore(_ record: RecordLine, _ line: Span<UInt8>, _ authors: inout RestoredAuthors) {
        keyspace.history.setTime(record.when)
        let key = record.key.bytes(of: line)
        let hash = keyspace.hash(key)
        let known = keyspace.find(key, hash: hash)
        let account = record.user.map { access.account(of: $0, isRestored: true) }
        let (name, origin) = (record.by.bytes(of: line), record.origin.bytes(of: line))
        let author = authors.author(name, from: origin, account, &keyspace)
        guard record.kind == .update else {
            return forget(known ?? keyspace.insert(key, hash: hash), record, author)
        }
        let observable = known ?? keyspace.insert(key, hash: hash, valueCount: record.value.count)
        durability.records.liveBytes += keyspace[observable].growth(to: record.value.count)
        if access.countsKeys { keyspace.charge(observable, count: record.value.count, to: author) }
        let value = record.value.bytes(of: line)
        keyspace.set(observable, value, cause: record.cause, writer: author)
        keyspace[observable].revision = record.revision
        remember(.publish, observable, author, record)
        if record.isWhileConnected || record.expires > 0
            || keyspace.extras(of: observable).bond != 0
        {
            restoreLifetime(of: observable, record, line, &authors)
        }
    }

    private mutating func forget(
        _ observable: ObservableHandle, _ record: RecordLine, _ author: AuthorHandle
    ) {
        if keyspace[observable].hasValue {
            keyspace.unbind(observable, &deadlines)
            durability.records.liveBytes -= keyspace[observable].recordBytes
            if access.countsKeys { keyspace.discharge(observable) }
        }
        keyspace.removeValue(of: observable, cause: record.cause, writer: nil)
        remember(.delete, observable, author, record)
    }

    /// Remembers why a write was made, and in the history, if it was made after the journal's snapshot. Only those
    /// writes are known one by one. The journal has the result of a patch, not the patch.
    private mutating func remember(
        _ operation: Operation, _ observable: ObservableHandle, _ author: AuthorHandle, _ record: RecordLine
    ) {
        keyspace.set(record.reason, of: observable)
        if record.isOfSnapshot { return }
        let (revision, cause, reason) = (record.revision, record.cause, record.reason)
        keyspace.remember(History.Entry(operation, observable, author, revision, cause, reason))
        // What isn't needed goes when all keys are there.
        while keyspace.takeReleased() != nil {}
    }

    /// Restores what ends a value. Its connection ended with the earlier broker; its time went on. How much of it
    /// is left is known when all was read.
    private mutating func restoreLifetime(
        of observable: ObservableHandle,
        _ record: RecordLine,
        _ line: Span<UInt8>,
        _ authors: inout RestoredAuthors
    ) {
        keyspace.unbind(observable, &deadlines)
        guard record.isWhileConnected || record.expires > 0 else { return }
        let name = record.by.bytes(of: line)
        // Nobody comes back by the name of a client that hasn't given one, such as `#2`.
        let isProgram = record.grace > 0 && name.count > 1 && name[1] != UInt8(ascii: "#")
        var lease: LeaseHandle?
        if record.isWhileConnected {
            let user = record.user ?? access.owner
            let program = isProgram ? ProgramName(user: user, name: Array(name)) : nil
            let known = authors.leases[program] ?? keyspace.lifetimes.leases.insert(SessionLease())
            authors.leases[program] = known
            keyspace.lifetimes.leases[known].name = program
            keyspace.lifetimes.leases[known].grace = record.grace
            lease = known
        }
        keyspace.bind(observable, to: lease)
        guard record.expires > 0 else { return }
        authors.ends[observable] = (record.revision, record.when, record.expires, record.end(of: line))
    }

    /// Call when all was read: from now on, values end that were bound to a time. `when` is the time of the last
    /// record, in milliseconds since 1970.
    mutating func endRestoring(_ authors: inout RestoredAuthors, lastRecord when: UInt64) {
        for (observable, ends) in authors.ends where keyspace[observable].revision == ends.revision {
            // If the machine was started anew, only the time of day can tell how much is left. Where that was set back,
            // at least the time up to the last record has passed.
            let now = max(deadlines.timeOfDay, when, ends.when)
            let left = ends.end.flatMap { deadlines.left(until: $0) } ?? ends.expires - min(now, ends.expires)
            keyspace.setDeadline(deadlines.add(after: left, .expiry(observable)), of: observable)
        }
        waitForReturns(Array(authors.leases.values))
        authors.release(&keyspace)
    }
}
