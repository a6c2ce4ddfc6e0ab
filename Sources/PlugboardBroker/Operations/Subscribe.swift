// A subscription begins. The reply, the snapshot, `synced` and the first live event are in that order because all
// of it happens within one request.

import PlugboardMemory
import PlugboardWire

/// `subscribe`.
enum Subscribe {
    /// What a subscription begins with.
    struct Start {
        let filter: Filter?
        let beginning: Beginning
        /// The values that come first; nil if none do.
        let snapshot: ValueSnapshot?
    }

    /// Finds what a subscription begins with. Returns nil if the request is put off.
    static func prepare(
        _ asked: AskedRequest,
        _ wanted: [ByteRange],
        _ requests: inout Requests,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ access: borrowing Access,
        _ durability: borrowing Durability,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) throws(Refusal) -> Start? {
        let options = requests.decoder.options
        let filter = Filter(requests.decoder, asked.line, revision: keyspace.revision)
        try access.checkKept(filter?.bytes ?? 0, of: sessions[asked.session])
        let beginning = Resumption(asked, wanted, options).beginning(keyspace, durability, access)
        guard beginning.isWhole, options.initial else {
            return Start(filter: filter, beginning: beginning, snapshot: nil)
        }
        let snapshot = requests.prepare(
            asked,
            wanted,
            filter,
            &keyspace,
            &sessions,
            &delivery,
            &insight,
            deadlines
        )
        return snapshot.map { Start(filter: filter, beginning: beginning, snapshot: $0) }
    }

    /// Observes what is wanted, under the name `sub`. Returns the subscription, which may be told something
    /// now.
    static func perform(
        _ start: Start,
        _ asked: AskedRequest,
        _ wanted: [ByteRange],
        _ sub: borrowing ByteBuffer,
        _ options: RequestOptions,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ access: inout Access,
        _ durability: inout Durability,
        _ insight: inout Insight
    ) throws(Refusal) -> SubscriptionHandle {
        let (filter, beginning, session) = (start.filter, start.beginning, asked.session)
        let resumption = Resumption(asked, wanted, options)
        // What the observer knew before isn't known here. It will only have been sent what it missed.
        if beginning.isResumed == true { filter?.unsentRevision = options.since }
        let subscription = try NewSubscription.begin(
            sub,
            wanted,
            filter,
            asked,
            options,
            &keyspace,
            &matching,
            &sessions,
            &insight
        )
        let emits = resumption.countEmits(keyspace, sessions[session])
        NewSubscription.reply(
            subscription,
            asked,
            at: keyspace.revision,
            isResumed: beginning.isResumed,
            emits: emits,
            &matching,
            &sessions,
            &delivery
        )
        begin(
            subscription,
            beginning,
            resumption,
            start.snapshot,
            options,
            &keyspace,
            &matching,
            &sessions,
            &delivery,
            &access,
            &durability
        )
        return subscription
    }

    /// Owes what comes before the first live event.
    private static func begin(
        _ subscription: SubscriptionHandle,
        _ beginning: Beginning,
        _ resumption: Resumption,
        _ snapshot: ValueSnapshot?,
        _ options: RequestOptions,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ access: inout Access,
        _ durability: inout Durability
    ) {
        let session = matching[subscription].session
        switch beginning {
        case .remembered:
            let missed = resumption.missed(keyspace, sessions[session])
            let backlog = sessions.openBacklog(of: subscription, &matching).backlog
            backlog.begin(at: keyspace.revision, owingSynced: options.initial)
            owe(missed, to: subscription, &keyspace, &matching, &sessions, &delivery, &access)
        case .kept(let place):
            let (backlog, since) = (sessions.openBacklog(of: subscription, &matching).backlog, options.since)
            backlog.begin(at: since, owingSynced: options.initial)
            Replaying.begin(
                subscription,
                from: place,
                after: since,
                keyspace,
                &matching,
                &sessions,
                &delivery,
                &durability
            )
        case .fresh, .anew:
            guard let snapshot else { break }
            let isAnew = beginning.isResumed == false
            let gone = isAnew ? resumption.goneKeys(keyspace, sessions[session]) : []
            owe(snapshot, gone: gone, to: subscription, &keyspace, &matching, &sessions)
            Owing.check(session, &sessions, &delivery, &access)
        }
    }

    /// Owes the newest write of each key that an observer missed, including deletes; then `synced`.
    private static func owe(
        _ missed: [History.Entry],
        to subscription: SubscriptionHandle,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ access: inout Access
    ) {
        for entry in missed {
            if entry.operation == .delete { keyspace.keepDeleter(entry.author, of: entry.observable) }
            Owing.append(
                missed: entry.observable,
                revision: entry.revision,
                to: subscription,
                &keyspace,
                &matching,
                &sessions,
                &delivery,
                &access
            )
        }
    }

    /// Owes the values of a snapshot in the order of revisions, among them the deletes of keys that are
    /// `gone`; then `synced`. So a snapshot of any size takes no more room than the outbox.
    private static func owe(
        _ snapshot: ValueSnapshot,
        gone: [History.Entry],
        to subscription: SubscriptionHandle,
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable
    ) {
        let (backlog, catchup) = sessions.openBacklog(of: subscription, &matching)
        backlog.begin(at: keyspace.revision, owingSynced: true)
        backlog.takeOver(snapshot.backlog)
        backlog.insert(snapshot.ownValues(keyspace), &keyspace)
        for entry in gone { keyspace.keepDeleter(entry.author, of: entry.observable) }
        backlog.insert(gone.map { OwedKey($0.observable, revision: $0.revision, .unsure) }, &keyspace)
        catchup.owedCount += backlog.keys.count
    }
}
