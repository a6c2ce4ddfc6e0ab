// What becomes of an event for an observer with a filter: nothing, the event, `leave`, or
// a piece of it. Judged by the value that the observer knows and the one there is now, so
// it is the same for what is told at once and for what was owed.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Where an event's line for a subscription stands in the log; nil where it is told nothing.
    mutating func line(
        _ event: Event,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle?,
        for subscription: SubscriptionHandle
    ) -> ByteRange? {
        guard let filter = matching[subscription].filter else {
            return plainLine(event, tail, for: subscription)
        }
        let wasSent = observable.map { self.wasSent($0, subscription) } ?? false
        let telling: Telling
        if let known = judgement.telling(log.eventNumber, wasSent: wasSent, filter) {
            telling = known
        } else {
            telling = self.telling(event, tail, wasSent: wasSent, subscription)
            judgement.keep(telling, log.eventNumber, wasSent: wasSent, filter)
        }
        switch telling {
        case .nothing: return nil
        case .event: return plainLine(event, tail, for: subscription)
        case .leaving, .change:
            let text = matching[subscription].text
            return log.ownLine(
                event,
                tail,
                telling,
                change,
                matching[subscription].kind,
                for: matching[text]
            )
        }
    }

    private mutating func plainLine(
        _ event: Event,
        _ tail: borrowing EventTail,
        for subscription: SubscriptionHandle
    ) -> ByteRange {
        let (text, kind) = (matching[subscription].text, matching[subscription].kind)
        return log.line(event, tail, kind, for: &matching[text])
    }

    /// What an observer is told of an event; the piece of a `change` is left in `change`.
    mutating func telling(
        _ event: Event,
        _ tail: borrowing EventTail,
        wasSent: Bool,
        _ subscription: SubscriptionHandle
    ) -> Telling {
        guard let filter = matching[subscription].filter else { return .event }
        judgement.forget()
        var old = event == .emit ? Span() : tail.old
        let standing = self.standing(event, filter, from: old, to: tail.value)
        guard standing != .outside else { return .nothing }
        if standing == .left { return .leaving }
        if standing == .entered { old = Span() }
        guard event != .delete, !tail.value.isEmpty else { return .event }
        return form(of: tail.value, since: old, wasSent: wasSent, filter)
    }

    /// What an observer is told of a key that changed while it was away: as what it knows of it
    /// isn't known here, whatever may be new to it.
    mutating func tellingMissed(
        _ event: Event,
        _ tail: EventTail,
        _ subscription: SubscriptionHandle
    ) -> Telling {
        let value = tail.value
        guard let filter = matching[subscription].filter, event != .delete, !value.isEmpty else {
            return .event
        }
        judgement.forget()
        if let conditions = filter.conditions, !conditions.hold(for: value, using: &comparer) {
            return .leaving
        }
        guard let parts = filter.parts else { return .event }
        change.removeAll()
        parts.appendAll(of: value, into: &change)
        return .change
    }

    /// Whether an observer is told anything of a change from one value to another.
    mutating func isConcerned(
        _ subscription: SubscriptionHandle,
        _ event: Event,
        from old: Span<UInt8>,
        to value: Span<UInt8>
    ) -> Bool {
        guard let filter = matching[subscription].filter else { return true }
        let old = event == .emit ? Span() : old
        let standing = self.standing(event, filter, from: old, to: value)
        guard standing == .inside || standing == .entered, let parts = filter.parts,
            !value.isEmpty, event != .delete
        else { return standing != .outside }
        let known = standing == .entered ? Span() : old
        return parts.haveChanged(from: known, to: value, using: &comparer)
    }

    /// An event that has to wait is owed: of a key that is owed already every one counts, as it does
    /// while it is still read which keys are; and what is queued as a line is judged when that is made.
    mutating func isOwed(
        _ event: Event,
        _ tail: borrowing EventTail,
        _ observable: ObservableHandle?,
        _ subscription: SubscriptionHandle
    ) -> Bool {
        guard matching[subscription].filter != nil else { return true }
        if event != .emit, matching[subscription].delivery == .latest, let observable,
            let backlog = matching[subscription].backlog,
            place(of: observable, in: backlog) != nil || backlog.replay?.gathers == true
        {
            return true
        }
        return isConcerned(subscription, event, from: tail.old, to: tail.value)
    }

    /// Whether the observer was sent the value that a key has, and will not be sent another first; of
    /// one who asked for no differences, whether it might have been.
    func wasSent(_ observable: ObservableHandle, _ subscription: SubscriptionHandle) -> Bool {
        guard let filter = matching[subscription].filter else { return false }
        guard filter.tellsDifferences else { return keyspace[observable].revision > filter.hiddenRevision }
        guard keyspace[observable].revision > filter.unsentRevision else { return false }
        return matching[subscription].backlog?.keys.find(observable) == nil
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
