// A bus, as far as a bridge can see it: revisions, values, batches with `if`, and events that come later,
// perhaps folded. It also keeps what a test wants to know of each write.

import PlugboardClient
import TestSupport

@testable import BridgePlugin

struct SimulatedBus {
    struct Value {
        var revision: Int
        var json: JSON
        var by: String
        var isBound = false
    }

    struct Event {
        let key: String
        let revision: Int
        let value: JSON?
        let by: String
        let isBound: Bool
    }

    /// One write of a batch.
    struct Change {
        let key: String
        let value: JSON?
        var ifRevision: Int?
        var isBound = false
    }

    /// It makes every write, whatever its `if` says. The checks must notice that.
    var isUnguarded = false
    private(set) var revision = 0
    private(set) var values: [String: Value] = [:]
    /// Events that the bridge hasn't got yet.
    private var waiting: [Event] = []
    var cursor: BridgeCursor?
    var lost: [LostWrite] = []

    /// Writes all or nothing. Returns the revision, or nil if an `if` doesn't hold.
    mutating func write(_ changes: [Change], by: String) -> Int? {
        guard
            isUnguarded
                || changes.allSatisfy({
                    $0.ifRevision == nil || $0.ifRevision == values[$0.key]?.revision ?? 0
                })
        else {
            return nil
        }
        revision += 1
        for change in changes {
            values[change.key] = change.value.map {
                Value(revision: revision, json: $0, by: by, isBound: change.isBound)
            }
            waiting.append(
                Event(
                    key: change.key, revision: revision, value: change.value, by: by, isBound: change.isBound
                )
            )
        }
        return revision
    }

    /// The events of some revisions, whole. If they are folded, only each key's newest.
    mutating func events(_ random: inout SeededRandom) -> [Event] {
        let revisions = Set(waiting.map(\.revision)).sorted()
        guard !revisions.isEmpty else { return [] }
        let last = revisions[random.below(revisions.count)]
        let taken = waiting.filter { $0.revision <= last }
        waiting.removeAll { $0.revision <= last }
        guard random.oneIn(2) else { return taken }
        var seen: Set<String> = []
        return taken.reversed().filter { seen.insert($0.key).inserted }.reversed()
    }

    /// The bridge is gone, and what waited for it.
    mutating func forgetEvents() { waiting = [] }

    /// A new subscription begins with these.
    var snapshot: [(key: String, value: Value)] {
        values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
