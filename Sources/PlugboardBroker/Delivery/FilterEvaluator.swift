// Decides what an observer with a filter is told of an event: nothing, the event, `leave`, or a piece of the
// value. This follows from the value that the observer knows and the present one, so it is the same for
// events at once and for owed ones. Owned by `Delivery`.

import PlugboardMemory
import PlugboardWire

struct FilterEvaluator: ~Copyable {
    /// How many steps a session may take in one go when it is sent what it is owed, in observers told. About
    /// a millisecond.
    static let examinedStepsMax = 65_536

    private var comparer = JSONComparer()
    /// The piece that the last `change` tells.
    private(set) var change = ByteBuffer()
    private var judgement = LatestFilterResult()
    /// The event that is judged at once; 0 for owed values.
    private var event: UInt64 = 0
    /// The patch of `diff` for an event, which is the same for all of its observers; nil if there is none.
    private(set) var patch = ByteBuffer()
    private var patchEvent: UInt64 = 0
    /// Whether the value of an event has the shape of the one before; the event's number; and how far its parts are
    /// from where they were.
    private var shape = (isSame: false, event: UInt64(0))
    private var shift = ShapeShift()
    var shapes = KnownShapes()
    /// The last number of an expected event. They go down, those of events go up.
    private var expected = UInt64.max

    // MARK: How much

    /// The cost of all comparisons since the start. Known results cost nothing.
    private(set) var steps: UInt64 = 0

    private mutating func count(_ filter: Filter, _ valueCount: Int) {
        steps &+= UInt64(filter.steps(for: valueCount))
    }

    /// `steps` when the present session began to be sent what it is owed.
    private var examinedFrom: UInt64 = 0

    /// A session begins to be sent what it is owed.
    mutating func beginExamining() { examinedFrom = steps }

    /// A key was skipped without asking a filter.
    mutating func countSkipped() { steps &+= UInt64(Filter.stepsMin) }

    /// Others should have their turn.
    var hasExaminedEnough: Bool { steps - examinedFrom >= Self.examinedStepsMax }

    // MARK: What is told

    /// What an observer is told of an event or an owed value. Uses the last result if that is for the same;
    /// see `LatestFilterResult`.
    mutating func telling(
        _ change: borrowing JudgedChange, _ tail: borrowing EventTail, _ filter: Filter
    ) -> FilterResult {
        let wasSent = change.wasSent
        guard let number = change.number else { return telling(change.event, tail, wasSent: wasSent, filter) }
        if let known = judgement.telling(change, filter) { return known }
        // Owed values have no number of their own.
        event = change.held == nil ? number : 0
        defer { event = 0 }
        let update = change.update
        if let update, let telling = tellingNext(update, tail, wasSent: wasSent, filter) { return telling }
        comparer.ask(about: event)
        let telling = telling(change.event, tail, wasSent: wasSent, filter)
        if let update, hasSameShape(tail) { learn(tail.value, of: update, filter) }
        comparer.endAsking()
        judgement.keep(telling, of: change, filter)
        return telling
    }

    /// The same for an update, if its value has the shape of the one before, which is known; otherwise nil.
    @inline(__always)
    private mutating func tellingNext(
        _ update: JudgedUpdate, _ tail: borrowing EventTail, wasSent: Bool, _ filter: Filter
    ) -> FilterResult? {
        guard let place = shapes.find(update), hasSameShape(tail) else { return nil }
        if !shift.isNone || shapes.all[place].haveMoved { shapes.all[place].move(by: shift) }
        steps &+= UInt64(Filter.stepsMin + shapes.all[place].bytes / 16)
        let wasIn = shapes.all[place].isIn
        let isIn = filter.accepts(tail.value, after: tail.old, shapes.all[place], &comparer)
        shapes.all[place].moveOn(update, isIn: isIn)
        guard isIn else { return wasIn ? .leaving : .nothing }
        guard filter.tellsChanges else { return .event }
        forget()
        let old = wasIn ? tail.old : Span<UInt8>()
        return form(of: tail.value, since: old, wasSent: wasSent, filter, known: place)
    }

    /// Finds out where the parts of a filter are in the value of an update, for the next one.
    private mutating func learn(_ value: Span<UInt8>, of update: JudgedUpdate, _ filter: Filter) {
        guard filter.mayKnowShapes, let place = shapes.placeToLearn(update),
            var shape = filter.shape(of: value, &comparer)
        else { return }
        shape.moveOn(update, isIn: shape.isIn)
        shapes.all[place] = shape
        // Only for `diff` it isn't searched for parts.
        if filter.hasConditions || filter.hasParts { count(filter, value.count) }
    }

    /// Whether the present event's value has the shape of the one before.
    private mutating func hasSameShape(_ tail: borrowing EventTail) -> Bool {
        if shape.event != event {
            shape = (shift.find(from: tail.old, to: tail.value), event)
            steps &+= UInt64(shift.comparedBytes / 16)
        }
        return shape.isSame
    }

    /// The same, worked out. `wasSent` means that it knows the value before.
    private mutating func telling(
        _ event: EventKind, _ tail: borrowing EventTail, wasSent: Bool, _ filter: Filter
    ) -> FilterResult {
        count(filter, tail.value.count)
        forget()
        let (known, wasIn) = verdict(on: event, from: tail.old, to: tail.value, filter)
        return known ?? form(of: tail.value, since: wasIn ? tail.old : Span(), wasSent: wasSent, filter)
    }

    /// The piece of the last `change` is about to be overwritten.
    mutating func forget() { judgement.forget() }

    /// What an observer is told of a key that changed while it was away. Nobody knows what it knows, so
    /// everything may be new.
    mutating func tellingMissed(_ event: EventKind, _ value: Span<UInt8>, _ filter: Filter?) -> FilterResult {
        guard let filter, event != .delete, !value.isEmpty else { return .event }
        count(filter, value.count)
        forget()
        if !filter.accepts(value, using: &comparer) { return .leaving }
        guard filter.hasParts else { return .event }
        change.removeAll()
        filter.parts?.appendAll(of: value, into: &change)
        return .change
    }

    /// A number for an expected event, about which several observers are asked. No other event has it.
    mutating func numberExpected() -> UInt64 {
        expected -= 1
        return expected
    }

    /// The questions up to `endAsking` are about an event that others are asked about, too.
    mutating func ask(about event: UInt64) { comparer.ask(about: event) }

    mutating func endAsking() { comparer.endAsking() }

    /// Whether an observer is told anything of a change from one value to another.
    mutating func concerns(
        _ event: EventKind, from old: Span<UInt8>, to value: Span<UInt8>, _ filter: Filter?
    ) -> Bool {
        guard let filter else { return true }
        count(filter, value.count)
        let (known, wasIn) = verdict(on: event, from: old, to: value, filter)
        if let known { return known != .nothing }
        return !filter.hasParts || filter.haveChanged(from: wasIn ? old : Span(), to: value, using: &comparer)
    }

    /// What is told, if that follows from whether the values before and after meet the conditions; and whether the one
    /// before counts, because it met them.
    private mutating func verdict(
        on event: EventKind, from old: Span<UInt8>, to value: Span<UInt8>, _ filter: Filter
    ) -> (known: FilterResult?, wasIn: Bool) {
        let isThere = event != .delete && !value.isEmpty
        let wasThere = event != .emit && !old.isEmpty
        guard filter.hasConditions else { return (isThere ? nil : .event, wasThere) }
        let isIn = isThere && filter.accepts(value, using: &comparer)
        // Without parts and differences, the value before makes no difference.
        if isIn, !filter.tellsChanges { return (.event, false) }
        let wasIn = wasThere && filter.accepts(old, isFormer: true, using: &comparer)
        if isIn { return (nil, wasIn) }
        guard wasIn else { return (.nothing, false) }
        return (event == .delete ? .event : .leaving, true)
    }

    private mutating func form(
        of value: Span<UInt8>,
        since old: Span<UInt8>,
        wasSent: Bool,
        _ filter: Filter,
        known place: Int? = nil
    ) -> FilterResult {
        change.removeAll()
        if filter.hasParts {
            // If the value before may have been hidden, nobody knows which parts are new or gone.
            guard wasSent || old.isEmpty else {
                filter.parts?.appendAll(of: value, into: &change)
                return .change
            }
            let isTold =
                if let place {
                    filter.appendChanges(
                        from: old, to: value, shapes.all[place], into: &change, using: &comparer)
                } else {
                    filter.appendChanges(from: old, to: value, into: &change, using: &comparer)
                }
            return isTold ? .change : .nothing
        }
        guard filter.tellsDifferences, wasSent, !old.isEmpty else { return .event }
        if event == 0 || event != patchEvent { makePatch(from: old, to: value, isNext: place != nil) }
        if patch.isEmpty { return .event }
        if event != 0 { return .patch }
        change.append(contentsOf: patch)
        return .change
    }

    private mutating func makePatch(from old: Span<UInt8>, to value: Span<UInt8>, isNext: Bool) {
        patchEvent = event
        // The others that are told it get it for nothing, and don't count it.
        if isNext { steps &+= UInt64(value.count / 8) }
        patch.removeAll()
        patch.append(#","patch":"#)
        let isMade = isNext ? MergeDifference.appendNext(from: old, to: value, shift, into: &patch) : nil
        if isMade ?? MergeDifference.append(from: old, to: value, into: &patch, using: &comparer) { return }
        patch.removeAll()
    }
}

// What is known of the last value of a key that was compared with a subscription's filter. Most values have the
// shape of the one before (`ShapeShift`), so it is known where their parts are, and whether they meet the conditions often follows from a few
// bytes. Owned by `FilterEvaluator`.

/// Who is told of the update of which key, and what tells its values from others: a key has at most one write of a
/// revision.
struct JudgedUpdate: BitwiseCopyable {
    let subscription: UInt64
    let observable: ObservableHandle
    let before: UInt64
    let revision: UInt64
}

/// Where the parts of a filter are in a value of a key, and whether that meets its conditions.
struct KnownShape: BitwiseCopyable {
    /// The serial of the filter's subscription; 0 if nothing is known.
    private(set) var subscription: UInt64 = 0
    private(set) var observable = ObservableHandle.none
    private(set) var revision: UInt64 = 0
    /// Whether the value meets the conditions; true if there are none.
    private(set) var isIn = true
    /// How often others wanted its place since it was needed.
    fileprivate(set) var misses: UInt8 = 0
    private(set) var conditions = KnownPlaces()
    private(set) var parts = KnownPlaces()

    /// Whether its parts are at other places in the value before.
    @inline(__always) var haveMoved: Bool { conditions.haveMoved || parts.haveMoved }
    /// How many bytes all its parts have, which are compared with those of the next value.
    @inline(__always) var bytes: Int { conditions.bytes + parts.bytes }

    @inline(__always)
    fileprivate func isOf(_ update: JudgedUpdate) -> Bool {
        subscription == update.subscription && observable == update.observable
    }

    /// It is about the value of an update from now on, which has the same shape.
    @inline(__always)
    mutating func moveOn(_ update: JudgedUpdate, isIn: Bool) {
        (subscription, observable, revision) = (update.subscription, update.observable, update.revision)
        (self.isIn, misses) = (isIn, 0)
    }

    /// The next value has the same shape. If its parts stay where they were, that needs to be said only after they have
    /// moved.
    mutating func move(by shift: borrowing ShapeShift) {
        conditions.move(by: shift)
        parts.move(by: shift)
    }
}

/// What is known of the last values, for each subscription and key at one place. Of two that have the same place, one is
/// forgotten.
struct KnownShapes: ~Copyable {
    /// There are so many places at the beginning, and at most. Powers of two.
    static let placesMin = 64
    static let placesMax = 4_096
    /// What has a place in vain so often is forgotten.
    private static let missesMax: UInt8 = 8
    var all = List<KnownShape>()

    var known: [KnownShape] { all.all.filter { $0.subscription != 0 } }

    /// The place of what is known of the value before an update; nil if nothing is.
    @inline(__always)
    func find(_ update: JudgedUpdate) -> Int? {
        if all.isEmpty { return nil }
        let place = place(of: update.subscription, update.observable)
        return all[place].isOf(update) && all[place].revision == update.before ? place : nil
    }

    /// Where to keep what will be known of an update; nil if it isn't worthwhile to find that out.
    mutating func placeToLearn(_ update: JudgedUpdate) -> Int? {
        if all.isEmpty { all = List(repeating: KnownShape(), count: Self.placesMin) }
        let place = place(of: update.subscription, update.observable)
        if all[place].subscription == 0 || all[place].isOf(update) { return place }
        if all.count < Self.placesMax {
            grow()
            return placeToLearn(update)
        }
        all[place].misses += 1
        return all[place].misses > Self.missesMax ? place : nil
    }

    @inline(__always)
    private func place(of subscription: UInt64, _ observable: ObservableHandle) -> Int {
        let mixed = (subscription &+ UInt64(observable.slot) &<< 32) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed &>> 40) & (all.count &- 1)
    }

    private mutating func grow() {
        var smaller = List<KnownShape>(repeating: KnownShape(), count: all.count * 2)
        swap(&smaller, &all)
        for place in smaller.indices where smaller[place].subscription != 0 {
            all[self.place(of: smaller[place].subscription, smaller[place].observable)] = smaller[place]
        }
    }
}
