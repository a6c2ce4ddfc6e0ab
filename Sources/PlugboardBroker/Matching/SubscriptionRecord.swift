// What one client wants to be told. Exists from its `subscribe` to its `unsubscribe` or the end of its
// session. Owned by `Matching`; observers' lists and the session hold its handle.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

typealias SubscriptionHandle = Handle<SubscriptionRecord>

/// The form of a subscription's events. All events of one kind share the encoded bytes.
struct EventForm: Equatable, BitwiseCopyable {
    let rawValue: UInt8

    @inline(__always) var hasOld: Bool { rawValue & 1 != 0 }
    @inline(__always) var hasValue: Bool { rawValue & 2 == 0 }
    @inline(__always) var hasWhen: Bool { rawValue & 4 != 0 }
}

extension EventForm {
    init(_ options: RequestOptions) {
        self.init(rawValue: (options.old ? 1 : 0) | (options.values ? 0 : 2) | (options.when ? 4 : 0))
    }
}

struct SubscriptionRecord: ~Copyable {
    let session: SessionHandle
    let text: TextHandle
    /// Grows with each subscription of the bus. Within a phase, observers are told in this order.
    let serial: UInt64
    let kind: EventForm
    let delivery: DeliveryMode
    let phase: UInt8
    /// What it does besides observing.
    enum Role: UInt8 { case observes, acknowledges, traces }
    var role = Role.observes
    var place: Int32 = 0
    let filter: Filter?
    /// Its backlog, while it is owed anything or has to wait.
    private(set) var backlog: Backlog?
    /// Where it stands among paused and slow readers that share what they are owed.
    var lag = Lag()

    var keys = List<ExactPlace>()
    var patterns: [PatternPlace] = []

    init(
        _ options: RequestOptions, of session: SessionHandle, _ text: TextHandle, serial: UInt64,
        _ filter: Filter?
    ) {
        (self.session, self.text, self.serial, self.filter) = (session, text, serial, filter)
        (kind, delivery, phase) = (EventForm(options), options.delivery, options.phase)
        if options.acknowledges { role = .acknowledges }
    }

    /// Later phases wait for its acknowledgement.
    var acknowledges: Bool { role == .acknowledges }

    var isTracer: Bool { role == .traces }

    /// Without a filter and a backlog, as nearly all are. So it is told at once.
    @inline(__always) var isDirect: Bool { filter == nil && backlog == nil }

    /// It has a backlog. Asking this counts no reference to it.
    @inline(__always) var hasBacklog: Bool { backlog != nil }

    /// Its snapshot isn't looked for any more. Until then it is owed neither emits nor deletes.
    var hasBegun: Bool { backlog?.snapshot == nil }

    /// Observers are told by phase, and within a phase by age.
    var rank: (UInt8, UInt64) { (phase, serial) }

    @inline(__always) var isSharing: Bool { lag.lane != .none }

    /// Whether it is paused, or slow without a backlog, and isn't owed any keys.
    borrowing func waitsLong(isBehind: Bool) -> Bool {
        backlog.map { $0.isPaused && $0.keys.isEmpty && $0.replay == nil && $0.snapshot == nil } ?? isBehind
    }

    var owesNothing: Bool { lag.owedCount == 0 && backlog?.isEmpty != false }

    /// Whether a write may let it go on, because a key that is written again moves behind others. Not inlined: so the
    /// backlog isn't retained.
    @inline(never)
    borrowing func isHeldBack() -> Bool {
        backlog.map { !$0.isReady && (!$0.isPaused || $0.steps > 0) } ?? false
    }

    /// Whether a write needn't look at it beside others of its lane.
    var isPassedBy: Bool { isSharing && !isHeldBack() }

    mutating func makeBacklog() -> Backlog { backlog.orMake(Backlog()) }

    /// Frees the backlog, whose keys the hub removes or abandons.
    mutating func releaseBacklog() { backlog = nil }

    /// Whether nothing holds back an event of this key. `Hub.decision` asks this.
    func isTold(_ keyHash: @autoclosure () -> UInt64, isBehind: Bool) -> Bool {
        !isBehind && lag.owedCount == 0 && backlog?.isFree(keyHash()) != false
    }

    /// Whether an event that has to wait is folded to the newest of its key. If not, it waits as a line of its own.
    func folds(_ event: EventKind) -> Bool { event != .emit && delivery == .latest }

    /// Its state as replies show it. `isBehind` says whether its client is behind.
    func state(isBehind: Bool) -> ObserverState {
        if backlog?.isPaused == true { return .paused }
        return owesNothing && !isBehind ? .live : .lagging
    }

    /// Its first pattern that matches a key; empty if there is none.
    func pattern(matching key: Span<UInt8>, _ keyspace: borrowing Keyspace) -> [UInt8] {
        for index in keys.indices where keyspace[keys[index].observable].key.isEqual(to: key) {
            return Array(key)
        }
        return patterns.lazy.map(\.node.pattern).first { Pattern.matches($0.span, key) } ?? []
    }

    func allPatterns(_ keyspace: borrowing Keyspace) -> [[UInt8]] {
        keys.all.map { Array(keyspace[$0.observable].key) } + patterns.map(\.node.pattern)
    }

    /// Its entry among the observers of a key has moved.
    mutating func setPlace(in observable: ObservableHandle, to index: Int) {
        for place in keys.indices where keys[place].observable == observable {
            keys[place].index = Int32(index)
            return
        }
    }

    /// Its entry at the end of a pattern has moved.
    mutating func setPlace(in node: PatternNode<SubscriptionHandle>, to index: Int) {
        guard let place = patterns.firstIndex(where: { $0.node === node }) else { return }
        patterns[place].index = Int32(index)
    }
}

struct ObserverEntry: BitwiseCopyable {
    let subscription: SubscriptionHandle
    let session: SessionHandle
    let text: TextHandle
    /// Text and kind as one number: equal for all that are told an event by the same line. At any time, a
    /// slot belongs to one text.
    let words: UInt64
    @inline(__always) var kind: EventForm { Self.kind(of: words) }

    init(_ handle: SubscriptionHandle, _ subscription: borrowing SubscriptionRecord) {
        self.subscription = handle
        session = subscription.session
        text = subscription.text
        words = Self.words(text, subscription.kind)
    }

    @inline(__always)
    static func words(_ text: TextHandle, _ kind: EventForm) -> UInt64 {
        UInt64(text.slot) << 8 | UInt64(kind.rawValue)
    }

    @inline(__always)
    static func kind(of words: UInt64) -> EventForm {
        EventForm(rawValue: UInt8(truncatingIfNeeded: words))
    }
}

/// The place of a subscription among the observers of a key. With it, leaving needs no search: one key may
/// have a hundred thousand observers.
struct ExactPlace: BitwiseCopyable {
    let observable: ObservableHandle
    var index: Int32
}

struct PatternPlace {
    let node: PatternNode<SubscriptionHandle>
    var index: Int32
}

// The text of a `sub`. All subscriptions of the bus with the same `sub` share it. Most are called 1, so their
// lines begin alike and are encoded once for all of them.

typealias TextHandle = Handle<SubscriptionText>

struct SubscriptionText: ~Copyable {
    fileprivate var subscriptionCount = 1
    /// `{"event":"update","sub":…`, ready to be copied.
    private let start: ByteBlock
    private static let subOffset = 24

    /// The number of the line for this text that was written last to the turn's log, with its kind and its place there.
    var lineNumber: UInt64 = 0
    var encodedKind = EventForm(rawValue: 0)
    var line = ByteRange.none

    fileprivate init(sub: Span<UInt8>) {
        var buffer = ByteBuffer()
        EventEncoder.appendUpdateStart(sub: sub, to: &buffer)
        start = ByteBlock(buffer.bytes)
    }

    @inline(__always) var updateStart: Span<UInt8> {
        @_lifetime(borrow self)
        get { start.bytes }
    }

    var sub: Span<UInt8> {
        @_lifetime(borrow self)
        get { Self.sub(in: updateStart) }
    }

    /// The `sub` in the start of an update's line.
    @inline(__always)
    @_lifetime(copy updateStart)
    static func sub(in updateStart: Span<UInt8>) -> Span<UInt8> { updateStart[subOffset...] }
}

struct SubscriptionTexts: ~Copyable {
    private var all = Slab<SubscriptionText>()
    private var index = HashIndex()
    private let hash = KeyHash()

    subscript(text: TextHandle) -> SubscriptionText {
        @inline(__always)
        _read { yield all[text] }
        @inline(__always)
        _modify { yield &all[text] }
    }

    @_lifetime(borrow self)
    func sub(of text: TextHandle) -> Span<UInt8> { all[text].sub }

    func find(_ sub: Span<UInt8>) -> TextHandle? { find(sub, hash(sub)) }

    private func find(_ sub: Span<UInt8>, _ hash: UInt64) -> TextHandle? {
        var search = index.search(hash)
        while let slot = index.next(&search) {
            if let text = all.handle(inSlot: slot), all[text].sub.isEqual(to: sub) { return text }
        }
        return nil
    }

    /// The text for a `sub`, for one more subscription.
    mutating func add(_ sub: Span<UInt8>) -> TextHandle {
        let hash = hash(sub)
        if let text = find(sub, hash) {
            all[text].subscriptionCount += 1
            return text
        }
        let text = all.insert(SubscriptionText(sub: sub))
        index.insert(hash, text.slot)
        return text
    }

    mutating func remove(_ text: TextHandle) {
        all[text].subscriptionCount -= 1
        guard all[text].subscriptionCount == 0 else { return }
        index.remove(hash(all[text].sub), text.slot)
        _ = all.remove(text)
    }

    /// Gives back the memory of texts that are gone, as `Slab` does.
    mutating func shrink(visits: Int) -> Bool {
        let isDone = index.shrink(visits: visits)
        return all.shrink(visits: visits, MemoryPages.giveBack) && isDone
    }
}

extension SubscriptionTexts: Checked {
    func checkInvariants(_ matching: borrowing Matching) throws(BrokenInvariant) {
        var users: [TextHandle: Int] = [:]
        for subscription in matching.handles { users[matching[subscription].text, default: 0] += 1 }
        var found = 0
        try index.forEach { slot, hash throws(BrokenInvariant) in
            let text = all.handle(inSlot: slot) ?? .none
            try Self.always.hold("a text that is found is there", text != .none)
            let sub = String(all[text].sub)
            let isAtHome = UInt32(truncatingIfNeeded: self.hash(all[text].sub)) == hash
            try Self.always.hold("a text is found by its hash", isAtHome, of: sub)
            let (stated, count) = (all[text].subscriptionCount, users[text] ?? 0)
            try Self.always.agree("a text counts its subscriptions", stated, count, of: sub)
            found += 1
        }
        try Self.always.hold("the index is sound", index.isSound)
        try Self.always.agree("each subscription's text is there", found, users.count)
    }
}

// The subscriptions of one session, in any order. `Matching` finds one of them by its name.

struct SubscriptionSet: ~Copyable {
    private(set) var list = List<SubscriptionHandle>()
    /// All smaller positive integers are subscriptions' names.
    private(set) var lowestFree = 1

    @inline(__always) var isEmpty: Bool { list.isEmpty }
    @inline(__always) var count: Int { list.count }

    mutating func insert(_ subscription: SubscriptionHandle, _ matching: inout Matching) {
        matching[subscription].place = Int32(list.count)
        list.append(subscription)
    }

    /// Removes it from the set. The caller does the rest.
    mutating func remove(_ subscription: SubscriptionHandle, _ matching: inout Matching) {
        let place = Int(matching[subscription].place)
        list.removeSwapping(at: place)
        if place < list.count { matching[list[place]].place = Int32(place) }
        if let number = Int(String(matching.sub(of: subscription))), number > 0 {
            lowestFree = min(lowestFree, number)
        }
    }

    /// The smallest positive integer that no subscription of this session is called.
    mutating func freeName(of session: SessionHandle, _ matching: borrowing Matching) -> ByteBuffer {
        var name = ByteBuffer()
        while true {
            name.append(decimal: UInt64(lowestFree))
            if matching.find(name.bytes, of: session) == nil { return name }
            lowestFree += 1
            name.removeAll()
        }
    }
}

extension SubscriptionSet: Checked {
    func checkInvariants(of session: SessionHandle, _ matching: borrowing Matching) throws(BrokenInvariant) {
        for place in list.indices {
            let subscription = list[place]
            let isItsOwn = matching[subscription].session == session
            try Self.always.hold("a subscription is its session's", isItsOwn, of: "place \(place)")
            try Self.always.agree("a subscription knows its place", Int(matching[subscription].place), place)
            let isFound = matching.find(matching.sub(of: subscription), of: session) == subscription
            try Self.always.hold("a subscription is found by its text", isFound, of: "place \(place)")
        }
        for number in 1..<lowestFree {
            let isTaken = matching.find(Array("\(number)".utf8).span, of: session) != nil
            try Self.always.hold("smaller numbers are taken", isTaken, of: "number \(number)")
        }
    }
}
