// Time that only goes forward, for deadlines and rates; never wall-clock time.

/// The system's monotonic clock.
public enum MonotonicClock {
    /// Nanoseconds since an arbitrary start, the same for all threads of the machine.
    public static func nanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// A moment that waiting stops at.
public struct TimeLimit: Sendable {
    private let nanoseconds: UInt64

    public init(seconds: Double) {
        nanoseconds = MonotonicClock.nanoseconds() + UInt64(max(0, seconds) * 1e9)
    }

    public var isOver: Bool { MonotonicClock.nanoseconds() >= nanoseconds }

    /// Milliseconds left, rounded up; nil when the moment has passed.
    public var milliseconds: Int32? {
        let now = MonotonicClock.nanoseconds()
        guard now < nanoseconds else { return nil }
        return Int32(clamping: (nanoseconds - now + 999_999) / 1_000_000)
    }
}
