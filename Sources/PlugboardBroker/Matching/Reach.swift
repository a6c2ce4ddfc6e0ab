// Who observes each key, and who is owed it: a table by the slots of the keys. It belongs to the audience, not to the
// keys, so telling an event changes nothing of the keyspace, and borrows from it what is told. Owned by `Matching`.
//
// What always holds: a slot without a key has an empty entry. A key that is named or owed stays. A list of
// observers is right while its entry has the current generation of patterns.

import PlugboardMemory
import PlugboardPosix

struct Reach: ~Copyable {
    /// What is known of one key's audience. Nobody observes most keys.
    private struct Entry: Zeroable {
        /// The generation of patterns for which the list of observers is right.
        var generation: UInt64 = 0
        /// How often the key has to stay: for each subscription that is owed it, as it may have to be told that
        /// the key is gone, for each gate, and for each acknowledgement that is awaited.
        var owedBy: Int32 = 0
        var observers: UInt32 = 0

        var isEmpty: Bool { generation == 0 && owedBy == 0 && observers == 0 }
    }

    private var entries = List<Entry>()
    private var all = Slab<KeyObservers>()
    /// The block of entries that is looked at next to give memory back.
    private var nextBlock = 0

    init() {}

    // MARK: Asking

    /// Whether it is certain that nobody observes a key. For nearly all writes, this is all that is read.
    @inline(__always)
    func isUnobserved(_ key: ObservableHandle, asOf generation: UInt64) -> Bool {
        let entry = entry(of: key)
        return entry.observers == 0 && entry.generation == generation
    }

    @inline(__always)
    func isListed(_ key: ObservableHandle, asOf generation: UInt64) -> Bool {
        entry(of: key).generation == generation
    }

    /// The generation of patterns for which the list of a key's observers is right; 0 if it is none.
    func generation(of key: ObservableHandle) -> UInt64 { entry(of: key).generation }

    @inline(__always)
    func hasObservers(_ key: ObservableHandle) -> Bool {
        let observers = handle(of: key)
        return observers != .none && !all[observers].list.isEmpty
    }

    /// Whether one of those in the list acknowledges, so that they are told in phases.
    @inline(__always)
    func hasAcknowledgers(_ key: ObservableHandle) -> Bool {
        let observers = handle(of: key)
        return observers != .none && all[observers].acknowledge
    }

    /// The list of those who observe a key, as it is known.
    @_lifetime(borrow self)
    func observers(of key: ObservableHandle) -> Span<ObserverEntry> {
        let observers = handle(of: key)
        return observers == .none ? Span() : all[observers].list.span
    }

    @_lifetime(borrow self)
    func naming(_ key: ObservableHandle) -> Span<SubscriptionHandle> {
        let observers = handle(of: key)
        return observers == .none ? Span() : all[observers].naming.span
    }

    func isNamed(_ key: ObservableHandle) -> Bool { !naming(key).isEmpty }

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
    mutating func exchange(_ list: inout List<ObserverEntry>, of key: ObservableHandle) {
        swap(&list, &all[handle(of: key)].list)
    }

    /// Replaces the list of a key's observers, which is right for a generation.
    mutating func list(
        _ found: borrowing List<SubscriptionHandle>,
        _ subscriptions: borrowing Slab<SubscriptionRecord>,
        of key: ObservableHandle,
        asOf generation: UInt64
    ) {
        if found.isEmpty {
            dropList(of: key)
        } else {
            let observers = makeObservers(of: key)
            all[observers].list.removeAll()
            all[observers].list.reserve(found.count)
            all[observers].acknowledge = false
            for place in found.indices {
                all[observers].list.append(ObserverEntry(found[place], subscriptions[found[place]]))
                if subscriptions[found[place]].acknowledges { all[observers].acknowledge = true }
            }
        }
        entries[place(of: key)].generation = generation
    }

    /// The list of a key's observers isn't right any more.
    mutating func outdate(_ key: ObservableHandle) { entries[place(of: key)].generation = 0 }

    /// Forgets the list of a key's observers. It can be made anew.
    mutating func dropList(of key: ObservableHandle) {
        outdate(key)
        let observers = handle(of: key)
        if observers == .none { return }
        all[observers].list.releaseMemory()
        all[observers].acknowledge = false
        removeIfEmpty(observers, of: key)
    }

    /// A subscription names a key exactly. Returns its place among those who do.
    mutating func name(_ key: ObservableHandle, by subscription: SubscriptionHandle) -> Int {
        let observers = makeObservers(of: key)
        all[observers].naming.append(subscription)
        outdate(key)
        return all[observers].naming.count - 1
    }

    /// The subscription at this place names a key no more. Returns the one that has its place now.
    mutating func unname(_ key: ObservableHandle, at place: Int) -> SubscriptionHandle? {
        let observers = handle(of: key)
        outdate(key)
        all[observers].naming.removeSwapping(at: place)
        if place < all[observers].naming.count { return all[observers].naming[place] }
        if all[observers].naming.isEmpty {
            all[observers].naming.releaseMemory()
            removeIfEmpty(observers, of: key)
        }
        return nil
    }

    /// A key is about to be removed. Nobody needs it.
    mutating func forget(_ key: ObservableHandle) {
        guard Int(key.slot) < entries.count else { return }
        dropList(of: key)
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
        return all.shrink(visits: visits, MemoryPages.giveBack) && isShort && left > 0
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

    @inline(__always)
    private func handle(of key: ObservableHandle) -> Handle<KeyObservers> {
        all.handle(inSlot: entry(of: key).observers) ?? .none
    }

    private mutating func makeObservers(of key: ObservableHandle) -> Handle<KeyObservers> {
        let known = handle(of: key)
        if known != .none { return known }
        let made = all.insert(KeyObservers())
        entries[place(of: key)].observers = made.slot
        return made
    }

    private mutating func removeIfEmpty(_ observers: Handle<KeyObservers>, of key: ObservableHandle) {
        guard all[observers].list.isEmpty, all[observers].naming.isEmpty else { return }
        _ = all.remove(observers)
        entries[place(of: key)].observers = 0
    }
}

private struct KeyObservers: ~Copyable {
    /// All that match, patterns included, in the order in which they are told.
    var list = List<ObserverEntry>()
    var naming = List<SubscriptionHandle>()
    var acknowledge = false
}

extension Span<ObserverEntry> {
    /// The subscriptions alone, for code that changes the list meanwhile.
    var subscriptions: [SubscriptionHandle] { indices.map { self[$0].subscription } }
}

extension Reach {
    private static var always: Invariants { Invariants(of: "Reach") }

    /// Each entry is that of a key that is there, and each key's observers are its own.
    func checkInvariants(_ living: borrowing Living, _ keyspace: borrowing Keyspace) throws(BrokenInvariant) {
        var (slots, found): (Set<UInt32>, Set<UInt32>) = ([], [])
        for observable in living.observables {
            slots.insert(observable.slot)
            let name = String(keyspace[observable].key)
            let entry = entry(of: observable)
            try Self.always.hold("a key is owed to nobody or to some", entry.owedBy >= 0, of: name)
            let isNeeded = keyspace[observable].isNeeded || needs(observable)
            try Self.always.hold("a key is needed by something", isNeeded, of: name)
            guard entry.observers != 0 else { continue }
            let observers = handle(of: observable)
            try Self.always.hold("a key's observers are there", observers != .none, of: name)
            try Self.always.hold("observers are one key's", found.insert(entry.observers).inserted, of: name)
            let isEmpty = all[observers].list.isEmpty && all[observers].naming.isEmpty
            try Self.always.hold("a key's observers are some", !isEmpty, of: name)
        }
        try Self.always.agree("all observers are a key's", all.count, found.count)
        for slot in entries.indices where !slots.contains(UInt32(slot)) {
            try Self.always.hold("without a key there is no audience", entries[slot].isEmpty, of: "\(slot)")
        }
    }
}
