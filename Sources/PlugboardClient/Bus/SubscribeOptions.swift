// What a subscription asks for, and how.

/// Options of a subscription; the defaults are the protocol's.
///
/// ```swift
/// let bargains = SubscribeOptions(
///     where: [Part("/price") < 100, Part("/brand").isOne(of: ["Nokia", "Siemens"])],
///     fields: ["/price", "/stock"]
/// )
/// ```
public struct SubscribeOptions: Sendable, Equatable {
    /// What happens to events that have to wait: for a slow reader, a pause, `every` or an earlier
    /// phase.
    public enum Delivery: Sendable, Equatable {
        /// The newest of each key comes. `Event.skipped` counts the ones it replaces.
        case latest
        /// Every event comes, as long as the broker has room for it, or has it in the journal. A
        /// gap comes as `lagged`.
        case all
    }

    /// Whether the current values come first, ended by `synced`.
    public var initial: Bool
    /// Whether `update` and `delete` carry the previous value.
    public var old: Bool
    /// Whether values come at all, or only the keys that changed. `fields`, `diff` and false here
    /// exclude each other: two of them are refused.
    public var values: Bool
    /// The conditions that a value must meet to come: all of them. When a value that matched no
    /// longer does, a `leave` comes.
    public var `where`: [Condition]
    /// JSON Pointers (RFC 6901) of the wanted parts. They come in `Event.fields` and `Event.gone`
    /// when one of them changed. If it is empty, whole values come.
    public var fields: [String]
    /// Whether the broker sends what changed in a value instead of the value. That saves bytes if
    /// large values change a little. `Event.value` is the whole value all the same, put together
    /// here, and `Event.patch` is what changed. It costs the memory for all those values.
    public var diff: Bool
    public var delivery: Delivery
    /// The time in which a key comes at most once, with its newest value. The last value always
    /// comes. From a millisecond (it is rounded up to whole ones) to a day; nil: every change at
    /// once.
    public var every: Duration?
    /// The phase, 0 to 9: acknowledging observers of a lower phase get an event first.
    public var phase: Int
    /// Whether observers of later phases wait until this one has handled an update, for a second at
    /// most. The library acknowledges by itself: when the callback has returned, or the loop asks
    /// for the next event. A batch is acknowledged when all of its events that came together are
    /// handled.
    public var acknowledges: Bool
    /// Whether the subscription remembers keys. Then each key that was deleted while the connection
    /// was down comes as a `delete` with `isInitial` once it is back (with `where` as a `leave`,
    /// because the key may still exist and only not match). It costs some hundred bytes for each
    /// key. Without it, and without `initial`, missed events come as far as the broker still knows
    /// them.
    public var noticesDeletes: Bool
    /// Bytes of events that may wait for a `for await` loop; then the loop throws.
    public var unreadBytesMax: Int

    public init(
        initial: Bool = true,
        old: Bool = false,
        values: Bool = true,
        where conditions: [Condition] = [],
        fields: [String] = [],
        diff: Bool = false,
        delivery: Delivery = .latest,
        every: Duration? = nil,
        phase: Int = 5,
        acknowledges: Bool = false,
        noticesDeletes: Bool = true,
        unreadBytesMax: Int = ClientLimits.unreadBytesMax
    ) {
        self.initial = initial
        self.old = old
        self.values = values
        self.where = conditions
        self.fields = fields
        self.diff = diff
        self.delivery = delivery
        self.every = every
        self.phase = phase
        self.acknowledges = acknowledges
        self.noticesDeletes = noticesDeletes
        self.unreadBytesMax = unreadBytesMax
    }
}

extension RequestBody {
    static func trace(_ patterns: [String], sub: Int) -> RequestBody {
        var body = RequestBody("trace")
        body.add(",\"keys\":", json: .array(patterns.map { .string($0) }))
        body.add(",\"sub\":", integer: sub)
        return body
    }

    static func subscribe(_ patterns: [String], sub: Int, _ options: SubscribeOptions) -> RequestBody {
        var body = RequestBody("subscribe")
        body.add(",\"keys\":", json: .array(patterns.map { .string($0) }))
        body.add(",\"sub\":", integer: sub)
        if !options.initial { body.append(",\"initial\":false") }
        if options.old { body.append(",\"old\":true") }
        if !options.values { body.append(",\"values\":false") }
        if !options.where.isEmpty { body.add(",\"where\":", json: .conditions(options.where)) }
        if !options.fields.isEmpty {
            body.add(",\"fields\":", json: .array(options.fields.map { .string($0) }))
        }
        if options.diff { body.append(",\"diff\":true") }
        if options.delivery == .all { body.append(",\"delivery\":\"all\"") }
        if let every = options.every { body.add(",\"every\":", integer: every.milliseconds) }
        if options.phase != 5 { body.add(",\"phase\":", integer: options.phase) }
        if options.acknowledges { body.append(",\"ack\":true") }
        return body
    }
}

extension Duration {
    /// Whole milliseconds, rounded up; 0 for a negative duration.
    var milliseconds: Int {
        Int(nanoseconds / 1_000_000) + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
    }
}
