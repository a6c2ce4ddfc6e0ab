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
        let telling = judge.telling(event, number: delivery.eventNumber, tail, wasSent: wasSent, filter)
        switch telling {
        case .nothing: return nil
        case .event: return plainLine(event, tail, for: subscription)
        case .leaving, .change:
            let text = matching[subscription].text
            return delivery.ownLine(
                event,
                tail,
                telling,
                judge.change,
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
        return delivery.line(event, tail, kind, for: &matching[text])
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
        return judge.concerns(event, from: tail.old, to: tail.value, matching[subscription].filter)
    }

    /// Whether the observer was sent the value that a key has, and will not be sent another first; of
    /// one who asked for no differences, whether it might have been.
    func wasSent(_ observable: ObservableHandle, _ subscription: SubscriptionHandle) -> Bool {
        guard let filter = matching[subscription].filter else { return false }
        guard filter.tellsDifferences else { return keyspace[observable].revision > filter.hiddenRevision }
        guard keyspace[observable].revision > filter.unsentRevision else { return false }
        return matching[subscription].backlog?.keys.find(observable) == nil
    }
}
