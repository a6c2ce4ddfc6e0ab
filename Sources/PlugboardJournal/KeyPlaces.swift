// Keys and where their newest records stand: a table whose keys lie one after another in
// one piece of memory, so that a million of them cost little more than their own bytes.

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

    init() {
        slots = Self.empty(1_024)
    }

    mutating func set(_ key: UnsafeRawBufferPointer, _ place: KeyPlace) {
        if (used + 1) * 4 > slots.count * 3 { grow() }
        let index = slot(of: key)
        if slots[index].keyCount == 0 { claim(index, key) }
        if !slots[index].isPresent { count += 1 }
        slots[index].isPresent = true
        slots[index].place = place
    }

    /// A key that isn't there stays so.
    mutating func remove(_ key: UnsafeRawBufferPointer) {
        let index = slot(of: key)
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

    private mutating func claim(_ index: Int, _ key: UnsafeRawBufferPointer) {
        slots[index].hash = Self.hash(key)
        slots[index].keyStart = keys.count
        slots[index].keyCount = UInt16(truncatingIfNeeded: key.count)
        keys.append(key)
        used += 1
    }

    /// The slot of a key, or the free one where it would go.
    private func slot(of key: UnsafeRawBufferPointer) -> Int {
        let hash = Self.hash(key)
        let mask = slots.count - 1
        var index = Int(truncatingIfNeeded: hash) & mask
        while slots[index].keyCount > 0 {
            let slot = slots[index]
            if slot.hash == hash, slot.keyCount == UInt16(truncatingIfNeeded: key.count),
                bytes(of: slot).elementsEqual(key)
            {
                return index
            }
            index = (index + 1) & mask
        }
        return index
    }

    private func bytes(of slot: Slot) -> UnsafeRawBufferPointer {
        let end = slot.keyStart + Int(slot.keyCount)
        return UnsafeRawBufferPointer(rebasing: keys.bytes[slot.keyStart..<end])
    }

    private mutating func grow() {
        let old = slots
        slots = Self.empty(old.count * 2)
        let mask = slots.count - 1
        for slot in old where slot.keyCount > 0 {
            var index = Int(truncatingIfNeeded: slot.hash) & mask
            while slots[index].keyCount > 0 { index = (index + 1) & mask }
            slots[index] = slot
        }
    }

    private static func empty(_ count: Int) -> [Slot] {
        let place = KeyPlace(file: 0, offset: 0)
        return Array(
            repeating: Slot(place: place, hash: 0, keyStart: 0, keyCount: 0, isPresent: false),
            count: count
        )
    }

    private static func hash(_ key: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(bytes: key)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
