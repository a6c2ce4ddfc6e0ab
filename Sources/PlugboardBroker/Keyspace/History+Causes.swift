// Follows causes back through the history. Revisions rise along the ring, so a revision is looked for first
// where it should be, and then by binary search. Several entries may share a revision: the writes of a batch,
// and the emits that came after a write.

extension History {
    /// How many steps back a loop is looked for.
    static let returnStepsMax = 32
    /// How many entries of one revision are looked at.
    static let sharedMax: UInt64 = 64

    /// The number of the first entry after a revision; `count` if there is none.
    func first(after revision: UInt64) -> UInt64 {
        first(after: revision, before: count)
    }

    private func first(after revision: UInt64, before limit: UInt64) -> UInt64 {
        var (low, high) = (oldest, limit)
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle].revision <= revision { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The last entry of a revision before the entry `limit`.
    func last(of revision: UInt64, before limit: UInt64) -> UInt64? {
        guard limit > oldest, revision <= self[limit - 1].revision else { return nil }
        // Usually each entry has a revision of its own.
        let behind = self[limit - 1].revision - revision
        let expected = limit - 1 &- behind
        if behind < limit - oldest, self[expected].revision == revision,
            expected + 1 == limit || self[expected + 1].revision != revision
        {
            return expected
        }
        return search(revision, before: limit)
    }

    /// `last` and the entries before it that share its revision, newest first; at most `sharedMax`.
    func shared(with last: UInt64) -> ReversedCollection<ClosedRange<UInt64>> {
        var first = last
        let end = max(oldest, last - min(last, Self.sharedMax - 1))
        while first > end, self[first - 1].revision == self[last].revision { first -= 1 }
        return (first...last).reversed()
    }

    /// The nearest entry among an entry's causes that has the same key and the same author.
    func returning(to number: UInt64) -> UInt64? {
        let start = self[number]
        var current = number
        for _ in 0..<Self.returnStepsMax {
            guard let last = cause(of: current) else { return nil }
            let candidates = shared(with: last)
            if let same = candidates.first(where: { isAlike(self[$0], start) }) { return same }
            current = follow(candidates, else: last)
        }
        return nil
    }

    /// The steps from an entry back to one that `returning` found, both included.
    func loop(from number: UInt64, to end: UInt64) -> [UInt64] {
        var steps = [number]
        while let current = steps.last, current > end, steps.count <= Self.returnStepsMax,
            let last = cause(of: current)
        {
            let candidates = shared(with: last)
            steps.append(candidates.contains(end) ? end : follow(candidates, else: last))
        }
        return steps
    }

    /// The last entry of the revision that an entry names as its cause.
    func cause(of number: UInt64) -> UInt64? {
        self[number].cause.revision.flatMap { last(of: $0, before: number) }
    }

    /// The entry among these that names a cause itself.
    private func follow(_ candidates: ReversedCollection<ClosedRange<UInt64>>, else last: UInt64) -> UInt64 {
        candidates.first { self[$0].cause.isNamed } ?? last
    }

    private func isAlike(_ left: Entry, _ right: Entry) -> Bool {
        left.observable == right.observable && left.author == right.author
    }

    private func search(_ revision: UInt64, before limit: UInt64) -> UInt64? {
        let low = first(after: revision, before: limit)
        return low > oldest && self[low - 1].revision == revision ? low - 1 : nil
    }
}
