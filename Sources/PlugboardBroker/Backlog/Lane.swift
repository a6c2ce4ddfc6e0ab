// What paused and slow readers are owed together. Those who observe the same keys and began to wait one after the other are
// owed the ends of one list, because the list is in the order of the newest events: each is owed what was written
// since its own beginning. So a write is noted once for all of them, and takes memory once, however many they are.
// Only how often a key was written since a reader began needs more: a mark for each version that a reader knew.

import PlugboardMemory

typealias LaneHandle = Handle<Lane>

/// Where a reader stands in its lane.
struct Lag: BitwiseCopyable {
    /// `.none` for nearly all.
    var lane = LaneHandle.none
    /// It knows everything up to this event.
    var fell: UInt64 = 0
    /// How many keys it is owed.
    var owedCount: UInt32 = 0
}

/// The keys and patterns that a subscription observes. Equal ones match the same keys, and are held back by the same
/// phases.
struct ObservedKeys: Hashable {
    private let phase: UInt8
    private let keys: [UInt64]
    private let nodes: [ObjectIdentifier]

    init(_ subscription: borrowing SubscriptionRecord) {
        phase = subscription.phase
        keys = subscription.keys.all.map(\.observable.word).sorted()
        nodes = subscription.patterns.map { ObjectIdentifier($0.node) }.sorted()
    }

    /// Whether it is that of a subscription to one key or pattern. False says nothing.
    func isPlainly(that subscription: borrowing SubscriptionRecord) -> Bool {
        guard phase == subscription.phase, keys.count + nodes.count == 1,
            keys.count == subscription.keys.count, nodes.count == subscription.patterns.count
        else { return false }
        return keys.isEmpty
            ? nodes[0] == ObjectIdentifier(subscription.patterns[0].node)
            : keys[0] == subscription.keys[0].observable.word
    }
}

/// The lane of all paused readers of one interest.
struct Lane: ~Copyable {
    fileprivate let interest: ObservedKeys
    /// It has all that was written after this event.
    private let start: UInt64
    /// Keys by their newest events. `skipped` counts from when the key came here.
    private(set) var keys = OwedKeys()
    private var stands = Stands()
    private var marks = Marks()
    /// The event that was noted last, and the event of its key before that.
    private var noted: (event: UInt64, before: UInt64) = (0, 0)
    fileprivate private(set) var readerCount: Int32 = 0

    fileprivate init(_ interest: ObservedKeys, at event: UInt64, number: UInt32) {
        (self.interest, start) = (interest, event)
        // It differs from lane to lane, so that not all grow with the same event.
        keys.filledMax -= Int(number & 63)
    }

    fileprivate var isLeft: Bool { stands.all.isEmpty }

    /// If no more readers than this are owed so many keys, each has them as its own. To copy more takes long.
    private static let fewReadersMax: Int32 = 16
    private static let keysOfFewMax = 8_192

    /// Whether a reader that is owed so many keys had better have them as its own.
    func isTooLong(_ owedCount: UInt32) -> Bool {
        owedCount == Self.keysOfFewMax && readerCount <= Self.fewReadersMax
    }

    /// Whether its first key is owed to nobody any more.
    var hasUnowed: Bool {
        guard let oldest = stands.all.first, let front = keys.front else { return false }
        return keys[front].event <= oldest.fell
    }

    /// How many steps it takes to leave it: those who began to wait later move up.
    func stepsToLeave(_ lag: Lag) -> Int {
        (stands.all.count - stands.first(from: lag.fell)) / Self.standsPerStep
    }

    private static let standsPerStep = 16

    /// Whether a reader is its only one and always was, so that all of it is owed to that reader as it is.
    func isOwn(of lag: Lag) -> Bool {
        stands.all.count == 1 && stands.all[0].readers == 1 && lag.fell == start
    }

    // MARK: Coming and going

    fileprivate mutating func join(at event: UInt64) {
        readerCount += 1
        let isNew = stands.add(event)
        guard isNew, noted.event > event, let newest = keys.back else { return }
        // The present event was noted for others before: it is owed this key, and may know it as it was.
        stands.beginOwing(newest)
        if noted.before > 0 {
            marks.addMissing(Mark(event: noted.before, writes: keys[newest].writes - 1), at: newest, stands)
        }
    }

    fileprivate mutating func leave(_ lag: Lag) {
        readerCount -= 1
        stands.remove(lag.fell)
    }

    /// Takes out some of the keys that no reader is owed any more.
    fileprivate mutating func takeUnowed(into taken: inout OwedKeys) {
        guard let oldest = stands.all.first else { return }
        while taken.count < Self.takenAtOnceMax, let front = keys.front, keys[front].event <= oldest.fell {
            marks.removeAll(at: front)
            taken.append(keys.remove(front))
        }
    }

    private static let takenAtOnceMax = 64

    /// Takes all keys out. Nobody is in the lane any more.
    fileprivate consuming func takeKeys() -> OwedKeys { keys }

    // MARK: Writing

    /// What the lane had of the key of an event.
    struct Noted: BitwiseCopyable {
        /// The event of the key before; 0 if there was none. A reader that knows it is owed one more key.
        let before: UInt64
        /// It wasn't asked by another reader.
        var isFirst = false
    }

    /// Notes an event, once for all readers.
    fileprivate mutating func note(_ observable: ObservableHandle, revision: UInt64, event: UInt64) -> Noted {
        if noted.event == event { return Noted(before: noted.before) }
        guard let known = keys.find(observable) else {
            noted = (event, 0)
            let added = keys.append(OwedKey(observable, revision: revision, event: event))
            stands.beginOwing(added)
            return Noted(before: 0, isFirst: true)
        }
        noted = (event, keys[known].event)
        let knowing = stands.first(from: noted.before)
        if knowing < stands.all.count {
            // A reader knows the key as it is.
            marks.add(Mark(event: noted.before, writes: keys[known].writes), at: known, stands)
        }
        stands.passOn(known, to: keys.place(after: known) ?? known, before: knowing)
        keys.fold(known, revision: revision, event: event)
        stands.beginOwing(known)
        return Noted(before: noted.before, isFirst: true)
    }

    // MARK: Reading

    /// The first key that a reader is owed.
    func first(for lag: Lag) -> OwedKey? { firstPlace(for: lag).map { keys[$0] } }

    func firstPlace(for lag: Lag) -> OwedKeys.Place? {
        let first = stands.all[stands.first(from: lag.fell)].first
        return first >= 0 ? first : nil
    }

    /// A key as one reader is owed it. Adds to `visits` how many marks were looked at.
    func owed(_ place: OwedKeys.Place, to lag: Lag, _ visits: inout Int) -> OwedKey {
        var owed = keys[place]
        owed.forget(writes: marks.writes(at: place, upTo: lag.fell, &visits))
        return owed
    }
}

/// Since when the readers of a lane wait.
private struct Stands: ~Copyable {
    /// The readers that began to wait after the same event.
    struct Stand: BitwiseCopyable {
        let fell: UInt64
        var readers: Int32 = 1
        /// The first key that they are owed; −1 if there is none.
        var first: OwedKeys.Place = -1
    }

    /// In the order of `fell`.
    private(set) var all = List<Stand>()

    /// The first of those who began to wait with this event or later.
    func first(from event: UInt64) -> Int {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].fell < event { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether somebody began to wait with the event `from` or later, and before another one.
    func has(from event: UInt64, before end: UInt64) -> Bool {
        let stand = first(from: event)
        return stand < all.count && all[stand].fell < end
    }

    /// Returns whether nobody had begun to wait then.
    mutating func add(_ event: UInt64) -> Bool {
        if let last = all.last, last.fell == event {
            all[all.count - 1].readers += 1
            return false
        }
        all.append(Stand(fell: event))
        return true
    }

    mutating func remove(_ event: UInt64) {
        let stand = first(from: event)
        all[stand].readers -= 1
        guard all[stand].readers == 0 else { return }
        for next in stand..<all.count - 1 { all[next] = all[next + 1] }
        _ = all.popLast()
    }

    /// Those who were owed nothing are owed this key.
    mutating func beginOwing(_ key: OwedKeys.Place) {
        var stand = all.count
        while stand > 0, all[stand - 1].first < 0 {
            stand -= 1
            all[stand].first = key
        }
    }

    /// A key moves to the end. For whom it was the first, the next one is. They stand before `end`.
    mutating func passOn(_ key: OwedKeys.Place, to next: OwedKeys.Place, before end: Int) {
        var stand = end
        while stand > 0, all[stand - 1].first == key {
            stand -= 1
            all[stand].first = next
        }
    }
}

/// A version that somebody who still waits knew.
private struct Mark: BitwiseCopyable {
    let event: UInt64
    /// How often its key had been written by then.
    let writes: UInt32
    /// The next older mark of the key, or the next free place; −1 if there is none.
    var older: Int32 = -1
    /// How many marks the key has with this one, and with how many they are looked through.
    var count: UInt32 = 1
    var countMax: UInt32 = 8

    init(event: UInt64, writes: UInt32) { (self.event, self.writes) = (event, writes) }
}

/// The marks of all keys of a lane.
private struct Marks: ~Copyable {
    private var all = List<Mark>()
    private var free: Int32 = -1
    /// The newest mark of each key, by its place in the lane.
    private var newest = List<Int32>()

    /// Adds a mark that is newer than the others of its key. Marks that nobody needs any more don't pile up.
    mutating func add(_ mark: Mark, at key: OwedKeys.Place, _ stands: borrowing Stands) {
        while newest.count <= Int(key) { newest.append(-1) }
        while let last = last(at: key), !stands.has(from: all[last].event, before: mark.event) {
            removeNewest(at: key)
        }
        if let last = last(at: key), all[last].count >= all[last].countMax {
            thinOut(at: key, before: mark.event, stands)
        }
        push(mark, at: key)
    }

    /// The same, if it isn't there.
    mutating func addMissing(_ mark: Mark, at key: OwedKeys.Place, _ stands: borrowing Stands) {
        if let last = last(at: key), all[last].event == mark.event { return }
        add(mark, at: key, stands)
    }

    /// How often a key had been written up to an event.
    func writes(at key: OwedKeys.Place, upTo event: UInt64, _ visits: inout Int) -> UInt32 {
        var place = last(at: key) ?? -1
        while place >= 0 {
            visits += 1
            if all[place].event <= event { return all[place].writes }
            place = Int(all[place].older)
        }
        return 0
    }

    mutating func removeAll(at key: OwedKeys.Place) {
        while last(at: key) != nil { removeNewest(at: key) }
    }

    private func last(at key: OwedKeys.Place) -> Int? {
        guard newest.indices.contains(Int(key)), newest[Int(key)] >= 0 else { return nil }
        return Int(newest[Int(key)])
    }

    private mutating func push(_ mark: Mark, at key: OwedKeys.Place) {
        var mark = mark
        mark.older = newest[Int(key)]
        if let last = last(at: key) {
            (mark.count, mark.countMax) = (all[last].count + 1, all[last].countMax)
        }
        if free >= 0 {
            newest[Int(key)] = free
            free = all[Int(free)].older
            all[Int(newest[Int(key)])] = mark
        } else {
            newest[Int(key)] = Int32(truncatingIfNeeded: all.count)
            all.append(mark)
        }
    }

    private mutating func removeNewest(at key: OwedKeys.Place) {
        let place = newest[Int(key)]
        newest[Int(key)] = all[Int(place)].older
        all[Int(place)].older = free
        free = place
    }

    /// Removes the marks of a key that nobody needs any more. Next time there may be twice as many.
    private mutating func thinOut(
        at key: OwedKeys.Place, before event: UInt64, _ stands: borrowing Stands
    ) {
        var (kept, until): ([Mark], UInt64) = ([], event)
        while let last = last(at: key) {
            let mark = all[last]
            if stands.has(from: mark.event, before: until) {
                kept.append(Mark(event: mark.event, writes: mark.writes))
            }
            until = mark.event
            removeNewest(at: key)
        }
        for index in kept.indices.reversed() { push(kept[index], at: key) }
        if let last = last(at: key) { all[last].countMax = UInt32(kept.count * 2 + 8) }
    }
}

/// All lanes. Owned by `Matching`.
struct Lanes: ~Copyable {
    private var all = Slab<Lane>()
    private var found: [ObservedKeys: LaneHandle] = [:]
    /// The lane that somebody joined last: very many may fall behind with one event.
    private var latest = LaneHandle.none

    init() {}

    subscript(lane: LaneHandle) -> Lane {
        _read { yield all[lane] }
    }

    /// A reader begins to wait after an event.
    mutating func join(_ subscription: borrowing SubscriptionRecord, at event: UInt64) -> Lag {
        if !all.contains(latest) || !all[latest].interest.isPlainly(that: subscription) {
            let interest = ObservedKeys(subscription)
            latest = found[interest] ?? all.insert(Lane(interest, at: event, number: UInt32(found.count)))
            found[interest] = latest
        }
        all[latest].join(at: event)
        return Lag(lane: latest, fell: event)
    }

    /// A reader waits no more. Returns the keys of the lane if that was its last one.
    mutating func leave(_ lag: Lag) -> OwedKeys? {
        all[lag.lane].leave(lag)
        guard all[lag.lane].isLeft else { return nil }
        found[all[lag.lane].interest] = nil
        return all.remove(lag.lane).takeKeys()
    }

    @inline(__always)
    mutating func note(
        _ observable: ObservableHandle, revision: UInt64, event: UInt64, in lane: LaneHandle
    ) -> Lane.Noted {
        all[lane].note(observable, revision: revision, event: event)
    }

    /// Gives back memory of lanes that are gone. Returns whether there is nothing more to do.
    mutating func shrink(visits: Int) -> Bool { all.shrink(visits: visits) }

    /// Takes out some of the keys of a lane that nobody is owed any more.
    mutating func takeUnowed(in lane: LaneHandle, into taken: inout OwedKeys) {
        all[lane].takeUnowed(into: &taken)
    }
}

extension Lanes {
    private static var always: Invariants { Invariants(of: "Lane") }

    /// Each paused reader stands in the lane of its interest, and is owed the keys that were written since. Adds to
    /// `owedBy` how often each key is owed.
    func checkInvariants(
        _ living: borrowing Living, _ matching: borrowing Matching, _ keyspace: borrowing Keyspace,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        var readers: [LaneHandle: Int] = [:]
        for subscription in living.subscriptions {
            let lag = matching[subscription].lag
            guard lag.lane != .none else { continue }
            readers[lag.lane, default: 0] += 1
            try Self.always.hold("a reader's lane is there", all.contains(lag.lane))
            let isSame = all[lag.lane].interest == ObservedKeys(matching[subscription])
            try Self.always.hold("a reader's lane is that of its interest", isSame)
            let backlog = matching[subscription].backlog
            let isLate = backlog?.isPausedPlainly ?? true
            try Self.always.hold("who is in a lane is paused, or has no backlog", isLate)
            try Self.always.hold("it is owed nothing else", backlog?.keys.isEmpty ?? true)
            try all[lag.lane].checkInvariants(lag)
        }
        try Self.always.agree("each interest has one lane", all.count, found.count)
        try Self.always.agree("a lane has readers", all.count, readers.count)
        for lane in found.values {
            try all[lane].keys.checkInvariants(living, keyspace, isSorted: true, &owedBy)
            try Self.always.agree("it counts its readers", all[lane].standingCount, readers[lane] ?? 0)
            try Self.always.agree("it knows its readers", Int(all[lane].readerCount), readers[lane] ?? 0)
        }
    }
}

extension Lane {
    fileprivate var standingCount: Int { stands.all.indices.reduce(0) { $0 + Int(stands.all[$1].readers) } }

    /// A reader is owed the end of the list, from where it says.
    fileprivate func checkInvariants(_ lag: Lag) throws(BrokenInvariant) {
        let always = Invariants(of: "Lane")
        let stand = stands.first(from: lag.fell)
        let isThere = stand < stands.all.count && stands.all[stand].fell == lag.fell
        try always.hold("a reader has a stand", isThere)
        var (next, first, count): (OwedKeys.Place?, OwedKeys.Place?, Int) = (keys.front, nil, 0)
        while let place = next {
            next = keys.place(after: place)
            if keys[place].event <= lag.fell { continue }
            if first == nil { first = place }
            count += 1
        }
        try always.agree("a reader's keys are counted", Int(lag.owedCount), count)
        try always.hold("a stand knows its first key", firstPlace(for: lag) == first)
    }
}
