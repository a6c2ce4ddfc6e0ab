// A table of keys with the places of their newest records. All keys are in one piece of memory, one after
// another, so a million keys take no million allocations. A survey owns it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The place of a record for each key.
struct KeyPlaces: ~Copyable {
    private struct Slot: BitwiseCopyable {
        var place: KeyPlace
        var hash: UInt64
        /// The offset of the key in `keys`. The slot is free if the key's length is 0.
        var keyStart: Int
        var keyCount: UInt16
        var isPresent: Bool
    }

    private var slots: [Slot]
    private var keys = ByteBuffer()
    private var used = 0
    /// The number of keys that have a place.
    private(set) var count = 0
    /// The slot that was used last. Most records are for the key of the record before.
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

    /// Removes a key if it has a place. Its slot stays.
    mutating func remove(_ key: Span<UInt8>) {
        let index = isAt(last, key) ? last : slot(of: key, hash: Self.hash(key))
        guard slots[index].isPresent else { return }
        slots[index].isPresent = false
        count -= 1
    }

    /// All places, in no particular order.
    func places() -> [KeyPlace] {
        var places: [KeyPlace] = []
        places.reserveCapacity(count)
        for slot in slots where slot.isPresent { places.append(slot.place) }
        return places
    }

    /// Removes everything. Gives the memory back in a way that doesn't hold up other threads.
    mutating func removeAll() {
        var freedSlots = slots.mutableSpan
        MemoryPages.giveBack(&freedSlots)
        var freedKeys = keys.mutableBytes
        MemoryPages.giveBack(&freedKeys)
        self = KeyPlaces()
    }

    /// The slot of a key, which gets a free one if it has none.
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

    /// The slot of a key, or the free slot for it.
    private func slot(of key: Span<UInt8>, hash: UInt64) -> Int {
        let mask = slots.count - 1
        var index = Int(truncatingIfNeeded: hash) & mask
        while slots[index].keyCount > 0 {
            if slots[index].hash == hash, isAt(index, key) { return index }
            index = (index + 1) & mask
        }
        return index
    }

    /// Whether a slot has this key.
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
