// What an observer wants to be told: values that match, parts that it names, or only differences. Few
// subscriptions have a filter. Owned by its subscription, and exists as long. What it decides follows from
// two values.

import PlugboardMemory
import PlugboardWire

final class Filter {
    /// `where`.
    let conditions: Conditions?
    /// `fields`.
    let parts: JSONPointerSet?
    /// `diff`.
    let tellsDifferences: Bool
    var hasConditions: Bool { conditions != nil }
    var hasParts: Bool { parts != nil }
    /// Whether what is told depends on the value before, and not only on whether it matched.
    var tellsChanges: Bool { hasParts || tellsDifferences }
    /// Values up to this revision may not have been sent, because there were no initial values or there was a
    /// gap.
    var unsentRevision: UInt64
    /// Values up to this revision may have been hidden, because the observer has more rights since.
    private var hiddenRevision: UInt64 = 0
    private let text: [UInt8]
    /// Different texts nearly always have different ones.
    let hash: UInt64

    /// The filter of the `subscribe` that was just decoded; nil if it has none. `revision` is that of the
    /// bus.
    init?(_ decoder: borrowing RequestDecoder, _ line: Span<UInt8>, revision: UInt64) {
        let options = decoder.options
        guard decoder.conditions != nil || decoder.parts != nil || options.differences else { return nil }
        (conditions, parts) = (decoder.conditions, decoder.parts)
        tellsDifferences = options.differences
        unsentRevision = options.initial ? 0 : revision
        // JSON text has no zero byte, so the two texts can't be confused with others.
        text = Array(options.condition.bytes(of: line)) + [0] + Array(options.fields.bytes(of: line))
        hash = text.seededHash
    }

    /// The least that a question to a filter costs.
    static let stepsMin = 4

    var bytes: Int { text.count }

    /// About how much it costs at most to compare a value of so many bytes with it, in observers told: a step
    /// for every two bytes of its text, and for every sixteen bytes of the value, or every eight with `diff`. The value
    /// costs as much again for every four pointers: each of its members is looked for among them.
    func steps(for valueCount: Int) -> Int {
        let pointers = (conditions?.pointers.count ?? 0) + (parts?.count ?? 0)
        return Self.stepsMin + text.count / 2 + valueCount / (tellsDifferences ? 8 : 16) * (1 + pointers / 4)
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

    /// The same if the shape of the value is known.
    func appendChanges(
        from old: Span<UInt8>,
        to value: Span<UInt8>,
        _ shape: KnownShape,
        into buffer: inout ByteBuffer,
        using comparer: inout JSONComparer
    ) -> Bool {
        let isTold = parts?.appendChanges(
            from: old, to: value, at: shape.parts, into: &buffer, using: &comparer
        )
        return isTold == true
    }

    /// What there is to know of a value. Nil if its pointers are too many.
    func shape(of value: Span<UInt8>, _ comparer: inout JSONComparer) -> KnownShape? {
        let asked = conditions.map { KnownPlaces(of: $0.pointers, in: value) } ?? KnownPlaces()
        let named = parts.map { KnownPlaces(of: $0, in: value) } ?? KnownPlaces()
        guard let asked, let named else { return nil }
        let isIn = accepts(value, using: &comparer)
        return KnownShape(isIn: isIn, conditions: asked, parts: named)
    }

    /// Whether a value of a known shape meets the conditions. If the parts that they ask about are those of the value
    /// before, they needn't be asked.
    func accepts(
        _ value: Span<UInt8>, after old: Span<UInt8>, _ shape: KnownShape, _ comparer: inout JSONComparer
    ) -> Bool {
        if !hasConditions || shape.conditions.areSame(old, value) { return shape.isIn }
        return conditions?.hold(for: value, at: shape.conditions, using: &comparer) != false
    }

    /// Whether its pointers are few enough to know where their parts are.
    var mayKnowShapes: Bool {
        max(conditions?.pointers.count ?? 0, parts?.count ?? 0) <= KnownPlaces.pointersMax
    }

    /// From now on, its observer may see more keys than up to this revision.
    func hide(upTo revision: UInt64) { hiddenRevision = revision }

    /// Whether the observer may not know the value before an event, because it might not see the key then.
    @inline(__always)
    func mayHaveMissed(
        _ event: EventKind, of observable: ObservableHandle, _ keyspace: borrowing Keyspace
    ) -> Bool {
        hiddenRevision > 0 && event != .emit && keyspace[observable].revision <= hiddenRevision
    }

    /// Whether another filter is the same, word for word.
    @inline(__always)
    func asksTheSame(as other: Filter) -> Bool {
        self === other
            || hash == other.hash && tellsDifferences == other.tellsDifferences && text == other.text
    }
}

extension Filter: Checked {
    /// What is known of a key's present value is so.
    func checkInvariants(_ known: KnownShape, _ keyspace: borrowing Keyspace) throws(BrokenInvariant) {
        guard keyspace.contains(known.observable),
            keyspace[known.observable].revision == known.revision
        else { return }
        var comparer = JSONComparer()
        let found = shape(of: keyspace.value(of: known.observable), &comparer)
        try Self.always.hold("only few pointers are known", found != nil)
        try Self.always.agree(
            "it is known whether the value meets its conditions", known.isIn, found?.isIn ?? false
        )
        let areSame =
            found.map { $0.conditions.agree(with: known.conditions) && $0.parts.agree(with: known.parts) }
        try Self.always.hold("it is known where the parts are", areSame ?? false)
    }
}

// The line of an event for an observer that may have a filter.

extension Hub {
    /// Its place in the log; nil if the filter leaves the event out. Call it before the value changes.
    mutating func line(of news: borrowing WriteEvent, for subscription: SubscriptionHandle) -> ByteRange? {
        let (text, kind) = (matching[subscription].text, matching[subscription].kind)
        let tail = EventTail(news, keyspace)
        let telling = matching[subscription].telling(news, tail, keyspace, &delivery)
        let form = OwnForm(news.event, telling, ObserverEntry.words(text, kind))
        switch telling {
        case .nothing: return nil
        case .event: return delivery.log.line(news.event, tail, kind, for: &matching[text])
        case .patch: return delivery.log.ownLine(form, tail, delivery.judge.patch, for: matching[text])
        case .leaving, .change:
            return delivery.log.ownLine(form, tail, delivery.judge.change, for: matching[text])
        }
    }
}

extension SubscriptionRecord {
    /// What the observer is told. A function of its own that borrows the subscription: if it becomes a part of `line`,
    /// each observer counts a reference to its filter, which takes 10 ns.
    @inline(never)
    fileprivate borrowing func telling(
        _ news: borrowing WriteEvent,
        _ tail: borrowing EventTail,
        _ keyspace: borrowing Keyspace,
        _ delivery: inout Delivery
    ) -> FilterResult {
        guard let filter else { return .event }
        let observable = news.observable
        if filter.mayHaveMissed(news.event, of: observable, keyspace) {
            return delivery.judge.tellingMissed(news.event, tail.value, filter)
        }
        let update = JudgedUpdate(
            subscription: serial,
            observable: observable,
            before: keyspace[observable].revision,
            revision: news.revision
        )
        let isKnowable = news.event == .update && !keyspace[observable].isReserved
        let change = JudgedChange(
            event: news.event,
            number: delivery.eventNumber,
            update: isKnowable ? update : nil,
            wasSent: wasSent(observable, filter, keyspace)
        )
        return delivery.judge.telling(change, tail, filter)
    }

    /// Whether the observer was sent the present value of a key, or will be before what comes now: with `delivery` "all",
    /// the line of an owed value is made before the value changes. Only `diff` depends on it.
    @inline(__always)
    borrowing func wasSent(
        _ observable: ObservableHandle, _ filter: Filter, _ keyspace: borrowing Keyspace
    ) -> Bool {
        guard filter.tellsDifferences else { return true }
        guard keyspace[observable].revision > filter.unsentRevision else { return false }
        return delivery == .all || backlog?.keys.find(observable) == nil
    }
}

// What an observer is told of an event, and the last result of that. Owned by `FilterEvaluator`.

enum FilterResult {
    /// Nothing, because of its filter.
    case nothing
    /// The event as it is.
    case event
    /// That the value doesn't match any more.
    case leaving
    /// Parts of the value, or a patch.
    case change
    /// The patch of the present event, which is the same for all.
    case patch
}

/// A change of a value, as an observer with a filter is to be told of it.
struct JudgedChange {
    let event: EventKind
    /// The event's number in the turn's log; for an owed value with the value before, its revision. Nil for another owed
    /// value, whose result isn't kept.
    var number: UInt64?
    /// For an owed value, the value before. It also identifies the key.
    var held: SharedBytes?
    /// Which update it is; nil if its value isn't worth remembering.
    var update: JudgedUpdate?
    /// The observer knows the value before.
    let wasSent: Bool
}

/// The result for the event or owed value that was judged last. The next observer with the same filter is
/// told the same.
struct LatestFilterResult {
    private var number: UInt64 = 0
    private var held: SharedBytes?
    private var filter: Filter?
    private var hash: UInt64 = 0
    private var wasSent = false
    private var telling = FilterResult.nothing

    /// The known result for a filter; nil if there is none.
    @inline(__always)
    func telling(_ change: borrowing JudgedChange, _ filter: Filter) -> FilterResult? {
        guard number == change.number, hash == filter.hash, held === change.held, wasSent == change.wasSent,
            let judged = self.filter, filter.asksTheSame(as: judged)
        else { return nil }
        return telling
    }

    /// Keeps a result. The piece of a `change` stays in `FilterEvaluator`.
    mutating func keep(_ telling: FilterResult, of change: borrowing JudgedChange, _ filter: Filter) {
        (number, wasSent, self.telling) = (change.number ?? 0, change.wasSent, telling)
        (held, self.filter, hash) = (change.held, filter, filter.hash)
    }

    /// The piece is about to be overwritten.
    mutating func forget() {
        number = 0
        if held != nil { held = nil }
    }
}
