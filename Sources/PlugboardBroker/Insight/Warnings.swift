// The broker's warnings: loops of causes, problems of the journal, programs that could not take over, and clients that
// could not be accepted.
// Owned by `Insight`; the hub publishes the latest 32 at `$broker.warnings`. If a problem goes on, its
// warning counts how often. A fast loop is noted at most ten times a second, because noting it takes time.

import PlugboardMemory
import PlugboardWire

struct Warnings: ~Copyable {
    /// How often a chain has to come back to the same key and writer to count as a loop.
    static let returnsMin: UInt8 = 16
    static let keptMax = 32
    private static let pauseMilliseconds: UInt64 = 100

    enum Kind: String {
        case loop, storage, restart, descriptors
    }

    struct Warning {
        var number: UInt64 = 0
        let kind: Kind
        let message: String
        var milliseconds: UInt64
        var revision: UInt64
        var times: UInt64 = 1
        /// The writes of the loop, the newest first; empty if it isn't a loop.
        var steps: [Step] = []
    }

    struct Step: Equatable {
        let key: String
        let by: String
    }

    private(set) var latest: [Warning] = []
    private var lastNumber: UInt64 = 0
    private var lastMilliseconds: UInt64 = 0

    /// Counts how often the chain of causes of the newest write has come back to it.
    mutating func countReturns(_ keyspace: inout Keyspace) {
        let number = keyspace.history.count - 1
        guard let earlier = keyspace.history.returning(to: number, keyspace.authors) else { return }
        let before = keyspace.history[earlier].returns
        // After the highest count, it goes on in steps of a whole warning.
        let returns = before == .max ? .max - Self.returnsMin + 1 : before + 1
        keyspace.history[number].returns = returns
        let now = keyspace.history[number].milliseconds
        guard returns % Self.returnsMin == 0 else { return }
        // A loop was noted just before. The clock may have been set back.
        if now >= lastMilliseconds, now - lastMilliseconds < Self.pauseMilliseconds { return }
        // The last step is the first one again.
        let steps = keyspace.history.loop(from: number, to: earlier).dropLast().map { step in
            let entry = keyspace.history[step]
            return Step(
                key: String(keyspace[entry.observable].key), by: String(keyspace.authors[entry.author].name)
            )
        }
        lastMilliseconds = now
        let revision = keyspace.revision
        // In the order of the writes: `a → b → a`.
        let keys = (steps.prefix(1) + steps.reversed()).map(\.key).joined(separator: " → ")
        let message = "a loop of causes: \(keys)"
        raise(Warning(kind: .loop, message: message, milliseconds: now, revision: revision, steps: steps))
    }

    /// Each key of a loop comes back, and each would give a warning of its own. So warnings that share a step are one.
    mutating func raise(_ warning: Warning) {
        let known = latest.firstIndex {
            warning.steps.isEmpty
                ? $0.message == warning.message : $0.steps.contains { warning.steps.contains($0) }
        }
        guard let known else {
            lastNumber += 1
            latest.append(warning)
            latest[latest.count - 1].number = lastNumber
            if latest.count > Self.keptMax { latest.removeFirst() }
            return
        }
        latest[known].milliseconds = warning.milliseconds
        latest[known].revision = warning.revision
        latest[known].times += 1
    }

    /// Forgets the warnings whose message begins like this: what they warn of is over.
    mutating func end(_ start: String) {
        latest.removeAll { $0.message.hasPrefix(start) }
    }

    func append(to buffer: inout ByteBuffer) {
        buffer.append("[")
        for (index, warning) in latest.enumerated() {
            if index > 0 { buffer.append(",") }
            Self.append(warning, to: &buffer)
        }
        buffer.append("]")
    }

    private static func append(_ warning: Warning, to buffer: inout ByteBuffer) {
        buffer.append("{")
        buffer.append(member: "warning", warning.number, isFirst: true)
        buffer.append(member: "kind", text: warning.kind.rawValue)
        buffer.append(member: "times", warning.times)
        buffer.append(member: "when", when: warning.milliseconds)
        buffer.append(member: "revision", warning.revision)
        buffer.append(#","message":"#)
        JSONText.append(warning.message, to: &buffer)
        if warning.steps.isEmpty { return buffer.append("}") }
        buffer.append(#","loop":["#)
        for (index, step) in warning.steps.enumerated() {
            buffer.append(index == 0 ? #"{"key":""# : #",{"key":""#)
            buffer.append(string: step.key)
            buffer.append(#"","by":"#)
            buffer.append(string: step.by)
            buffer.append("}")
        }
        buffer.append("]}")
    }
}
