// Feedback: a write whose chain of causes comes back to its own key and writer, again and
// again. Looked for when a write names a cause, at most a few dozen steps back.

import PlugboardWire

extension Hub {
    /// Counts how often the chain of the write that was just noted has come back to it.
    mutating func noteReturns() {
        let number = keyspace.history.count - 1
        guard let earlier = keyspace.history.returning(to: number) else { return }
        let before = keyspace.history[earlier].returns
        // Past the highest count it goes on in steps of a whole warning.
        let returns = before == .max ? .max - Warnings.returnsMin + 1 : before + 1
        keyspace.note(returns: returns, of: number)
        let now = keyspace.history[number].milliseconds
        if warnings.isDue(returns, at: now) { warnOfLoop(from: number, to: earlier, now) }
    }

    private mutating func warnOfLoop(from number: UInt64, to earlier: UInt64, _ now: UInt64) {
        // The last step is the first one again.
        let steps = keyspace.history.loop(from: number, to: earlier).dropLast().map { step in
            let entry = keyspace.history[step]
            return Warnings.Step(
                key: String(keyspace[entry.observable].key),
                by: String(keyspace.authors[entry.author].name)
            )
        }
        warnings.raise(steps, revision: revision, at: now)
    }
}
