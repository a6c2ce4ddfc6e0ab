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
        of values: [ObservableHandle],
        gone: [History.Entry],
        _ subscription: SubscriptionHandle
    ) {
        openBacklog(of: subscription).backlog.begin(at: revision, owingSynced: true)
        insight.count(steps: values.count * Self.stepsPerValue)
        var gone = gone[...]
        // What comes after a queued line must be judged before it.
        var budget = matching[subscription].delivery == .all ? Int.max : Judge.examinedStepsMax
        for observable in inOrder(values) {
            while let entry = gone.first, entry.revision < keyspace[observable].revision {
                owe(missed: entry, to: subscription)
                gone.removeFirst()
            }
            if let filter = matching[subscription].filter, budget > 0 {
                let value = keyspace[observable].value
                budget -= filter.steps(for: value.count)
                guard delivery.concerns(.update, from: Span(), to: value, filter) else { continue }
            }
            let (hash, revision) = (keyspace[observable].hash, keyspace[observable].revision)
            let owed = OwedKey(observable, hash, revision: revision, .nothing)
            appendOwed(owed, to: subscription)
        }
        for entry in gone { owe(missed: entry, to: subscription) }
        review(subscription)
    }

    /// The values that a subscription begins with; nil where the request is put off, until all are found.
    mutating func lookForSnapshot(
        of wanted: [ByteRange],
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> [ObservableHandle]? {
        let patterns = wanted.map { Array($0.bytes(of: line)) }
        guard let walk = requests.finished else { return lookFor(patterns, request, line, session) }
        // Who writes so much that it isn't known what came meanwhile has the keys be looked at once more.
        guard walk.since >= keyspace.history.completeSince else {
            return KeySearch.all(patterns, for: sessions[session].clearance, in: keyspace)
        }
        var values = walk.search.present(in: keyspace)
        for number in keyspace.history.first(after: walk.since)..<keyspace.history.count {
            let observable = keyspace.history[number].observable
            if walk.search.isWanted(observable, keyspace) { values.append(observable) }
        }
        return values
    }

    /// In the order in which they were written, each once. The revisions are read once: of very many keys
    /// each look goes to memory.
    private func inOrder(_ values: [ObservableHandle]) -> [ObservableHandle] {
        let dated = values.map { (revision: keyspace[$0].revision, key: $0) }.sorted { one, other in
            if one.revision != other.revision { return one.revision < other.revision }
            return keyspace.precedes(one.key, other.key)
        }
        var last: ObservableHandle?
        return dated.lazy.map(\.key).filter { observable in
            defer { last = observable }
            return observable != last
        }
    }

    /// What owing a value costs, in observers that are told an event meanwhile.
    private static let stepsPerValue = 16
}
