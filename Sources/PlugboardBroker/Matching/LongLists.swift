// The keys that have long lists of observers, in the order in which the lists were made. A list is made from
// patterns and names at a key's next event, so it may go at any time. Without a bound many observers of many
// keys would take their product.

import PlugboardMemory

/// Long lists of observers, the oldest first. Used by the loop's thread alone.
struct LongLists: ~Copyable {
    /// A list that was made, and may have been made again since.
    struct Entry: BitwiseCopyable {
        let observable: ObservableHandle
        /// Of the patterns when it was made.
        let generation: UInt64
        let observerCount: Int
    }

    /// A list of so many observers is long.
    static let observersMin = 8
    /// So many observers all long lists together may have, but for the newest.
    static let observersMax = 524_288

    private var entries = List<Entry>()
    private var goneCount = 0
    /// Observers in all of these lists.
    private(set) var observerCount = 0

    init() {}

    /// There is too much of it.
    var isFull: Bool { observerCount > Self.observersMax && entries.count - goneCount > 1 }

    var first: Entry? { goneCount < entries.count ? entries[goneCount] : nil }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
        observerCount += entry.observerCount
    }

    mutating func removeFirst() {
        observerCount -= entries[goneCount].observerCount
        goneCount += 1
        guard goneCount * 2 > entries.count else { return }
        entries.removeFirst(goneCount)
        goneCount = 0
        if entries.isEmpty { entries.releaseMemory() }
    }
}
