// Owed keys: each is noted in its subscription's backlog, counted for its client, and stays as long as it is
// owed.

import PlugboardMemory
import PlugboardWire

/// Adds owed keys to backlogs, and removes them.
enum Owing {
    /// After so many more owed keys, those of a client that doesn't read are counted again.
    private static let keysPerCount = 1_024

    /// Owes one more key. A session that is owed too many keys is dismissed.
    static func append(
        _ owed: OwedKey,
        holding held: HeldBytes? = nil,
        to subscription: SubscriptionHandle,
        _ backlog: Backlog,
        _ keyspace: inout Keyspace,
        _ matching: borrowing Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ access: inout Access
    ) {
        let place = backlog.keys.append(owed)
        if let held { backlog.keys.hold(held, at: place) }
        keyspace[owed.observable].owedBy += 1
        let session = matching[subscription].session
        let catchup = sessions[session].makeCatchup()
        catchup.owedCount += 1
        if catchup.owedCount > Limits.owedKeysMax || catchup.owedCount % Self.keysPerCount == 0 {
            check(session, &sessions, &delivery, &access)
        }
    }

    /// What it costs to renew a key that is owed: memory that was not touched lately.
    static let stepsPerRenewed = 6

    /// Nearly every update to a reader that has stopped: the key is owed already, at the place where it was owed
    /// to the last one, and only its revision changes. Returns false if there is more to do.
    static func renew(
        _ news: borrowing News,
        to subscription: SubscriptionHandle,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ delivery: borrowing Delivery,
        _ insight: inout Insight
    ) -> Bool {
        let place = keyspace[news.observable].owedPlace
        let isRenewed = matching[subscription].renew(
            news.observable,
            at: place,
            revision: news.revision,
            event: delivery.eventNumber
        )
        if isRenewed { insight.count(steps: stepsPerRenewed) }
        return isRenewed
    }

    /// Owes a write that an observer missed. If the key is owed already, the newer write counts.
    static func append(
        missed observable: ObservableHandle,
        revision: UInt64,
        to subscription: SubscriptionHandle,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ access: inout Access
    ) {
        let backlog = sessions.openBacklog(of: subscription, &matching).backlog
        guard let owed = backlog.place(of: observable, &keyspace) else {
            let owed = OwedKey(observable, revision: revision, .unsure)
            return append(owed, to: subscription, backlog, &keyspace, matching, &sessions, &delivery, &access)
        }
        backlog.keys.noteMissed(owed)
        if backlog.keys[owed].revision < revision {
            backlog.keys.renew(owed, revision: revision, event: 0)
        }
    }

    /// Counts what a session is owed, and dismisses it if that is too much.
    static func check(
        _ session: SessionHandle,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ access: inout Access
    ) {
        if sessions[session].catchup?.owedCount ?? 0 > Limits.owedKeysMax {
            delivery.setAside(session, .slow, &sessions)
        } else {
            Excess.countOwed(to: session, &access, &sessions, &delivery)
        }
    }

    /// Removes an owed key. Its observable may not be needed any more.
    static func forget(
        _ place: OwedKeys.Place,
        of subscription: SubscriptionHandle,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable
    ) {
        let (backlog, catchup) = sessions.openBacklog(of: subscription, &matching)
        catchup.owedCount -= 1
        catchup.queuedBytes -= backlog.keys.writtenCost(of: place)
        keyspace[backlog.keys.remove(place).observable].owedBy -= 1
    }

    /// A client is owed something. Until that is sent, its later events are owed, too.
    static func noteBehind(
        _ session: SessionHandle,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        sessions[session].isBehind = true
        delivery.touch(session, &sessions)
    }

    /// Tells how many lines are missing, and between which revisions.
    static func appendLagged(
        _ dropped: UInt64,
        _ first: UInt64,
        _ last: UInt64,
        to subscription: SubscriptionHandle,
        _ matching: borrowing Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        let session = matching[subscription].session
        delivery.openOwn(of: session, &sessions)
        EventEncoder.appendLagged(
            sub: matching.sub(of: subscription),
            dropped: dropped,
            first: first,
            last: last,
            to: &sessions[session].outbox.own
        )
    }
}
