// Who observes each key, and who is owed it: a table by the slots of the keys. It belongs to the audience, not to the
// keys, so telling an event changes nothing of the keyspace, and borrows from it what is told. Owned by `Matching`.
//
// Keys that nobody names, and that match the same patterns, share one list of observers. A list is right while its
// generation lasts: it ends when patterns or rights change, or when its lists have become too many. Then each key's
// next event finds its list anew. So without keys that are named, lists take up the product of observers and of
// the ways in which patterns match, not of observers and keys.
//
// What always holds: a slot without a key has an empty entry. A key that is named or owed stays. A list of the
// present generation stays as long as an entry has it.

import PlugboardMemory
import PlugboardPosix

struct Reach: ~Copyable {
    typealias PatternEnd = PatternNode<SubscriptionHandle>

    /// What is known of one key's audience. Nobody observes most keys.
    private struct Entry: Zeroable {
        /// The generation for which the list of observers is right.
        var generation: UInt64 = 0
        /// How often the key has to stay: for each subscription that is owed it, as it may have to be told that
        /// the key is gone, for each gate, and for each acknowledgement that is awaited.
        var owedBy: Int32 = 0
        /// The slot of the list; 0 if nobody observes the key.
        var list: UInt32 = 0
        /// The slot of those who name the key; 0 if nobody does.
        var naming: UInt32 = 0

        var isEmpty: Bool { generation == 0 && owedBy == 0 && list == 0 && naming == 0 }
    }

    private var entries = List<Entry>()
    private(set) var generation: UInt64 = 1
    private var lists = Slab<ObserverList>()
    private var names = Slab<List<SubscriptionHandle>>()
    /// Finds lists that keys share by the ends of the patterns.
    private var shared = HashIndex()
    /// Lists with readers that are owed more than is counted.
    private var uncounted = List<Handle<ObserverList>>()
    /// How many observers the long lists of this generation have.
    private(set) var listedCount = 0
    /// How many lists are of earlier generations.
    private var outdatedCount = 0
    /// The slot that is looked at next to remove outdated lists, and the last one that was used.
    private var (nextList, lastList): (UInt32, UInt32) = (1, 0)
    /// The block of entries that is looked at next to give memory back.
    private var nextBlock = 0

    // MARK: Asking

    /// Whether it is certain that nobody observes a key. For nearly all writes, this is all that is read.
    @inline(__always)
    func isUnobserved(_ key: ObservableHandle) -> Bool {
        let entry = entry(of: key)
        return entry.list == 0 && entry.generation == generation
    }

    /// Whether a key's list of observers is known and right. What is told of the list below holds if it is.
    @inline(__always)
    func isListed(_ key: ObservableHandle) -> Bool { entry(of: key).generation == generation }

    @inline(__always)
    func hasObservers(_ key: ObservableHandle) -> Bool { list(of: key) != .none }

    /// Whether one of those in the list acknowledges, so that they are told in phases.
    @inline(__always)
    func hasAcknowledgers(_ key: ObservableHandle) -> Bool {
        let list = list(of: key)
        return list != .none && lists[list].acknowledge
    }

    /// Those who observe a key, patterns included, in the order in which they are told.
    @_lifetime(borrow self)
    func observers(of key: ObservableHandle) -> Span<ObserverEntry> {
        let list = list(of: key)
        return list == .none ? Span() : lists[list].observers.span
    }

    @_lifetime(borrow self)
    func naming(_ key: ObservableHandle) -> Span<SubscriptionHandle> {
        let naming = names.handle(inSlot: entry(of: key).naming) ?? .none
        return naming == .none ? Span() : names[naming].span
    }

    @inline(__always)
    func isNamed(_ key: ObservableHandle) -> Bool { entry(of: key).naming != 0 }

    /// How often a key has to stay for what is owed.
    @inline(__always)
    func owedBy(_ key: ObservableHandle) -> Int { Int(entry(of: key).owedBy) }

    func needs(_ key: ObservableHandle) -> Bool { owedBy(key) > 0 || isNamed(key) }

    /// Asks for the memory of an entry without waiting for it. `slot` may be any number.
    @inline(__always)
    func prefetch(slot: UInt32) {
        if Int(slot) < entries.count { entries.prefetch(Int(slot)) }
    }

    // MARK: What is owed

    /// A key has to stay once more, or `count` times.
    @inline(__always)
    mutating func retain(_ key: ObservableHandle, _ count: Int = 1) {
        let place = place(of: key)
        entries[place].owedBy += Int32(truncatingIfNeeded: count)
    }

    /// A key has to stay once less, or `count` times.
    @inline(__always)
    mutating func release(_ key: ObservableHandle, _ count: Int = 1) { retain(key, -count) }

    // MARK: Who observes

    /// Exchanges the list of a key's observers with another, as it is taken out while they are told. The key has one.
    @inline(__always)
    mutating func exchange(_ observers: inout List<ObserverEntry>, of key: ObservableHandle) {
        swap(&observers, &lists[list(of: key)].observers)
    }

    /// The same for the runs of readers in that list.
    mutating func exchange(_ runs: inout ReaderRuns, of key: ObservableHandle) {
        swap(&runs, &lists[list(of: key)].runs)
    }

    /// The list of a key has readers that are owed more than is counted.
    mutating func addUncounted(_ key: ObservableHandle) {
        let list = list(of: key)
        if uncounted.last != list { uncounted.append(list) }
    }

    /// Those readers, and how many keys more each of them is owed.
    mutating func takeUncounted() -> [(reader: SubscriptionHandle, count: UInt32)] {
        var found: [(reader: SubscriptionHandle, count: UInt32)] = []
        while let list = uncounted.popLast() {
            for run in lists[list].runs.all.all where run.uncounted > 0 {
                for place in run.places {
                    found.append((lists[list].observers[place].subscription, run.uncounted))
                }
            }
            lists[list].runs.endCounting()
        }
        return found
    }

    /// Gives a key the list of other keys that match the same patterns. Returns whether there is one.
    mutating func share(_ ends: [PatternEnd], with key: ObservableHandle) -> Bool {
        if ends.isEmpty {
            setList(0, of: key)
            return true
        }
        var search = shared.search(Self.hash(ends))
        while let slot = shared.next(&search) {
            guard let list = lists.handle(inSlot: slot), lists[list].generation == generation,
                lists[list].ends.elementsEqual(ends, by: ===)
            else { continue }
            setList(slot, of: key)
            return true
        }
        return false
    }

    /// Makes the list of a key's observers. Keys that match these patterns share it; without patterns it is the
    /// key's own.
    mutating func list(
        _ found: borrowing List<SubscriptionHandle>,
        _ subscriptions: borrowing Slab<SubscriptionRecord>,
        of key: ObservableHandle,
        sharedBy ends: [PatternEnd]
    ) {
        removeOutdated(visits: 2)
        if found.isEmpty { return setList(0, of: key) }
        var list = ObserverList(generation, ends, besides: naming(key).count)
        list.observers.reserve(found.count)
        for place in found.indices {
            list.observers.append(ObserverEntry(found[place], subscriptions[found[place]]))
            if subscriptions[found[place]].acknowledges { list.acknowledge = true }
        }
        listedCount += list.longCount
        let made = lists.insert(list)
        lastList = max(lastList, made.slot)
        if !ends.isEmpty { shared.insert(Self.hash(ends), made.slot) }
        setList(made.slot, of: key)
    }

    private mutating func setList(_ slot: UInt32, of key: ObservableHandle) {
        let place = place(of: key)
        entries[place].list = slot
        entries[place].generation = generation
    }

    /// No list is right any more.
    mutating func outdate() {
        generation += 1
        outdatedCount = lists.count
        listedCount = 0
    }

    /// Call between events. Lists that have become too many are made anew as they are needed.
    mutating func endTurn() {
        if listedCount > Self.listedMax { outdate() }
    }

    /// How many observers the long lists of a generation may have at the end of a turn.
    static let listedMax = 524_288

    /// The list of a key's observers isn't right any more.
    private mutating func outdate(_ key: ObservableHandle) {
        let list = list(of: key)
        if list != .none, lists[list].ends.isEmpty {
            listedCount -= lists[list].longCount
            _ = lists.remove(list)
        }
        let place = place(of: key)
        entries[place].list = 0
        entries[place].generation = 0
    }

    /// Removes lists of earlier generations among so many.
    private mutating func removeOutdated(visits: Int) {
        for _ in 0..<visits where outdatedCount > 0 {
            if nextList > lastList { nextList = 1 }
            if let list = lists.handle(inSlot: nextList), lists[list].generation != generation {
                let ends = lists.remove(list).ends
                if !ends.isEmpty { shared.remove(Self.hash(ends), list.slot) }
                outdatedCount -= 1
            }
            nextList += 1
        }
    }

    /// A subscription names a key exactly. Returns its place among those who do.
    mutating func name(_ key: ObservableHandle, by subscription: SubscriptionHandle) -> Int {
        outdate(key)
        let place = place(of: key)
        if entries[place].naming == 0 { entries[place].naming = names.insert(List()).slot }
        let naming = names.handle(inSlot: entries[place].naming) ?? .none
        names[naming].append(subscription)
        return names[naming].count - 1
    }

    /// The subscription at this place names a key no more. Returns the one that has its place now.
    mutating func unname(_ key: ObservableHandle, at place: Int) -> SubscriptionHandle? {
        outdate(key)
        let naming = names.handle(inSlot: entry(of: key).naming) ?? .none
        names[naming].removeSwapping(at: place)
        if place < names[naming].count { return names[naming][place] }
        if names[naming].isEmpty {
            _ = names.remove(naming)
            entries[self.place(of: key)].naming = 0
        }
        return nil
    }

    /// A key is about to be removed. Nobody needs it.
    mutating func forget(_ key: ObservableHandle) {
        if Int(key.slot) < entries.count { outdate(key) }
    }

    // MARK: Memory

    /// Looks at about `visits` places of keys that may be gone, and returns whether it is done.
    mutating func shrink(visits: Int) -> Bool {
        var left = visits
        while left > 0, let last = entries.last, last.isEmpty {
            _ = entries.popLast()
            left -= 1
        }
        let isShort = entries.shrink(by: visits, keeping: Self.blockEntries)
        while left > 0, nextBlock < entries.count / Self.blockEntries {
            left -= giveBackBlock(nextBlock)
            nextBlock += 1
        }
        if left > 0 { nextBlock = 0 }
        removeOutdated(visits: visits)
        let areNamesShort = names.shrink(visits: visits, MemoryPages.giveBack)
        let areListsShort = lists.shrink(visits: visits, MemoryPages.giveBack)
        let isIndexShort = shared.shrink(visits: visits)
        return areNamesShort && areListsShort && isIndexShort && isShort && left > 0 && outdatedCount == 0
    }

    /// So many entries are given back together: some pages of memory.
    static let blockEntries = 4_096

    /// If all are empty. They read as empty ones afterwards, too. Returns how many visits that took.
    private mutating func giveBackBlock(_ block: Int) -> Int {
        let places = block * Self.blockEntries..<(block + 1) * Self.blockEntries
        for place in places where !entries[place].isEmpty { return place - places.lowerBound + 1 }
        var all = entries.mutableSpan
        var part = all._mutatingExtracting(places)
        MemoryPages.giveBack(&part)
        return places.count
    }

    // MARK: Entries

    @inline(__always)
    private func entry(of key: ObservableHandle) -> Entry {
        let slot = Int(key.slot)
        return slot < entries.count ? entries[slot] : Entry()
    }

    /// Where a key's entry is; makes room for it.
    @inline(__always)
    private mutating func place(of key: ObservableHandle) -> Int {
        let slot = Int(key.slot)
        if slot >= entries.count { makeRoom(for: slot) }
        return slot
    }

    @inline(never)
    private mutating func makeRoom(for slot: Int) {
        while entries.count <= slot { entries.append(Entry()) }
    }

    /// The list of a key, if it is right and somebody is in it.
    @inline(__always)
    private func list(of key: ObservableHandle) -> Handle<ObserverList> {
        let entry = entry(of: key)
        if entry.list == 0 || entry.generation != generation { return .none }
        return lists.handle(inSlot: entry.list) ?? .none
    }

    private static func hash(_ ends: [PatternEnd]) -> UInt64 {
        ends.reduce(0) { hash, end in
            (hash ^ UInt64(UInt(bitPattern: ObjectIdentifier(end)))) &* 0x9E37_79B9_7F4A_7C15
        } >> 32
    }
}

private struct ObserverList: ~Copyable {
    /// All that match, patterns included, in the order in which they are told.
    var observers = List<ObserverEntry>()
    var runs = ReaderRuns()
    var acknowledge = false
    let generation: UInt64
    /// Where the patterns end that match each key of this list; empty if it is one key's own.
    let ends: [Reach.PatternEnd]
    /// How many of them name the key. They take up memory for that anyhow.
    private let namingCount: Int

    init(_ generation: UInt64, _ ends: [Reach.PatternEnd], besides namingCount: Int) {
        self.generation = generation
        self.ends = ends
        self.namingCount = namingCount
    }

    /// How many count for the bound. A short list is no larger than what is known of its key anyhow.
    var longCount: Int { observers.count < 8 ? 0 : observers.count - namingCount }
}

extension Span<ObserverEntry> {
    /// The subscriptions alone, for code that changes the list meanwhile.
    var subscriptions: [SubscriptionHandle] { indices.map { self[$0].subscription } }
}

extension Reach: Checked {
    func checkInvariants(_ keyspace: borrowing Keyspace) throws(BrokenInvariant) {
        var (slots, own, named): (Set<UInt32>, Set<UInt32>, Set<UInt32>) = ([], [], [])
        for observable in keyspace.all.handles {
            slots.insert(observable.slot)
            let name = String(keyspace[observable].key)
            let entry = entry(of: observable)
            try Self.always.hold("a key is owed to nobody or to some", entry.owedBy >= 0, of: name)
            let isNeeded = keyspace[observable].isNeeded || needs(observable)
            try Self.always.hold("a key is needed by something", isNeeded, of: name)
            if entry.naming != 0 {
                try Self.always.hold("who names is there", !naming(observable).isEmpty, of: name)
                try Self.always.hold("they name one key", named.insert(entry.naming).inserted, of: name)
            }
            guard entry.generation == generation, entry.list != 0 else { continue }
            let list = list(of: observable)
            try Self.always.hold("a key's list is there", list != .none, of: name)
            try Self.always.hold("a list has observers", !lists[list].observers.isEmpty, of: name)
            guard lists[list].ends.isEmpty else { continue }
            try Self.always.hold("its own list is one key's", own.insert(entry.list).inserted, of: name)
        }
        for slot in entries.indices where !slots.contains(UInt32(slot)) {
            try Self.always.hold("without a key there is no audience", entries[slot].isEmpty, of: "\(slot)")
        }
        try Self.always.agree("all names are a key's", names.count, named.count)
        var (ownCount, findable, outdated, listed) = (0, 0, 0, 0)
        lists.forEach { list in
            let isOwn = lists[list].ends.isEmpty
            if !isOwn { findable += 1 }
            if lists[list].generation != generation { return outdated += 1 }
            if isOwn { ownCount += 1 }
            listed += lists[list].longCount
        }
        try Self.always.hold("what readers are owed is counted", uncounted.isEmpty)
        try Self.always.agree("own lists are a key's", ownCount, own.count)
        try Self.always.agree("shared lists are found", shared.count, findable)
        try Self.always.agree("it counts its lists", listedCount, listed)
        try Self.always.agree("it counts outdated lists", outdatedCount, outdated)
    }
}
