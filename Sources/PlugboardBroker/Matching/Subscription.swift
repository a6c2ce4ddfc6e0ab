// What one client asked to be told. Lives from its `subscribe` to its `unsubscribe` or the end of
// its session. Owned by the hub; who is told names it.

import PlugboardMemory
import PlugboardWire

typealias SubscriptionHandle = Handle<Subscription>

/// Which form of event a subscription gets: all of one kind share the encoded bytes.
struct EventKind: Equatable, BitwiseCopyable {
    let rawValue: UInt8
    static let count = 4

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    init(old: Bool, values: Bool) {
        rawValue = (old ? 1 : 0) | (values ? 0 : 2)
    }

    @inline(__always) var hasOld: Bool { rawValue & 1 != 0 }
    @inline(__always) var hasValue: Bool { rawValue & 2 == 0 }
}

/// One subscription of one session.
struct Subscription: ~Copyable {
    let session: SessionHandle
    let text: TextHandle
    /// Grows with each subscription of the bus: observers are told in this order.
    let serial: UInt64
    let kind: EventKind
    /// What becomes of events that have to wait.
    let delivery: DeliveryMode
    /// Observers of an earlier phase are told first.
    let phase: UInt8
    /// Later phases wait until it has acknowledged.
    let acknowledges: Bool
    /// Told at once and plainly, as nearly all are: nothing is owed, nothing stands in the way.
    private(set) var isDirect: Bool
    /// Is told what the bus does, and not of any key.
    var isTracer = false
    /// Its place in its session's list.
    var place: Int32 = 0
    /// What it asked to be spared; nil for nearly all.
    let filter: Filter?
    /// What it is owed, while it is owed anything or has to wait.
    private(set) var backlog: Backlog?

    /// The keys that it names exactly.
    var keys = List<ExactPlace>()
    /// The ends of its patterns in the tree.
    var patterns: [PatternPlace] = []

    init(
        session: SessionHandle,
        text: TextHandle,
        serial: UInt64,
        kind: EventKind,
        options: RequestOptions,
        filter: Filter? = nil
    ) {
        self.session = session
        self.text = text
        self.serial = serial
        self.kind = kind
        delivery = options.delivery
        phase = options.phase
        acknowledges = options.acknowledges
        self.filter = filter
        isDirect = filter == nil
    }

    /// Observers are told by phase, and within one in the order in which they came.
    var rank: (UInt8, UInt64) { (phase, serial) }

    /// Makes sure that there is a place for what is owed.
    mutating func makeBacklog() -> Backlog {
        if let backlog { return backlog }
        let made = Backlog()
        (backlog, isDirect) = (made, false)
        return made
    }

    /// Frees the backlog. The hub has taken its keys out before.
    mutating func releaseBacklog() {
        backlog = nil
        isDirect = filter == nil
    }

    /// An event about a key may be told at once.
    func isFree(_ keyHash: UInt64) -> Bool {
        backlog?.isFree(keyHash) ?? true
    }

    /// How an event comes to it now. Writes go by this, and `explain` and `trace` ask it.
    func way(of event: Event, _ keyHash: UInt64, isBehind: Bool) -> EventWay {
        !isBehind && isFree(keyHash) ? .direct : owedWay(of: event)
    }

    /// How an event comes to it that has to wait.
    func owedWay(of event: Event) -> EventWay { event != .emit && delivery == .latest ? .key : .line }

    /// How far it is. `isBehind`: its client is.
    func state(isBehind: Bool) -> ObserverState {
        if backlog?.isPaused == true { return .paused }
        return backlog?.isEmpty == false || isBehind ? .lagging : .live
    }

    /// Adds the first of its patterns that matches a key.
    func appendPattern(
        matching key: Span<UInt8>,
        _ keyspace: borrowing Keyspace,
        to buffer: inout ByteBuffer
    ) {
        for index in keys.indices where keyspace[keys[index].observable].key.isEqual(to: key) {
            return buffer.append(key)
        }
        for place in patterns {
            let start = buffer.count
            place.node.appendPattern(to: &buffer)
            if Pattern.matches(buffer.bytes[start...], key) { return }
            buffer.truncate(to: start)
        }
    }

    /// The keys and patterns that it observes.
    func allPatterns(_ keyspace: borrowing Keyspace) -> [[UInt8]] {
        let exact = keys.all.map { Array(keyspace[$0.observable].key) }
        return exact
            + patterns.map { place in
                var pattern = ByteBuffer()
                place.node.appendPattern(to: &pattern)
                return Array(pattern.bytes)
            }
    }

    /// Its entry in the observers of a key was moved.
    mutating func noteMoved(in observable: ObservableHandle, to index: Int) {
        for place in keys.indices where keys[place].observable == observable {
            keys[place].index = Int32(index)
            return
        }
    }

    /// Its entry at the end of a pattern was moved.
    mutating func noteMoved(in node: PatternNode<SubscriptionHandle>, to index: Int) {
        guard let place = patterns.firstIndex(where: { $0.node === node }) else { return }
        patterns[place].index = Int32(index)
    }
}

extension Subscription {
    /// What it says of itself.
    func checkInvariants() throws(BrokenInvariant) {
        let isPlain = backlog == nil && filter == nil
        try Invariants(of: "Subscription").agree("it is direct while nothing waits", isDirect, isPlain)
    }
}

/// A subscription as the observers of a key list it: with all that telling it an event needs, where
/// its session keeps up.
struct Recipient: BitwiseCopyable {
    let subscription: SubscriptionHandle
    let session: SessionHandle
    let text: TextHandle
    /// The same for all that are told an event in the same words: their text and their kind, as a
    /// number. Among those who observe now a slot is one text.
    let words: UInt64
    @inline(__always) var kind: EventKind { EventKind(rawValue: UInt8(truncatingIfNeeded: words)) }

    init(_ handle: SubscriptionHandle, _ subscription: borrowing Subscription) {
        self.subscription = handle
        session = subscription.session
        text = subscription.text
        words = UInt64(text.slot) << 8 | UInt64(subscription.kind.rawValue)
    }
}

/// Where a subscription stands among the observers of a key, so that it leaves without
/// a search: one key may have a hundred thousand of them.
struct ExactPlace: BitwiseCopyable {
    let observable: ObservableHandle
    var index: Int32
}

/// Where a subscription stands at the end of one of its patterns.
struct PatternPlace {
    let node: PatternNode<SubscriptionHandle>
    var index: Int32
}

/// How an event comes to an observer.
enum EventWay {
    /// At once.
    case direct
    /// Later, as the newest of its key.
    case key
    /// Later, in a line of its own.
    case line
}
