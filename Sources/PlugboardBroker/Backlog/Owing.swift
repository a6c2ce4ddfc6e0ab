// Keys that are owed: each is noted in its subscription's backlog, counted for its client, and stays as long as it
// is owed.

import PlugboardMemory
import PlugboardWire

/// Notes keys in backlogs, and takes them out.
enum Owing {
    /// Keys that a client is owed in addition before that is counted, where it doesn't read.
    private static let keysPerCount = 1_024

    /// Owes one key more. A session that is owed too many is given up.
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

    /// Owes a write that an observer missed; of a key that it is owed already, the newer one.
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

    /// Counts what a session is owed, and gives it up where that is too much.
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

    /// Takes a key out of what is owed. Its observable may be needed no longer.
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

    /// Until a client was told what is owed to it, what comes for it is owed, too.
    static func noteBehind(
        _ session: SessionHandle,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        sessions[session].isBehind = true
        delivery.touch(session, &sessions)
    }

    /// Says how many lines are missing, and between which revisions.
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
