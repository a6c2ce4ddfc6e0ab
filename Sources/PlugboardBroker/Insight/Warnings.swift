// What the broker itself finds wrong: loops of causes, and a journal that can't be kept. The
// latest are kept, for `$broker.warnings`; what goes on is one warning that grows, and a fast
// loop is looked at a few times a second.

import PlugboardMemory
import PlugboardWire

/// The latest warnings of a bus.
struct Warnings: ~Copyable {
    /// How often a chain comes back to a key and its writer before that is a loop.
    static let returnsMin: UInt8 = 16
    /// How many are kept.
    static let keptMax = 32
    /// Milliseconds from one warning, or the growing of one, to the next.
    private static let pauseMilliseconds: UInt64 = 100

    /// Something that was found.
    struct Warning {
        let number: UInt64
        /// What it is, where it is no loop.
        var storage: String?
        /// When it was last seen, in milliseconds since 1970.
        var milliseconds: UInt64
        var revision: UInt64
        /// How often the warning was raised.
        var times: UInt64 = 1
        /// The keys and the names of their writers, the newest first.
        let steps: [Step]
    }

    /// One write of a loop.
    struct Step: Equatable {
        let key: String
        /// The name as JSON.
        let by: String
    }

    private(set) var latest: [Warning] = []
    /// Grows with each change.
    private(set) var changes: UInt64 = 0
    private var lastNumber: UInt64 = 0
    private var lastMilliseconds: UInt64 = 0

    /// Whether an entry's chain has come back often enough for a warning, and none was
    /// raised just now.
    func isDue(_ returns: UInt8, at milliseconds: UInt64) -> Bool {
        guard returns >= Self.returnsMin, returns % Self.returnsMin == 0 else { return false }
        // The clock may have been set back.
        return milliseconds < lastMilliseconds || milliseconds - lastMilliseconds >= Self.pauseMilliseconds
    }

    mutating func raise(_ steps: [Step], revision: UInt64, at milliseconds: UInt64) {
        lastMilliseconds = milliseconds
        changes += 1
        // Each key of one loop comes back by itself: that is no other loop.
        if let known = latest.firstIndex(where: { $0.steps.contains { steps.contains($0) } }) {
            latest[known].milliseconds = milliseconds
            latest[known].revision = revision
            latest[known].times += 1
            return
        }
        lastNumber += 1
        latest.append(
            Warning(number: lastNumber, milliseconds: milliseconds, revision: revision, steps: steps)
        )
        if latest.count > Self.keptMax { latest.removeFirst() }
    }

    /// Something about the journal, which may be a repetition.
    mutating func raise(storage message: String, revision: UInt64, at milliseconds: UInt64) {
        changes += 1
        if let known = latest.firstIndex(where: { $0.storage == message }) {
            latest[known].milliseconds = milliseconds
            latest[known].revision = revision
            latest[known].times += 1
            return
        }
        lastNumber += 1
        latest.append(
            Warning(
                number: lastNumber,
                storage: message,
                milliseconds: milliseconds,
                revision: revision,
                steps: []
            )
        )
        if latest.count > Self.keptMax { latest.removeFirst() }
    }

    /// All of them as a JSON array, the oldest first.
    func append(to buffer: inout ByteBuffer) {
        buffer.append("[")
        for (index, warning) in latest.enumerated() {
            if index > 0 { buffer.append(",") }
            Self.append(warning, to: &buffer)
        }
        buffer.append("]")
    }

    private static func append(_ warning: Warning, to buffer: inout ByteBuffer) {
        buffer.append(#"{"warning":"#)
        buffer.append(decimal: warning.number)
        buffer.append(warning.storage == nil ? #","kind":"loop","times":"# : #","kind":"storage","times":"#)
        buffer.append(decimal: warning.times)
        buffer.append(#","when":""#)
        buffer.append(milliseconds: warning.milliseconds)
        buffer.append(#"","revision":"#)
        buffer.append(decimal: warning.revision)
        buffer.append(#","message":"#)
        JSONText.append(warning.storage ?? message(warning), to: &buffer)
        if warning.storage != nil { return buffer.append("}") }
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

    /// The keys in the order of what happens: `a → b → a`.
    private static func message(_ warning: Warning) -> String {
        let keys = warning.steps.map(\.key)
        return "a loop of causes: \((keys.prefix(1) + keys.reversed()).joined(separator: " → "))"
    }
}
