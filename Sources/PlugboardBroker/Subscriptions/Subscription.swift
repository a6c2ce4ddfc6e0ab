// What one client asked to be told. Lives in memory of its own from its `subscribe`
// to its `unsubscribe` or the end of its session, which owns it.

import PlugboardMemory
import PlugboardWire

typealias SubscriptionReference = UnsafeMutablePointer<Subscription>

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
    let session: SessionReference
    let text: SubscriptionTextReference
    /// Grows with each subscription of the bus: observers are told in this order.
    let serial: UInt64
    let kind: EventKind
    /// What becomes of events that have to wait.
    let delivery: Delivery
    /// Observers of an earlier phase are told first.
    let phase: UInt8
    /// Later phases wait until it has acknowledged.
    let acknowledges: Bool
    /// What it asked to be spared; nil for nearly all.
    let filter: Filter?
    /// Told at once and plainly, as nearly all are: nothing is owed, nothing stands in the way.
    private(set) var isDirect: Bool
    /// What it is owed, while it is owed anything or has to wait.
    private(set) var backlog: BacklogReference?

    /// Is told what the bus does, and not of any key.
    var isTracer = false
    /// Its place in its session's list.
    var place: Int32 = 0
    /// The keys that it names exactly.
    var keys = List<ExactPlace>()
    /// The ends of its patterns in the tree.
    var patterns = List<PatternPlace>()

    init(
        session: SessionReference,
        text: SubscriptionTextReference,
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

    /// Makes sure that there is a place for what is owed.
    mutating func makeBacklog() {
        guard backlog == nil else { return }
        let made = BacklogReference.allocate(capacity: 1)
        made.initialize(to: Backlog())
        backlog = made
        isDirect = false
    }

    /// Gives that place up when nothing is owed and nothing has to wait.
    mutating func dropEmptyBacklog() {
        guard let backlog, !backlog.pointee.isNeeded else { return }
        releaseBacklog()
    }

    /// Frees the backlog. The hub has taken its keys out before.
    mutating func releaseBacklog() {
        backlog?.deinitialize(count: 1)
        backlog?.deallocate()
        backlog = nil
        isDirect = filter == nil
    }

    /// An event about a key may be told at once.
    func isFree(_ keyHash: UInt64) -> Bool {
        guard let backlog else { return true }
        if let window = backlog.pointee.window, window.holds(keyHash) { return false }
        return backlog.pointee.isEmpty && !backlog.pointee.isPaused && !backlog.pointee.awaitsReply
    }

    /// Adds the first of its patterns that matches a key.
    func appendPattern(matching key: Span<UInt8>, to buffer: inout ByteBuffer) {
        for place in keys.elements where place.observable.pointee.key.isEqual(to: key) {
            return buffer.append(key)
        }
        for place in patterns.elements {
            let start = buffer.count
            place.node._withUnsafeGuaranteedRef { $0.appendPattern(to: &buffer) }
            if Pattern.matches(buffer.bytes[start...], key) { return }
            buffer.truncate(to: start)
        }
    }

    /// Its entry in the observers of a key was moved.
    mutating func noteMoved(in observable: ObservableReference, to index: Int) {
        let places = keys.mutableElements
        guard let place = places.firstIndex(where: { $0.observable == observable }) else { return }
        places[place].index = Int32(index)
    }

    /// Its entry at the end of a pattern was moved.
    mutating func noteMoved(in node: PatternNode, to index: Int) {
        let identity = ObjectIdentifier(node)
        let places = patterns.mutableElements
        guard let place = places.firstIndex(where: { $0.identity == identity }) else { return }
        places[place].index = Int32(index)
    }
}

/// Where a subscription stands among the observers of a key, so that it leaves without
/// a search: one key may have a hundred thousand of them.
struct ExactPlace: BitwiseCopyable {
    let observable: ObservableReference
    var index: Int32
}

/// Where a subscription stands at the end of one of its patterns.
struct PatternPlace: BitwiseCopyable {
    let node: Unmanaged<PatternNode>
    var index: Int32

    var identity: ObjectIdentifier { node._withUnsafeGuaranteedRef { ObjectIdentifier($0) } }
}
