// Rates as the last few periods had them: exact, and steady enough to be read.

/// How long the last periods were.
struct RecentPeriods {
    /// In seconds; the oldest is replaced by the next.
    fileprivate var seconds = SIMD4<Double>()
    fileprivate var place = 0

    /// A period of so many seconds is over, and all counts were told.
    mutating func end(seconds period: Double) {
        seconds[place] = max(0, period)
        place = (place + 1) % seconds.scalarCount
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

    /// A period is over; to be called before `RecentPeriods.end`.
    mutating func endPeriod(_ periods: RecentPeriods) {
        past[periods.place] = current
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
