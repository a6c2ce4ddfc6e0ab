// The values that a subscription begins with, in the order in which they were written. Very many of them are
// found, sorted and owed in steps, while their request is put off. A key that is written meanwhile is left
// for the next round. Owned by its request.
//
// What always holds between two steps: an owed key had this value when its round began. A key that was
// written since is found again in a later round.

import PlugboardMemory
import PlugboardWire

final class ValueSnapshot {
    /// The keys that are owed so far, the oldest first.
    let backlog = Backlog()
    /// The broker's own keys have no history, so they are owed at the end.
    private var ownKeys: [ObservableHandle] = []
    /// The client may see other keys now, so the snapshot may be wrong.
    var isOutdated = false
    fileprivate let filter: Filter?
    private let patterns: [[UInt8]]
    private let grant: Grant?
    var search: KeySearch
    /// Keys that were found but aren't owed yet, sorted.
    fileprivate var found = KeyRuns()
    /// Keys that were written since the round began.
    fileprivate private(set) var late: Set<ObservableHandle> = []
    /// Such keys of the round before that aren't sorted yet.
    private var rest: [ObservableHandle] = []
    /// Later writes are for the next round.
    private var end: UInt64
    private var seen: UInt64
    private(set) var rounds = 1

    /// After so many rounds, the rest is done in one go, because somebody writes too much.
    private static let roundsMax = 4

    fileprivate var isLast: Bool { rounds >= Self.roundsMax }

    init(
        of patterns: [[UInt8]],
        for grant: Grant?,
        _ filter: Filter?,
        _ keyspace: borrowing Keyspace,
        rounds: Int = 1
    ) {
        (self.patterns, self.grant, self.filter, self.rounds) = (patterns, grant, filter, rounds)
        search = KeySearch(patterns, for: grant)
        (end, seen) = (keyspace.revision, keyspace.history.count)
    }

    func anew(_ keyspace: borrowing Keyspace) -> ValueSnapshot {
        ValueSnapshot(of: patterns, for: grant, filter, keyspace, rounds: rounds + 1)
    }

    /// Whether it has to begin anew, because more was written since the last step than the history remembers.
    func isLost(_ keyspace: borrowing Keyspace) -> Bool { isOutdated || seen < keyspace.history.oldest }

    /// The found values among the broker's own, as they are now.
    func ownValues(_ keyspace: borrowing Keyspace) -> [OwedKey] {
        var wanted: [ObservableHandle] = []
        for key in ownKeys
        where keyspace.contains(key) && search.isWanted(key, keyspace)
            && backlog.keys.find(key) == nil
        {
            wanted.append(key)
        }
        var runs = KeyRuns()
        runs.append(wanted, keyspace)
        var own: [OwedKey] = []
        while let key = runs.popFirst(keyspace) {
            if own.last?.observable == key.observable { continue }
            own.append(OwedKey(key.observable, revision: key.revision, .nothing))
        }
        return own
    }

    fileprivate func beginRound(_ keyspace: borrowing Keyspace) {
        (rest, late) = (Array(late), [])
        end = keyspace.revision
        rounds += 1
    }

    /// Keys that were written since the last step come after all others.
    fileprivate func findLateWrites(_ matching: inout Matching, _ keyspace: inout Keyspace) {
        for number in seen..<keyspace.history.count {
            let entry = keyspace.history[number]
            guard entry.isChange else { continue }
            let observable = entry.observable
            if let place = backlog.keys.find(observable) { backlog.takeBack(place, &matching, &keyspace) }
            if keyspace.contains(observable), search.isWanted(observable, keyspace) {
                late.insert(observable)
            }
        }
        seen = keyspace.history.count
    }

    fileprivate func find(
        _ keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines, _ allowance: inout SliceAllowance
    ) -> Bool {
        let isDone = search.goOn(keyspace, deadlines, &allowance.visits)
        found.append(search.takeFound(), keyspace)
        let count = min(rest.count, max(0, allowance.visits))
        found.append(Array(rest.suffix(count)), keyspace)
        rest.removeLast(count)
        allowance.visits -= count
        return isDone && rest.isEmpty
    }

    /// Whether a found key may be owed. The broker's own keys are noted for the end.
    fileprivate func mayOwe(_ key: DatedKey, _ keyspace: borrowing Keyspace) -> Bool {
        let observable = key.observable
        guard keyspace.contains(observable), keyspace[observable].hasValue else { return false }
        if keyspace[observable].isReserved {
            ownKeys.append(observable)
            return false
        }
        // A key that was written since is in `late`.
        return keyspace[observable].revision == key.revision && key.revision <= end
    }
}

extension Hub {
    /// Goes on for a slice. Returns whether all present values are owed.
    mutating func goOn(with snapshot: ValueSnapshot, _ allowance: inout SliceAllowance) -> Bool {
        snapshot.findLateWrites(&matching, &keyspace)
        delivery.judge.beginExamining()
        while true {
            if snapshot.isLast { allowance = .unlimited }
            guard snapshot.find(keyspace, deadlines, &allowance), oweFound(of: snapshot, &allowance) else {
                return false
            }
            if snapshot.late.isEmpty { return true }
            snapshot.beginRound(keyspace)
        }
    }

    /// Owes found keys. Returns whether that was all.
    private mutating func oweFound(of snapshot: ValueSnapshot, _ allowance: inout SliceAllowance) -> Bool {
        let backlog = snapshot.backlog
        backlog.keys.reserve(backlog.keys.count + snapshot.found.count)
        while allowance.keys > 0, !delivery.judge.hasExaminedEnough || snapshot.isLast {
            guard let key = snapshot.found.popFirst(keyspace) else { return true }
            allowance.keys -= 1
            guard snapshot.mayOwe(key, keyspace) else { continue }
            let value = keyspace.value(of: key.observable)
            if delivery.judge.concerns(.update, from: Span(), to: value, snapshot.filter),
                backlog.keys.find(key.observable) == nil
            {
                backlog.keys.append(OwedKey(key.observable, revision: key.revision, .nothing))
                matching.reach.retain(key.observable)
            }
        }
        return snapshot.found.isEmpty
    }
}

struct SliceAllowance {
    var visits: Int
    var keys: Int

    static let unlimited = SliceAllowance(visits: .max, keys: .max)
}

// A search for the keys that match a request's patterns, whole or in steps.

/// A search for keys, and how far it is. It doesn't find those whose time is over.
struct KeySearch {
    /// So many of those whose time is over are passed by in one slice: they are ended then.
    private static let expiredMax = 256
    private let patterns: [[UInt8]]
    private let grant: Grant?
    private let countMax: Int
    /// The present pattern, and the last key that was looked at.
    private var place = 0
    private var last: [UInt8]
    private var found: [ObservableHandle] = []
    /// Those whose time is over, though they are still there.
    private var expired: [ObservableHandle] = []

    /// Searches for at most `countMax` keys that have a value, come after a key, and may be seen by a client.
    init(_ patterns: [[UInt8]], for grant: Grant?, after: [UInt8] = [], countMax: Int = .max) {
        (self.patterns, self.grant, self.countMax) = (patterns, grant, countMax)
        last = after
    }

    /// Looks at keys while `visits` are left. Returns whether it is done.
    mutating func goOn(
        _ keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines, _ visits: inout Int
    ) -> Bool {
        while place < patterns.count {
            let (pattern, last) = (patterns[place], last)
            let walked = keyspace.walk(pattern.span, after: last.span, &visits) { observable in
                if deadlines.isOver(keyspace.bond(of: observable)) {
                    expired.append(observable)
                } else if isSeen(observable, keyspace) {
                    found.append(observable)
                }
                return found.count < countMax && expired.count < Self.expiredMax
            }
            switch walked {
            case .stopped:
                guard found.count < countMax, let observable = expired.last else { return true }
                self.last = Array(keyspace[observable].key)
                return false
            case .paused(let observable):
                self.last = Array(keyspace[observable].key)
                return false
            case .ended:
                place += 1
                self.last = []
            }
        }
        return true
    }

    mutating func takeFound() -> [ObservableHandle] {
        defer { found = [] }
        return found
    }

    /// What it passed by since that was taken last, because its time is over.
    mutating func takeExpired() -> [ObservableHandle] {
        defer { expired = [] }
        return expired
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
        while !search.goOn(keyspace, deadlines, &visits) { _ = search.takeExpired() }
        return search.found
    }

    func isWanted(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace) -> Bool {
        keyspace[observable].hasValue && isSeen(observable, keyspace)
            && patterns.contains { Pattern.matches($0.span, keyspace[observable].key) }
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
    private struct Run {
        let keys: [DatedKey]
        var next = 0

        var first: DatedKey { keys[next] }
    }

    /// Sorted: the run with the oldest first key is last.
    private var runs: [Run] = []
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
        insert(Run(keys: keys), keyspace)
    }

    mutating func popFirst(_ keyspace: borrowing Keyspace) -> DatedKey? {
        guard var run = runs.popLast() else { return nil }
        let first = run.first
        run.next += 1
        count -= 1
        if run.next < run.keys.count { insert(run, keyspace) }
        return first
    }

    /// Keys of one batch share a revision, so their names decide. That of one that is gone doesn't matter.
    private static func precedes(_ one: DatedKey, _ other: DatedKey, _ keyspace: borrowing Keyspace) -> Bool {
        if one.revision != other.revision { return one.revision < other.revision }
        guard keyspace.contains(one.observable), keyspace.contains(other.observable)
        else { return false }
        return KeyOrder.precedes(keyspace[one.observable].key, keyspace[other.observable].key)
    }

    private mutating func insert(_ run: Run, _ keyspace: borrowing Keyspace) {
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            let isOlder = Self.precedes(run.first, runs[middle].first, keyspace)
            if isOlder { low = middle + 1 } else { high = middle }
        }
        runs.insert(run, at: low)
    }
}
