// The keys of recent emits, each with the revision of the bus at that time. With them, an observer that was
// away learns how many emits it missed. There are two generations: when the newer one is full, the older one
// is forgotten. What always holds: revisions ascend, and all emits from `completeSince` on are here.

import PlugboardMemory

/// The keys of the last emits of a bus. Owned by the keyspace.
struct EmitLog: ~Copyable {
    /// The limits of one generation. Emits in a row to the same key at the same revision are one entry.
    static let entriesMax = 32_768
    static let keyBytesMax = 1_048_576

    private var recent = EmitGeneration()
    private var older = EmitGeneration()
    /// All emits that carry this revision or a later one are known.
    private(set) var completeSince: UInt64 = 0

    /// Starts after the last revision of an earlier broker, whose emits are unknown.
    mutating func begin(after revision: UInt64) { completeSince = revision + 1 }

    mutating func note(_ key: Span<UInt8>, at revision: UInt64) {
        if repeatsLast(key, revision) {
            let last = recent.entries.count - 1
            recent.entries[last].times &+= 1
            return
        }
        if !recent.hasRoom(for: key.count) { beginGeneration() }
        recent.keys.append(key)
        let keyEnd = UInt32(truncatingIfNeeded: recent.keys.count)
        recent.entries.append(EmitGeneration.Entry(revision: revision, keyEnd: keyEnd, times: 1))
    }

    /// The places of the entries that carry this revision or a later one.
    func places(from revision: UInt64) -> Range<Int> {
        let end = older.entries.count + recent.entries.count
        var start = end
        while start > 0, entry(start - 1).revision >= revision { start -= 1 }
        return start..<end
    }

    /// How many emits the entry at a place stands for.
    func times(_ place: Int) -> UInt64 { UInt64(entry(place).times) }

    /// The key of the entry at a place.
    @_lifetime(borrow self)
    func key(_ place: Int) -> Span<UInt8> {
        let count = older.entries.count
        return place < count ? older.key(place) : recent.key(place - count)
    }

    private func entry(_ place: Int) -> EmitGeneration.Entry {
        let count = older.entries.count
        return place < count ? older.entries[place] : recent.entries[place - count]
    }

    private func repeatsLast(_ key: Span<UInt8>, _ revision: UInt64) -> Bool {
        guard let last = recent.entries.last, last.revision == revision, last.times < .max else {
            return false
        }
        return recent.key(recent.entries.count - 1).isEqual(to: key)
    }

    private mutating func beginGeneration() {
        if let last = older.entries.last { completeSince = max(completeSince, last.revision + 1) }
        swap(&recent, &older)
        recent.entries.removeAll(keeping: Self.entriesMax)
        recent.keys.removeAll()
    }
}

/// The keys of emits, in their order.
struct EmitGeneration: ~Copyable {
    struct Entry: BitwiseCopyable {
        let revision: UInt64
        /// Where its key ends. The key begins where the one before ends.
        let keyEnd: UInt32
        var times: UInt32
    }

    var entries = List<Entry>()
    var keys = ByteBuffer()

    @_lifetime(borrow self)
    func key(_ index: Int) -> Span<UInt8> {
        let start = index == 0 ? 0 : Int(entries[index - 1].keyEnd)
        return keys.bytes[start..<Int(entries[index].keyEnd)]
    }

    func hasRoom(for key: Int) -> Bool {
        entries.count < EmitLog.entriesMax && keys.count + key <= EmitLog.keyBytesMax
    }
}
