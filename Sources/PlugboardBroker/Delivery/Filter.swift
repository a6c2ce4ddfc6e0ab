// What an observer wants to be told: values that match, parts that it names, or only differences. Few
// subscriptions have a filter. Owned by its subscription, and exists as long. What it decides follows from
// two values.

import PlugboardMemory
import PlugboardWire

/// The filter of a subscription with `where`, `fields` or `diff`.
final class Filter {
    /// `where`.
    let conditions: Conditions?
    /// `fields`.
    let parts: JSONPointerSet?
    /// `diff`.
    let tellsDifferences: Bool
    let hasConditions: Bool
    let hasParts: Bool
    /// Whether what is told depends on the value before, and not only on whether it matched.
    var tellsChanges: Bool { hasParts || tellsDifferences }
    /// Values up to this revision may not have been sent, because there were no initial values or there was a
    /// gap.
    var unsentRevision: UInt64
    /// Values up to this revision may have been hidden, because rights have changed since.
    private(set) var hiddenRevision: UInt64 = 0
    /// The text of `where` and `fields`.
    private let text: [UInt8]
    /// Different texts nearly always have different ones.
    private let hash: UInt64

    /// The filter of the `subscribe` that was just decoded; nil if it has none. `revision` is that of the
    /// bus.
    init?(
        _ decoder: borrowing RequestDecoder,
        _ line: Span<UInt8>,
        revision: UInt64
    ) {
        let options = decoder.options
        guard decoder.conditions != nil || decoder.parts != nil || options.differences else { return nil }
        (conditions, parts) = (decoder.conditions, decoder.parts)
        tellsDifferences = options.differences
        (hasConditions, hasParts) = (conditions != nil, parts != nil)
        unsentRevision = options.initial ? 0 : revision
        // JSON text has no zero byte, so the two texts can't be confused with others.
        text = Array(options.condition.bytes(of: line)) + [0] + Array(options.fields.bytes(of: line))
        hash = text.seededHash
    }

    /// The least that a question to a filter costs.
    static let stepsMin = 4

    /// About how many bytes it takes up.
    var bytes: Int { text.count }

    /// About how much it costs at most to compare a value of so many bytes with it, in observers told: a step
    /// for every two bytes of its text, and for every sixteen bytes of the value, or every eight with `diff`.
    func steps(for valueCount: Int) -> Int {
        Self.stepsMin + text.count / 2 + valueCount / (tellsDifferences ? 8 : 16)
    }

    // To ask the parts of a filter here, and not a copy of them, spares a dozen reference counts for each answer.

    /// Whether a value meets the conditions. `isFormer` means that it is the one before the event.
    func accepts(_ value: Span<UInt8>, isFormer: Bool = false, using comparer: inout JSONComparer) -> Bool {
        conditions?.hold(for: value, isFormer: isFormer, using: &comparer) ?? true
    }

    /// Whether one of the named parts has changed. False if none is named.
    func haveChanged(from old: Span<UInt8>, to value: Span<UInt8>, using comparer: inout JSONComparer) -> Bool
    {
        parts?.haveChanged(from: old, to: value, using: &comparer) ?? false
    }

    /// Adds the named parts that have changed. Returns false if there are none.
    func appendChanges(
        from old: Span<UInt8>,
        to value: Span<UInt8>,
        into buffer: inout ByteBuffer,
        using comparer: inout JSONComparer
    ) -> Bool {
        parts?.appendChanges(from: old, to: value, into: &buffer, using: &comparer) ?? false
    }

    /// From now on, its observer may see other keys than up to this revision.
    func noteHidden(upTo revision: UInt64) {
        hiddenRevision = revision
        unsentRevision = max(unsentRevision, revision)
    }

    /// Whether another filter is the same, word for word.
    @inline(__always)
    func asksTheSame(as other: Filter) -> Bool {
        self === other
            || hash == other.hash && tellsDifferences == other.tellsDifferences && text == other.text
    }
}

/// What an observer is told of an event.
enum Telling {
    /// Nothing, because of its filter.
    case nothing
    /// The event as it is.
    case event
    /// That the value doesn't match any more.
    case leaving
    /// Parts of the value, or a patch.
    case change
}

/// The result for the event or owed value that was judged last. The next observer with the same filter is
/// told the same.
struct Judgement {
    /// The event's number in the turn's log; for an owed value, its revision.
    private var number: UInt64 = 0
    /// For an owed value, the value before. It also identifies the key.
    private var held: HeldBytes?
    private var filter: Filter?
    private var wasSent = false
    private var telling = Telling.nothing

    init() {}

    /// The known result for a filter; nil if there is none.
    @inline(__always)
    func telling(_ number: UInt64, since held: HeldBytes?, wasSent: Bool, _ filter: Filter) -> Telling? {
        guard self.number == number, self.held === held, self.wasSent == wasSent, let judged = self.filter,
            filter.asksTheSame(as: judged)
        else { return nil }
        return telling
    }

    /// Keeps a result. The piece of a `change` stays in `Judge`.
    mutating func keep(
        _ telling: Telling,
        _ number: UInt64,
        since held: HeldBytes?,
        wasSent: Bool,
        _ filter: Filter
    ) {
        (self.number, self.wasSent, self.telling) = (number, wasSent, telling)
        (self.held, self.filter) = (held, filter)
    }

    /// The piece is about to be overwritten.
    mutating func forget() { (number, held) = (0, nil) }
}
