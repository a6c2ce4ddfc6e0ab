// The room of keys: values, writers, the history, and what ends values by itself. Only this room counts
// revisions, keys with a value, and references to authors.
//
// What always holds: the revision is that of the newest write. A value has a writer. An author stays as long
// as a value, the history or a client refers to it. A key stays as long as something needs it. The room knows
// nothing of backlogs, rights or the journal.

import PlugboardJournal
import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The keys of a bus with their state. Used by the loop's thread alone.
struct Keyspace: ~Copyable {
    /// Identifies this counter of revisions.
    private(set) var epoch = Journal.newEpoch()
    /// The revision of the last committed write.
    private(set) var revision: UInt64 = 0
    /// How many keys have a value, without the broker's own.
    private(set) var keyCount = 0
    /// The bus ends for everybody, so nothing is done any more for clients that leave.
    private(set) var isClosed = false
    var history: History
    /// The last emits, for counting those that somebody missed.
    var emits = EmitLog()
    var authors = Authors()
    var observables = ObservableTable()
    var lifetimes = Lifetimes()
    /// How many searches for the nearest keys were made in this turn.
    private var searches = 0

    init(time: TimeSource) {
        history = History(time: time)
    }

    // MARK: Revisions

    /// The bus ends with the broker.
    mutating func close() { isClosed = true }

    /// Begins the next write, which has a revision of its own.
    @inline(__always)
    mutating func advance() { revision += 1 }

    /// Continues the revisions of an earlier broker, unless `epoch` is new.
    mutating func resume(_ epoch: String, at revision: UInt64, isNew: Bool = false) {
        (self.epoch, self.revision) = (epoch, revision)
        if !isNew { emits.begin(after: revision) }
    }

    // MARK: Finding keys

    /// Gives memory back, as `ObservableTable` does.
    mutating func shrink(visits: Int) -> Bool {
        lifetimes.shrink(visits: visits) && observables.shrink(visits: visits)
    }

    subscript(observable: ObservableHandle) -> Observable {
        @inline(__always)
        _read { yield observables.all[observable] }
        @inline(__always)
        _modify { yield &observables.all[observable] }
    }

    /// The extras of a key that has some.
    subscript(extras: ExtrasHandle) -> KeyExtras {
        @inline(__always)
        _read { yield observables.extras[extras] }
        @inline(__always)
        _modify { yield &observables.extras[extras] }
    }

    /// Hashes a key the way its look-up does.
    @inline(__always)
    var hash: KeyHash { observables.hash }

    /// The hash of the key of an observable.
    func hash(of observable: ObservableHandle) -> UInt64 { hash(self[observable].key) }

    @inline(__always)
    func find(_ key: Span<UInt8>, hash: UInt64) -> ObservableHandle? {
        observables.find(key, hash: hash)
    }

    /// The same, if it is probably in one of two slots. 0 is none.
    @inline(__always)
    func find(_ key: Span<UInt8>, probablyIn slot: UInt32, or other: UInt32) -> ObservableHandle? {
        observables.find(key, inSlot: slot) ?? observables.find(key, inSlot: other) ?? find(key)
    }

    func find(_ key: Span<UInt8>) -> ObservableHandle? { find(key, hash: hash(key)) }

    /// How a walk over keys ended: no keys are left; `body` returned false; or the visits were used up, at
    /// this observable.
    enum Walked { case ended, stopped, paused(ObservableHandle) }

    /// Shows each key that has a value, matches, and comes after `after`, in order, while `body` returns true
    /// and visits are left. Each key that is looked at costs a visit.
    func walk(
        _ pattern: Span<UInt8>,
        after: Span<UInt8> = Span(),
        _ visits: inout Int,
        _ body: (ObservableHandle) -> Bool
    ) -> Walked {
        guard Pattern.hasWildcard(pattern) else {
            let isNew = after.isEmpty || KeyOrder.precedes(after, pattern)
            guard isNew, let observable = find(pattern), self[observable].hasValue else { return .ended }
            return body(observable) ? .ended : .stopped
        }
        let prefix = Pattern.literalPrefix(pattern)
        let start = !after.isEmpty && KeyOrder.precedes(prefix, after) ? after : prefix
        var next = observables.first(from: start)
        while let observable = next {
            let key = self[observable].key
            guard key.starts(with: prefix) else { return .ended }
            next = observables.next(after: observable)
            // `after` itself costs no visit, or a walk of one visit at a time would never leave it.
            guard after.isEmpty || KeyOrder.precedes(after, key) else { continue }
            if self[observable].hasValue, Pattern.matches(pattern, key), !body(observable) { return .stopped }
            visits -= 1
            if visits <= 0 { return .paused(observable) }
        }
        return .ended
    }

    /// A hint that names keys similar to a missing one, if the client may see them. After the first misses of
    /// a turn there is none.
    mutating func hint(for key: Span<UInt8>, to grant: Grant?) -> String? {
        guard searches < NearestKeys.searchesPerTurn else { return nil }
        searches += 1
        return NearestKeys.hint(for: key, in: self, to: grant)
    }

    /// Whether one observable comes before another in the order of keys.
    func precedesByKey(_ one: ObservableHandle, _ other: ObservableHandle) -> Bool {
        one != other && KeyOrder.precedes(self[one].key, self[other].key)
    }

    // MARK: Extras

    // MARK: Keys and values

    /// The observable of a well-formed key; makes it if there is none.
    mutating func findOrInsert(_ key: Span<UInt8>, valueCount: Int = 0) -> ObservableHandle {
        let hash = hash(key)
        return find(key, hash: hash) ?? observables.insert(key, hash: hash, valueCount: valueCount)
    }

    /// Sets a value with its writer and its revision, which is the current one if none is given.
    @inline(__always)
    @discardableResult
    mutating func set(
        _ observable: ObservableHandle,
        _ value: Span<UInt8>,
        revision: UInt64? = nil,
        cause: WriteCause,
        writer: AuthorHandle
    ) -> Observable.Change {
        history.readTime()
        observables.all[observable].when = history.seconds
        let change = observables.set(
            observable, value, revision: revision ?? self.revision, cause: cause, writer: writer, &authors
        )
        if change.isFirst, !change.isReserved { keyCount += 1 }
        return change
    }

    /// Removes a value, if there is one. Keeps the cause of the delete, and its author if one is given.
    mutating func removeValue(of observable: ObservableHandle, cause: WriteCause, writer: AuthorHandle?) {
        if self[observable].hasValue, !self[observable].isReserved { keyCount -= 1 }
        history.readTime()
        observables.all[observable].when = history.seconds
        observables.removeValue(of: observable, cause: cause, writer: writer, &authors)
    }

    /// Keeps the author of a delete, because somebody will be told of it later.
    mutating func keepDeleter(_ writer: AuthorHandle, of observable: ObservableHandle) {
        observables.keepDeleter(writer, of: observable, &authors)
    }

    /// Removes a key that has no value and isn't remembered. Only `Matching.forget` knows whether it may go.
    mutating func remove(_ observable: ObservableHandle) { observables.remove(observable, &authors) }

    /// A key's value; empty if there is none.
    @_lifetime(borrow self)
    func value(of observable: ObservableHandle?) -> Span<UInt8> {
        guard let observable else { return Span() }
        return observables.value(of: observable)
    }

    /// Notes why the broker made the last write of a key, and the cause of a write that was missed.
    mutating func set(_ reason: EventReason?, cause: WriteCause? = nil, of observable: ObservableHandle) {
        if let cause { observables.setCause(cause, of: observable) }
        observables.set(reason, of: observable)
    }

    // MARK: Authors

    /// The value's writer. After a delete that is still owed to somebody, the author of the delete.
    func writer(of observable: ObservableHandle) -> AuthorHandle? {
        authors.handle(inSlot: self[observable].writer)
    }

    /// Whether the writer's connection still lives.
    func isLive(_ observable: ObservableHandle) -> Bool { authors.isLive(writer(of: observable)) }

    /// The account that a value counts for.
    func account(of observable: ObservableHandle) -> Account? { authors.account(writer(of: observable)) }

    // How a key with a value counts for its writer's user. The broker's own keys count for nobody.

    /// How many bytes of a key with a value count.
    func chargedBytes(of observable: ObservableHandle) -> Int {
        self[observable].keptBytes + authors.originBytes(writer(of: observable))
    }

    /// Call before a value is set, whether there was one or not.
    @inline(never)
    func charge(_ observable: ObservableHandle, count: Int, to author: AuthorHandle) {
        discharge(observable)
        guard !self[observable].isReserved, let account = authors.account(author) else { return }
        account.used.keys += 1
        account.used.kept += self[observable].key.count + authors[author].origin.count + count
    }

    /// Call before a value is removed.
    @inline(never)
    func discharge(_ observable: ObservableHandle) {
        guard self[observable].hasValue, !self[observable].isReserved, let account = account(of: observable)
        else { return }
        account.used.keys -= 1
        account.used.kept -= chargedBytes(of: observable)
    }

    // MARK: History

    /// Remembers the write that was just made.
    @inline(__always)
    mutating func remember(
        _ operation: Operation, _ observable: ObservableHandle, _ author: AuthorHandle, _ cause: WriteCause
    ) {
        history.append(operation, observable, author, revision: revision, cause: cause, &authors)
    }

    /// Remembers a call that is sent to its server.
    mutating func remember(callOf key: Span<UInt8>, by author: AuthorHandle, _ cause: WriteCause) {
        let observable = findOrInsert(key)
        remember(.call, observable, author, cause)
        history.countCall()
        if !self[observable].hasValue { keepForHistory(observable) }
    }

    /// Keeps a key that has just lost its value, as long as the history names it.
    @inline(__always)
    mutating func keepForHistory(_ observable: ObservableHandle) { history.keep(observable, &observables) }

    /// The last entry about a key without a value, if it is still remembered.
    func lastEntry(of observable: ObservableHandle) -> UInt64? {
        history.lastEntry(of: observable, observables)
    }

    /// The delete of a key without a value, if it is still remembered and nothing else came after it.
    func lastDelete(of observable: ObservableHandle) -> History.Entry? {
        guard let number = lastEntry(of: observable), history[number].operation == .delete else { return nil }
        return history[number]
    }

    /// Ends a turn. The history lets go of what it has passed, a few keys in each turn: `takeReleased` has those
    /// without a value.
    mutating func endTurn() {
        history.endTurn(&observables, &authors)
        searches = 0
    }

    // MARK: Lifetimes

    /// Binds a value that isn't bound yet, and to a connection's end if one is given. Returns the place of
    /// the bond.
    mutating func bind(_ observable: ObservableHandle, to lease: LeaseHandle?) -> Int {
        lifetimes.bind(observable, to: lease, &observables)
    }

    /// Removes what would end a key's value.
    mutating func unbind(_ observable: ObservableHandle, _ deadlines: inout Deadlines) {
        if let ticket = lifetimes.unbind(observable, &observables) { deadlines.cancel(ticket) }
    }

    /// What will end a key's value; nil if nothing will.
    func bond(of observable: ObservableHandle) -> BondEnd? {
        lifetimes.bond(of: observables.marks(of: observable))
    }

    /// The size of its will; 0 if there is none.
    func willBytes(of lease: LeaseHandle?) -> Int { lease.map { lifetimes.leases[$0].willBytes } ?? 0 }

    /// The grace of the writer of a bound key, in milliseconds; 0 if there is none.
    func grace(of observable: ObservableHandle) -> UInt64 {
        lifetimes.grace(of: observables.marks(of: observable))
    }

    /// Queues the bound keys of a connection that has ended, and returns its will.
    mutating func end(_ lease: LeaseHandle) -> Will? {
        lifetimes.end(lease)
        return lifetimes.leases[lease].will.take()
    }

    // MARK: Restoring

    /// Remembers a write of an earlier broker. The journal has the result of a patch, not the patch.
    mutating func restore(
        _ operation: Operation, _ observable: ObservableHandle, _ author: AuthorHandle, _ record: RecordLine
    ) {
        let (revision, cause) = (record.revision, record.cause)
        history.append(operation, observable, author, revision: revision, cause: cause, &authors)
        if let reason = record.reason { history.setReason(reason) }
        if operation == .delete { keepForHistory(observable) }
        guard history.isGenerationFull else { return }
        endTurn()
        // What isn't needed goes when all keys are there.
        while history.takeReleased() != nil {}
    }

    /// Call after the last record. Of writes up to `snapshotRevision`, only the values that were left are
    /// known.
    mutating func endRestoring(snapshotRevision: UInt64) {
        history.begin(after: snapshotRevision)
        observables.endLoading(&authors)
        endTurn()
    }
}

// Checks of the keyspace's invariants, made between two turns.

/// The invariants of the keyspace.
enum KeyspaceInvariants {
    /// Checks the whole room, and notes in `living` which keys exist. `owned` are the leases of open
    /// connections.
    static func check(
        _ keyspace: borrowing Keyspace,
        _ living: inout Living,
        _ deadlines: borrowing Deadlines,
        _ owned: [LeaseHandle]
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
        _ keyspace: borrowing Keyspace, _ living: borrowing Living, _ others: [AuthorHandle]
    ) throws(BrokenInvariant) {
        var found: [AuthorHandle: Int] = [:]
        for author in others + keyspace.history.keptAuthors { found[author, default: 0] += 1 }
        for observable in living.observables {
            if let writer = keyspace.writer(of: observable) { found[writer, default: 0] += 1 }
        }
        try keyspace.authors.checkInvariants(found)
    }
}

// The values that outlive a broker: in a journal's snapshot, and in the journal without a name that a broker
// hands to its successor if it has no other. Only reads the keyspace; used by the loop's thread.

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
        var next = keyspace.observables.first(from: Span())
        while let observable = next {
            next = keyspace.observables.next(after: observable)
            let isWanted = keyspace[observable].hasValue && keyspace[observable].revision <= revision
            guard isWanted, !keyspace[observable].isReserved else { continue }
            try body(commit(observable, keyspace, deadlines))
        }
    }

    /// Gives each remembered write to `body`: those that a journal would have. The values of overwritten ones are
    /// gone. In their place stands null, which the later write replaces.
    func forEachRemembered(
        in keyspace: borrowing Keyspace,
        _ deadlines: borrowing Deadlines,
        _ body: (borrowing Commit) throws -> Void
    ) rethrows {
        for number in keyspace.history.first(after: keyspace.history.completeSince)..<keyspace.history.count {
            let entry = keyspace.history[number]
            let observable = entry.observable
            // The next broker writes its own keys anew.
            guard entry.isChange, !keyspace[observable].isReserved else { continue }
            let isPresent = keyspace[observable].hasValue && keyspace[observable].revision == entry.revision
            if isPresent, entry.operation != .delete {
                var commit = commit(observable, keyspace, deadlines)
                commit.when = entry.milliseconds
                try body(commit)
            } else {
                try body(past(entry, keyspace))
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
            reason: entry.reason,
            when: entry.milliseconds
        )
    }

    /// The write that made a key's value.
    @_lifetime(borrow keyspace)
    func commit(
        _ observable: ObservableHandle, _ keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines
    ) -> Commit {
        var commit = Commit(observable, keyspace)
        if let bond = keyspace.bond(of: observable) {
            commit.isWhileConnected = bond.isWhileConnected
            commit.grace = keyspace.grace(of: observable)
            // A value whose time is over may still be there for some turns.
            let left = bond.ticket.map { deadlines.millisecondsLeft(of: $0, at: now, roundedUp: false) ?? 0 }
            if let left { (commit.expires, commit.end) = (wall + left, deadlines.end(in: left)) }
        }
        return commit
    }
}
