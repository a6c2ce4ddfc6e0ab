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
    /// What is known of the last value that was compared.
    var shape = KnownShape()
    /// The text of `where` and `fields`.
    private let text: [UInt8]
    /// Different texts nearly always have different ones.
    let hash: UInt64

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

    /// Adds the named parts that have changed. Returns false if there are none. `isNext` means that the new value has
    /// the known shape.
    func appendChanges(
        from old: Span<UInt8>,
        to value: Span<UInt8>,
        isNext: Bool,
        into buffer: inout ByteBuffer,
        using comparer: inout JSONComparer
    ) -> Bool {
        if isNext, let places = shape.parts {
            return parts?.appendChanges(from: old, to: value, at: places, into: &buffer, using: &comparer)
                ?? false
        }
        return parts?.appendChanges(from: old, to: value, into: &buffer, using: &comparer) ?? false
    }

    /// Finds out where its parts are in the value of an update, for the next one of the same shape. Returns whether it
    /// had to search.
    func learn(_ value: Span<UInt8>, of key: JudgedKey, _ comparer: inout JSONComparer) -> Bool {
        let pointers = max(conditions?.pointers.count ?? 0, parts?.count ?? 0)
        guard pointers <= KnownPlaces.pointersMax, shape.mayLearn(key) else { return false }
        shape = KnownShape(
            isIn: accepts(value, using: &comparer),
            conditions: conditions.flatMap { KnownPlaces(of: $0.pointers, in: value) },
            parts: parts.flatMap { KnownPlaces(of: $0, in: value) }
        )
        shape.note(key)
        return pointers > 0
    }

    /// Whether the next value of the known shape meets the conditions. If the parts that they ask about are the same,
    /// they needn't be asked.
    func acceptsNext(_ value: Span<UInt8>, after old: Span<UInt8>, _ comparer: inout JSONComparer) -> Bool {
        guard let places = shape.conditions, !places.areSame(old, value) else { return shape.isIn }
        return conditions?.hold(for: value, at: places, using: &comparer) ?? true
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

extension Filter {
    private static var always: Invariants { Invariants(of: "Filter") }

    /// What it knows of a key's present value is so.
    func checkInvariants(_ keyspace: borrowing Keyspace) throws(BrokenInvariant) {
        guard keyspace.contains(shape.observable), keyspace[shape.observable].revision == shape.revision
        else {
            return
        }
        var comparer = JSONComparer()
        let value = keyspace.value(of: shape.observable)
        let isIn = accepts(value, using: &comparer)
        try Self.always.agree("it knows whether the value meets its conditions", shape.isIn, isIn)
        let asked = conditions.flatMap { KnownPlaces(of: $0.pointers, in: value) }
        let named = parts.flatMap { KnownPlaces(of: $0, in: value) }
        try Self.always.hold("it knows where the parts are", Self.areSame(shape.conditions, asked))
        try Self.always.hold("it knows where the parts are", Self.areSame(shape.parts, named))
    }

    private static func areSame(_ known: KnownPlaces?, _ found: KnownPlaces?) -> Bool {
        guard let known, let found else { return known == nil && found == nil }
        return known.agree(with: found)
    }
}
