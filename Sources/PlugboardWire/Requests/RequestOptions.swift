// Fields that few requests have. They are not in the request, so that it stays small. The decoder owns
// them. As in the request, ranges are places in the line.

/// What a request has besides the most common fields. A field that wasn't given has its default.
public struct RequestOptions: Sendable {
    /// The decoded text of `name`.
    public var name = ByteRange.none
    /// The decoded text of `after`.
    public var after = ByteRange.none
    /// The decoded text of `about`.
    public var about = ByteRange.none
    /// The decoded text of `call`.
    public var call = ByteRange.none
    /// The JSON of `fields`, an array, as written.
    public var fields = ByteRange.none
    /// The JSON of `where`, an object, as written.
    public var condition = ByteRange.none
    /// The decoded text of `code` in `error`: a word in lower case.
    public var errorCode = ByteRange.none
    /// The JSON of `message` in `error`, with quotes, as written.
    public var errorMessage = ByteRange.none
    public var delivery = DeliveryMode.latest
    public var initial = true
    public var old = false
    public var values = true
    public var when = false
    /// `diff`.
    public var differences = false
    /// `ack`.
    public var acknowledges = false
    /// `only`: a trace tells nothing of writes.
    public var onlyCalls = false
    /// The milliseconds in `grace`; 0 if it wasn't given.
    public var grace: UInt64 = 0
    /// `spare`: a server that waits in line if another serves.
    public var isSpare = false
    /// 0 to 9.
    public var phase: UInt8 = 5
    /// The milliseconds in `every`; 0 if it wasn't given.
    public var every: UInt32 = 0
    /// The milliseconds in `timeout`.
    public var timeout = UInt32(Limits.timeoutDefault)
    /// The `limit` of `keys` and `why`. The default is that of `keys`.
    public var limit = Limits.pageKeysDefault
    /// How many lines `step` allows.
    public var count = 1
    /// The number of another client; 0 if it wasn't given.
    public var client: UInt64 = 0
    /// The revision that `ack` acknowledges, and its place.
    public var revision: UInt64 = 0
    public var revisionStart = 0
    /// The revision up to which the observer knows everything.
    public var since: UInt64 = 0
    /// The revision from which on emits are counted.
    public var emits: UInt64 = 0
    /// The decoded text of `epoch`.
    public var epoch = ByteRange.none

    public init() {}
}

/// What happens to updates that wait for a subscription.
public enum DeliveryMode: UInt8, CaseIterable, Sendable {
    /// The newest of each key is kept.
    case latest
    /// All are kept, in order.
    case all

    public var name: StaticString {
        switch self {
        case .latest: "latest"
        case .all: "all"
        }
    }
}
