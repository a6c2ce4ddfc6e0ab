// The fields of a line that few requests have, beside the request rather than in it, so
// that the request stays small. The decoder owns them. Their ranges are places in the line,
// as in the request.

/// What a request has beyond the most common fields. Fields that weren't given have their
/// defaults.
public struct RequestOptions: Sendable {
    /// The decoded text of `name`.
    public var name = ByteRange.none
    /// The decoded text of `after`.
    public var after = ByteRange.none
    /// The decoded text of `about`.
    public var about = ByteRange.none
    /// The decoded text of `call`.
    public var call = ByteRange.none
    /// The JSON of `fields`, an array, unchanged.
    public var fields = ByteRange.none
    /// The JSON of `where`, an object, unchanged.
    public var condition = ByteRange.none
    /// The decoded text of `code` in `error`: a word in lower case.
    public var errorCode = ByteRange.none
    /// The `message` in `error` as JSON, including quotes, unchanged.
    public var errorMessage = ByteRange.none
    public var delivery = Delivery.latest
    public var initial = true
    public var old = false
    public var values = true
    /// `diff`.
    public var differences = false
    /// `ack`.
    public var acknowledges = false
    /// 0 to 9.
    public var phase: UInt8 = 5
    /// The milliseconds of `every`; 0 if it was not given.
    public var every: UInt32 = 0
    /// The milliseconds of `timeout`.
    public var timeout = UInt32(Limits.timeoutDefault)
    /// The `limit` of `keys` and `why`. The default is that of `keys`.
    public var limit = Limits.pageKeysDefault
    /// The number of lines that `step` allows.
    public var count = 1
    /// The number of another client; 0 if none was given.
    public var client: UInt64 = 0
    /// The revision that `ack` acknowledges.
    public var revision: UInt64 = 0
    /// The revision up to which an observer already knows its keys.
    public var since: UInt64 = 0
    /// The decoded text of `epoch`.
    public var epoch = ByteRange.none

    public init() {}
}

/// What happens to the updates that wait for a subscription.
public enum Delivery: UInt8, CaseIterable, Sendable {
    /// Only the newest of each key is kept.
    case latest
    /// All are kept, in order.
    case all

    /// How it is spelled.
    public var name: StaticString {
        switch self {
        case .latest: "latest"
        case .all: "all"
        }
    }
}
