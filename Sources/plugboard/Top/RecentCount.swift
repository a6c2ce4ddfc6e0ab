// Rates over the last few seconds: exact, and steady enough to read. All rates of one picture are
// counted over the same time. Short periods are combined until they make a second, because the
// broker updates its own counts no more often.

/// The lengths of the last periods.
struct RecentPeriods {
    /// Shorter periods are counted together.
    private static let shortestSeconds = 0.95

    /// The lengths in seconds. The next one replaces the oldest.
    fileprivate var seconds = SIMD4<Double>()
    fileprivate var place = 0
    /// The place of the oldest value, which the next one replaces.
    fileprivate var isFresh = true

    /// Ends a period of this many seconds. Call it when all counts have been ended.
    mutating func end(seconds period: Double) {
        seconds[place] = max(0, period) + (isFresh ? 0 : seconds[place])
        isFresh = seconds[place] >= Self.shortestSeconds
        if isFresh { place = (place + 1) % seconds.scalarCount }
    }
}

/// A count over the last periods.
struct RecentCount {
    /// The count since the start.
    private(set) var total: UInt64 = 0
    private var current: UInt64 = 0
    private var past = SIMD4<UInt64>()

    mutating func note(_ count: UInt64) {
        total &+= count
        current &+= count
    }

    /// Ends a period. Call it before `RecentPeriods.end`.
    mutating func endPeriod(_ periods: RecentPeriods) {
        past[periods.place] = current &+ (periods.isFresh ? 0 : past[periods.place])
        current = 0
    }

    /// The rate per second over the last periods.
    func rate(_ periods: RecentPeriods) -> Double {
        let time = periods.seconds.sum()
        return time > 0 ? Double(past.wrappedSum()) / time : 0
    }

    /// Whether nothing was counted in the last periods.
    var isResting: Bool { current == 0 && past == SIMD4() }
}

/// A count of which only totals are known. What happened before the first total doesn't count for
/// the rate.
struct RecentTotal {
    private var count = RecentCount()
    private var told: UInt64?

    mutating func note(total: UInt64?) {
        guard let total else { return }
        if let told, total > told { count.note(total - told) }
        told = total
    }

    mutating func endPeriod(_ periods: RecentPeriods) { count.endPeriod(periods) }

    func rate(_ periods: RecentPeriods) -> Double { count.rate(periods) }
}
