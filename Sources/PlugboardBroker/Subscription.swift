// What one client asked to be told. Lives in memory of its own from its `subscribe`
// to its `unsubscribe` or the end of its session, which owns it.

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

    /// Its place in its session's list.
    var place: Int32 = 0
    /// The keys that it names exactly.
    var keys = List<ObservableReference>()
    /// The ends of its patterns in the tree.
    var patterns = List<Unmanaged<PatternNode>>()

    init(session: SessionReference, text: SubscriptionTextReference, serial: UInt64, kind: EventKind) {
        self.session = session
        self.text = text
        self.serial = serial
        self.kind = kind
    }
}
