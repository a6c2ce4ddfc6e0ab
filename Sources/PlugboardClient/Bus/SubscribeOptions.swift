// What a subscription asks for, and in which form, and the requests that are made from options and
// writes. The broker checks the options. A request names only those that differ from the protocol's
// defaults.

import PlugboardWire

/// The options of a subscription. The defaults are the protocol's.
///
/// ```swift
/// let bargains = SubscribeOptions(
///     where: [Part("/price") < 100, Part("/brand").isOne(of: ["Nokia", "Siemens"])],
///     fields: ["/price", "/stock"]
/// )
/// ```
public struct SubscribeOptions: Sendable, Equatable {
    /// What happens to events that have to wait, because of a slow reader, a pause, `every` or an earlier
    /// phase.
    public enum Delivery: Sendable, Equatable {
        /// The newest event of each key comes. `Event.skipped` counts those that it replaces.
        case latest
        /// Every event comes, as long as the broker has room for it or has it in the journal. Otherwise a
        /// `lagged` comes. Then the newest values of some keys may be missing: to get them, subscribe anew
        /// with its ``Event/place`` as ``SubscribeOptions/since``.
        case all
    }

    /// Whether the current values come first. `synced` ends them.
    public var initial: Bool
    /// Whether `update` and `delete` carry the previous value.
    public var old: Bool
    /// Whether events have values, or only say which keys changed. Only one of `fields`, `diff` and
    /// `values: false` is allowed; the broker refuses two.
    public var values: Bool
    /// Whether events say when the write was made, to the second.
    public var when: Bool
    /// The conditions that a value must meet; all must hold. When a value that met them no longer does, a
    /// `leave` comes.
    public var `where`: [Condition]
    /// JSON Pointers (RFC 6901) of the parts to send. When one of them changes, the event has it in
    /// `Event.fields` or `Event.gone`. If this is empty, events have whole values.
    public var fields: [String]
    /// Whether the broker sends what changed in a value instead of the value. That saves bytes if large
    /// values change a little. `Event.value` is the whole value all the same, which the library puts
    /// together, and `Event.patch` is what changed. The library keeps all these values in memory.
    public var diff: Bool
    public var delivery: Delivery
    /// A time in which at most one event comes for each key, with its newest value. The last value always
    /// comes. From a millisecond (rounded up to whole ones) to a day. Nil: every change at once.
    public var every: Duration?
    /// The phase, 0 to 9. Observers of a lower phase that acknowledge get an event first.
    public var phase: Int
    /// Whether observers of later phases wait until this one has handled an event, at most for a second.
    /// The library acknowledges by itself: when the callback has returned, or when the loop asks for the
    /// next event. A batch is acknowledged when all of its events that came together are handled.
    public var acknowledges: Bool
    /// Whether the subscription remembers keys. Then each key that was deleted while the connection was
    /// down comes as a `delete` with `isInitial` after the reconnection. With `where` it comes as a
    /// `leave`, because the key may still exist and only not match. This costs some hundred bytes for
    /// each key. Without it, and without `initial`, missed events come only if the broker still knows
    /// them.
    public var noticesDeletes: Bool
    /// How many bytes of events may wait for a `for await` loop, or for their turn with
    /// `subscribe(inOrder:)`. If there are more, the subscription ends with `unreadFull`.
    public var unreadBytesMax: Int
    /// Whether a `for await` loop that is behind holds the bus back: from when more than half of
    /// `unreadBytesMax` waits until at most a quarter does, the bus reads nothing from the broker. The broker
    /// then treats this client as any slow reader, as `delivery` says, and the loop doesn't end because of
    /// it. Meanwhile everything else of the bus waits, too: other subscriptions, remote observables, and
    /// calls that it serves. So a loop mustn't wait for these. It may wait for replies: then the bus reads
    /// on. But a reply comes after all that the broker owes, which may be too much and end the loop with
    /// `unreadFull`. Callbacks hold the bus back in any case, and `subscribe(inOrder:)` never does.
    public var holdsBack: Bool
    /// The ``Event/place`` up to which the program has handled everything, perhaps in an earlier process.
    /// The broker then sends what was missed, marked `isMissed`, instead of the current values: with
    /// `delivery: .all` and a journal every update, otherwise the newest of each key. It sends no emits. If
    /// it no longer knows what was missed, the current values come, marked `isInitial`.
    public var since: Place?
    /// Whether emits are counted that come while the program is away: with a ``since`` that has
    /// ``Place/emits``, and after a broken connection. See ``Event/missedEmits``.
    public var countsEmits: Bool

    public init(
        initial: Bool = true,
        old: Bool = false,
        values: Bool = true,
        when: Bool = false,
        where conditions: [Condition] = [],
        fields: [String] = [],
        diff: Bool = false,
        delivery: Delivery = .latest,
        every: Duration? = nil,
        phase: Int = 5,
        acknowledges: Bool = false,
        noticesDeletes: Bool = true,
        unreadBytesMax: Int = ClientLimits.unreadBytesMax,
        holdsBack: Bool = false,
        since: Place? = nil,
        countsEmits: Bool = false
    ) {
        self.initial = initial
        self.old = old
        self.values = values
        self.when = when
        self.where = conditions
        self.fields = fields
        self.diff = diff
        self.delivery = delivery
        self.every = every
        self.phase = phase
        self.acknowledges = acknowledges
        self.noticesDeletes = noticesDeletes
        self.unreadBytesMax = unreadBytesMax
        self.holdsBack = holdsBack
        self.since = since
        self.countsEmits = countsEmits
    }
}

extension ObjectWriter {
    static func trace(_ patterns: [String], sub: Int) -> ObjectWriter {
        ObjectWriter(op: "trace").adding("keys", strings: patterns).adding("sub", sub)
    }

    static func subscribe(_ patterns: [String], sub: Int, _ options: SubscribeOptions) -> ObjectWriter {
        let (conditions, fields) = (options.where, options.fields)
        return ObjectWriter(op: "subscribe").adding("keys", strings: patterns).adding("sub", sub)
            .adding("initial", options.initial, unless: true)
            .adding("old", options.old, unless: false)
            .adding("values", options.values, unless: true)
            .adding("when", options.when, unless: false)
            .adding("where", json: conditions.isEmpty ? nil : JSON.conditions(conditions).bytes)
            .adding("fields", json: fields.isEmpty ? nil : JSON.array(fields.map { .string($0) }).bytes)
            .adding("diff", options.diff, unless: false)
            .adding("delivery", string: options.delivery == .all ? "all" : nil)
            .adding("every", options.every?.milliseconds)
            .adding("phase", options.phase == 5 ? nil : options.phase)
            .adding("ack", options.acknowledges, unless: false)
    }

    /// A request, or the write of a batch.
    init(_ write: Write) {
        self = ObjectWriter(op: "\(write.operation)").adding("key", string: write.key)
            .adding("value", json: write.value?.bytes).adding("field", string: write.field)
            .adding("if", write.ifRevision)
            .adding("cause", write.cause)
            .adding("origin", string: write.origin)
            .adding("while", string: write.lifetime == .connected ? "connected" : nil)
            .adding("ttl", write.ttl?.milliseconds)
    }

    static func batch(_ writes: [Write]) -> ObjectWriter {
        ObjectWriter(op: "batch").adding("writes", json: array(writes.map { ObjectWriter($0).bytes }))
    }
}

extension Duration {
    /// Whole milliseconds, rounded up; 0 for a negative duration, and more than the broker takes for one that is too
    /// long.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, rest) = (attoseconds / 1_000_000_000).quotientAndRemainder(dividingBy: 1_000_000)
        let (product, isTooLong) = Int(seconds).multipliedReportingOverflow(by: 1_000)
        return isTooLong ? .max : max(product, product &+ Int(whole) &+ (rest == 0 ? 0 : 1))
    }
}
