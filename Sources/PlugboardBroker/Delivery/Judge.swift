// What an observer with a filter is told of an event: nothing, the event, `leave`, or a piece of the
// value. It follows from the value that the observer knows and the one that there is now, so it is the
// same for what is told at once and for what was owed. Owned by `Delivery`.

import PlugboardMemory
import PlugboardWire

/// Holds values against filters.
struct Judge: ~Copyable {
    /// What is done in one go for a session that is told what it is owed, in observers that are told an event
    /// meanwhile: about a millisecond.
    static let examinedStepsMax = 65_536

    private var comparer = JSONComparer()
    /// The piece that the last `change` came to.
    private(set) var change = ByteBuffer()
    private var judgement = Judgement()

    init() {}

    // MARK: How much

    /// What holding values against filters has cost since the start. What is known already costs nothing.
    private(set) var steps: UInt64 = 0

    private mutating func count(_ filter: Filter, _ valueCount: Int) {
        steps &+= UInt64(filter.steps(for: valueCount))
    }

    /// How many steps there were when a session's turn to be told began.
    private var examinedFrom: UInt64 = 0

    /// A session's turn to be told begins.
    mutating func beginExamining() { examinedFrom = steps }

    /// A key was passed over without asking any filter.
    mutating func notePassedOver() { steps &+= UInt64(Filter.stepsMin) }

    /// Others are to have their turn.
    var hasExaminedEnough: Bool { steps - examinedFrom >= Self.examinedStepsMax }

    // MARK: What is told

    /// What is told of an event, or of a value that was owed, that may have been judged just before, for
    /// somebody who asks the same; see `Judgement`.
    mutating func telling(
        _ event: Event,
        number: UInt64,
        since held: HeldBytes? = nil,
        _ tail: borrowing EventTail,
        wasSent: Bool,
        _ filter: Filter
    ) -> Telling {
        if let known = judgement.telling(number, since: held, wasSent: wasSent, filter) { return known }
        let telling = telling(event, tail, wasSent: wasSent, filter)
        judgement.keep(telling, number, since: held, wasSent: wasSent, filter)
        return telling
    }

    /// What is told of an event. `wasSent`: the observer knows the value before.
    mutating func telling(
        _ event: Event,
        _ tail: borrowing EventTail,
        wasSent: Bool,
        _ filter: Filter?
    ) -> Telling {
        guard let filter else { return .event }
        count(filter, tail.value.count)
        forget()
        var old = event == .emit ? Span() : tail.old
        let standing = standing(event, filter, from: old, to: tail.value)
        guard standing != .outside else { return .nothing }
        if standing == .left { return .leaving }
        if standing == .entered { old = Span() }
        guard event != .delete, !tail.value.isEmpty else { return .event }
        return form(of: tail.value, since: old, wasSent: wasSent, filter)
    }

    /// The piece of the last `change` is another's from now on.
    mutating func forget() { judgement.forget() }

    /// What is told of a key that changed while the observer was away: what it knows of it isn't known
    /// here, so all of it may be new.
    mutating func tellingMissed(_ event: Event, _ value: Span<UInt8>, _ filter: Filter?) -> Telling {
        guard let filter, event != .delete, !value.isEmpty else { return .event }
        count(filter, value.count)
        forget()
        if let conditions = filter.conditions, !conditions.hold(for: value, using: &comparer) {
            return .leaving
        }
        guard let parts = filter.parts else { return .event }
        change.removeAll()
        parts.appendAll(of: value, into: &change)
        return .change
    }

    /// Whether anything is told of a change from one value to another.
    mutating func concerns(
        _ event: Event,
        from old: Span<UInt8>,
        to value: Span<UInt8>,
        _ filter: Filter?
    ) -> Bool {
        guard let filter else { return true }
        count(filter, value.count)
        let old = event == .emit ? Span() : old
        let standing = standing(event, filter, from: old, to: value)
        guard standing == .inside || standing == .entered, let parts = filter.parts,
            !value.isEmpty, event != .delete
        else { return standing != .outside }
        let known = standing == .entered ? Span() : old
        return parts.haveChanged(from: known, to: value, using: &comparer)
    }

    /// How the value before and the one after stand to the conditions.
    private mutating func standing(
        _ event: Event,
        _ filter: Filter,
        from old: Span<UInt8>,
        to value: Span<UInt8>
    ) -> Standing {
        guard let conditions = filter.conditions else { return .inside }
        if event != .delete, !value.isEmpty, conditions.hold(for: value, using: &comparer) {
            let wasIn = !old.isEmpty && conditions.hold(for: old, using: &comparer)
            return wasIn ? .inside : .entered
        }
        guard !old.isEmpty, conditions.hold(for: old, using: &comparer) else { return .outside }
        return event == .delete ? .inside : .left
    }

    private mutating func form(
        of value: Span<UInt8>,
        since old: Span<UInt8>,
        wasSent: Bool,
        _ filter: Filter
    ) -> Telling {
        change.removeAll()
        if let parts = filter.parts {
            // Of a value that may have been hidden nobody knows which parts are new, or gone.
            guard wasSent || old.isEmpty else {
                parts.appendAll(of: value, into: &change)
                return .change
            }
            let isTold = parts.appendChanges(from: old, to: value, into: &change, using: &comparer)
            return isTold ? .change : .nothing
        }
        guard filter.tellsDifferences, wasSent, !old.isEmpty else { return .event }
        change.append(#","patch":"#)
        let isTold = MergeDifference.append(from: old, to: value, into: &change, using: &comparer)
        return isTold ? .change : .event
    }
}

/// How a change stands to an observer's conditions.
private enum Standing {
    case outside, entered, inside, left
}
