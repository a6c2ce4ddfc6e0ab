// What a subscription wants to be told, and how.

/// Options of a subscription; the defaults are the protocol's.
///
/// ```swift
/// let bargains = SubscribeOptions(
///     where: [Part("/price") < 100, Part("/brand").isOne(of: ["Nokia", "Siemens"])],
///     fields: ["/price", "/stock"]
/// )
/// ```
public struct SubscribeOptions: Sendable, Equatable {
    /// What becomes of events that have to wait: because they are read slowly, for a pause,
    /// for `every` or for an earlier phase.
    public enum Delivery: Sendable, Equatable {
        /// The newest of each key is told, with the number it stands for in `Event.skipped`.
        case latest
        /// Every one is, as many as the broker has room for, or its journal has; a gap is told as `lagged`.
        case all
    }

    /// Whether the current values come first, ended by `synced`.
    public var initial: Bool
    /// Whether `update` and `delete` carry the value before.
    public var old: Bool
    /// Whether values come at all, or only which key changed. That, `fields` and `diff` are
    /// three answers to one question: two of them are refused.
    public var values: Bool
    /// What must hold of a value to be told: all of it, or where it is empty, nothing. When a
    /// value that matched no longer does, that is a `leave`.
    public var `where`: [Condition]
    /// JSON Pointers (RFC 6901) of the parts to be told, in `Event.fields` and `Event.gone`, when
    /// one of them changed; where it is empty, whole values are.
    public var fields: [String]
    /// Whether the broker tells what changed in a value rather than the value: less to send
    /// where large values change a little. `Event.value` is the whole value all the same, put
    /// together here, and `Event.patch` what changed. Costs the memory for all those values.
    public var diff: Bool
    public var delivery: Delivery
    /// The time in which a key is told at most once, with its newest value; the last one
    /// always comes. From a millisecond, to which it is rounded up, to a day; nil: at once.
    public var every: Duration?
    /// When it is told, 0 to 9: observers of a lower phase that acknowledge come first.
    public var phase: Int
    /// Whether observers of later phases wait until this one has dealt with an update, for
    /// a second at most. The library says so by itself: when the callback has returned, or
    /// the loop asks for the next event. A batch counts as dealt with when all of it that
    /// came together is.
    public var acknowledges: Bool
    /// Whether keys are remembered, so that those deleted while the connection was down
    /// are told as `delete` with `isInitial` once it is back (with `where` as `leave`, since
    /// they may only match no more). Costs some hundred bytes for each key. Without it, and without
    /// `initial`, what happened meanwhile is told as far as the broker still knows it.
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
