// What one client asked to be told. Lives in memory of its own from its `subscribe`
// to its `unsubscribe` or the end of its session, which owns it.

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
    @inline(__always) var bit: UInt8 { 1 << rawValue }
}

/// One subscription of one session.
struct Subscription: ~Copyable {
    let session: SessionReference
    /// Grows with each subscription of the bus: observers are told in this order.
    let serial: UInt64
    let kind: EventKind
    /// Identifies `sub` within its session.
    let identity: UInt64
    /// `{"event":"update","sub":…`, ready to be copied.
    private let start: UnsafeMutableRawBufferPointer
    private static let subOffset = 24

    /// Its place in its session's list.
    var place = 0
    /// Another subscription of the session with the same identity hash, if ever.
    var nextTwin: SubscriptionReference?
    /// The keys that it names exactly.
    var keys = List<ObservableReference>()
    /// The ends of its patterns in the tree.
    var patterns = List<Unmanaged<PatternNode>>()

    init(
        session: SessionReference,
        sub: UnsafeRawBufferPointer,
        identity: UInt64,
        serial: UInt64,
        kind: EventKind
    ) {
        self.session = session
        self.serial = serial
        self.kind = kind
        self.identity = identity
        var buffer = ByteBuffer()
        EventEncoder.appendUpdateStart(sub: sub, to: &buffer)
        start = .allocate(byteCount: buffer.count, alignment: 1)
        start.copyMemory(from: buffer.bytes)
    }

    deinit {
        start.deallocate()
    }

    /// The start of an update's line.
    @inline(__always) var updateStart: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start) }

    /// The JSON of its `sub`.
    var sub: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: start[Self.subOffset...])
    }
}
