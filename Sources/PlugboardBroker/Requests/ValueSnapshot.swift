// The values that a subscription begins with, in the order in which they were written. Very many of them are
// found, sorted and owed in steps, while their request is put off. A key that is written meanwhile is left
// for the next round. Owned by its request.
//
// What always holds between two steps: an owed key had this value when its round began. A key that was
// written since is found again in a later round.

import PlugboardMemory
import PlugboardWire

/// A snapshot in progress.
final class ValueSnapshot {
    /// The keys that are owed so far, the oldest first.
    let backlog = Backlog()
    /// The broker's own keys have no history, so they are owed at the end.
    private var ownKeys: [ObservableHandle] = []
    /// The client may see other keys now, so the snapshot may be wrong.
    var isOutdated = false
    private let filter: Filter?
    private let patterns: [[UInt8]]
    private let clearance: Clearance?
    private var search: KeySearch
    /// Keys that were found but aren't owed yet, sorted.
    private var found = KeyRuns()
    /// Keys that were written since the round began.
    private var late: Set<ObservableHandle> = []
    /// Such keys of the round before that aren't sorted yet.
    private var rest: [ObservableHandle] = []
    /// Later writes are for the next round.
    private var end: UInt64
    /// How many writes of the history were looked at.
    private var seen: UInt64
    private(set) var rounds = 1

    /// After so many rounds, the rest is done in one go, because somebody writes too much.
    private static let roundsMax = 4

    init(
        of patterns: [[UInt8]],
        for clearance: Clearance?,
        _ filter: Filter?,
        _ keyspace: borrowing Keyspace,
        rounds: Int = 1
    ) {
        (self.patterns, self.clearance, self.filter, self.rounds) = (patterns, clearance, filter, rounds)
        search = KeySearch(patterns, for: clearance)
        (end, seen) = (keyspace.revision, keyspace.history.count)
    }

    /// The same snapshot from the beginning.
    func anew(_ keyspace: borrowing Keyspace) -> ValueSnapshot {
        ValueSnapshot(of: patterns, for: clearance, filter, keyspace, rounds: rounds + 1)
    }

    /// Whether it has to begin anew, because more was written since the last step than the history remembers.
    func isLost(_ keyspace: borrowing Keyspace) -> Bool { isOutdated || seen < keyspace.history.oldest }

    /// Goes on for a slice. Returns whether all present values are owed.
    func goOn(
        _ keyspace: inout Keyspace,
        _ delivery: inout Delivery,
        _ allowance: inout SliceAllowance,
        _ deadlines: borrowing Deadlines
    ) -> Bool {
        noteWrites(&keyspace)
        delivery.beginExamining()
        while true {
            if rounds >= Self.roundsMax { allowance = .unlimited }
            guard find(keyspace, deadlines, &allowance) else { return false }
            guard owe(&keyspace, &delivery, &allowance) else { return false }
            if late.isEmpty { return true }
            beginRound(keyspace)
        }
    }

    /// What it passed by since that was taken last, because its time is over.
    func takeExpired() -> [ObservableHandle] { search.takeExpired() }

    /// The found values among the broker's own, as they are now.
    func ownValues(_ keyspace: borrowing Keyspace) -> [OwedKey] {
        var wanted: [ObservableHandle] = []
        for key in ownKeys
        where keyspace.contains(key) && search.isWanted(key, keyspace) && backlog.keys.find(key) == nil {
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

    private func beginRound(_ keyspace: borrowing Keyspace) {
        (rest, late) = (Array(late), [])
        end = keyspace.revision
        rounds += 1
    }

    /// Keys that were written since the last step come after all others.
    private func noteWrites(_ keyspace: inout Keyspace) {
        for number in seen..<keyspace.history.count {
            let entry = keyspace.history[number]
            guard entry.isChange else { continue }
            let observable = entry.observable
            if let place = backlog.keys.find(observable) { backlog.takeBack(place, &keyspace) }
            if keyspace.contains(observable), search.isWanted(observable, keyspace) {
                late.insert(observable)
            }
        }
        seen = keyspace.history.count
    }

    /// Finds keys, and sorts them. Returns whether all were found.
    private func find(
        _ keyspace: borrowing Keyspace,
        _ deadlines: borrowing Deadlines,
        _ allowance: inout SliceAllowance
    ) -> Bool {
        let isDone = search.goOn(keyspace, deadlines, &allowance.visits)
        found.append(search.takeFound(), keyspace)
        let count = min(rest.count, max(0, allowance.visits))
        found.append(Array(rest.suffix(count)), keyspace)
        rest.removeLast(count)
        allowance.visits -= count
        return isDone && rest.isEmpty
    }

    /// Owes found keys. Returns whether that was all.
    private func owe(
        _ keyspace: inout Keyspace,
        _ delivery: inout Delivery,
        _ allowance: inout SliceAllowance
    ) -> Bool {
        backlog.keys.reserve(backlog.keys.count + found.count)
        while allowance.keys > 0, !delivery.judge.hasExaminedEnough || rounds >= Self.roundsMax {
            guard let key = found.popFirst(keyspace) else { return true }
            allowance.keys -= 1
            owe(key, &keyspace, &delivery)
        }
        return found.isEmpty
    }

    private func owe(_ key: DatedKey, _ keyspace: inout Keyspace, _ delivery: inout Delivery) {
        let observable = key.observable
        guard keyspace.contains(observable), keyspace[observable].hasValue else { return }
        if keyspace[observable].isReserved { return ownKeys.append(observable) }
        // A key that was written since is in `late`.
        guard keyspace[observable].revision == key.revision, key.revision <= end,
            delivery.concerns(.update, from: Span(), to: keyspace.value(of: observable), filter),
            backlog.keys.find(observable) == nil
        else { return }
        backlog.keys.append(OwedKey(observable, revision: key.revision, .nothing))
        keyspace[observable].owedBy += 1
    }
}

/// What one slice may do.
struct SliceAllowance {
    /// How many keys it may look at.
    var visits: Int
    /// How many keys it may owe.
    var keys: Int

    static let unlimited = SliceAllowance(visits: .max, keys: .max)
}
