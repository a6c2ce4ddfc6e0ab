// Finds the slots of a slab by the hash of what is there. Part of the hash is in the table, so that other slots
// are passed over without touching their memory.
//
// What always holds: a quarter of the entries is empty, so each search ends; a slot is in one of two tables. A
// table that was outgrown is moved in pieces, because very many entries at once would keep everybody waiting.

/// Slots by hash. It only knows slots, so its owner says which of those that it finds is the right one. Only one
/// thread uses it.
public struct HashIndex: ~Copyable {
    @usableFromInline
    struct Entry: ProbeEntry {
        /// The lower half of the hash.
        @usableFromInline var hash: UInt32
        /// 0 if the entry is empty, because no slab has anything there.
        @usableFromInline var slot: UInt32

        @usableFromInline
        init(hash: UInt32, slot: UInt32) { (self.hash, self.slot) = (hash, slot) }

        /// In the outgrown table: what was here has moved to the next table, or is gone. Searches go on after
        /// it.
        @usableFromInline static var moved: Entry { Entry(hash: 0, slot: .max) }

        @_transparent @usableFromInline static var empty: Entry { Entry(hash: 0, slot: 0) }
        @_transparent @usableFromInline var isEmpty: Bool { slot == 0 }
        @usableFromInline var isFilled: Bool { slot != 0 && slot != .max }
    }

    /// How far a search for a hash has come.
    @frozen
    public struct Search: BitwiseCopyable {
        @usableFromInline var place: Int
        @usableFromInline let hash: UInt32
        @usableFromInline var isInOutgrown = false

        @inlinable
        @inline(__always)
        init(_ hash: UInt64, in table: borrowing ProbeTable<Entry>) {
            place = table.home(of: hash)
            self.hash = UInt32(truncatingIfNeeded: hash)
        }
    }

    /// How many entries of the outgrown table are moved with each new one.
    private static let movedPerInsert = 16
    /// To move an entry takes as long as to give back the memory of so many.
    private static let freedPerMoved = 8
    private static let entriesMin = 64

    @usableFromInline var table = ProbeTable<Entry>(count: entriesMin)
    /// Those before `movedCount` are moved. Then it is empty, and its memory goes in pieces.
    @usableFromInline var outgrown = ProbeTable<Entry>(count: 0)
    private var movedCount = 0
    public private(set) var count = 0

    public init() {}

    /// Begins to search for a hash; see `next`.
    @inlinable
    @inline(__always)
    public func search(_ hash: UInt64) -> Search { Search(hash, in: table) }

    /// The next slot that has the hash, as far as its entry tells; nil if there is none any more.
    @inlinable
    @inline(__always)
    public func next(_ search: inout Search) -> UInt32? {
        let hash = search.hash
        if !search.isInOutgrown {
            if let place = table.first(from: search.place, where: { $0.hash == hash }) {
                search.place = table.place(after: place)
                return table[place].slot
            }
            if outgrown.isEmpty { return nil }
            search = Search(UInt64(hash), in: outgrown)
            search.isInOutgrown = true
        }
        return nextOutgrown(&search)
    }

    @usableFromInline
    @inline(never)
    func nextOutgrown(_ search: inout Search) -> UInt32? {
        let hash = search.hash
        guard let place = outgrown.first(from: search.place, where: { $0.isFilled && $0.hash == hash })
        else { return nil }
        search.place = outgrown.place(after: place)
        return outgrown[place].slot
    }

    /// The first slot that has the hash, unless it is still in the outgrown table. It is nearly always the right
    /// one.
    @inlinable
    @inline(__always)
    public func candidate(_ hash: UInt64) -> UInt32? {
        let lower = UInt32(truncatingIfNeeded: hash)
        return table.first(from: table.home(of: hash)) { $0.hash == lower }.map { table[$0].slot }
    }

    /// Asks for the memory that a search for a hash reads first, without waiting for it.
    @inlinable
    @inline(__always)
    public func prefetch(_ hash: UInt64) { table.entries.prefetch(table.home(of: hash)) }

    /// Adds a slot that isn't there. `atOnce` means that a table that is outgrown is moved as a whole: nobody
    /// waits.
    public mutating func insert(_ hash: UInt64, _ slot: UInt32, atOnce: Bool = false) {
        if (count + 1) * 4 > table.count * 3 { grow(atOnce: atOnce) }
        if outgrown.entries.hasMemory { move(count: Self.movedPerInsert) }
        count += 1
        put(Entry(hash: UInt32(truncatingIfNeeded: hash), slot: slot))
    }

    /// Removes a slot, if it is there.
    public mutating func remove(_ hash: UInt64, _ slot: UInt32) {
        if let place = table.first(from: table.home(of: hash), where: { $0.slot == slot }) {
            count -= 1
            return table.remove(at: place) { UInt64($0.hash) }
        }
        if outgrown.isEmpty { return }
        if let place = outgrown.first(from: outgrown.home(of: hash), where: { $0.slot == slot }) {
            count -= 1
            outgrown[place] = .moved
        }
    }

    /// Gives memory back, if most of it isn't needed. Moves so many entries at most, and returns whether there
    /// is nothing more to do.
    public mutating func shrink(visits: Int, keeping entriesKept: Int = 64) -> Bool {
        if !outgrown.entries.hasMemory, table.count > entriesKept, count * 16 < table.count {
            outgrow(to: max(entriesKept, table.count / 8))
        }
        move(count: visits)
        return !outgrown.entries.hasMemory
    }

    /// Calls `body` with each slot and what its entry tells of its hash.
    public func forEach<Failure: Error>(
        _ body: (_ slot: UInt32, _ hash: UInt32) throws(Failure) -> Void
    ) throws(Failure) {
        for place in table.indices where table[place].isFilled {
            try body(table[place].slot, table[place].hash)
        }
        for place in outgrown.indices where outgrown[place].isFilled {
            try body(outgrown[place].slot, outgrown[place].hash)
        }
    }

    /// A search ends at an empty entry, and what was moved is nowhere else.
    public var isSound: Bool {
        let isMoved = (0..<min(movedCount, outgrown.count)).allSatisfy { !outgrown[$0].isFilled }
        return count * 4 <= table.count * 3 && isMoved
    }

    /// Begins a table of twice the size.
    private mutating func grow(atOnce: Bool) {
        if !outgrown.isEmpty { move(count: outgrown.count) }
        guard atOnce else { return outgrow(to: table.count * 2) }
        var larger = ProbeTable<Entry>(count: table.count * 2, isWritten: true)
        for place in table.indices where table[place].isFilled {
            larger.insert(table[place], hash: UInt64(table[place].hash))
        }
        table = larger
    }

    private mutating func outgrow(to count: Int) {
        outgrown = ProbeTable(count: count)
        swap(&outgrown, &table)
    }

    /// Moves some of the entries that are left in the outgrown table.
    private mutating func move(count: Int) {
        if outgrown.isEmpty {
            _ = outgrown.entries.shrink(by: count * Self.freedPerMoved)
            return
        }
        for place in movedCount..<(movedCount + min(count, outgrown.count - movedCount)) {
            if outgrown[place].isFilled {
                put(outgrown[place])
                outgrown[place] = .moved
            }
            movedCount = place + 1
        }
        guard movedCount == outgrown.count else { return }
        outgrown.entries.removeAll()
        movedCount = 0
    }

    private mutating func put(_ entry: Entry) {
        table.insert(entry, hash: UInt64(entry.hash))
    }
}
