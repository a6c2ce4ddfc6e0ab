// What one client wants to be told. Exists from its `subscribe` to its `unsubscribe` or the end of its
// session. Owned by `Matching`; observers' lists and the session hold its handle.

import PlugboardMemory
import PlugboardWire

typealias SubscriptionHandle = Handle<SubscriptionRecord>

/// The form of a subscription's events. All events of one kind share the encoded bytes.
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
struct SubscriptionRecord: ~Copyable {
    let session: SessionHandle
    let text: TextHandle
    /// Grows with each subscription of the bus. Within a phase, observers are told in this order.
    let serial: UInt64
    let kind: EventKind
    /// What happens to events that have to wait.
    let delivery: DeliveryMode
    /// Observers of earlier phases are told first.
    let phase: UInt8
    /// What it does besides observing.
    enum Role: UInt8 { case observes, acknowledges, traces }
    var role = Role.observes
    /// Its place in its session's list.
    var place: Int32 = 0
    /// Its filter; nil for nearly all.
    let filter: Filter?
    /// Its backlog, while it is owed anything or has to wait.
    private(set) var backlog: Backlog?

    /// The keys that it names exactly.
    var keys = List<ExactPlace>()
    /// The places of its patterns in the tree.
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
        if options.acknowledges { role = .acknowledges }
        self.filter = filter
    }

    /// Later phases wait for its acknowledgement.
    var acknowledges: Bool { role == .acknowledges }

    /// It gets traces instead of the events of keys.
    var isTracer: Bool { role == .traces }

    /// Without a filter and a backlog, as nearly all are. So it is told at once.
    @inline(__always) var isDirect: Bool { filter == nil && backlog == nil }

    /// Observers are told by phase, and within a phase by age.
    var rank: (UInt8, UInt64) { (phase, serial) }

    /// The backlog; makes it if there is none.
    mutating func makeBacklog() -> Backlog {
        if let backlog { return backlog }
        let made = Backlog()
        backlog = made
        return made
    }

    /// Renews a key that is owed at this place already, if only its revision changes. Otherwise returns false.
    /// Not inlined: so the backlog isn't retained.
    @inline(never)
    borrowing func renew(
        _ observable: ObservableHandle,
        at place: OwedKeys.Place,
        revision: UInt64,
        event: UInt64
    ) -> Bool {
        backlog?.renew(observable, at: place, revision: revision, event: event) ?? false
    }

    /// Frees the backlog, whose keys the hub has removed before.
    mutating func releaseBacklog() { backlog = nil }

    /// Whether an event of this key may be sent at once.
    func isFree(_ keyHash: UInt64) -> Bool {
        backlog?.isFree(keyHash) ?? true
    }

    /// How an event reaches it now. Writes follow this, and `explain` and `trace` ask it.
    func way(of event: KeyEvent, _ keyHash: UInt64, isBehind: Bool) -> EventWay {
        !isBehind && isFree(keyHash) ? .direct : owedWay(of: event)
    }

    /// How an event that has to wait reaches it.
    func owedWay(of event: KeyEvent) -> EventWay { event != .emit && delivery == .latest ? .key : .line }

    /// Its state as replies show it. `isBehind` says whether its client is behind.
    func state(isBehind: Bool) -> ObserverState {
        if backlog?.isPaused == true { return .paused }
        return backlog?.isEmpty == false || isBehind ? .lagging : .live
    }

    /// Appends its first pattern that matches a key.
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

    /// Its entry among the observers of a key has moved.
    mutating func noteMoved(in observable: ObservableHandle, to index: Int) {
        for place in keys.indices where keys[place].observable == observable {
            keys[place].index = Int32(index)
            return
        }
    }

    /// Its entry at the end of a pattern has moved.
    mutating func noteMoved(in node: PatternNode<SubscriptionHandle>, to index: Int) {
        guard let place = patterns.firstIndex(where: { $0.node === node }) else { return }
        patterns[place].index = Int32(index)
    }
}

/// A subscription in a key's list of observers, with all that is needed to tell it an event if its session
/// keeps up.
struct Recipient: BitwiseCopyable {
    let subscription: SubscriptionHandle
    let session: SessionHandle
    let text: TextHandle
    /// Text and kind as one number: equal for all that are told an event by the same line. At any time, a
    /// slot belongs to one text.
    let words: UInt64
    @inline(__always) var kind: EventKind { EventKind(rawValue: UInt8(truncatingIfNeeded: words)) }

    init(_ handle: SubscriptionHandle, _ subscription: borrowing SubscriptionRecord) {
        self.subscription = handle
        session = subscription.session
        text = subscription.text
        words = Self.words(text, subscription.kind)
    }

    @inline(__always)
    static func words(_ text: TextHandle, _ kind: EventKind) -> UInt64 {
        UInt64(text.slot) << 8 | UInt64(kind.rawValue)
    }
}

/// The place of a subscription among the observers of a key. With it, leaving needs no search: one key may
/// have a hundred thousand observers.
struct ExactPlace: BitwiseCopyable {
    let observable: ObservableHandle
    var index: Int32
}

/// The place of a subscription at the end of one of its patterns.
struct PatternPlace {
    let node: PatternNode<SubscriptionHandle>
    var index: Int32
}

/// How an event reaches an observer.
enum EventWay {
    /// At once.
    case direct
    /// Later, folded to the newest of its key.
    case key
    /// Later, as a line of its own.
    case line
}
