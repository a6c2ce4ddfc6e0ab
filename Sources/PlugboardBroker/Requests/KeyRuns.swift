// Keys in the order of their last writes, found in portions: each portion is sorted, and the portions are
// merged as keys are taken. So no step takes longer than its portion. Part of a `ValueSnapshot`.

import PlugboardMemory

/// A key, and the revision of its value when it was found.
struct DatedKey: BitwiseCopyable {
    let revision: UInt64
    let observable: ObservableHandle
}

/// Sorted portions, merged.
struct KeyRuns {
    private struct Run {
        let keys: [DatedKey]
        var next = 0

        var first: DatedKey { keys[next] }
    }

    /// A binary heap. The run with the oldest first key is first.
    private var runs: [Run] = []
    /// How many keys are left.
    private(set) var count = 0

    var isEmpty: Bool { runs.isEmpty }

    /// Adds a portion of keys, without those that are gone.
    mutating func append(_ observables: [ObservableHandle], _ keyspace: borrowing Keyspace) {
        var keys: [DatedKey] = []
        keys.reserveCapacity(observables.count)
        for observable in observables where keyspace.contains(observable) {
            keys.append(DatedKey(revision: keyspace[observable].revision, observable: observable))
        }
        if keys.isEmpty { return }
        keys.sort { Self.precedes($0, $1, keyspace) }
        runs.append(Run(keys: keys))
        count += keys.count
        siftUp(from: runs.count - 1, keyspace)
    }

    /// Takes the oldest key out.
    mutating func popFirst(_ keyspace: borrowing Keyspace) -> DatedKey? {
        guard let first = runs.first?.first else { return nil }
        runs[0].next += 1
        count -= 1
        if runs[0].next == runs[0].keys.count {
            runs.swapAt(0, runs.count - 1)
            runs.removeLast()
        }
        siftDown(keyspace)
        return first
    }

    /// Keys of one batch share a revision, so their names decide. The place of a key that is gone doesn't
    /// matter.
    private static func precedes(_ one: DatedKey, _ other: DatedKey, _ keyspace: borrowing Keyspace) -> Bool {
        if one.revision != other.revision { return one.revision < other.revision }
        guard keyspace.contains(one.observable), keyspace.contains(other.observable) else { return false }
        return keyspace.precedesByKey(one.observable, other.observable)
    }

    private mutating func siftUp(from start: Int, _ keyspace: borrowing Keyspace) {
        var place = start
        while place > 0, Self.precedes(runs[place].first, runs[(place - 1) / 2].first, keyspace) {
            runs.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func siftDown(_ keyspace: borrowing Keyspace) {
        var place = 0
        while true {
            var first = place
            for child in [2 * place + 1, 2 * place + 2] where child < runs.count {
                if Self.precedes(runs[child].first, runs[first].first, keyspace) { first = child }
            }
            if first == place { return }
            runs.swapAt(place, first)
            place = first
        }
    }
}
