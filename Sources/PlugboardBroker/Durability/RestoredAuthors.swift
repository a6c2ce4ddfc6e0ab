// Makes the state again from the records of a journal.

import PlugboardJournal
import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The authors that a journal names. None of them is connected any more.
struct RestoredAuthors: ~Copyable {
    private var known: [[UInt8]: AuthorHandle] = [:]
    /// What ends values, by the places of their bonds.
    private var ends: [Int: RestoredEnd] = [:]
    /// Bound values of programs that may come back, and their graces.
    private(set) var absences: [ProgramName: (legacy: LegacyHandle, milliseconds: UInt64)] = [:]
    /// The author of the last record. Most records have the same author as the one before.
    private var last: AuthorHandle?

    init() {}

    /// The author with this name and origin, given as JSON, and with this account if its user is counted.
    mutating func author(
        _ name: Span<UInt8>,
        from origin: Span<UInt8>,
        _ account: UserAccount? = nil,
        _ keyspace: inout Keyspace
    ) -> AuthorHandle {
        if let last, origin.isEmpty, keyspace.authors[last].name.isEqual(to: name),
            keyspace.authors[last].origin.isEmpty, keyspace.authors[last].presence.account === account
        {
            return last
        }
        var key = Array(name) + Array(origin)
        if let account { key += [0] + Array("\(account.user)".utf8) }
        let author = known[key] ?? Self.make(name, origin, account, &keyspace)
        known[key] = author
        last = author
        return author
    }

    /// Takes a record of an earlier broker into the bus.
    mutating func restore(
        _ record: RecordLine,
        _ line: Span<UInt8>,
        _ keyspace: inout Keyspace,
        _ access: inout Access,
        _ durability: inout Durability,
        _ deadlines: inout Deadlines
    ) {
        keyspace.setTime(record.when)
        let key = record.key.bytes(of: line)
        let hash = keyspace.hash(key)
        let known = keyspace.find(key, hash: hash)
        let account = record.user.map { access.restoredAccount(of: $0) }
        let (name, origin) = (record.by.bytes(of: line), record.origin.bytes(of: line))
        let author = author(name, from: origin, account, &keyspace)
        guard record.kind == .update else {
            let observable = known ?? keyspace.insert(key, hash: hash)
            return forget(observable, record, author, &keyspace, access, &durability, &deadlines)
        }
        let observable = known ?? keyspace.insert(key, hash: hash, valueCount: record.value.count)
        durability.noteGrowth(keyspace[observable].growth(to: record.value.count))
        if access.counts { KeyCharge.charge(observable, count: record.value.count, to: author, keyspace) }
        let value = record.value.bytes(of: line)
        keyspace.set(observable, value, revision: record.revision, cause: record.cause, writer: author)
        Self.remember(.publish, observable, author, record, &keyspace)
        keyspace.set(record.reason, of: observable)
        if record.isWhileConnected || record.expires > 0
            || keyspace.observables.marks(of: observable).bond != nil
        {
            restoreLifetime(of: observable, record, line, access.owner, &keyspace, &deadlines)
        }
    }

    private func forget(
        _ observable: ObservableHandle,
        _ record: RecordLine,
        _ author: AuthorHandle,
        _ keyspace: inout Keyspace,
        _ access: borrowing Access,
        _ durability: inout Durability,
        _ deadlines: inout Deadlines
    ) {
        if keyspace[observable].hasValue {
            keyspace.unbind(observable, &deadlines)
            durability.noteGrowth(-keyspace[observable].recordBytes)
            if access.counts { KeyCharge.discharge(observable, keyspace) }
        }
        keyspace.removeValue(of: observable, cause: record.cause, writer: nil)
        keyspace.set(record.reason, of: observable)
        Self.remember(.delete, observable, author, record, &keyspace)
    }

    /// Remembers a write in the history, if it was made after the journal's snapshot. Only those writes are
    /// known one by one. The journal has the result of a patch, not the patch.
    private static func remember(
        _ operation: Operation,
        _ observable: ObservableHandle,
        _ author: AuthorHandle,
        _ record: RecordLine,
        _ keyspace: inout Keyspace
    ) {
        if !record.isOfSnapshot { keyspace.restore(operation, observable, author, record) }
    }

    /// Restores what ends a value. Its connection ended with the earlier broker; its time went on. How much of it
    /// is left is known when all was read.
    private mutating func restoreLifetime(
        of observable: ObservableHandle,
        _ record: RecordLine,
        _ line: Span<UInt8>,
        _ owner: UInt32,
        _ keyspace: inout Keyspace,
        _ deadlines: inout Deadlines
    ) {
        keyspace.unbind(observable, &deadlines)
        if record.isWhileConnected, record.grace > 0 {
            let name = ProgramName(user: record.user ?? owner, name: Array(record.by.bytes(of: line)))
            let legacy = absences[name]?.legacy ?? keyspace.makeLegacy()
            absences[name] = (legacy, record.grace)
            _ = keyspace.bind(observable, to: legacy)
            return
        }
        if record.isWhileConnected {
            let legacy = keyspace.makeLegacy()
            _ = keyspace.bind(observable, to: legacy)
            _ = keyspace.end(legacy)
            return
        }
        guard record.expires > 0 else { return }
        let bond = keyspace.bind(observable, to: nil)
        ends[bond] = RestoredEnd(record, line)
    }

    /// Call when all was read: from now on, values end that were bound to a time. `when` is the time of the last
    /// record, in milliseconds since 1970.
    mutating func bindToTime(
        lastRecord when: UInt64, _ keyspace: inout Keyspace, _ deadlines: inout Deadlines
    ) {
        for (bond, end) in ends where keyspace.bound(at: bond, revision: end.revision) != nil {
            let left = end.left(lastRecord: when, deadlines)
            let ticket = deadlines.add(after: left, .expiry(bond: bond, revision: end.revision))
            keyspace.note(ticket, ofBondAt: bond)
        }
        ends = [:]
    }

    /// Gives up the references to authors. Each author stays as long as a value or the history names it.
    consuming func release(_ keyspace: inout Keyspace) {
        for author in known.values { keyspace.release(author) }
    }

    private static func make(
        _ name: Span<UInt8>, _ origin: Span<UInt8>, _ account: UserAccount?, _ keyspace: inout Keyspace
    ) -> AuthorHandle {
        let presence = Presence(client: 0, account: account)
        presence.end()
        let characters = JSONText.characters(name.count < 2 ? Span() : name[1..<(name.count - 1)])
        return keyspace.makeAuthor(name: characters.span, origin: origin, presence: presence)
    }
}

/// When a value of an earlier broker ends.
private struct RestoredEnd {
    let revision: UInt64
    /// When it was written, and when it ends, in milliseconds since 1970.
    private let when: UInt64
    private let expires: UInt64
    private let end: EndSinceBoot?

    init(_ record: RecordLine, _ line: Span<UInt8>) {
        (revision, when, expires) = (record.revision, record.when, record.expires)
        end = record.end(of: line)
    }

    /// How many milliseconds are left. If the machine was started anew, only the time of day can tell. Where that
    /// was set back, at least the time up to the last record has passed.
    func left(lastRecord: UInt64, _ deadlines: borrowing Deadlines) -> UInt64 {
        if let left = end.flatMap({ deadlines.left(until: $0) }) { return left }
        let now = max(deadlines.timeOfDay, lastRecord, when)
        return expires > now ? expires - now : 0
    }
}
