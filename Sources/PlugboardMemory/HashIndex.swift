// Finds the slots of a slab by the hash of what is there: open addressing with part of the hash in the table, so
// that other slots are passed over without touching their memory.
//
// What always holds: a quarter of the entries is empty, so each search ends; a slot is in one of two tables. A
// table that was outgrown is moved in pieces, because very many entries at once would keep everybody waiting.

/// Slots by hash. It only knows slots, so its owner says which of those that it finds is the right one. Only one
/// thread uses it.
public struct HashIndex: ~Copyable {
    @usableFromInline
    struct Entry: Zeroable {
        /// The lower half of the hash.
        @usableFromInline var hash: UInt32
        /// 0 if the entry is empty, because no slab has anything there.
        @usableFromInline var slot: UInt32

        @usableFromInline
        init(hash: UInt32, slot: UInt32) { (self.hash, self.slot) = (hash, slot) }

        /// In the outgrown table: what was here has moved to the next table, or is gone. Searches go on after
        /// it.
        @usableFromInline static var moved: Entry { Entry(hash: 0, slot: .max) }

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
        init(_ hash: UInt64, mask: Int) {
            place = Int(truncatingIfNeeded: hash) & mask
            self.hash = UInt32(truncatingIfNeeded: hash)
        }
    }

    /// How many entries of the outgrown table are moved with each new one.
    private static let movedPerInsert = 16
    /// To move an entry takes as long as to give back the memory of so many.
    private static let freedPerMoved = 8
    private static let entriesMin = 64

    @usableFromInline var entries: List<Entry>
    @usableFromInline var mask: Int
    /// Those before `movedCount` are moved. Then it is empty, and its memory goes in pieces.
    @usableFromInline var outgrown = List<Entry>()
    private var movedCount = 0
    public private(set) var count = 0

    public init() {
        entries = List(zeroed: Self.entriesMin)
        mask = Self.entriesMin - 1
    }

    /// Begins to search for a hash; see `next`.
    @inlinable
    @inline(__always)
    public func search(_ hash: UInt64) -> Search { Search(hash, mask: mask) }

    /// The next slot that has the hash, as far as its entry tells; nil if there is none any more.
    @inlinable
    @inline(__always)
    public func next(_ search: inout Search) -> UInt32? {
        while !search.isInOutgrown {
            let entry = entries[search.place]
            if entry.isEmpty {
                if outgrown.isEmpty { return nil }
                search = Search(UInt64(search.hash), mask: outgrown.count - 1)
                search.isInOutgrown = true
                break
            }
            search.place = (search.place &+ 1) & mask
            if entry.hash == search.hash { return entry.slot }
        }
        return nextOutgrown(&search)
    }

    @usableFromInline
    @inline(never)
    func nextOutgrown(_ search: inout Search) -> UInt32? {
        while !outgrown[search.place].isEmpty {
            let entry = outgrown[search.place]
            search.place = (search.place + 1) & (outgrown.count - 1)
            if entry.isFilled, entry.hash == search.hash { return entry.slot }
        }
        return nil
    }

    /// The first slot that has the hash, unless it is still in the outgrown table. It is nearly always the right
    /// one.
    @inlinable
    @inline(__always)
    public func candidate(_ hash: UInt64) -> UInt32? {
        var place = Int(truncatingIfNeeded: hash) & mask
        while true {
            let entry = entries[place]
            if entry.isEmpty { return nil }
            if entry.hash == UInt32(truncatingIfNeeded: hash) { return entry.slot }
            place = (place &+ 1) & mask
        }
    }

    /// Reads what a search for a hash reads first, to get it into the processor's cache.
    @inlinable
    @inline(__always)
    public func touch(_ hash: UInt64) -> UInt64 {
        UInt64(entries[Int(truncatingIfNeeded: hash) & mask].hash)
    }

    /// Adds a slot that isn't there. `atOnce` means that a table that is outgrown is moved as a whole: nobody
    /// waits, and each page of the new table is written before it is read, which takes one page fault instead
    /// of two.
    public mutating func insert(_ hash: UInt64, _ slot: UInt32, atOnce: Bool = false) {
        if (count + 1) * 4 > entries.count * 3 { grow() }
        if outgrown.hasMemory { move(count: atOnce ? outgrown.count : Self.movedPerInsert) }
        count += 1
        put(Entry(hash: UInt32(truncatingIfNeeded: hash), slot: slot))
    }

    /// Removes a slot, if it is there.
    public mutating func remove(_ hash: UInt64, _ slot: UInt32) {
        var place = Int(truncatingIfNeeded: hash) & mask
        while !entries[place].isEmpty {
            if entries[place].slot == slot {
                count -= 1
                return closeGap(at: place)
            }
            place = (place + 1) & mask
        }
        if outgrown.isEmpty { return }
        place = Int(truncatingIfNeeded: hash) & (outgrown.count - 1)
        while !outgrown[place].isEmpty {
            if outgrown[place].slot == slot {
                count -= 1
                outgrown[place] = .moved
                return
            }
            place = (place + 1) & (outgrown.count - 1)
        }
    }

    /// Gives memory back, if most of it isn't needed. Moves so many entries at most, and returns whether there
    /// is nothing more to do.
    public mutating func shrink(visits: Int, keeping entriesKept: Int = 64) -> Bool {
        if !outgrown.hasMemory, entries.count > entriesKept, count * 16 < entries.count {
            outgrown = List(zeroed: max(entriesKept, entries.count / 8))
            swap(&outgrown, &entries)
            mask = entries.count - 1
        }
        move(count: visits)
        return !outgrown.hasMemory
    }

    /// Calls `body` with each slot and what its entry tells of its hash.
    public func forEach<Failure: Error>(
        _ body: (_ slot: UInt32, _ hash: UInt32) throws(Failure) -> Void
    ) throws(Failure) {
        for place in entries.indices where entries[place].isFilled {
            try body(entries[place].slot, entries[place].hash)
        }
        for place in outgrown.indices where outgrown[place].isFilled {
            try body(outgrown[place].slot, outgrown[place].hash)
        }
    }

    /// A search ends at an empty entry, and what was moved is nowhere else.
    public var isSound: Bool {
        let isMoved = (0..<min(movedCount, outgrown.count)).allSatisfy { !outgrown[$0].isFilled }
        return count * 4 <= entries.count * 3 && isMoved
    }

    /// Begins a table of twice the size.
    private mutating func grow() {
        if !outgrown.isEmpty { move(count: outgrown.count) }
        outgrown = List(zeroed: entries.count * 2)
        swap(&outgrown, &entries)
        mask = entries.count - 1
    }

    /// Moves some of the entries that are left in the outgrown table.
    private mutating func move(count: Int) {
        if outgrown.isEmpty {
            _ = outgrown.shrink(by: count * Self.freedPerMoved)
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
        outgrown.removeAll()
        movedCount = 0
    }

    private mutating func put(_ entry: Entry) {
        var place = Int(entry.hash) & mask
        while !entries[place].isEmpty { place = (place + 1) & mask }
        entries[place] = entry
    }

    /// Moves later members of the same run back into the gap, so that no search stops early.
    private mutating func closeGap(at start: Int) {
        var gap = start
        var place = (start + 1) & mask
        while !entries[place].isEmpty {
            let home = Int(entries[place].hash) & mask
            if (place - home) & mask >= (place - gap) & mask {
                entries[gap] = entries[place]
                gap = place
            }
            place = (place + 1) & mask
        }
        entries[gap].slot = 0
    }
}
