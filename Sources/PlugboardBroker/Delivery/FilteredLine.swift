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
        switch telling(event, tail, of: observable, matching[subscription], keyspace, &delivery) {
        case .nothing: return nil
        case .event: return delivery.line(event, tail, kind, for: &matching[text])
        case let piece:
            let words = Recipient.words(text, kind)
            return delivery.ownLine(event, tail, piece, kind, for: matching[text], words)
        }
    }

    /// What the observer is told. A function of its own that borrows the subscription: if it becomes a part of `find`,
    /// each observer counts a reference to its filter, which takes 10 ns.
    @inline(never)
    private static func telling(
        _ event: KeyEvent,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle,
        _ subscription: borrowing SubscriptionRecord,
        _ keyspace: borrowing Keyspace,
        _ delivery: inout Delivery
    ) -> Telling {
        subscription.filter?.telling(event, tail, of: observable, subscription, keyspace, &delivery) ?? .event
    }

    /// Whether the observer was sent the present value of a key, and is owed no other first. Without `diff`,
    /// whether it may have been sent it.
    @inline(__always)
    static func wasSent(
        _ observable: ObservableHandle,
        _ subscription: borrowing SubscriptionRecord,
        _ filter: Filter,
        _ keyspace: borrowing Keyspace
    ) -> Bool {
        guard filter.tellsDifferences else { return keyspace[observable].revision > filter.hiddenRevision }
        guard keyspace[observable].revision > filter.unsentRevision else { return false }
        return subscription.backlog?.keys.find(observable) == nil
    }
}

extension Filter {
    fileprivate func telling(
        _ event: KeyEvent,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle,
        _ subscription: borrowing SubscriptionRecord,
        _ keyspace: borrowing Keyspace,
        _ delivery: inout Delivery
    ) -> Telling {
        let update = JudgedUpdate(
            subscription: subscription.serial,
            observable: observable,
            before: keyspace[observable].revision,
            revision: tail.revision
        )
        let isOwn = keyspace[observable].isReserved
        return delivery.telling(
            event,
            of: event == .update && !isOwn ? update : nil,
            tail,
            wasSent: FilteredLine.wasSent(observable, subscription, self, keyspace),
            self
        )
    }
}
