// Finds the observable of a key with one look-up: open addressing with the hash kept
// in the table, so that a stranger's key is passed over without touching its memory.
// Owns all observables.

import PlugboardMemory
import PlugboardPosix

/// All observables, by key.
struct ObservableTable: ~Copyable {
    private struct Slot: BitwiseCopyable {
        var hash: UInt64
        var observable: ObservableReference?
    }

    /// Hashes a key the way this table does.
    let hash = KeyHash()
    private var slots: UnsafeMutablePointer<Slot>
    private var mask: Int
    private(set) var count = 0
    /// All observables in the order of their keys.
    private(set) var order = KeyOrder()
    /// Many keys come at once: they are put in order when all are there.
    private var isLoading = false
    /// Those that have come by now, as they came: so they lie in memory one after the other, and
    /// often in order.
    private var loaded: [ObservableReference] = []

    init() {
        slots = Self.emptySlots(64)
        mask = 63
    }

    deinit {
        for index in 0...mask { slots[index].observable.map(Observable.destroy) }
        slots.deallocate()
    }

    /// The observable of `key`, if there is one.
    @inline(__always)
    func find(_ key: Span<UInt8>, hash: UInt64) -> ObservableReference? {
        var index = Int(truncatingIfNeeded: hash) & mask
        while let observable = slots[index].observable {
            if slots[index].hash == hash, Self.isKey(key, of: observable) { return observable }
            index = (index + 1) & mask
        }
        return nil
    }

    /// Reads what a search for a hash looks at first, for the reading's sake.
    @inline(__always)
    func touch(_ hash: UInt64) -> UInt64 {
        slots[Int(truncatingIfNeeded: hash) & mask].hash
    }

    /// The observable with this hash, which nearly always is the one that is looked for.
    @inline(__always)
    func candidate(_ hash: UInt64) -> ObservableReference? {
        var index = Int(truncatingIfNeeded: hash) & mask
        while let observable = slots[index].observable {
            if slots[index].hash == hash { return observable }
            index = (index &+ 1) & mask
        }
        return nil
    }

    /// Makes the observable of a well-formed key that has none, for a value of about
    /// `valueCount` bytes; 0 where there will be none soon.
    mutating func insert(
        _ key: Span<UInt8>,
        hash: UInt64,
        valueCount: Int = 0
    ) -> ObservableReference {
        if (count + 1) * 4 > (mask + 1) * 3 { grow() }
        let height = order.nextHeight()
        let observable = Observable.make(key: key, hash: hash, height: height, valueCount: valueCount)
        place(Slot(hash: hash, observable: observable))
        count += 1
        if isLoading { loaded.append(observable) } else { order.insert(observable) }
        return observable
    }

    /// Removes an observable and its memory; of many that are being taken in `endLoading` does.
    mutating func remove(_ observable: ObservableReference) {
        if isLoading { return }
        order.remove(observable)
        var index = Int(truncatingIfNeeded: observable.pointee.hash) & mask
        while slots[index].observable != observable { index = (index + 1) & mask }
        closeGap(at: index)
        count -= 1
        Observable.destroy(observable)
    }

    /// Begins to take in very many keys. Until `endLoading` nothing is removed, and `order` is
    /// not to be used; the table was empty.
    mutating func beginLoading() {
        isLoading = true
    }

    /// Puts what was taken in into order, and removes what nobody needs.
    mutating func endLoading() {
        isLoading = false
        var keys: [OrderedKey] = []
        keys.reserveCapacity(count)
        var unneeded: [ObservableReference] = []
        for observable in loaded {
            if observable.pointee.isNeeded || observable.pointee.generation > 0 {
                keys.append(OrderedKey(observable))
            } else {
                unneeded.append(observable)
            }
        }
        loaded = []
        keys.sort()
        order.fill(keys.lazy.map(\.observable))
        for observable in unneeded {
            order.insert(observable)
            remove(observable)
        }
    }

    /// Moves later members of the same run forward, so that no search stops early.
    private mutating func closeGap(at start: Int) {
        var gap = start
        var index = start
        while true {
            index = (index + 1) & mask
            guard slots[index].observable != nil else { break }
            let home = Int(truncatingIfNeeded: slots[index].hash) & mask
            if (index - home) & mask >= (index - gap) & mask {
                slots[gap] = slots[index]
                gap = index
            }
        }
        slots[gap].observable = nil
    }

    private mutating func grow() {
        let (old, oldMask) = (slots, mask)
        mask = (mask + 1) * 2 - 1
        slots = Self.emptySlots(mask + 1)
        for index in 0...oldMask where old[index].observable != nil { place(old[index]) }
        old.deallocate()
    }

    private func place(_ slot: Slot) {
        var index = Int(truncatingIfNeeded: slot.hash) & mask
        while slots[index].observable != nil { index = (index + 1) & mask }
        slots[index] = slot
    }

    @inline(__always)
    private static func isKey(_ key: Span<UInt8>, of observable: ObservableReference) -> Bool {
        observable.pointee.key.isEqual(to: key)
    }

    private static func emptySlots(_ count: Int) -> UnsafeMutablePointer<Slot> {
        let slots = UnsafeMutablePointer<Slot>.allocate(capacity: count)
        slots.initialize(repeating: Slot(hash: 0, observable: nil), count: count)
        return slots
    }
}

/// A key with what mostly suffices to tell its place among others. Keys that are alike at
/// their beginning are compared whole.
private struct OrderedKey: Comparable {
    private let first: UInt64
    private let second: UInt64
    let observable: ObservableReference

    init(_ observable: ObservableReference) {
        self.observable = observable
        let key = observable.pointee.key
        first = Self.word(key, at: 0)
        second = Self.word(key, at: 8)
    }

    static func == (left: OrderedKey, right: OrderedKey) -> Bool { left.observable == right.observable }

    static func < (left: OrderedKey, right: OrderedKey) -> Bool {
        if left.first != right.first { return left.first < right.first }
        if left.second != right.second { return left.second < right.second }
        return KeyOrder.precedes(left.observable.pointee.key, right.observable.pointee.key)
    }

    /// Eight bytes as a number that is ordered as they are; zeros, which no key has, behind the
    /// key's end.
    private static func word(_ key: Span<UInt8>, at offset: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in offset..<(offset + 8) {
            word = word << 8 | UInt64(index < key.count ? key[index] : 0)
        }
        return word
    }
}

extension ObservableTable {
    private static var always: Invariants { Invariants(of: "ObservableTable") }

    /// Between two turns each observable is found by its key, and stands in the order once. Those that
    /// are there are noted in `living`.
    func checkInvariants(_ living: inout Living) throws(BrokenInvariant) {
        try Self.always.hold("no keys are being taken in", !isLoading && loaded.isEmpty)
        living.observables.reserveCapacity(count)
        for index in 0...mask {
            guard let observable = slots[index].observable else { continue }
            living.observables.insert(observable)
            try slotTellsTheHash(slots[index].hash, of: observable)
        }
        try Self.always.agree("its count is that of its observables", count, living.observables.count)
        try Self.always.hold("a search ends at an empty slot", count * 4 <= (mask + 1) * 3)
        try order.checkInvariants(living, count: count)
    }

    private func slotTellsTheHash(
        _ kept: UInt64,
        of observable: ObservableReference
    ) throws(BrokenInvariant) {
        let key = observable.pointee.key
        let isKept = kept == observable.pointee.hash && kept == hash(key)
        try Self.always.hold("a slot has the hash of its key", isKept, of: String(key))
        let isFound = find(key, hash: kept) == observable
        try Self.always.hold("each observable is found by its key", isFound, of: String(key))
    }
}
