// Finds the observable of a key with one look-up. Owns all observables.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// All observables, by key.
struct ObservableTable: ~Copyable {
    /// Hashes a key the way this table does.
    let hash = KeyHash()
    private var index = HashIndex()
    /// Only for the keyspace. If it went through an accessor of this table, one coroutine would call another,
    /// and each publish would allocate memory.
    var all = Slab<Observable>()
    /// What few keys have.
    var extras = Slab<KeyExtras>()
    /// All observables in the order of their keys.
    private var order = KeyOrder()
    /// Many keys come at once. Unless they come in order, they are sorted when all of them are there.
    private var isLoading = false
    private var isInOrder = true
    /// The key that came last.
    private var newest = ObservableHandle.none

    init() {}

    var count: Int { all.count }
    /// So many keys are probably in the processor's fastest cache, and needn't be fetched.
    static let cachedMax = 64
    /// Whether the memory of a key is probably not there.
    @inline(__always) var isLarge: Bool { count > Self.cachedMax }

    subscript(observable: ObservableHandle) -> Observable {
        @inline(__always)
        _read { yield all[observable] }
        @inline(__always)
        _modify { yield &all[observable] }
    }

    /// The first observable in order whose key isn't less than `key`.
    func first(from key: Span<UInt8>) -> ObservableHandle? {
        let first = order.first(from: key, in: all)
        return first == .none ? nil : first
    }

    func contains(_ observable: ObservableHandle) -> Bool { all.contains(observable) }

    /// The next observable in order.
    func next(after observable: ObservableHandle) -> ObservableHandle? {
        all.handle(inSlot: all[observable].link(0))
    }

    /// The observable of `key`, if there is one.
    @inline(__always)
    func find(_ key: Span<UInt8>, hash: UInt64) -> ObservableHandle? {
        var search = index.search(hash)
        while let slot = index.next(&search) {
            if let found = all.handle(inSlot: slot), all[found].isNamed(key) { return found }
        }
        return nil
    }

    /// The observable in a slot, if it is that of `key`.
    @inline(__always)
    func find(_ key: Span<UInt8>, inSlot slot: UInt32) -> ObservableHandle? {
        guard slot != 0, let found = all.handle(inSlot: slot), all[found].isNamed(key) else { return nil }
        return found
    }

    /// Asks for the memory that a search for a hash reads first, without waiting for it.
    @inline(__always)
    func prefetch(_ hash: UInt64) { index.prefetch(hash) }

    /// Asks for the memory of the observable in a slot, which may be any number.
    @inline(__always)
    func prefetch(slot: UInt32) { all.prefetch(slot: slot) }

    /// Asks for the memory of the first observable found with this hash, which is nearly always the right one.
    /// Returns its slot, or 0. It doesn't search an outgrown table.
    @inline(__always)
    func prefetchObservable(_ hash: UInt64) -> UInt32 {
        guard let slot = index.candidate(hash) else { return 0 }
        prefetch(slot: slot)
        return slot
    }

    /// Asks for the memory of the key and the small value in a slot.
    @inline(__always)
    func prefetchText(inSlot slot: UInt32) {
        if let observable = all.handle(inSlot: slot) { all[observable].prefetchText() }
    }

    /// Makes the observable of a well-formed key that has none, with room for a value of about `valueCount`
    /// bytes. 0 means that no value is expected soon.
    mutating func insert(_ key: Span<UInt8>, hash: UInt64, valueCount: Int = 0) -> ObservableHandle {
        let height = order.nextHeight()
        let made = Observable(key: key, height: height, valueCount: valueCount)
        let observable = all.insert(made)
        index.insert(hash, observable.slot, atOnce: isLoading)
        if isLoading { load(observable) } else { order.insert(observable, in: &all) }
        return observable
    }

    private mutating func load(_ observable: ObservableHandle) {
        guard isInOrder else { return }
        isInOrder = newest == .none || KeyOrder.precedes(all[newest].key, all[observable].key)
        newest = observable
        if isInOrder { order.append(observable, in: &all) }
    }

    /// Removes an observable and its memory. While many keys are taken in, `endLoading` does that instead.
    mutating func remove(_ observable: ObservableHandle, _ authors: inout Authors) {
        if isLoading { return }
        order.remove(observable, in: &all)
        index.remove(hash(all[observable].key), observable.slot)
        let removed = all.remove(observable)
        if let writer = authors.handle(inSlot: removed.writer) { authors.release(writer) }
        if let extras = extras.handle(inSlot: removed.extras) { _ = self.extras.remove(extras) }
    }

    /// Begins to take in very many keys into the empty table. Until `endLoading`, nothing is removed and
    /// `order` can't be used.
    mutating func beginLoading() {
        isLoading = true
        order.beginFilling()
    }

    /// Sorts the keys that were taken in, and removes those that nothing needs.
    mutating func endLoading(_ authors: inout Authors) {
        if !isInOrder { sort() }
        order.endFilling(in: &all)
        (isLoading, isInOrder, newest) = (false, true, .none)
        var unneeded: [ObservableHandle] = []
        all.forEach { if !all[$0].isNeeded { unneeded.append($0) } }
        for observable in unneeded { remove(observable, &authors) }
    }

    private mutating func sort() {
        var keys: [OrderedKey] = []
        keys.reserveCapacity(count)
        all.forEach { keys.append(OrderedKey($0, all[$0].key)) }
        keys.sort { $0.precedes($1) ?? KeyOrder.precedes(all[$0.observable].key, all[$1.observable].key) }
        order.beginFilling()
        for key in keys { order.append(key.observable, in: &all) }
    }

    /// Gives back the memory of observables that are gone. Looks at `visits` of their places, and returns
    /// whether it is done.
    mutating func shrink(visits: Int) -> Bool {
        let isIndexDone = index.shrink(visits: visits, keeping: Self.entriesKept)
        let isDone = extras.shrink(visits: visits, MemoryPages.giveBack) && isIndexDone
        return all.shrink(visits: visits, MemoryPages.giveBack) && isDone
    }

    /// The index never shrinks below this. A power of two.
    private static let entriesKept = 4_096
}

/// A key with its first 16 bytes, which mostly suffice to compare it. Keys that begin alike are compared
/// whole.
private struct OrderedKey {
    private let first: UInt64
    private let second: UInt64
    let observable: ObservableHandle

    init(_ observable: ObservableHandle, _ key: Span<UInt8>) {
        self.observable = observable
        first = Self.word(key, at: 0)
        second = Self.word(key, at: 8)
    }

    /// Nil if both begin alike.
    func precedes(_ other: OrderedKey) -> Bool? {
        if first != other.first { return first < other.first }
        return second == other.second ? nil : second < other.second
    }

    /// Eight bytes as a number with the same order. After the key's end there are zeros, which no key has.
    private static func word(_ key: Span<UInt8>, at offset: Int) -> UInt64 {
        if offset + 8 <= key.count { return key.word(at: offset).byteSwapped }
        var word: UInt64 = 0
        for index in offset..<(offset + 8) {
            word = word << 8 | UInt64(index < key.count ? key[index] : 0)
        }
        return word
    }
}

extension ObservableTable {
    private static var always: Invariants { Invariants(of: "ObservableTable") }

    /// Between two turns, each observable is found by its key, and is in the order once. Notes in `living`
    /// which exist.
    func checkInvariants(_ living: inout Living) throws(BrokenInvariant) {
        try Self.always.hold("no keys are being taken in", !isLoading)
        living.observables.reserveCapacity(count)
        try index.forEach { slot, hash throws(BrokenInvariant) in try check(slot, hash, &living) }
        try Self.always.agree("its count is that of its observables", count, living.observables.count)
        try Self.always.hold("the index is sound", index.isSound)
        try Self.always.agree("the index has each observable once", index.count, count)
        try order.checkInvariants(all)
        try extrasAreThoseOfKeys(living)
    }

    private func extrasAreThoseOfKeys(_ living: borrowing Living) throws(BrokenInvariant) {
        var found: Set<ExtrasHandle> = []
        for observable in living.observables {
            let isLong = all[observable].isLong
            let extras = extras(of: observable)
            guard extras != .none else {
                try Self.always.agree("what it names as its extras is there", all[observable].extras, 0)
                try Self.always.hold("a long value is among the extras", !isLong)
                continue
            }
            try Self.always.hold("extras are one key's", found.insert(extras).inserted)
            try Self.always.hold("extras aren't empty", !self.extras[extras].isEmpty)
            let hasRoom = Int(all[observable].valueCount) <= self.extras[extras].long.count
            try Self.always.hold("a long value fits its memory", !isLong || hasRoom)
            let isBound = self.extras[extras].marks.bond != nil
            try Self.always.hold(
                "without a value it is bound to nothing", all[observable].hasValue || !isBound
            )
        }
        try Self.always.agree("all extras are a key's", self.extras.count, found.count)
    }

    private func check(_ slot: UInt32, _ kept: UInt32, _ living: inout Living) throws(BrokenInvariant) {
        let observable = all.handle(inSlot: slot) ?? .none
        try Self.always.hold("what a slot names is there", observable != .none)
        let isFirst = living.observables.insert(observable).inserted
        try Self.always.hold("an observable has one slot", isFirst)
        try slotTellsTheHash(kept, of: observable)
    }

    private func slotTellsTheHash(_ kept: UInt32, of observable: ObservableHandle) throws(BrokenInvariant) {
        let key = all[observable].key
        let hash = hash(key)
        let isKept = kept == UInt32(truncatingIfNeeded: hash)
        try Self.always.hold("a slot has the hash of its key", isKept, of: String(key))
        let isFound = find(key, hash: hash) == observable
        try Self.always.hold("each observable is found by its key", isFound, of: String(key))
    }
}

// The hash of keys: eight bytes at a time by folded multiplication. Each table has a random seed, so that
// nobody can choose keys that collide.

/// Hashes keys for one table.
struct KeyHash {
    private let seed = UInt64.random(in: .min ... .max)
    private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15

    @inline(__always)
    func callAsFunction(_ bytes: Span<UInt8>) -> UInt64 {
        var hash = seed ^ UInt64(truncatingIfNeeded: bytes.count)
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = Self.fold(hash ^ bytes.word(at: offset))
            offset += 8
        }
        return Self.fold(hash ^ Self.rest(bytes, from: offset))
    }

    /// The last bytes, fewer than eight, as one number.
    @inline(__always)
    private static func rest(_ bytes: Span<UInt8>, from start: Int) -> UInt64 {
        if bytes.count >= 8 { return bytes.word(at: bytes.count - 8) }
        var rest: UInt64 = 0
        var offset = start
        while offset < bytes.count {
            rest = rest << 8 | UInt64(bytes[offset])
            offset += 1
        }
        return rest
    }

    @inline(__always)
    private static func fold(_ value: UInt64) -> UInt64 {
        let product = (value ^ 0xA076_1D64_78BD_642F).multipliedFullWidth(by: multiplier)
        return product.high ^ product.low
    }
}
