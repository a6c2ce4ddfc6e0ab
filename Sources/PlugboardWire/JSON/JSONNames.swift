// The names of one object's members, each found at once, however it is spelled. Whoever has members with a
// hundred thousand names, or one name as often, costs no more for each than anybody else: nothing is sorted,
// and the hash is another one in each process. It only has nodes, so its owner passes the outline and its
// text with each question. Owned by `JSONComparer`.
//
// What always holds: of equal names the last one is there; at most half of the slots are taken.

import PlugboardMemory

/// The names of an object, by their characters.
struct JSONNames: ~Copyable {
    struct Entry: ProbeEntry {
        var hash: UInt32 = 0
        /// 0 if nothing is: the first node of an outline is no name.
        var node: UInt32 = 0

        static var empty: Entry { Entry() }
        @_transparent var isEmpty: Bool { node == 0 }
    }

    private var slots = ProbeTable<Entry>(count: 0)
    /// How many different names there are.
    private(set) var count = 0
    private static let slotsMin = 16
    /// An emptied list keeps memory for this many slots.
    private static let keptMax = 32_768

    init() {}

    mutating func removeAll() {
        slots.clear(count: 0, keeping: Self.keptMax)
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
            let entry = Entry(hash: hash, node: UInt32(truncatingIfNeeded: name))
            if let former = place(of: characters, hash, outline, text) {
                slots[former] = entry
            } else {
                slots.insert(entry, hash: UInt64(hash))
                count += 1
            }
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
        place(of: characters, others.slots[slot].hash, outline, text).flatMap { self[$0] }
    }

    /// The name that has these characters. They are UTF-8 without escapes.
    func find(_ characters: Span<UInt8>, in outline: borrowing JSONOutline, _ text: Span<UInt8>) -> Int? {
        let hash = JSONCharacters.hash(characters: characters)
        let place = slots.first(from: slots.home(of: UInt64(hash))) { entry in
            entry.hash == hash
                && JSONCharacters.areEqual(
                    outline.characters(Int(entry.node), of: text), characters: characters)
        }
        return place.flatMap { self[$0] }
    }

    private mutating func clear(for names: Int) {
        var wanted = Self.slotsMin
        while wanted < names * 2 { wanted *= 2 }
        slots.clear(count: wanted, keeping: Self.keptMax)
        count = 0
    }

    /// Where a name is, if it is there.
    private func place(
        of characters: Span<UInt8>, _ hash: UInt32, _ outline: borrowing JSONOutline, _ text: Span<UInt8>
    ) -> Int? {
        slots.first(from: slots.home(of: UInt64(hash))) { entry in
            entry.hash == hash
                && JSONCharacters.areEqual(outline.characters(Int(entry.node), of: text), characters)
        }
    }
}
