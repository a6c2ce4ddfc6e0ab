// What a subscription begins with: the current values in the order in which they were
// written, then `synced`. Owed like anything else, so one of any size takes no more room
// than the outbox.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Owes the values of a snapshot, and among them the deletes of keys that are `gone`; then `synced`.
    mutating func owe(_ snapshot: ValueSnapshot, gone: [History.Entry], to subscription: SubscriptionHandle) {
        let (backlog, catchup) = openBacklog(of: subscription)
        backlog.begin(at: revision, owingSynced: true)
        backlog.takeOver(snapshot.backlog)
        let own = ownValues(of: snapshot)
        if !own.isEmpty { insert(own, to: backlog) }
        if !gone.isEmpty { insert(gone.map { missed($0) }, to: backlog) }
        catchup.owedCount += backlog.keys.count
        checkOwed(of: subscription)
        review(subscription)
    }

    private mutating func insert(_ owed: [OwedKey], to backlog: Backlog) {
        for key in owed { keyspace[key.observable].owedBy += 1 }
        backlog.keys.insert(owed)
    }

    /// The broker's own values among those of a snapshot, as they are now.
    private mutating func ownValues(of snapshot: ValueSnapshot) -> [OwedKey] {
        var runs = KeyRuns()
        runs.append(snapshot.ownKeys.filter { snapshot.isWanted($0, keyspace) }, keyspace)
        var own: [OwedKey] = []
        while let key = runs.popFirst(keyspace) {
            if own.last?.observable == key.observable { continue }
            own.append(OwedKey(key.observable, revision: key.revision, .nothing))
        }
        return own
    }

    /// A delete that the observer missed.
    private mutating func missed(_ entry: History.Entry) -> OwedKey {
        keyspace.keepDeleter(entry.author, of: entry.observable)
        return OwedKey(entry.observable, revision: entry.revision, .unsure)
    }
}
