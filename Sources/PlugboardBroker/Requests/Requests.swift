// The room of what clients ask for, as far as it is not done: the request that is being executed, publishes
// that wait for those behind them, and requests that look at more keys than others can wait for.
//
// What always holds: between two turns no publish waits and nothing is executed; a client has one request at
// most that is put off, and is busy exactly as long.

import PlugboardMemory
import PlugboardWire

/// The requests under way. Used by the loop's thread alone.
struct Requests: ~Copyable {
    /// Keys that one request looks at before others have their turn: about a millisecond.
    static let visitsPerSlice = 4_096

    /// What a line turned out to be.
    enum Reading { case nothing, publish, other, unusual }

    /// What the request under way has beside its operation and its key.
    private(set) var decoder = RequestDecoder()
    /// Publishes that were read and not yet made.
    private(set) var group = PublishGroup()
    private(set) var batch = PlannedBatch()
    /// The new value that the last patch or sum came to.
    private(set) var merged = ByteBuffer()
    /// Where the last sum stands in it.
    private(set) var sum = ByteRange.none
    /// What was owed to somebody who needs it no more, and is still to be forgotten.
    private var abandoned: [Backlog] = []
    /// Requests that are put off, in the order of their turns.
    private var walks: [Walk] = []
    /// Keys that a search has passed by because their time is over, to be ended at once.
    private var expired: [ObservableHandle] = []
    /// The request that was put off and is executed now.
    private(set) var finished: Walk?
    /// The same as the constant but in tests.
    private(set) var visitsMax = visitsPerSlice
    /// The effort with which this turn has done enough: what clients still ask for waits for the next.
    private(set) var effortEnd = UInt64.max

    init() {}

    /// A turn begins, and has done enough with so much effort.
    mutating func beginTurn(until effort: UInt64) { effortEnd = effort }

    // MARK: Lines

    /// Reads a line, to the place of the group's next publish.
    @inline(__always)
    mutating func read(
        _ place: Range<Int>,
        of bytes: Span<UInt8>,
        _ number: UInt64,
        _ hash: KeyHash
    ) -> Reading {
        Self.read(place, of: bytes, number, into: &group.next, &decoder, hash)
    }

    @inline(__always)
    private static func read(
        _ place: Range<Int>,
        of bytes: Span<UInt8>,
        _ number: UInt64,
        into publish: inout WaitingPublish,
        _ decoder: inout RequestDecoder,
        _ hash: KeyHash
    ) -> Reading {
        let line = bytes[place]
        if RequestDecoder.isIgnored(line) { return .nothing }
        guard decoder.decodePlain(line, into: &publish.request) else { return .unusual }
        guard publish.request.operation == .publish else { return .other }
        publish.line = ByteRange(place.lowerBound, place.upperBound)
        publish.number = number
        publish.hash = hash(publish.request.key.bytes(of: line))
        return .publish
    }

    /// Reads a line that is not plain; see `RequestDecoder`.
    mutating func readUnusual(_ line: inout MutableSpan<UInt8>, into request: inout Request) throws(Refusal) {
        try decoder.decodeUnusual(&line, into: &request)
    }

    /// The patterns of a request, each of them well-formed and none twice.
    func patterns(of asked: AskedRequest) throws(Refusal) -> [ByteRange] {
        if asked.request.has(.key) {
            try Pattern.check(asked.request.key, asked.line)
            return [asked.request.key]
        }
        var wanted: [ByteRange] = []
        for range in decoder.patterns {
            try Pattern.check(range, asked.line)
            let bytes = range.bytes(of: asked.line)
            let isKnown = wanted.contains { $0.bytes(of: asked.line).isEqual(to: bytes) }
            if !isKnown { wanted.append(range) }
        }
        return wanted
    }

    // MARK: Publishes in a row

    /// Has the publish that was just read wait.
    @inline(__always)
    mutating func countPublish(from session: SessionHandle) {
        group.countNext(from: session)
    }

    /// Takes the publishes out, so that they are read while they are made; `putBack` follows.
    @inline(__always)
    mutating func takePublishes() -> List<WaitingPublish> { group.takeOut() }

    @inline(__always)
    mutating func putBack(_ publishes: inout List<WaitingPublish>) { group.putBack(&publishes) }

    /// The turn has done enough: this publish and those behind it are read again in the next.
    mutating func leave(_ publish: WaitingPublish) {
        group.leftOver = LeftOver(start: publish.line.start, number: publish.number)
    }

    /// Where the lines begin that were left for the next turn, if any were.
    mutating func takeLeftOver() -> LeftOver? { group.leftOver.take() }

    /// Keeps something of each key that was looked for, so that the keys are really read.
    mutating func noteFetched(_ sum: UInt64) { group.fetched = sum }

    // MARK: Patches, sums and batches

    /// Merges a patch into a value or into a part of it, to `merged`. Throws where there is no such part.
    mutating func merge(_ patch: Span<UInt8>, atField field: Span<UInt8>, of value: Span<UInt8>)
        throws(Refusal)
    {
        merged.removeAll()
        try PartPatch.apply(patch, atField: field, to: value, into: &merged)
    }

    /// Adds a number to a value or to a part of it, to `merged`. Throws where there is no number.
    mutating func add(_ number: Span<UInt8>, toField field: Span<UInt8>, of value: Span<UInt8>)
        throws(Refusal)
    {
        merged.removeAll()
        sum = try NumberAddition.apply(number, atField: field, to: value, into: &merged)
    }

    mutating func beginBatch() { batch.removeAll() }

    /// Adds a write of the batch that was checked.
    mutating func plan(_ write: PlannedWrite) { batch.append(write) }

    /// Keeps `merged` for the batch's last write. Returns false where that would be too much for one batch.
    mutating func keepMerged() -> Bool { batch.keep(merged) }

    // MARK: Requests that are put off

    /// Whether any request is put off, or anything is to be forgotten.
    var areWaiting: Bool { !walks.isEmpty || isForgetting }

    /// Tests look at fewer keys in a slice.
    mutating func limitSlices(visits: Int) { visitsMax = visits }

    /// The keys that a search finds. Nil where that takes longer than others can wait: then the request is put
    /// off, so that it must not have changed anything yet, and is executed again.
    mutating func look(
        for asked: AskedRequest,
        _ search: consuming KeySearch,
        _ keyspace: borrowing Keyspace,
        _ sessions: inout SessionTable,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) -> [ObservableHandle]? {
        if case .keys(let search)? = finished?.work { return search.present(in: keyspace, deadlines) }
        if goOn(with: &search, keyspace, &insight, deadlines) {
            return search.present(in: keyspace, deadlines)
        }
        putOff(asked, .keys(search), &sessions)
        return nil
    }

    /// The values that a subscription begins with, owed already. Nil where the request is put off.
    mutating func prepare(
        _ asked: AskedRequest,
        _ wanted: [ByteRange],
        _ filter: Filter?,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) -> ValueSnapshot? {
        if case .snapshot(let snapshot)? = finished?.work { return snapshot }
        let patterns = wanted.map { Array($0.bytes(of: asked.line)) }
        let snapshot = ValueSnapshot(of: patterns, for: sessions[asked.session].clearance, filter, keyspace)
        if goOn(with: snapshot, &keyspace, &delivery, &insight, deadlines) { return snapshot }
        putOff(asked, .snapshot(snapshot), &sessions)
        return nil
    }

    /// Puts off the request under way, behind those that wait.
    private mutating func putOff(_ asked: AskedRequest, _ work: WalkWork, _ sessions: inout SessionTable) {
        sessions[asked.session].isBusy = true
        let walk = Walk(asked, number: sessions[asked.session].line, work)
        swap(&walk.decoder, &decoder)
        walks.append(walk)
    }

    /// What looking at a key costs, and owing it, in observers that are told an event meanwhile.
    private static let stepsPerVisit = 16

    /// Goes on with a request for a slice. Returns whether it can be executed.
    mutating func goOn(
        with walk: Walk,
        _ keyspace: inout Keyspace,
        _ delivery: inout Delivery,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) -> Bool {
        switch walk.work {
        case .keys(var search):
            let isDone = goOn(with: &search, keyspace, &insight, deadlines)
            walk.work = .keys(search)
            return isDone
        case .snapshot(let snapshot):
            guard snapshot.isLost(keyspace) else {
                return goOn(with: snapshot, &keyspace, &delivery, &insight, deadlines)
            }
            abandonSnapshot(of: walk)
            walk.work = .snapshot(snapshot.anew(keyspace))
            return false
        }
    }

    private mutating func goOn(
        with search: inout KeySearch,
        _ keyspace: borrowing Keyspace,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) -> Bool {
        var visits = visitsMax
        let isDone = search.goOn(keyspace, deadlines, &visits)
        expired += search.takeExpired()
        insight.count(steps: (visitsMax - visits) * Self.stepsPerVisit)
        return isDone
    }

    private mutating func goOn(
        with snapshot: ValueSnapshot,
        _ keyspace: inout Keyspace,
        _ delivery: inout Delivery,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) -> Bool {
        var rest = SliceAllowance(visits: visitsMax, keys: visitsMax)
        let isDone = snapshot.goOn(&keyspace, &delivery, &rest, deadlines)
        expired += snapshot.takeExpired()
        let done = max(0, visitsMax - rest.visits) + max(0, visitsMax - rest.keys)
        insight.count(steps: done * Self.stepsPerVisit)
        return isDone
    }

    /// The next key that a search has passed by because its time is over.
    mutating func nextExpired() -> ObservableHandle? { expired.popLast() }

    /// The request whose turn it is.
    mutating func next() -> Walk? { walks.isEmpty ? nil : walks.removeFirst() }

    /// A request that had its turn waits for the next.
    mutating func wait(_ walk: Walk) { walks.append(walk) }

    /// All was found for a request, and it is executed now.
    mutating func beginExecuting(_ walk: Walk) {
        swap(&walk.decoder, &decoder)
        finished = walk
    }

    mutating func endExecuting() { finished = nil }

    /// A client ends, and with it what it asked for.
    mutating func cancel(of session: SessionHandle) {
        for walk in walks where walk.session == session { abandonSnapshot(of: walk) }
        walks.removeAll { $0.session == session }
    }

    /// What a client may see has changed.
    func outdate(_ session: SessionHandle) {
        for walk in walks where walk.session == session {
            if case .snapshot(let snapshot) = walk.work { snapshot.isOutdated = true }
        }
    }

    /// Nobody waits any more for what a request has owed so far.
    mutating func abandonSnapshot(of walk: Walk) {
        if case .snapshot(let snapshot) = walk.work { abandon(snapshot.backlog) }
    }

    // MARK: What is to be forgotten

    /// Forgets what is owed, some keys at a time.
    mutating func abandon(_ backlog: Backlog) {
        backlog.keys.abandon()
        if !backlog.keys.isEmpty { abandoned.append(backlog) }
    }

    /// Whether something is to be forgotten.
    var isForgetting: Bool { !abandoned.isEmpty }

    /// Forgets some of it.
    mutating func forgetAbandoned(_ keyspace: inout Keyspace, _ insight: inout Insight) {
        var count = 0
        defer { insight.count(steps: count * Self.stepsPerVisit) }
        while let backlog = abandoned.last {
            while count < visitsMax, let place = backlog.keys.front {
                backlog.takeBack(place, &keyspace)
                count += 1
            }
            if backlog.keys.isEmpty { abandoned.removeLast() }
            if count >= visitsMax { return }
        }
    }

    func checkInvariants(
        _ living: borrowing Living,
        _ sessions: borrowing SessionTable,
        _ keyspace: borrowing Keyspace,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        let always = Invariants(of: "Requests")
        try always.hold("no publish waits to be made", group.isEmpty && group.leftOver == nil)
        let walking = Set(walks.map(\.session))
        try always.agree("a client has one request at most that is put off", walks.count, walking.count)
        try always.hold("nothing is executed between turns", finished == nil)
        for session in living.sessions {
            let (client, isBusy) = ("client \(sessions[session].client)", sessions[session].isBusy)
            try always.agree("who is busy waits", isBusy, walking.contains(session), of: client)
        }
        for backlog in abandoned { try backlog.checkInvariants(living, keyspace, &owedBy) }
        for walk in walks {
            guard case .snapshot(let snapshot) = walk.work else { continue }
            try snapshot.backlog.checkInvariants(living, keyspace, &owedBy)
        }
    }
}
