// The room of keys: what each key holds, who wrote it, what was written last, and what a value is
// bound to. Nobody else counts revisions, keys with a value, or who refers to an author.
//
// What always holds: the revision is that of the newest write; a value has a writer, who stays as long as a
// value, the history or a client refers to them; a key is there as long as something needs it. It knows
// nothing of observers' backlogs, of clients' rights or of the journal.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

/// The keys of a bus, with all that is known of them. Used by the loop's thread alone.
struct Keyspace: ~Copyable {
    /// Names this life of the revision counter.
    private(set) var epoch = Journal.newEpoch()
    /// The revision of the last committed write.
    private(set) var revision: UInt64 = 0
    /// Keys with a value, the broker's own left out.
    private(set) var keyCount = 0
    /// The bus ends for everybody: what clients leave to be done is not done.
    private(set) var isClosed = false
    private(set) var history: History
    /// The last emits, to be counted.
    private(set) var emits = EmitLog()
    private(set) var authors = Authors()
    private(set) var observables = ObservableTable()
    private(set) var lifetimes = Lifetimes()
    /// Searches for the nearest keys in this turn.
    private var searches = 0

    init(time: TimeSource) {
        history = History(time: time)
    }

    // MARK: Revisions

    /// The broker ends, and with it the bus.
    mutating func close() { isClosed = true }

    /// The next write begins: it has a revision of its own.
    @inline(__always)
    mutating func advance() {
        revision += 1
    }

    /// Goes on with the revision counter of an earlier broker, if `epoch` isn't new.
    mutating func resume(_ epoch: String, at revision: UInt64, isNew: Bool = false) {
        (self.epoch, self.revision) = (epoch, revision)
        if !isNew { emits.begin(after: revision) }
    }

    // MARK: Finding keys

    /// How many keys are known, with a value or without.
    var count: Int { observables.count }

    /// Gives back memory, as `ObservableTable` does.
    mutating func shrink(visits: Int) -> Bool { observables.shrink(visits: visits) }

    subscript(observable: ObservableHandle) -> Observable {
        @inline(__always)
        _read { yield observables.all[observable] }
        @inline(__always)
        _modify { yield &observables.all[observable] }
    }

    /// The audience of a key that has one.
    subscript(audience: AudienceHandle) -> Audience {
        @inline(__always)
        _read { yield observables.audiences[audience] }
        @inline(__always)
        _modify { yield &observables.audiences[audience] }
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

    func find(_ key: Span<UInt8>) -> ObservableHandle? { find(key, hash: hash(key)) }

    /// The observable with this hash, which nearly always is the one that is looked for.
    @inline(__always)
    func candidate(_ hash: UInt64) -> ObservableHandle? { observables.candidate(hash) }

    /// Reads what a search for a hash looks at first, for the reading's sake.
    @inline(__always)
    func touch(_ hash: UInt64) -> UInt64 { observables.touch(hash) }

    /// The first in order whose key is not less than `key`.
    func first(from key: Span<UInt8>) -> ObservableHandle? { observables.first(from: key) }

    func next(after observable: ObservableHandle) -> ObservableHandle? { observables.next(after: observable) }

    /// Whether it is still there.
    func contains(_ observable: ObservableHandle) -> Bool { observables.contains(observable) }

    /// How a walk over keys ended: there are no more, `body` had enough, or so many were visited that others
    /// come first, up to this one.
    enum Walked { case ended, stopped, paused(ObservableHandle) }

    /// Shows the keys with a value that match and come after a key, in order, while `body` returns true and
    /// `visits` is not used up. Each key that is looked at is a visit.
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
        var next = first(from: start)
        while let observable = next {
            let key = self[observable].key
            guard key.starts(with: prefix) else { return .ended }
            next = self.next(after: observable)
            // The key itself is no visit, or a walk of one visit at a time would never leave it.
            guard after.isEmpty || KeyOrder.precedes(after, key) else { continue }
            if self[observable].hasValue, Pattern.matches(pattern, key), !body(observable) { return .stopped }
            visits -= 1
            if visits <= 0 { return .paused(observable) }
        }
        return .ended
    }

    /// A hint that names keys like one that isn't there, for somebody who may see them. Past the first
    /// misses of a turn there is none.
    mutating func hint(for key: Span<UInt8>, to clearance: Clearance?) -> String? {
        guard searches < NearestKeys.searchesPerTurn else { return nil }
        searches += 1
        return NearestKeys.hint(for: key, in: self, to: clearance)
    }

    /// Whether one comes before another by the order of their keys.
    func precedesByKey(_ one: ObservableHandle, _ other: ObservableHandle) -> Bool {
        one != other && KeyOrder.precedes(self[one].key, self[other].key)
    }

    // MARK: Audiences

    /// The list of those who observe a key, as it is known.
    @_lifetime(borrow self)
    func observers(of observable: ObservableHandle) -> Span<Recipient> { observables.observers(of: observable) }

    /// The subscriptions to a key, in the order in which they are told, as they are known.
    func subscriptions(to observable: ObservableHandle) -> [SubscriptionHandle] {
        let audience = self[observable].audience
        return audience == .none ? [] : self[audience].observers.all.map(\.subscription)
    }

    /// The audience of a key, made if there is none.
    mutating func makeAudience(of key: ObservableHandle) -> AudienceHandle { observables.makeAudience(of: key) }

    /// Removes the audience of a key if nobody is in it any more.
    mutating func removeEmptyAudience(of key: ObservableHandle) { observables.removeEmptyAudience(of: key) }

    /// Forgets the list of those who observe a key. It can be made anew.
    mutating func removeObservers(of observable: ObservableHandle) {
        let audience = self[observable].audience
        guard audience != .none else { return }
        self[audience].observers.releaseMemory()
        self[observable].hasObservers = false
        removeEmptyAudience(of: observable)
    }

    // MARK: Keys and values

    /// Makes the observable of a well-formed key that has none, for a value of about `valueCount`
    /// bytes; 0 where there will be none soon.
    mutating func insert(_ key: Span<UInt8>, hash: UInt64, valueCount: Int = 0) -> ObservableHandle {
        observables.insert(key, hash: hash, valueCount: valueCount)
    }

    /// The observable of a well-formed key, made where there is none.
    mutating func findOrInsert(_ key: Span<UInt8>, valueCount: Int = 0) -> ObservableHandle {
        let hash = hash(key)
        return find(key, hash: hash) ?? insert(key, hash: hash, valueCount: valueCount)
    }

    /// Keeps a value under a revision, the present one where none is given, and who wrote it.
    @inline(__always)
    @discardableResult
    mutating func set(
        _ observable: ObservableHandle,
        _ value: Span<UInt8>,
        revision: UInt64? = nil,
        cause: WriteCause,
        writer: AuthorHandle
    ) -> Observable.Change {
        let change = observables.set(
            observable,
            value,
            revision: revision ?? self.revision,
            cause: cause,
            writer: writer,
            &authors
        )
        if change.isFirst, !change.isReserved { keyCount += 1 }
        return change
    }

    /// Forgets a value, if there is one. Who deleted it and why is kept while that is owed to somebody.
    mutating func removeValue(of observable: ObservableHandle, cause: WriteCause, writer: AuthorHandle) {
        if self[observable].hasValue, !self[observable].isReserved { keyCount -= 1 }
        observables.removeValue(of: observable, cause: cause, writer: writer, &authors)
    }

    /// Who deleted it, for somebody who is to be told of that later.
    mutating func keepDeleter(_ writer: AuthorHandle, of observable: ObservableHandle) {
        observables.keepDeleter(writer, of: observable, &authors)
    }

    /// Lets go of a key that has neither a value nor an observer of its own, unless the history still
    /// points to it.
    mutating func removeIfUnneeded(_ observable: ObservableHandle) {
        guard !self[observable].isNeeded, self[observable].generation == 0 else { return }
        observables.remove(observable, &authors)
    }

    /// What is kept of a key, if it is known at all.
    @_lifetime(immortal)
    func value(of observable: ObservableHandle?) -> Span<UInt8> {
        guard let observable else { return Span() }
        return self[observable].value
    }

    /// What is kept of a key, as an event or a reply tells it. A snapshot says whether the writer is
    /// still there, as news needn't.
    @_lifetime(immortal)
    func tail(of observable: ObservableHandle, isInitial: Bool) -> EventTail {
        let tail = EventTail(
            keyPrefix: self[observable].keyPrefix,
            revision: self[observable].revision,
            value: self[observable].value,
            by: authors.by(self[observable].writer),
            cause: self[observable].cause,
            reason: self[observable].marks.reason,
            isInitial: isInitial,
            live: isInitial ? isLive(observable) : nil
        )
        return tail.kept
    }

    // MARK: Authors

    /// Whether the connection of who wrote a value still lives.
    func isLive(_ observable: ObservableHandle) -> Bool { authors.isLive(self[observable].writer) }

    /// Whose a value is counted to be.
    func account(of observable: ObservableHandle) -> UserAccount? { authors.account(self[observable].writer) }

    /// Makes an author with one reference, the caller's, and with an origin if it is an earlier broker's.
    mutating func makeAuthor(name: Span<UInt8>, origin: Span<UInt8> = Span(), presence: Presence)
        -> AuthorHandle
    { authors.make(name: name, origin: origin, presence: presence) }

    /// The author that stands for another one where a write names its origin. The caller has one reference.
    mutating func author(_ author: AuthorHandle, from origin: Span<UInt8>) -> AuthorHandle {
        authors.author(author, from: origin)
    }

    /// Makes the author of a client that has not given its name: `#7`.
    mutating func makeAuthor(unnamed presence: Presence) -> AuthorHandle { authors.makeUnnamed(presence) }

    mutating func retain(_ author: AuthorHandle) { authors.retain(author) }

    mutating func release(_ author: AuthorHandle) { authors.release(author) }

    // MARK: History

    /// Remembers a write that was just made.
    @inline(__always)
    mutating func note(
        _ operation: Operation,
        _ observable: ObservableHandle,
        _ author: AuthorHandle,
        _ cause: WriteCause
    ) {
        history.append(operation, observable, author, revision: revision, cause: cause, &authors)
    }

    /// Counts an emit, whether anybody hears it or not.
    mutating func note(emitTo key: Span<UInt8>) { emits.note(key, at: revision) }

    /// Says of the write that was just remembered why the broker made it.
    mutating func note(_ reason: EventReason) { history.note(reason) }

    /// Says of a remembered write how often its chain of causes has come back to it.
    mutating func note(returns: UInt8, of entry: UInt64) { history[entry].returns = returns }

    /// Keeps a key that was just left without a value for as long as the history points to it.
    @inline(__always)
    mutating func keepForHistory(_ observable: ObservableHandle) { history.keep(observable, &observables) }

    /// The last entry about a key without a value, if it is still known.
    func lastEntry(of observable: ObservableHandle) -> UInt64? {
        history.lastEntry(of: observable, observables)
    }

    /// Ends a turn. Keys that nothing needs any more go, a few at a time so that no turn is long.
    mutating func endTurn() {
        history.endTurn(removingFrom: &observables, &authors)
        searches = 0
    }

    // MARK: Lifetimes

    /// Binds a value that isn't bound, to a connection's end where one is given. Returns the bond's place.
    mutating func bind(_ observable: ObservableHandle, to legacy: LegacyHandle?) -> Int {
        lifetimes.bind(observable, to: legacy, &observables)
    }

    /// Binds it to a deadline as well.
    mutating func note(_ ticket: DeadlineTicket, ofBondAt place: Int) {
        lifetimes.note(ticket, ofBondAt: place)
    }

    /// Frees a key of what would delete it.
    mutating func unbind(_ observable: ObservableHandle, _ deadlines: inout Deadlines) {
        if let ticket = lifetimes.unbind(observable, &observables) { deadlines.cancel(ticket) }
    }

    /// What ends a key's value; nil where nothing does.
    func bond(of observable: ObservableHandle) -> (isWhileConnected: Bool, ticket: DeadlineTicket?)? {
        lifetimes.bond(of: self[observable].marks)
    }

    /// The key whose bond stands at `place`, if that is still the one of this revision.
    func bound(at place: Int, revision: UInt64) -> ObservableHandle? {
        lifetimes.find(place, revision: revision)
    }

    /// A deadline is set for more of the keys whose connections have ended.
    var isEnding: Bool {
        get { lifetimes.isGoingOn }
        set { lifetimes.isGoingOn = newValue }
    }

    /// How many keys are bound.
    var boundCount: Int { lifetimes.count }

    /// How many keys are bound to a time.
    var timedCount: Int { lifetimes.timedCount }

    /// A place for what a client leaves behind.
    mutating func makeLegacy() -> LegacyHandle { lifetimes.legacies.insert(Legacy()) }

    /// What the will in it takes up, if there is one.
    func willBytes(of legacy: LegacyHandle?) -> Int { legacy.map { lifetimes.legacies[$0].willBytes } ?? 0 }

    /// Keeps a will in place of another, or of none.
    mutating func keep(_ will: consuming Will?, in legacy: LegacyHandle) {
        lifetimes.legacies[legacy].will = will
    }

    /// Takes over what a connection that has ended was bound to, and hands its will out.
    mutating func end(_ legacy: LegacyHandle) -> Will? {
        lifetimes.end(legacy)
        return lifetimes.legacies[legacy].will.take()
    }

    /// The next key to be deleted because its connection has ended; the same one until it is unbound.
    mutating func nextEnded() -> ObservableHandle? { lifetimes.nextEnded() }

    // MARK: Restoring

    /// Before the first record of an earlier broker. The order of keys is not to be used until `endRestoring`.
    mutating func beginRestoring() { observables.beginLoading() }

    /// Remembers a write of an earlier broker. Of a patch the journal has the result.
    mutating func restore(
        _ operation: Operation,
        _ observable: ObservableHandle,
        _ author: AuthorHandle,
        _ record: RecordLine
    ) {
        history.restore(operation, observable, author, record, &observables, &authors)
        if history.isGenerationFull { endTurn() }
    }

    /// After the last. Of writes up to `snapshotRevision` only what was left of them is known.
    mutating func endRestoring(snapshotRevision: UInt64) {
        history.begin(after: snapshotRevision)
        observables.endLoading(&authors)
        endTurn()
    }
}
