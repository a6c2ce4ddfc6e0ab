// Keys and where their newest records stand: a table whose keys lie one after another in
// one piece of memory, so that a million of them cost little more than their own bytes.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Places by key.
struct KeyPlaces: ~Copyable {
    private struct Slot: BitwiseCopyable {
        var place: KeyPlace
        var hash: UInt64
        /// Where the key lies; its length is 0 where the slot is free.
        var keyStart: Int
        var keyCount: UInt16
        var isPresent: Bool
    }

    private var slots: [Slot]
    private var keys = ByteBuffer()
    private var used = 0
    /// Keys that are present.
    private(set) var count = 0
    /// The slot that was asked for last: most records are of a key that was written just before.
    private var last = 0

    init() {
        slots = Self.empty(1_024)
    }

    mutating func set(_ key: Span<UInt8>, _ place: KeyPlace) {
        let index = claimed(key)
        if !slots[index].isPresent { count += 1 }
        slots[index].isPresent = true
        slots[index].place = place
    }

    /// A key that isn't there stays so.
    mutating func remove(_ key: Span<UInt8>) {
        let index = isAt(last, key) ? last : slot(of: key, hash: Self.hash(key))
        guard slots[index].isPresent else { return }
        slots[index].isPresent = false
        count -= 1
    }

    /// All places, in no order.
    func places() -> [KeyPlace] {
        var places: [KeyPlace] = []
        places.reserveCapacity(count)
        for slot in slots where slot.isPresent { places.append(slot.place) }
        return places
    }

    /// Forgets everything, in a way that no other thread waits for.
    mutating func removeAll() {
        var freedSlots = slots.mutableSpan
        MemoryPages.giveBack(&freedSlots)
        var freedKeys = keys.mutableBytes
        MemoryPages.giveBack(&freedKeys)
        self = KeyPlaces()
    }

    /// The slot of a key, which is its own from now on.
    private mutating func claimed(_ key: Span<UInt8>) -> Int {
        if isAt(last, key) { return last }
        if (used + 1) * 4 > slots.count * 3 { grow() }
        let hash = Self.hash(key)
        last = slot(of: key, hash: hash)
        if slots[last].keyCount == 0 {
            slots[last].hash = hash
            slots[last].keyStart = keys.count
            slots[last].keyCount = UInt16(truncatingIfNeeded: key.count)
            keys.append(key)
            used += 1
        }
        return last
    }

    /// The slot of a key, or the free one where it would go.
    private func slot(of key: Span<UInt8>, hash: UInt64) -> Int {
        let mask = slots.count - 1
        var index = Int(truncatingIfNeeded: hash) & mask
        while slots[index].keyCount > 0 {
            if slots[index].hash == hash, isAt(index, key) { return index }
            index = (index + 1) & mask
        }
        return index
    }

    /// Whether a slot is this key's.
    private func isAt(_ index: Int, _ key: Span<UInt8>) -> Bool {
        let count = slots[index].keyCount
        guard count == UInt16(truncatingIfNeeded: key.count), count > 0 else { return false }
        return bytes(of: slots[index]).isEqual(to: key)
    }

    @_lifetime(borrow self)
    private func bytes(of slot: Slot) -> Span<UInt8> {
        let end = slot.keyStart + Int(slot.keyCount)
        return keys.bytes[slot.keyStart..<end]
    }

    private mutating func grow() {
        last = 0
        var old = slots
        slots = Self.empty(old.count * 2)
        let mask = slots.count - 1
        for slot in old where slot.keyCount > 0 {
            var index = Int(truncatingIfNeeded: slot.hash) & mask
            while slots[index].keyCount > 0 { index = (index + 1) & mask }
            slots[index] = slot
        }
        var freed = old.mutableSpan
        MemoryPages.giveBack(&freed)
    }

    private static func empty(_ count: Int) -> [Slot] {
        let place = KeyPlace(file: 0, offset: 0)
        return Array(
            repeating: Slot(place: place, hash: 0, keyStart: 0, keyCount: 0, isPresent: false),
            count: count
        )
    }

    private static func hash(_ key: Span<UInt8>) -> UInt64 {
        key.seededHash
    }
}
