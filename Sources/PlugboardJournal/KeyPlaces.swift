// Keys and where their newest records stand: a table whose keys lie one after another in
// one piece of memory, so that a million of them cost little more than their own bytes.

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

    mutating func set(_ key: UnsafeRawBufferPointer, _ place: KeyPlace) {
        let index = claimed(key)
        if !slots[index].isPresent { count += 1 }
        slots[index].isPresent = true
        slots[index].place = place
    }

    /// A key that isn't there stays so.
    mutating func remove(_ key: UnsafeRawBufferPointer) {
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
        slots.withUnsafeMutableBytes { MemoryPages.giveBack($0) }
        MemoryPages.giveBack(keys.mutableBytes())
        self = KeyPlaces()
    }

    /// The slot of a key, which is its own from now on.
    private mutating func claimed(_ key: UnsafeRawBufferPointer) -> Int {
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
    private func slot(of key: UnsafeRawBufferPointer, hash: UInt64) -> Int {
        let mask = slots.count - 1
        var index = Int(truncatingIfNeeded: hash) & mask
        while slots[index].keyCount > 0 {
            if slots[index].hash == hash, isAt(index, key) { return index }
            index = (index + 1) & mask
        }
        return index
    }

    /// Whether a slot is this key's.
    private func isAt(_ index: Int, _ key: UnsafeRawBufferPointer) -> Bool {
        let count = slots[index].keyCount
        guard count == UInt16(truncatingIfNeeded: key.count), count > 0, let base = key.baseAddress,
            let own = bytes(of: slots[index]).baseAddress
        else { return false }
        return memcmp(own, base, key.count) == 0
    }

    private func bytes(of slot: Slot) -> UnsafeRawBufferPointer {
        let end = slot.keyStart + Int(slot.keyCount)
        return UnsafeRawBufferPointer(rebasing: keys.bytes[slot.keyStart..<end])
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
        old.withUnsafeMutableBytes { MemoryPages.giveBack($0) }
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
