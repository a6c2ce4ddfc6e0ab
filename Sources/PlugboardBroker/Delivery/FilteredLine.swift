// The line of an event for an observer that may have a filter.

import PlugboardMemory
import PlugboardWire

enum FilteredLine {
    /// Its place in the log; nil if the filter leaves the event out. Call it before the value changes.
    static func find(
        _ event: KeyEvent,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle,
        _ subscription: SubscriptionHandle,
        _ keyspace: borrowing Keyspace,
        _ matching: inout Matching,
        _ delivery: inout Delivery
    ) -> ByteRange? {
        let (text, kind) = (matching[subscription].text, matching[subscription].kind)
        guard let filter = matching[subscription].filter else {
            return delivery.line(event, tail, kind, for: &matching[text])
        }
        let key = JudgedKey(
            observable: observable,
            before: keyspace[observable].revision,
            revision: tail.revision
        )
        let isOwn = keyspace[observable].isReserved
        let telling = delivery.telling(
            event,
            of: event == .update && !isOwn ? key : nil,
            tail,
            wasSent: wasSent(observable, subscription, filter, keyspace, matching),
            filter
        )
        switch telling {
        case .nothing: return nil
        case .event: return delivery.line(event, tail, kind, for: &matching[text])
        case .leaving, .change, .patch:
            let words = Recipient.words(text, kind)
            return delivery.ownLine(event, tail, telling, kind, for: matching[text], words)
        }
    }

    /// Whether the observer was sent the present value of a key, and is owed no other first. Without `diff`,
    /// whether it may have been sent it.
    @inline(__always)
    static func wasSent(
        _ observable: ObservableHandle,
        _ subscription: SubscriptionHandle,
        _ filter: Filter,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching
    ) -> Bool {
        guard filter.tellsDifferences else { return keyspace[observable].revision > filter.hiddenRevision }
        guard keyspace[observable].revision > filter.unsentRevision else { return false }
        return matching[subscription].backlog?.keys.find(observable) == nil
    }
}
