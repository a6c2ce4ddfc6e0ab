// Rates over the last few seconds: exact, and steady enough to read. All rates of one picture are
// counted over the same time. Short periods are combined until they make a second, because the
// broker updates its own counts no more often.

/// How long the last periods were.
struct RecentPeriods {
    /// Shorter periods are counted together.
    private static let shortestSeconds = 0.95

    /// In seconds; the oldest is replaced by the next.
    fileprivate var seconds = SIMD4<Double>()
    fileprivate var place = 0
    /// The value at this place is old; the next one replaces it.
    fileprivate var isFresh = true

    /// A period of this many seconds is over, and all counts have been ended.
    mutating func end(seconds period: Double) {
        seconds[place] = max(0, period) + (isFresh ? 0 : seconds[place])
        isFresh = seconds[place] >= Self.shortestSeconds
        if isFresh { place = (place + 1) % seconds.scalarCount }
    }
}

/// Something that is counted.
struct RecentCount {
    /// Since the start.
    private(set) var total: UInt64 = 0
    private var current: UInt64 = 0
    private var past = SIMD4<UInt64>()

    mutating func note(_ count: UInt64) {
        total &+= count
        current &+= count
    }

    /// A period is over. Call it before `RecentPeriods.end`.
    mutating func endPeriod(_ periods: RecentPeriods) {
        past[periods.place] = current &+ (periods.isFresh ? 0 : past[periods.place])
        current = 0
    }

    /// A second, over the last periods.
    func rate(_ periods: RecentPeriods) -> Double {
        let time = periods.seconds.sum()
        return time > 0 ? Double(past.wrappedSum()) / time : 0
    }

    /// Nothing was counted lately.
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
