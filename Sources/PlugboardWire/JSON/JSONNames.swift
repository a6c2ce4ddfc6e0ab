// The names of one object's members, each found at once, however it is spelled. Whoever has members with a
// hundred thousand names, or one name as often, costs no more for each than anybody else: nothing is sorted,
// and the hash is another one in each process. It only has nodes, so its owner passes the outline and its
// text with each question. Owned by `JSONComparer`.
//
// What always holds: of equal names the last one is there; at most half of the slots are taken.

import PlugboardMemory

/// The names of an object, by their characters.
struct JSONNames: ~Copyable {
    struct Entry: BitwiseCopyable {
        var hash: UInt32 = 0
        /// 0 if nothing is: the first node of an outline is no name.
        var node: UInt32 = 0
    }

    private var slots = List<Entry>()
    /// How many different names there are.
    private(set) var count = 0
    private static let slotsMin = 16
    /// An emptied list keeps memory for this many slots.
    private static let keptMax = 32_768

    init() {}

    mutating func removeAll() {
        slots.removeAll(keeping: Self.keptMax)
        count = 0
    }

    /// Takes up the names of an object in place of those that are there.
    mutating func fill(_ object: Int, of outline: borrowing JSONOutline, _ text: Span<UInt8>) {
        let names = outline.childCount(object)
        clear(for: names)
        var name = object + 1
        for _ in 0..<names {
            let characters = outline.characters(name, of: text)
            let hash = JSONCharacters.hash(characters)
            let slot = slot(of: characters, hash, outline, text)
            if slots[slot].node == 0 { count += 1 }
            slots[slot] = Entry(hash: hash, node: UInt32(truncatingIfNeeded: name))
            name = outline.next(name + 1)
        }
    }

    /// All slots, most of which have no name.
    var indices: Range<Int> { slots.indices }

    /// The name in a slot, if there is one.
    subscript(slot: Int) -> Int? {
        let node = slots[slot].node
        return node == 0 ? nil : Int(node)
    }

    /// The name that has the same characters as the one in a slot of another object.
    func find(
        _ characters: Span<UInt8>,
        as slot: Int,
        of others: borrowing JSONNames,
        in outline: borrowing JSONOutline,
        _ text: Span<UInt8>
    ) -> Int? {
        self[self.slot(of: characters, others.slots[slot].hash, outline, text)]
    }

    private mutating func clear(for names: Int) {
        removeAll()
        var wanted = Self.slotsMin
        while wanted < names * 2 { wanted *= 2 }
        for _ in 0..<wanted { slots.append(Entry()) }
    }

    /// Where a name is, or where it would be put.
    private func slot(
        of characters: Span<UInt8>,
        _ hash: UInt32,
        _ outline: borrowing JSONOutline,
        _ text: Span<UInt8>
    ) -> Int {
        let mask = slots.count - 1
        var slot = Int(hash) & mask
        while let name = self[slot] {
            if slots[slot].hash == hash,
                JSONCharacters.areEqual(outline.characters(name, of: text), characters)
            {
                return slot
            }
            slot = (slot + 1) & mask
        }
        return slot
    }
}
