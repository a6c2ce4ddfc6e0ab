// The room of keys: values, writers, the history, and what ends values by itself. It finds a key with one look-up. Only
// this room counts revisions, keys with a value, and references to authors.
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
    private(set) var epoch = Journal.newEpoch()
    private(set) var revision: UInt64 = 0
    /// How many keys have a value, without the broker's own.
    private(set) var keyCount = 0
    /// The bus ends for everybody, so nothing is done any more for clients that leave.
    private(set) var isClosed = false
    var history: History
    /// The last emits, for counting those that somebody missed.
    var emits = EmitLog()
    var authors = Authors()
    var lifetimes = Lifetimes()
    let hash = KeyHash()
    private var index = HashIndex()
    private(set) var all = Slab<Observable>()
    private var extras = Slab<KeyExtras>()
    private var order = KeyOrder()
    private var isLoading = false
    /// How many searches for the nearest keys were made in this turn.
    private var searches = 0

    init(time: TimeSource) {
        history = History(time: time)
    }

    // MARK: Revisions

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

    subscript(observable: ObservableHandle) -> Observable {
        @inline(__always)
        _read { yield all[observable] }
        @inline(__always)
        _modify { yield &all[observable] }
    }

    var observableCount: Int { all.count }
    static let cachedMax = 64
    /// Whether the memory of a key is probably not in the processor's fastest cache.
    @inline(__always) var isLarge: Bool { all.count > Self.cachedMax }

    func contains(_ observable: ObservableHandle) -> Bool { all.contains(observable) }

    func hash(of observable: ObservableHandle) -> UInt64 { hash(self[observable].key) }

    @inline(__always)
    func find(_ key: Span<UInt8>, hash: UInt64) -> ObservableHandle? {
        var search = index.search(hash)
        while let slot = index.next(&search) {
            if let found = all.handle(inSlot: slot), all[found].isNamed(key) { return found }
        }
        return nil
    }

    /// The same, if it is probably in one of two slots. 0 is none.
    @inline(__always)
    func find(_ key: Span<UInt8>, probablyIn slot: UInt32, or other: UInt32) -> ObservableHandle? {
        find(key, inSlot: slot) ?? find(key, inSlot: other) ?? find(key)
    }

    func find(_ key: Span<UInt8>) -> ObservableHandle? { find(key, hash: hash(key)) }

    @inline(__always)
    private func find(_ key: Span<UInt8>, inSlot slot: UInt32) -> ObservableHandle? {
        guard slot != 0, let found = all.handle(inSlot: slot), all[found].isNamed(key) else { return nil }
        return found
    }

    /// The first key in order that isn't less than `key`.
    func first(from key: Span<UInt8>) -> ObservableHandle? {
        let first = order.first(from: key, in: all)
        return first == .none ? nil : first
    }

    func next(after observable: ObservableHandle) -> ObservableHandle? {
        all.handle(inSlot: all[observable].link(0))
    }

    /// Shows each key that has a value, matches, and comes after `after`, in order, while `body` returns true
    /// and visits are left. Each key that is looked at costs a visit. Returns the last one; nil if there are no
    /// others.
    func walk(
        _ pattern: Span<UInt8>,
        after: Span<UInt8>,
        _ visits: inout Int,
        _ body: (ObservableHandle) -> Bool
    ) -> ObservableHandle? {
        guard Pattern.hasWildcard(pattern) else {
            let isNew = after.isEmpty || KeyOrder.precedes(after, pattern)
            guard isNew, let observable = find(pattern), self[observable].hasValue else { return nil }
            return body(observable) ? nil : observable
        }
        let prefix = Pattern.literalPrefix(pattern)
        let start = !after.isEmpty && KeyOrder.precedes(prefix, after) ? after : prefix
        var next = first(from: start)
        while let observable = next {
            let key = self[observable].key
            guard key.starts(with: prefix) else { return nil }
            next = self.next(after: observable)
            // `after` itself costs no visit, or a walk of one visit at a time would never leave it.
            guard after.isEmpty || KeyOrder.precedes(after, key) else { continue }
            if self[observable].hasValue, Pattern.matches(pattern, key), !body(observable) {
                return observable
            }
            visits -= 1
            if visits <= 0 { return observable }
        }
        return nil
    }

    /// Names keys similar to a missing one.
    mutating func hint(for key: Span<UInt8>, to grant: Grant?) -> String? {
        guard searches < NearestKeys.searchesPerTurn else { return nil }
        searches += 1
        return NearestKeys.hint(for: key, in: self, to: grant)
    }

    // MARK: Fetching memory ahead, without waiting for it

    /// The memory that a search for a hash reads first.
    @inline(__always)
    func prefetch(_ hash: UInt64) { index.prefetch(hash) }

    /// The memory of the first observable found with this hash, which is nearly always the right one. Returns its
    /// slot, or 0. It doesn't search an outgrown table.
    @inline(__always)
    func prefetchObservable(_ hash: UInt64) -> UInt32 {
        guard let slot = index.candidate(hash) else { return 0 }
        all.prefetch(slot: slot)
        return slot
    }

    @inline(__always)
    func prefetchText(inSlot slot: UInt32) {
        if let observable = all.handle(inSlot: slot) { all[observable].prefetchText() }
    }

    // MARK: Keys that come and go

    mutating func findOrInsert(_ key: Span<UInt8>) -> ObservableHandle {
        let hash = hash(key)
        return find(key, hash: hash) ?? insert(key, hash: hash)
    }

    /// The key is well-formed and has no observable. `valueCount` is 0 if no value is expected soon.
    /// A function of its own, so that the way of a write to a key that is there stays short.
    @inline(never)
    mutating func insert(_ key: Span<UInt8>, hash: UInt64, valueCount: Int = 0) -> ObservableHandle {
        let height = KeyOrder.height(of: hash)
        let observable = all.insert(Observable(key: key, height: height, valueCount: valueCount))
        index.insert(hash, observable.slot, atOnce: isLoading)
        if !isLoading { order.insert(observable, in: &all) }
        return observable
    }

    /// Removes a key that has no value and isn't remembered. Only `Matching.forget` knows whether it may go. While many
    /// keys are taken in, `endRestoring` does that instead.
    mutating func remove(_ observable: ObservableHandle) {
        if isLoading { return }
        order.remove(observable, in: &all)
        index.remove(hash(of: observable), observable.slot)
        let removed = all.remove(observable)
        if let writer = authors.handle(inSlot: removed.writer) { authors.release(writer) }
        if let extras = extras.handle(inSlot: removed.extras) { _ = self.extras.remove(extras) }
    }

    /// Begins to take in very many keys into the empty table. Until `endRestoring`, nothing is removed and
    /// the order of keys can't be used.
    mutating func beginLoading() { isLoading = true }

    /// Gives back the memory of keys that are gone. Looks at `visits` of their places, and returns whether it is done.
    mutating func shrink(visits: Int) -> Bool {
        guard lifetimes.shrink(visits: visits) else { return false }
        let isIndexDone = index.shrink(visits: visits, keeping: Self.entriesKept)
        let isDone = extras.shrink(visits: visits, MemoryPages.giveBack) && isIndexDone
        return all.shrink(visits: visits, MemoryPages.giveBack) && isDone
    }

    /// The index never shrinks below this. A power of two.
    private static let entriesKept = 4_096

    // MARK: Values

    @inline(__always)
    @_lifetime(borrow self)
    func value(of observable: ObservableHandle) -> Span<UInt8> { all[observable].value }

    @_lifetime(borrow self)
    func value(of observable: ObservableHandle?) -> Span<UInt8> {
        guard let observable else { return Span() }
        return value(of: observable)
    }

    /// Sets a value with its writer, at the current revision.
    @inline(__always)
    @discardableResult
    mutating func set(
        _ observable: ObservableHandle, _ value: Span<UInt8>, cause: WriteCause, writer: AuthorHandle
    ) -> Observable.Change {
        history.readTime()
        all[observable].when = history.seconds
        var change = all[observable].set(value, revision: revision, writer: writer)
        if all[observable].extras != 0 || cause.isNamed {
            setCause(cause, of: observable)
            change.hasMarks = extras(of: observable).hasMarks
        }
        if !change.isOfSameWriter { replaceWriter(of: observable, writer) }
        if change.isFirst, !change.isReserved { keyCount += 1 }
        return change
    }

    /// Removes a value, if there is one. Keeps the cause of the delete, and its author if one is given.
    mutating func removeValue(of observable: ObservableHandle, cause: WriteCause, writer: AuthorHandle?) {
        if self[observable].hasValue, !self[observable].isReserved { keyCount -= 1 }
        history.readTime()
        all[observable].when = history.seconds
        all[observable].removeValue()
        setCause(cause, of: observable)
        replaceWriter(of: observable, writer)
    }

    /// Keeps the author of a delete, because somebody will be told of it later.
    mutating func keepDeleter(_ writer: AuthorHandle, of observable: ObservableHandle) {
        if !all[observable].hasValue, all[observable].writer != writer.slot {
            replaceWriter(of: observable, writer)
        }
    }

    /// Whether the author of a later delete is known than one that was made in this second. Of two in one second, that
    /// of which the author is known is taken for the later one, unless both are looked at in their order.
    func knowsDelete(after seconds: UInt32, of observable: ObservableHandle, isInOrder: Bool) -> Bool {
        let known = all[observable].when
        return all[observable].writer != 0 && (isInOrder ? known > seconds : known >= seconds)
    }

    @inline(never)
    private mutating func replaceWriter(of observable: ObservableHandle, _ author: AuthorHandle?) {
        if let author { authors.retain(author) }
        if let writer = writer(of: observable) { authors.release(writer) }
        all[observable].writer = author?.slot ?? 0
    }

    // MARK: What few keys have

    private mutating func makeExtras(of observable: ObservableHandle) -> ExtrasHandle {
        if let made = extras.handle(inSlot: all[observable].extras) { return made }
        let made = extras.insert(KeyExtras())
        all[observable].extras = made.slot
        return made
    }

    /// Changes the extras of a key if it has some or needs some, and removes them if nothing is left in them.
    private mutating func change(
        _ observable: ObservableHandle, isNeeded: Bool, _ body: (inout KeyExtras) -> Void
    ) {
        if !isNeeded, all[observable].extras == 0 { return }
        let changed = makeExtras(of: observable)
        body(&extras[changed])
        guard extras[changed].isEmpty else { return }
        _ = extras.remove(changed)
        all[observable].extras = 0
    }

    func extras(of observable: ObservableHandle) -> KeyExtras {
        extras.handle(inSlot: all[observable].extras).map { extras[$0] } ?? KeyExtras()
    }

    func cause(of observable: ObservableHandle) -> WriteCause { extras(of: observable).cause }

    @inline(never)
    private mutating func setCause(_ cause: WriteCause, of observable: ObservableHandle) {
        change(observable, isNeeded: cause.isNamed) { $0.cause = cause }
    }

    /// Notes why the broker made the last write of a key, and the cause of a write that was missed.
    mutating func set(_ reason: EventReason?, cause: WriteCause? = nil, of observable: ObservableHandle) {
        if let cause { setCause(cause, of: observable) }
        change(observable, isNeeded: reason != nil) { $0.reason = reason }
    }

    mutating func set(bond slot: UInt32, of observable: ObservableHandle) {
        change(observable, isNeeded: slot != 0) { $0.bond = slot }
    }

    // MARK: Authors

    func writer(of observable: ObservableHandle) -> AuthorHandle? {
        authors.handle(inSlot: self[observable].writer)
    }

    func isLive(_ observable: ObservableHandle) -> Bool {
        writer(of: observable).map { authors[$0].isLive } ?? false
    }

    /// The account that a value counts for. The broker's own keys count for nobody.
    func account(of observable: ObservableHandle) -> Account? {
        writer(of: observable).flatMap { authors[$0].presence.account }
    }

    func chargedBytes(of observable: ObservableHandle) -> Int {
        let origin = writer(of: observable).map { authors[$0].origin.count } ?? 0
        return self[observable].key.count + self[observable].value.count + origin
    }

    /// Call before a value is set, whether there was one or not.
    @inline(never)
    func charge(_ observable: ObservableHandle, count: Int, to author: AuthorHandle) {
        discharge(observable)
        guard !self[observable].isReserved, let account = authors[author].presence.account else { return }
        account.used.keys += 1
        account.used.kept += self[observable].key.count + authors[author].origin.count + count
    }

    @inline(never)
    func discharge(_ observable: ObservableHandle) {
        guard self[observable].hasValue, !self[observable].isReserved, let account = account(of: observable)
        else { return }
        account.used.keys -= 1
        account.used.kept -= chargedBytes(of: observable)
    }

    // MARK: History

    /// Call it when the value has changed. A key without a value stays as long as the history has the entry.
    @inline(__always)
    mutating func remember(_ entry: History.Entry) {
        history.append(entry, &all, &authors)
    }

    func lastEntry(of observable: ObservableHandle) -> UInt64? { history.lastEntry(of: observable, all) }

    mutating func takeReleased() -> ObservableHandle? { history.takeReleased(all) }

    mutating func endTurn() {
        history.endTurn()
        searches = 0
    }

    // MARK: Lifetimes

    /// Binds a value that isn't bound yet, to a connection's end if one is given.
    mutating func bind(_ observable: ObservableHandle, to lease: LeaseHandle?) {
        set(bond: lifetimes.bind(observable, to: lease), of: observable)
    }

    /// Notes the deadline of a value that is bound.
    mutating func setDeadline(_ ticket: DeadlineTicket, of observable: ObservableHandle) {
        lifetimes.setDeadline(ticket, ofBondIn: extras(of: observable).bond)
    }

    mutating func unbind(_ observable: ObservableHandle, _ deadlines: inout Deadlines) {
        let slot = extras(of: observable).bond
        set(bond: 0, of: observable)
        if let ticket = lifetimes.unbind(slot) { deadlines.cancel(ticket) }
    }

    func bond(of observable: ObservableHandle) -> BondEnd? {
        lifetimes.end(ofBondIn: extras(of: observable).bond)
    }

    // MARK: Restoring

    /// Of writes up to `snapshotRevision`, only the values that were left are known.
    mutating func endRestoring(snapshotRevision: UInt64) {
        history.begin(after: snapshotRevision)
        order.fill(&all)
        isLoading = false
        for observable in all.handles where !all[observable].isNeeded { remove(observable) }
        endTurn()
    }
}

extension Keyspace: Checked {
    /// `owned` are the leases of open connections.
    func checkInvariants(_ deadlines: borrowing Deadlines, _ owned: [LeaseHandle]) throws(BrokenInvariant) {
        try eachKeyIsFound()
        try order.checkInvariants(all)
        try extrasAreThoseOfKeys()
        var (values, bound) = (0, 0)
        for observable in all.handles {
            try self[observable].checkInvariants()
            let isKnown = self[observable].revision <= revision
            try Self.always.hold("no value is newer than the bus", isKnown, of: String(self[observable].key))
            if extras(of: observable).bond != 0 { bound += 1 }
            if !self[observable].isReserved, self[observable].hasValue { values += 1 }
        }
        try Self.always.agree("it counts the keys with a value", keyCount, values)
        try history.checkInvariants(all)
        try Self.always.hold("no remembered write is newer than the bus", history.lastRevision <= revision)
        try Self.always.agree("it binds the keys that say so", lifetimes.count, bound)
        try lifetimes.checkInvariants(deadlines, self, owned)
    }

    /// Each author has as many references as values, the history and `others` hold.
    func checkAuthors(_ others: [AuthorHandle]) throws(BrokenInvariant) {
        var found: [AuthorHandle: Int] = [:]
        for author in others + history.keptAuthors { found[author, default: 0] += 1 }
        for observable in all.handles {
            if let writer = writer(of: observable) { found[writer, default: 0] += 1 }
        }
        try authors.checkInvariants(found)
    }

    private func eachKeyIsFound() throws(BrokenInvariant) {
        try Self.always.hold("no keys are being taken in", !isLoading)
        var slots: Set<UInt32> = []
        try index.forEach { slot, kept throws(BrokenInvariant) in
            let observable = all.handle(inSlot: slot) ?? .none
            try Self.always.hold("what a slot names is there", observable != .none)
            try Self.always.hold("an observable has one slot", slots.insert(slot).inserted)
            let (key, hash) = (all[observable].key, hash(of: observable))
            let isKept = kept == UInt32(truncatingIfNeeded: hash)
            try Self.always.hold("a slot has the hash of its key", isKept, of: String(key))
            let isFound = find(key, hash: hash) == observable
            try Self.always.hold("each observable is found by its key", isFound, of: String(key))
        }
        try Self.always.agree("its count is that of its observables", all.count, slots.count)
        try Self.always.hold("the index is sound", index.isSound)
        try Self.always.agree("the index has each observable once", index.count, all.count)
    }

    private func extrasAreThoseOfKeys() throws(BrokenInvariant) {
        var found: Set<ExtrasHandle> = []
        for observable in all.handles {
            guard let extras = extras.handle(inSlot: all[observable].extras) else {
                try Self.always.agree("what it names as its extras is there", all[observable].extras, 0)
                continue
            }
            try Self.always.hold("extras are one key's", found.insert(extras).inserted)
            try Self.always.hold("extras aren't empty", !self.extras[extras].isEmpty)
            let isSound = all[observable].hasValue || self.extras[extras].bond == 0
            try Self.always.hold("without a value it is bound to nothing", isSound)
        }
        try Self.always.agree("all extras are a key's", extras.count, found.count)
    }
}

// The values that outlive a broker: in a journal's snapshot, and in the journal without a name that a broker
// hands to its successor if it has no other. Only reads the keyspace; used by the loop's thread.

struct CarriedValues {
    /// The moment, in monotonic nanoseconds.
    let now: UInt64
    /// The same moment, in milliseconds since 1970.
    let wall: UInt64

    init(_ time: TimeSource) {
        (now, wall) = (time.nanoseconds(), time.millisecondsSince1970())
    }

    /// Leaves out the broker's own keys: its successor writes those anew.
    func forEach(
        in keyspace: borrowing Keyspace,
        upTo revision: UInt64 = .max,
        _ deadlines: borrowing Deadlines,
        _ body: (borrowing Commit) throws -> Void
    ) rethrows {
        var next = keyspace.first(from: Span())
        while let observable = next {
            next = keyspace.next(after: observable)
            guard includes(observable, keyspace, upTo: revision) else { continue }
            try body(commit(observable, keyspace, deadlines))
        }
    }

    func includes(
        _ observable: ObservableHandle, _ keyspace: borrowing Keyspace, upTo revision: UInt64
    ) -> Bool {
        keyspace[observable].hasValue && !keyspace[observable].isReserved
            && keyspace[observable].revision <= revision
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
        var commit = Commit(
            key: keyspace.all[entry.observable].key,
            revision: entry.revision,
            value: entry.operation == .delete ? Span() : StaticString("null").bytes,
            by: keyspace.authors.by(entry.author)
        )
        (commit.cause, commit.reason, commit.when) = (entry.cause, entry.reason, entry.milliseconds)
        return commit
    }

    /// The write that made a key's value.
    @_lifetime(borrow keyspace)
    func commit(
        _ observable: ObservableHandle, _ keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines
    ) -> Commit {
        var commit = Commit(
            key: keyspace.all[observable].key,
            revision: keyspace.all[observable].revision,
            value: keyspace.value(of: observable),
            by: keyspace.authors.recorded(keyspace.writer(of: observable))
        )
        let extras = keyspace.extras(of: observable)
        (commit.cause, commit.reason) = (extras.cause, extras.reason)
        commit.when = UInt64(keyspace.all[observable].when) * 1000
        if let bond = keyspace.bond(of: observable) {
            commit.isWhileConnected = bond.isWhileConnected
            commit.grace = bond.milliseconds
            // A value whose time is over may still be there for some turns.
            let left = bond.ticket.map { deadlines.millisecondsLeft(of: $0, at: now, roundedUp: false) ?? 0 }
            if let left { (commit.expires, commit.end) = (wall + left, deadlines.end(in: left)) }
        }
        return commit
    }
}
