// The room of what isn't done yet: the request that is being executed, publishes that wait for those after them, and
// chores.
//
// What always holds between two turns: no publish waits, and nothing is being executed.

import PlugboardMemory
import PlugboardWire

struct Requests: ~Copyable, Checked {
    private let inPlace = InPlace()
    /// How many keys one request looks at before others have their turn. This takes about a millisecond.
    static let visitsPerSlice = 4_096

    /// A new request looks at so small a part of them before it is put off, because very many may come at once.
    static let partAtOnce = 64

    /// Of the snapshots that have found so many keys, so many go on at a time. The others wait, because what is found takes
    /// up memory until its client has read it.
    static let foundMax = 16_384
    static let largeMax = 8

    enum Reading { case nothing, publish, other, unusual }

    /// The parts of the present request besides its operation and its key.
    var decoder = RequestDecoder()
    var group = PublishGroup()
    /// The checked writes of the batch that is being made; empty while none is.
    var batch: [PlannedWrite] = []
    /// The values that the present request's patches and sums make.
    private(set) var results = ByteBuffer()
    private var sum = ByteRange.none
    private var chores: ArraySlice<Chore> = []
    /// How many requests that were put off are large snapshots that go on.
    private(set) var largeCount = 0
    let visitsMax: Int
    /// When `hub.effort` reaches this, this part of the turn has done enough, and the rest waits for the next turn.
    private(set) var effortEnd = UInt64.max

    init(visitsMax: Int = Self.visitsPerSlice) {
        self.visitsMax = visitsMax
    }

    /// How many keys a request looks at in its slice.
    func visits(isFirst: Bool) -> Int { isFirst ? max(1, visitsMax / Self.partAtOnce) : visitsMax }

    mutating func beginPart(until effort: UInt64) { effortEnd = effort }

    func patterns(of asked: AskedRequest) throws(Refusal) -> [ByteRange] {
        var wanted: [ByteRange] = []
        for range in asked.request.has(.key) ? [asked.request.key] : decoder.patterns {
            try Pattern.check(range, asked.line)
            let bytes = range.bytes(of: asked.line)
            let isKnown = wanted.contains { $0.bytes(of: asked.line).isEqual(to: bytes) }
            if !isKnown { wanted.append(range) }
        }
        return wanted
    }

    // MARK: Patches, sums and batches

    mutating func removeResults() { results.removeAll() }

    /// Merges a patch into a value or a part of it, or adds a number. Returns the place of the new value in `results`.
    /// Throws if there is no such part, or no number.
    mutating func combine(_ asked: AskedRequest, with value: Span<UInt8>) throws(Refusal) -> ByteRange {
        let change = asked.request.value.bytes(of: asked.line)
        let field = asked.request.field.bytes(of: asked.line)
        let start = results.count
        if asked.request.operation == .patch {
            try PartPatch.apply(change, atField: field, to: value, into: &results)
        } else {
            sum = try NumberAddition.apply(change, atField: field, to: value, into: &results)
        }
        return ByteRange(start, results.count)
    }

    /// Exchanges `results`, so that they can be used while the hub is.
    mutating func exchangeResults(_ other: inout ByteBuffer) { swap(&results, &other) }

    /// The last sum, if that was the operation; otherwise empty.
    @_lifetime(borrow self)
    func sum(after operation: Operation) -> Span<UInt8> {
        if operation == .add { return sum.bytes(of: results.bytes) }
        return Span()
    }

    // MARK: Requests that are put off

    /// Puts off the present request. The next ones of its client wait for it.
    mutating func putOff(_ asked: AskedRequest, _ work: DeferredWork, _ sessions: inout SessionTable) {
        let request = DeferredRequest(asked, number: sessions[asked.session].line, work)
        swap(&request.decoder, &decoder)
        sessions[asked.session].makeBacklog().request = request
    }

    /// Whether a snapshot that has found very many keys may go on. Once it may, it does until it `ends`.
    mutating func mayGoOn(large request: DeferredRequest) -> Bool {
        if request.isLarge { return true }
        guard largeCount < Self.largeMax else { return false }
        request.isLarge = true
        largeCount += 1
        return true
    }

    mutating func end(_ request: DeferredRequest) { if request.isLarge { largeCount -= 1 } }

    // MARK: Chores

    var hasChores: Bool { !chores.isEmpty }

    mutating func add(_ chore: Chore) { chores.append(chore) }
    /// Nothing that came later may come before it.
    mutating func add(first chore: Chore) { chores.insert(chore, at: chores.startIndex) }

    mutating func nextChore() -> Chore? {
        // A slice keeps what was taken from its front.
        defer { if chores.isEmpty { chores = [] } }
        return chores.popFirst()
    }

    /// Removes owed keys that nobody needs, some at a time.
    mutating func abandon(_ backlog: Backlog) {
        backlog.keys.abandon()
        if !backlog.keys.isEmpty { add(.forget(backlog)) }
    }

    /// Those whose gaps are to be told.
    var tracersWithGap: [Tracer] {
        chores.compactMap { if case .tellGap(let tracer) = $0 { tracer } else { nil } }
    }

    func checkInvariants(
        _ sessions: borrowing SessionTable,
        _ keyspace: borrowing Keyspace,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        try Self.always.hold("no publish waits to be made", group.isEmpty && group.leftOver == nil)
        let large = sessions.handles.count { sessions[$0].backlog?.request?.isLarge == true }
        try Self.always.agree("it counts large snapshots", largeCount, large)
        // What a replay had gathered isn't sorted.
        for case .forget(let backlog) in chores {
            try backlog.keys.checkInvariants(keyspace, isSorted: false, &owedBy)
        }
    }
}

// What each operation gets first: a request, its line, and the client that asked. The rooms that it needs
// follow as further parameters.

struct AskedRequest: ~Escapable {
    let request: Request
    let line: Span<UInt8>
    let session: SessionHandle

    @_lifetime(copy line)
    init(_ request: Request, _ line: Span<UInt8>, from session: SessionHandle) {
        (self.request, self.session) = (request, session)
        self.line = line
    }

    var key: Span<UInt8> {
        @_lifetime(copy self)
        get { request.key.bytes(of: line) }
    }
    var id: Span<UInt8> {
        @_lifetime(copy self)
        get { request.id.bytes(of: line) }
    }
    var sub: ByteBuffer {
        var text = ByteBuffer()
        let bytes = request.sub.bytes(of: line)
        if request.subIsInteger { text.append(bytes) } else { JSONText.append(bytes, to: &text) }
        return text
    }

    func subscription(
        of owner: SessionHandle, _ matching: borrowing Matching
    ) throws(Refusal) -> SubscriptionHandle {
        let sub = sub
        guard let found = matching.find(sub.bytes, of: owner) else {
            throw .unknown(sub, request)
        }
        return found
    }
}

// A request that looks at more keys than others can wait for. It is put off, goes on with some keys in each turn,
// and is answered when all were found. Meanwhile, the next lines of its client wait, so that replies keep
// their order.

enum DeferredWork {
    /// Of a list of keys.
    case keys(KeySearch)
    /// Of the values with which a subscription begins, which observes what is wanted already.
    case snapshot(SubscriptionHandle)
    /// Of a subscription that goes on where it was: it begins as a whole, later.
    case resumption
}

final class DeferredRequest {
    let request: Request
    /// The number of its line, and the line.
    let number: UInt64
    let line: [UInt8]
    /// What was decoded from the line.
    var decoder = RequestDecoder()
    var work: DeferredWork
    /// It has found very many keys, and goes on.
    var isLarge = false

    init(_ asked: AskedRequest, number: UInt64, _ work: DeferredWork) {
        (request, self.number, self.work) = (asked.request, number, work)
        line = Array(asked.line)
    }
}
