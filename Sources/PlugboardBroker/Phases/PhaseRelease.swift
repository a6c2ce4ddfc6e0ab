// What happens when the gate of a key waits for nobody any more: which observers of later phases are told,
// and which ones have to acknowledge next.

import PlugboardMemory
import PlugboardWire

/// Lets keys through to later phases.
enum PhaseRelease {
    /// Lets a key through to the next phases, up to the next one that acknowledges. Returns the subscriptions
    /// that may be told now.
    static func advance(
        _ observable: ObservableHandle,
        _ gate: Gate,
        late: [LateClient],
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: borrowing SessionTable,
        _ phases: inout Phases,
        _ deadlines: inout Deadlines,
        _ isSelective: Bool
    ) -> [SubscriptionHandle] {
        matching.refreshObservers(of: observable, &keyspace, sessions, isSelective: isSelective)
        let observers = keyspace.observers(of: observable).subscriptions
        let later = AckBarrier.acknowledgers(among: observers, matching, sessions)
            .filter { matching[$0].phase > gate.phase }
        let told = later.filter { AckBarrier.isToBeTold(of: observable, $0, keyspace, matching) }
        // An observer that isn't told of this write may still have to acknowledge an earlier one.
        let earlier = later.filter { !told.contains($0) }.compactMap { phases.awaits(observable, from: $0) }
        let next = (told + earlier.map(\.subscription)).map { matching[$0].phase }.min()
        phases.open(observable, &keyspace, &deadlines)
        let behind = observers.filter { matching[$0].phase > gate.phase }
        let free = behind.filter { matching[$0].phase <= next ?? .max }
        if !late.isEmpty {
            var naming = LateNaming(late)
            for subscription in behind {
                matching[subscription].backlog?.note(&naming, of: observable, &keyspace)
            }
        }
        if let next, free.count < behind.count {
            let barrier = AckBarrier(
                phase: next,
                told: told.filter { matching[$0].phase == next },
                earlier: earlier.filter { matching[$0.subscription].phase == next },
                since: gate.first
            )
            phases.close(observable, revision: gate.revision, barrier, &keyspace, &deadlines)
        }
        return free
    }

    /// The clients that are late at a gate, each once.
    static func late(
        at gate: Gate,
        of observable: ObservableHandle,
        _ keyspace: inout Keyspace,
        _ matching: borrowing Matching,
        _ sessions: inout SessionTable,
        _ phases: borrowing Phases
    ) -> [LateClient] {
        var found: [LateClient] = []
        for late in gate.waiting {
            let session = matching[late.subscription].session
            let client = sessions[session].client
            let first = phases.firstAwaited(observable, from: late.subscription)
            if let known = found.firstIndex(where: { $0.client == client }) {
                found[known].first = min(found[known].first, first)
                continue
            }
            let author = sessions[session].author(&keyspace)
            let name = Array(keyspace.authors[author].name)
            found.append(LateClient(client: client, name: name, first: first))
        }
        return found
    }
}
