// Open addressing with linear probing, the one that all tables share: an entry is at the place that its hash says,
// or at the next one that was free.
//
// What always holds, if the owner leaves an entry empty: each search ends; from where an entry's hash says to where
// it is, no entry is empty, so each is found.

/// An entry of a table.
public protocol ProbeEntry: Zeroable {
    /// All bytes of an empty one are zero.
    static var empty: Self { get }
    var isEmpty: Bool { get }
}

/// Entries by their hashes. Their owner knows the hashes, and says which entry is the right one. How many there
/// are is a power of two, or 0 before the first. Only one thread uses it.
public struct ProbeTable<Entry: ProbeEntry>: ~Copyable {
    /// All entries, most of which may be empty.
    public var entries: List<Entry>

    /// A table of so many empty entries. If it `isWritten`, all its pages are there: one that is read before it is
    /// written takes two page faults.
    public init(count: Int, isWritten: Bool = false) {
        entries = isWritten ? List(repeating: .empty, count: count) : List(zeroed: count)
    }

    @_transparent public var count: Int { entries.count }
    @_transparent public var isEmpty: Bool { entries.isEmpty }
    @_transparent public var indices: Range<Int> { entries.indices }
    @_transparent @usableFromInline var mask: Int { entries.count &- 1 }

    @inlinable
    public subscript(place: Int) -> Entry {
        @_transparent
        get { entries[place] }
        @_transparent
        set { entries[place] = newValue }
    }

    /// Where an entry is, if no other one is there.
    @inlinable
    @inline(__always)
    public func home(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & mask }

    @inlinable
    @inline(__always)
    public func place(after place: Int) -> Int { (place &+ 1) & mask }

    /// The place of the first entry that `isRight`, from one on; nil if an empty one comes before it.
    @inlinable
    @inline(__always)
    public func first(from start: Int, where isRight: (Entry) -> Bool) -> Int? {
        var place = start
        while true {
            let entry = entries[place]
            if entry.isEmpty { return nil }
            if isRight(entry) { return place }
            place = self.place(after: place)
        }
    }

    /// Puts an entry that isn't there at the first free place, and returns it.
    @inlinable
    @inline(__always)
    @discardableResult
    public mutating func insert(_ entry: Entry, hash: UInt64) -> Int {
        var place = home(of: hash)
        while !entries[place].isEmpty { place = self.place(after: place) }
        entries[place] = entry
        return place
    }

    /// Empties a place. Moves later entries of the same run back into the gap, so that no search stops early.
    @inlinable
    public mutating func remove(at start: Int, hash: (Entry) -> UInt64) {
        var gap = start
        var place = self.place(after: start)
        while !entries[place].isEmpty {
            let home = home(of: hash(entries[place]))
            if (place &- home) & mask >= (place &- gap) & mask {
                entries[gap] = entries[place]
                gap = place
            }
            place = self.place(after: place)
        }
        entries[gap] = .empty
    }

    /// Makes all entries empty, so many of them. Keeps the memory if it is for `keptMax` at most.
    @inlinable
    public mutating func clear(count: Int, keeping keptMax: Int) {
        entries.removeAll(keeping: keptMax)
        for _ in 0..<count { entries.append(.empty) }
    }
}
