// What a subscription begins with: the current values in the order in which they were
// written, then `synced`. Owed like anything else, so one of any size takes no more room
// than the outbox.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Owes the current values in the order they were written, and among them the deletes of keys
    /// that are `gone`; then `synced`. Of very many values only the first are held against a
    /// filter now, the others when they are to be told.
    mutating func oweSnapshot(
        of wanted: [ByteRange],
        gone: [History.Entry],
        _ line: Span<UInt8>,
        _ subscription: SubscriptionHandle
    ) {
        openBacklog(of: subscription).backlog.begin(at: revision, owingSynced: true)
        var gone = gone[...]
        // What comes after a queued line must be judged before it.
        var budget = matching[subscription].delivery == .all ? Int.max : Judge.examinedBytesMax
        for observable in currentValues(
            of: wanted.map { Array($0.bytes(of: line)) },
            for: sessions[matching[subscription].session].clearance
        ) {
            while let entry = gone.first, entry.revision < keyspace[observable].revision {
                owe(missed: entry, to: subscription)
                gone.removeFirst()
            }
            if matching[subscription].filter != nil, budget > 0 {
                budget -= Judge.cost(of: keyspace[observable].value)
                let value = keyspace[observable].value
                guard judge.concerns(.update, from: Span(), to: value, matching[subscription].filter) else {
                    continue
                }
            }
            let (hash, revision) = (keyspace[observable].hash, keyspace[observable].revision)
            let owed = OwedKey(observable, hash, revision: revision, .nothing)
            appendOwed(owed, to: subscription)
        }
        for entry in gone { owe(missed: entry, to: subscription) }
        review(subscription)
    }

    /// The keys with a value that match, in the order in which they were written.
    func currentValues(
        of patterns: [[UInt8]],
        for clearance: Clearance?
    ) -> [ObservableHandle] {
        var found: [ObservableHandle] = []
        for pattern in patterns {
            let pattern = pattern.span
            if Pattern.hasWildcard(pattern) {
                _ = keyspace.forEachMatch(of: pattern) { observable in
                    let isSeen = clearance?.permit(.subscribe, keyspace[observable].key) ?? true
                    if isSeen { found.append(observable) }
                    return true
                }
            } else if let observable = keyspace.find(pattern),
                keyspace[observable].hasValue, clearance?.permit(.subscribe, pattern) ?? true
            {
                found.append(observable)
            }
        }
        found.sort { keyspace.precedes($0, $1) }
        var last: ObservableHandle?
        return found.filter { observable in
            defer { last = observable }
            return observable != last
        }
    }
}
