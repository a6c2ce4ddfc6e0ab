// The keys that have long lists of observers, in the order in which the lists were made. A key's next event
// makes its list anew from patterns and names, so a list may be dropped at any time. Without a limit, many
// observers of many keys would take up their product.

import PlugboardMemory

/// Long lists of observers, the oldest first. Used by the loop's thread alone.
struct LongLists: ~Copyable {
    /// A list that was made. It may have been made again since.
    struct Entry: BitwiseCopyable {
        let observable: ObservableHandle
        /// The generation of patterns at that time.
        let generation: UInt64
        let observerCount: Int
    }

    /// A list of at least so many observers is long.
    static let observersMin = 8
    /// How many observers all long lists together may have; the newest list is always kept.
    static let observersMax = 524_288

    private var entries = List<Entry>()
    private var goneCount = 0
    /// The number of observers in all of these lists.
    private(set) var observerCount = 0

    init() {}

    /// The lists are over the limit.
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
