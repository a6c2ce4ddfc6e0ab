// What paused and slow readers are owed together. Those who observe the same keys are owed the ends of one list, because
// the list is in the order of the newest events: each is owed what was written after the last that it was told. So a
// write is noted once for all of them, and takes memory once, however many they are. A reader that is told something
// only moves on. A key that is written again moves to the end, and is owed again to all who were told it.
// Only how often a key was written since a reader knew it needs more: a mark for each version that a reader knew when it
// began to wait, and a number of the reader's own for a key that it was told while it waited, and that was written again.

import PlugboardMemory

typealias LaneHandle = Handle<Lane>

struct Lag: BitwiseCopyable {
    /// `.none` for nearly all.
    var lane = LaneHandle.none
    /// It knew everything up to this event when it began to wait.
    var fell: UInt64 = 0
    /// It was told what was written up to this event, and not written again.
    var told: UInt64 = 0
    var owedCount: UInt32 = 0
    /// While it is told some: the next one; −1 if there is none.
    var next = standing
    /// Its stand says what is next.
    static let standing: ConflatedKeys.Place = -2
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

/// The lane of all readers of one interest that wait.
struct Lane: ~Copyable, Checked {
    fileprivate let interest: ObservedKeys
    /// Keys by their newest events. `skipped` counts from when the key came here.
    var keys = ConflatedKeys()
    /// Up to where its readers were told.
    fileprivate private(set) var stands = Stands()
    /// When its readers began to wait.
    fileprivate private(set) var falls = Stands()
    private var marks = Marks()
    /// The event that was noted last, and what the lane had of its key.
    private var noted = (event: UInt64(0), key: Noted(place: 0))

    fileprivate init(_ interest: ObservedKeys, number: UInt32) {
        self.interest = interest
        // It differs from lane to lane, so that not all grow with the same event.
        keys.filledMax -= Int(number & 63)
    }

    fileprivate var isLeft: Bool { stands.all.isEmpty }

    /// Whether its first key is owed to nobody any more.
    var hasUnowed: Bool {
        guard let oldest = stands.all.first, let front = keys.front else { return false }
        return keys[front].event <= oldest.event
    }

    /// How many steps it takes to leave it or to move on: those who are further on are moved in a list.
    func stepsToMove(_ lag: Lag) -> Int {
        (stands.all.count - stands.first(from: lag.told)) / Self.standsPerStep
    }

    private static let standsPerStep = 16

    // MARK: Coming, moving on and going

    fileprivate mutating func join(at event: UInt64) {
        falls.add(event)
        stands.add(event)
        guard noted.event > event, let newest = keys.back else { return }
        // The present event was noted for others before: it is owed this key, and may know it as it was.
        stands.beginOwing(newest)
        marks.add(Mark(event: noted.key.before, writes: noted.key.writes), at: newest, falls)
    }

    /// A reader was told what comes before the next one.
    mutating func move(_ lag: Lag, from told: UInt64) {
        stands.remove(told)
        stands.add(lag.told, first: lag.next)
    }

    fileprivate mutating func leave(_ lag: Lag) {
        falls.remove(lag.fell)
        stands.remove(lag.told)
    }

    /// Takes out some of the keys that no reader is owed any more.
    mutating func takeUnowed(into taken: inout ConflatedKeys) {
        while taken.count < Self.takenAtOnceMax, hasUnowed, let front = keys.front {
            marks.removeAll(at: front)
            taken.append(keys.remove(front))
        }
    }

    private static let takenAtOnceMax = 64

    // MARK: Writing

    /// What the lane had of the key of an event.
    struct Noted: BitwiseCopyable {
        let place: ConflatedKeys.Place
        /// The event of the key before, and how often it had been written by then; 0 if there was none. A reader that
        /// knows that event is owed one more key.
        var before: UInt64 = 0
        var writes: UInt32 = 0
        /// It wasn't asked by another reader.
        var isFirst = true
    }

    /// Notes an event, once for all readers.
    @inline(__always)
    mutating func add(_ owed: OwedKey) -> Noted {
        if noted.event == owed.event { return noted.key }
        let key = addFirst(owed)
        noted = (owed.event, key)
        noted.key.isFirst = false
        return key
    }

    private mutating func addFirst(_ owed: OwedKey) -> Noted {
        guard let known = keys.find(owed.observable) else {
            let added = keys.append(owed)
            stands.beginOwing(added)
            return Noted(place: added)
        }
        let key = Noted(place: known, before: keys[known].event, writes: keys[known].writes)
        if falls.has(from: key.before) {
            // A reader knew the key as it is when it began to wait.
            marks.add(Mark(event: key.before, writes: key.writes), at: known, falls)
        }
        stands.passOn(known, to: keys.place(after: known) ?? known, before: key.before)
        keys[known].isGated = owed.isGated
        keys.set(unacknowledged: nil, at: known)
        keys.fold(known, revision: owed.revision, event: owed.event)
        stands.beginOwing(known)
        return key
    }

    // MARK: Reading

    func first(for lag: Lag) -> OwedKey? { firstPlace(for: lag).map { keys[$0] } }

    func firstPlace(for lag: Lag) -> ConflatedKeys.Place? {
        let isStanding = lag.next == Lag.standing
        let first = isStanding ? stands.all[stands.first(from: lag.told)].first : lag.next
        return first >= 0 ? first : nil
    }

    /// A key as one reader is owed it, which knows so many of its writes if that isn't nil.
    func owed(_ place: ConflatedKeys.Place, to lag: Lag, knowing writes: UInt32?) -> OwedKey {
        var owed = keys[place]
        owed.forget(writes: writes ?? marks.writes(at: place, upTo: lag.fell))
        return owed
    }
}

/// The readers of a lane in the order of an event that each has.
private struct Stands: ~Copyable {
    /// The readers that have the same event.
    struct Stand: BitwiseCopyable {
        let event: UInt64
        var readers: Int32 = 1
        /// The first key that they are owed; −1 if there is none.
        var first: ConflatedKeys.Place = -1
    }

    private(set) var all: [Stand] = []

    var readerCount: Int { all.reduce(0) { $0 + Int($1.readers) } }

    /// The first of those who have this event or a later one.
    func first(from event: UInt64) -> Int { countFirst(of: all.count) { all[$0].event < event } }

    /// Whether somebody has the event `from` or a later one, and one before `end`.
    func has(from event: UInt64, before end: UInt64 = .max) -> Bool {
        let stand = first(from: event)
        return stand < all.count && all[stand].event < end
    }

    mutating func add(_ event: UInt64, first: ConflatedKeys.Place = -1) {
        let stand = self.first(from: event)
        if stand < all.count, all[stand].event == event {
            all[stand].readers += 1
            return
        }
        all.insert(Stand(event: event, first: first), at: stand)
    }

    mutating func remove(_ event: UInt64) {
        let stand = first(from: event)
        all[stand].readers -= 1
        if all[stand].readers == 0 { all.remove(at: stand) }
    }

    /// Those who were owed nothing are owed this key.
    mutating func beginOwing(_ key: ConflatedKeys.Place) {
        var stand = all.count
        while stand > 0, all[stand - 1].first < 0 {
            stand -= 1
            all[stand].first = key
        }
    }

    /// A key moves to the end. For whom it was the first, the next one is. They stand before the key's event.
    mutating func passOn(_ key: ConflatedKeys.Place, to next: ConflatedKeys.Place, before event: UInt64) {
        var stand = first(from: event)
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
}

private struct Marks: ~Copyable {
    /// Those of each key, the oldest first, by its place in the lane.
    private var all: [[Mark]] = []

    /// Adds a mark that is newer than the others of its key, unless it is there. Marks that nobody needs any more
    /// don't pile up.
    mutating func add(_ mark: Mark, at place: ConflatedKeys.Place, _ falls: borrowing Stands) {
        let key = Int(place)
        while all.count <= key { all.append([]) }
        if all[key].last?.event == mark.event { return }
        while let last = all[key].last, !falls.has(from: last.event, before: mark.event) {
            all[key].removeLast()
        }
        if all[key].count == all[key].capacity { thinOut(key, before: mark.event, falls) }
        all[key].append(mark)
    }

    /// How often a key had been written up to an event.
    func writes(at key: ConflatedKeys.Place, upTo event: UInt64) -> UInt32 {
        guard all.indices.contains(Int(key)) else { return 0 }
        let marks = all[Int(key)]
        let known = countFirst(of: marks.count) { marks[$0].event <= event }
        return known > 0 ? marks[known - 1].writes : 0
    }

    mutating func removeAll(at key: ConflatedKeys.Place) {
        if all.indices.contains(Int(key)) { all[Int(key)] = [] }
    }

    /// Removes the marks of a key that nobody needs any more. Next time there may be twice as many.
    private mutating func thinOut(_ key: Int, before event: UInt64, _ falls: borrowing Stands) {
        var (kept, until): ([Mark], UInt64) = ([], event)
        for mark in all[key].reversed() {
            if falls.has(from: mark.event, before: until) { kept.append(mark) }
            until = mark.event
        }
        all[key] = kept.reversed()
        all[key].reserveCapacity(kept.count * 2)
    }
}

/// How many of so many come first: for those it is true, and for all others it isn't.
@inline(__always)
private func countFirst(of count: Int, where isFirst: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
        let middle = (low + high) / 2
        if isFirst(middle) { low = middle + 1 } else { high = middle }
    }
    return low
}

/// Readers of one lane that stand next to each other in a list of observers. While none of them moves on or may go on,
/// a write needn't look at each.
struct ReaderRun: BitwiseCopyable {
    let lane: LaneHandle
    /// Where they stand.
    private let start: Int32
    private var end: Int32
    /// The first of them knew everything up to here when it began to wait, and the last was told what was written up to
    /// there.
    private var fell: UInt64
    private var told: UInt64
    /// So many keys more than is counted are owed to each of them.
    fileprivate(set) var uncounted: UInt32 = 0

    fileprivate init(_ lag: Lag, at place: Int) {
        (lane, fell, told) = (lag.lane, lag.fell, lag.told)
        (start, end) = (Int32(place), Int32(place) + 1)
    }

    var places: Range<Int> { Int(start)..<Int(end) }

    /// Takes in a reader that stands behind it. Returns false if that is of another lane.
    fileprivate mutating func extend(by lag: Lag, at place: Int) -> Bool {
        guard lag.lane == lane, place == Int(end) else { return false }
        (fell, told, end) = (min(fell, lag.fell), max(told, lag.told), end + 1)
        return true
    }

    /// What an event of a key means to its readers: they are owed the key already, or all are owed it from now on. If it
    /// means more to some of them than to others, returns false.
    fileprivate mutating func owe(_ key: Lane.Noted) -> Bool {
        if key.before > told { return true }
        guard key.before <= fell else { return false }
        uncounted += 1
        return true
    }
}

/// The runs of readers in one list of observers, as long as they are right.
struct ReaderRuns: ~Copyable {
    /// Shorter lists have none.
    static let listMin = 64
    private static let lengthMin = 4

    private(set) var all = List<ReaderRun>()
    /// What `Lanes.moves` was when they were found, and when an event of this list was told last.
    private var found: UInt64 = 0
    private var seen: UInt64 = 0
    /// Some readers are owed more than is counted.
    var hasUncounted: Bool { all.indices.contains { all[$0].uncounted > 0 } }

    /// Call before an event is told. Returns whether it is worthwhile to find them: no reader has moved since the last
    /// event.
    mutating func begin(at moves: UInt64) -> Bool {
        if found == moves { return false }
        all.removeAll()
        defer { seen = moves }
        return seen == moves
    }

    /// Adds a reader that may be passed by. Those of a list come in their order.
    mutating func add(_ lag: Lag, at place: Int) {
        if !all.isEmpty, all[all.count - 1].extend(by: lag, at: place) { return }
        endRun()
        all.append(ReaderRun(lag, at: place))
    }

    /// They are right until a reader moves.
    mutating func endFinding(at moves: UInt64) {
        endRun()
        found = moves
    }

    private mutating func endRun() {
        if let last = all.last, last.places.count < Self.lengthMin { _ = all.popLast() }
    }

    /// Tells a run of an event. Returns whether its readers needn't be looked at.
    mutating func owe(_ key: Lane.Noted, toRun index: Int) -> Bool { all[index].owe(key) }

    mutating func endCounting() {
        for index in all.indices { all[index].uncounted = 0 }
    }
}

/// All lanes. Owned by `Matching`.
struct Lanes: ~Copyable {
    /// How often readers have moved on, have left, or may go on: runs that were found before aren't right any more.
    private(set) var moves: UInt64 = 1
    private var all = Slab<Lane>()
    private var found: [ObservedKeys: LaneHandle] = [:]
    /// The lane that somebody joined last: very many may fall behind with one event.
    private var latest = LaneHandle.none

    /// Nobody waits who shares what it is owed.
    @inline(__always) var isEmpty: Bool { all.count == 0 }

    subscript(lane: LaneHandle) -> Lane {
        _read { yield all[lane] }
        _modify { yield &all[lane] }
    }

    /// A reader begins to wait after an event.
    mutating func join(_ subscription: borrowing SubscriptionRecord, at event: UInt64) -> Lag {
        if !all.contains(latest) || !all[latest].interest.isPlainly(that: subscription) {
            let interest = ObservedKeys(subscription)
            latest = found[interest] ?? all.insert(Lane(interest, number: UInt32(found.count)))
            found[interest] = latest
        }
        all[latest].join(at: event)
        return Lag(lane: latest, fell: event, told: event)
    }

    /// A reader moves on, or an event may let it go on from now on.
    mutating func countMove() { moves += 1 }

    /// A reader waits no more. Returns the keys of the lane if that was its last one.
    mutating func leave(_ lag: Lag) -> ConflatedKeys? {
        all[lag.lane].leave(lag)
        guard all[lag.lane].isLeft else { return nil }
        found[all[lag.lane].interest] = nil
        let left = all.remove(lag.lane)
        return left.keys
    }

    /// Gives back memory of lanes that are gone. Returns whether there is nothing more to do.
    mutating func shrink(visits: Int) -> Bool { all.shrink(visits: visits) }
}

extension Lanes {
    /// Each reader stands in the lane of its interest, and is owed the keys that were written since it was told some. Adds
    /// to `owedBy` how often each key is owed.
    func checkInvariants(
        _ matching: borrowing Matching, _ keyspace: borrowing Keyspace,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        var readers: [LaneHandle: Int] = [:]
        for subscription in matching.handles {
            let lag = matching[subscription].lag
            guard lag.lane != .none else { continue }
            readers[lag.lane, default: 0] += 1
            try Lane.always.hold("a reader's lane is there", all.contains(lag.lane))
            let isSame = all[lag.lane].interest == ObservedKeys(matching[subscription])
            try Lane.always.hold("a reader's lane is that of its interest", isSame)
            let backlog = matching[subscription].backlog
            let waits = lag.owedCount > 0 || backlog?.isEmpty == false
            try Lane.always.hold("who is in a lane is owed something", waits)
            try Lane.always.hold("it is owed no keys of its own", backlog?.keys.isEmpty ?? true)
            try all[lag.lane].checkInvariants(lag, backlog?.known ?? [:])
        }
        try Lane.always.agree("each interest has one lane", all.count, found.count)
        try Lane.always.agree("a lane has readers", all.count, readers.count)
        for lane in found.values {
            try all[lane].keys.checkInvariants(keyspace, isSorted: true, &owedBy)
            try Lane.always.agree("it counts its readers", all[lane].stands.readerCount, readers[lane] ?? 0)
            try Lane.always.agree("it knows when they began", all[lane].falls.readerCount, readers[lane] ?? 0)
        }
    }
}

extension Lane {
    /// A reader is owed the end of the list, from where it says, and `known` are some of these keys.
    fileprivate func checkInvariants(_ lag: Lag, _ known: [ConflatedKeys.Place: UInt32])
        throws(BrokenInvariant)
    {
        let hasStand = stands.has(from: lag.told, before: lag.told + 1) && lag.next == Lag.standing
        let hasFallen = falls.has(from: lag.fell, before: lag.fell + 1)
        try Self.always.hold("a reader has a stand", hasStand && hasFallen)
        let owed = keys.places.filter { keys[$0].event > lag.told }
        let rewritten = owed.count { known[$0] ?? .max < keys[$0].writes }
        try Self.always.agree("a reader's keys are counted", Int(lag.owedCount), owed.count)
        try Self.always.hold("a stand knows its first key", firstPlace(for: lag) == owed.first)
        try Self.always.agree("a key that a reader was told is owed again", known.count, rewritten)
    }
}
