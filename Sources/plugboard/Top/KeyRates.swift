// Counts exactly how often each key changed in the last few seconds. Its memory is bounded: if there are too
// many keys, it forgets keys that no longer change. A key without a place counts only for the rate of all.

/// Changes of keys, counted.
struct KeyRates {
    /// How many keys are counted one by one.
    static let keysMax = 16_384

    /// A key and how often it changes.
    struct Row: Equatable {
        let key: String
        /// Changes per second.
        let rate: Double
        /// Changes since the start.
        let total: UInt64
        /// The last writer, by its name in the event.
        let by: String
    }

    private struct Entry {
        var count = RecentCount()
        var by = ""
    }

    private var entries: [String: Entry] = [:]
    /// The changes of all keys together.
    private var all = RecentCount()

    /// Counts changes of a key.
    mutating func note(_ key: String, by: String, count: UInt64 = 1) {
        all.note(count)
        guard entries[key] != nil || entries.count < Self.keysMax else { return }
        entries[key, default: Entry()].count.note(count)
        if !by.isEmpty { entries[key]?.by = by }
    }

    /// Ends a period. Call it before `RecentPeriods.end`.
    mutating func endPeriod(_ periods: RecentPeriods) {
        all.endPeriod(periods)
        for key in entries.keys { entries[key]?.count.endPeriod(periods) }
        // Forgets keys before the table is full, so that new keys find a place.
        if entries.count > Self.keysMax / 4 * 3 { entries = entries.filter { !$0.value.count.isResting } }
    }

    /// Changes per second of all keys.
    func rate(_ periods: RecentPeriods) -> Double { all.rate(periods) }

    /// How many keys are counted.
    var count: Int { entries.count }

    /// The keys that change most, then those that didn't change lately.
    func busiest(_ periods: RecentPeriods) -> [Row] {
        let rows = entries.map { key, entry in
            Row(key: key, rate: entry.count.rate(periods), total: entry.count.total, by: entry.by)
        }
        return rows.sorted(by: Self.isBefore)
    }

    private static func isBefore(_ first: Row, _ second: Row) -> Bool {
        if first.rate != second.rate { return first.rate > second.rate }
        if first.total != second.total { return first.total > second.total }
        return first.key < second.key
    }
}
