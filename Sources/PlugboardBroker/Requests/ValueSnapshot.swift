// The values that a subscription begins with, in the order in which they were written. Very many of them are
// found, sorted and owed in steps, while the `subscribe` is put off. The subscription observes its keys already,
// and is owed what is written meanwhile: each key once, as it is when its turn comes.
//
// What always holds between two steps: a key that has a value, and that the filter lets through, is owed, or was found
// and not written since, or is still to be found.

import PlugboardMemory
import PlugboardWire

final class ValueSnapshot {
    fileprivate var search: KeySearch
    /// Keys that were found but aren't owed yet, sorted.
    fileprivate var found = KeyRuns()

    init(_ search: KeySearch) { self.search = search }

    var foundCount: Int { found.count }

    /// Found keys count as much as owed ones: they soon are.
    var foundBytes: Int { found.count * OwedKey.countedBytes }
}

extension Hub {
    mutating func beginSnapshot(of subscription: SubscriptionHandle) {
        let patterns = matching[subscription].allPatterns(keyspace)
        let search = KeySearch(patterns, for: sessions[matching[subscription].session].grant)
        openBacklog(of: subscription).backlog.snapshot = ValueSnapshot(search)
    }

    /// The client may see other keys now, so a snapshot that isn't complete begins anew.
    mutating func renewSnapshot(of subscription: SubscriptionHandle) {
        guard matching[subscription].backlog?.snapshot != nil else { return }
        let (backlog, sessionBacklog) = openBacklog(of: subscription)
        sessionBacklog.owedCount -= backlog.keys.count
        sessionBacklog.gatheredBytes -= backlog.gatheredBytes
        requests.abandon(backlog.takeOut())
        backlog.steps = 0
        beginSnapshot(of: subscription)
    }

    /// Goes on with a subscription's snapshot for a slice. Returns whether all present values are owed.
    mutating func goOnWithSnapshot(of subscription: SubscriptionHandle, isFirst: Bool = false) -> Bool {
        guard let backlog = matching[subscription].backlog, let snapshot = backlog.snapshot
        else { return true }
        let visits = requests.visits(isFirst: isFirst)
        let before = snapshot.foundBytes
        let isDone = goOn(with: &snapshot.search, visits)
        snapshot.found.append(snapshot.search.takeFound(), keyspace)
        let isAll = isDone && oweFound(of: snapshot, to: subscription, backlog, visits)
        openBacklog(of: subscription).sessionBacklog.gatheredBytes += snapshot.foundBytes - before
        checkOwed(to: matching[subscription].session)
        return isAll
    }

    /// Owes found keys. Returns whether that was all.
    private mutating func oweFound(
        of snapshot: ValueSnapshot, to subscription: SubscriptionHandle, _ backlog: Backlog, _ visitsMax: Int
    ) -> Bool {
        backlog.keys.reserve(backlog.keys.count + snapshot.found.count)
        delivery.judge.beginExamining()
        let filter = matching[subscription].filter
        let before = backlog.keys.count
        var visits = 0
        while visits < visitsMax, !delivery.judge.hasExaminedEnough,
            let key = snapshot.found.popFirst(keyspace)
        {
            visits += 1
            let observable = key.observable
            // What was written since is owed, or gone.
            guard keyspace.contains(observable), keyspace[observable].hasValue,
                keyspace[observable].revision == key.revision, backlog.keys.find(observable) == nil
            else { continue }
            let value = keyspace.value(of: observable)
            if delivery.judge.concerns(.update, from: Span(), to: value, filter) {
                matching.reach.retain(observable)
                backlog.keys.insert(found: OwedKey(observable, revision: key.revision, .nothing))
            }
        }
        insight.count(steps: visits * Cost.visit)
        openBacklog(of: subscription).sessionBacklog.owedCount += backlog.keys.count - before
        return snapshot.found.isEmpty
    }
}

// A search for the keys that match a request's patterns, whole or in steps.

extension Hub {
    /// Goes on with a search for a slice. Ends those whose time is over: what it finds is then all there is. Returns
    /// whether it is done.
    mutating func goOn(with search: inout KeySearch, _ visitsMax: Int) -> Bool {
        var visits = visitsMax
        let isDone = search.goOn(keyspace, deadlines, &visits)
        insight.count(steps: (visitsMax - visits) * Cost.visit)
        // A key of two patterns is found twice, and may be gone the second time.
        while let observable = search.expired.popLast() {
            if keyspace.contains(observable) { endExpired(observable) }
        }
        return isDone
    }
}

/// A search for keys, and how far it is. It doesn't find those whose time is over.
struct KeySearch {
    /// So many of those whose time is over are passed by in one slice: they are ended then.
    private static let expiredMax = 256
    /// The present pattern and those that come after it, and the last key that was looked at.
    private var patterns: ArraySlice<[UInt8]>
    private var last: [UInt8]
    private let grant: Grant?
    private let countMax: Int
    private var found: [ObservableHandle] = []
    /// Those whose time is over, though they are still there.
    fileprivate var expired: [ObservableHandle] = []

    /// Searches for at most `countMax` keys that have a value, come after a key, and may be seen by a client.
    init(_ patterns: [[UInt8]], for grant: Grant?, after: [UInt8] = [], countMax: Int = .max) {
        (self.patterns, self.grant, self.countMax) = (patterns[...], grant, countMax)
        last = after
    }

    /// Looks at keys while `visits` are left. Returns whether it is done.
    mutating func goOn(
        _ keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines, _ visits: inout Int
    ) -> Bool {
        while let pattern = patterns.first {
            let last = last
            let end = keyspace.walk(pattern.span, after: last.span, &visits) { observable in
                if deadlines.isOver(keyspace.bond(of: observable)) {
                    expired.append(observable)
                } else if isSeen(observable, keyspace) {
                    found.append(observable)
                }
                return found.count < countMax && expired.count < Self.expiredMax
            }
            if let end {
                self.last = Array(keyspace[end].key)
                // Those that are gone since they were found make room for others.
                if isFull { found = present(in: keyspace, deadlines) }
                return isFull
            }
            patterns.removeFirst()
            self.last = []
        }
        return true
    }

    /// Whether it has found as many as it looks for.
    var isFull: Bool { found.count >= countMax }

    mutating func takeFound() -> [ObservableHandle] {
        defer { found = [] }
        return found
    }

    /// The found keys that still have a value and may still be seen.
    func present(in keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines) -> [ObservableHandle] {
        found.filter {
            keyspace.contains($0) && keyspace[$0].hasValue && isSeen($0, keyspace)
                && !deadlines.isOver(keyspace.bond(of: $0))
        }
    }

    static func all(
        _ patterns: [[UInt8]],
        for grant: Grant?,
        in keyspace: borrowing Keyspace,
        _ deadlines: borrowing Deadlines
    ) -> [ObservableHandle] {
        var search = KeySearch(patterns, for: grant)
        var visits = Int.max
        while !search.goOn(keyspace, deadlines, &visits) { search.expired = [] }
        return search.found
    }

    private func isSeen(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace) -> Bool {
        grant?.permit(.subscribe, keyspace[observable].key) ?? true
    }
}

// Keys in the order of their last writes, found in portions: each portion is sorted, and the portions are
// merged as keys are taken. So no step takes longer than its portion. Part of a `ValueSnapshot`.

struct DatedKey: BitwiseCopyable {
    let revision: UInt64
    let observable: ObservableHandle
}

struct KeyRuns {
    /// Sorted: the run with the oldest first key is last. None is empty.
    private var runs: [ArraySlice<DatedKey>] = []
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
        count += keys.count
        insert(keys[...], keyspace)
    }

    mutating func popFirst(_ keyspace: borrowing Keyspace) -> DatedKey? {
        guard var run = runs.popLast(), let first = run.popFirst() else { return nil }
        count -= 1
        if !run.isEmpty { insert(run, keyspace) }
        return first
    }

    /// Keys of one batch share a revision, so their names decide. That of one that is gone doesn't matter.
    private static func precedes(_ one: DatedKey, _ other: DatedKey, _ keyspace: borrowing Keyspace) -> Bool {
        if one.revision != other.revision { return one.revision < other.revision }
        guard keyspace.contains(one.observable), keyspace.contains(other.observable)
        else { return false }
        return KeyOrder.precedes(keyspace[one.observable].key, keyspace[other.observable].key)
    }

    private mutating func insert(_ run: ArraySlice<DatedKey>, _ keyspace: borrowing Keyspace) {
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            let other = runs[middle]
            let isOlder = Self.precedes(run[run.startIndex], other[other.startIndex], keyspace)
            if isOlder { low = middle + 1 } else { high = middle }
        }
        runs.insert(run, at: low)
    }
}
