// A table of keys with the places of their newest records. All keys are in one piece of memory, one after
// another, so a million keys take no million allocations. A survey owns it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The place of a record for each key.
struct KeyPlaces: ~Copyable {
    struct Slot: ProbeEntry {
        var place = KeyPlace(file: 0, count: 0, offset: 0)
        var hash: UInt64 = 0
        /// The offset of the key in `keys`.
        var keyStart = 0
        var keyCount: UInt32 = 0
        var isPresent = false

        static var empty: Slot { Slot() }
        var isEmpty: Bool { keyCount == 0 }
    }

    private static let slotsMin = 1_024
    private var slots = ProbeTable<Slot>(count: slotsMin)
    private var keys = ByteBuffer()
    private var used = 0
    /// The number of keys that have a place.
    private(set) var count = 0
    /// The slot that was used last. Most records are for the key of the record before.
    private var last = 0

    init() {}

    mutating func set(_ key: Span<UInt8>, _ place: KeyPlace) {
        let index = claimed(key)
        if !slots[index].isPresent { count += 1 }
        slots[index].isPresent = true
        slots[index].place = place
    }

    /// Removes a key if it has a place. Its slot stays.
    mutating func remove(_ key: Span<UInt8>) {
        guard let index = isAt(last, key) ? last : index(of: key, key.seededHash), slots[index].isPresent
        else { return }
        slots[index].isPresent = false
        count -= 1
    }

    /// The places in each file, in no particular order.
    func places(ofFiles files: Int) -> [[KeyPlace]] {
        var places = [[KeyPlace]](repeating: [], count: files)
        for index in slots.indices where slots[index].isPresent {
            let place = slots[index].place
            places[Int(place.file)].append(place)
        }
        return places
    }

    /// Removes everything. Gives the memory back in a way that doesn't hold up other threads.
    mutating func removeAll() {
        Self.giveBack(&slots)
        var freedKeys = keys.mutableBytes
        MemoryPages.giveBack(&freedKeys)
        self = KeyPlaces()
    }

    /// The slot of a key, which gets a free one if it has none.
    private mutating func claimed(_ key: Span<UInt8>) -> Int {
        if isAt(last, key) { return last }
        if (used + 1) * 4 > slots.count * 3 { grow() }
        let hash = key.seededHash
        if let index = index(of: key, hash) {
            last = index
            return index
        }
        let slot = Slot(hash: hash, keyStart: keys.count, keyCount: UInt32(truncatingIfNeeded: key.count))
        last = slots.insert(slot, hash: hash)
        keys.append(key)
        used += 1
        return last
    }

    private func index(of key: Span<UInt8>, _ hash: UInt64) -> Int? {
        slots.first(from: slots.home(of: hash)) { $0.hash == hash && has($0, key) }
    }

    /// Whether a slot has this key.
    private func isAt(_ index: Int, _ key: Span<UInt8>) -> Bool { has(slots[index], key) }

    private func has(_ slot: Slot, _ key: Span<UInt8>) -> Bool {
        guard slot.keyCount == UInt32(truncatingIfNeeded: key.count), !slot.isEmpty else { return false }
        let end = slot.keyStart + Int(slot.keyCount)
        return keys.bytes[slot.keyStart..<end].isEqual(to: key)
    }

    private mutating func grow() {
        last = 0
        var grown = ProbeTable<Slot>(count: slots.count * 2)
        for index in slots.indices where !slots[index].isEmpty {
            grown.insert(slots[index], hash: slots[index].hash)
        }
        swap(&grown, &slots)
        Self.giveBack(&grown)
    }

    private static func giveBack(_ slots: inout ProbeTable<Slot>) {
        var freed = slots.entries.mutableSpan
        MemoryPages.giveBack(&freed)
    }
}
