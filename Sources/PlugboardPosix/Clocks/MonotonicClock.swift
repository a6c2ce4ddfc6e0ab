// Time that only goes forward, for deadlines and rates; never wall-clock time.
//
// Why its pointer is safe: it is to a local variable, for the length of one call.

/// The system's monotonic clock.
public enum MonotonicClock {
    /// Nanoseconds since an arbitrary start, the same for all threads of the machine.
    public static func nanoseconds() -> UInt64 {
        let time = timespec(of: CLOCK_MONOTONIC)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

extension timespec {
    /// What a clock of the system shows; zero if there is none.
    @inline(__always)
    init(of clock: clockid_t) {
        self.init()
        _ = unsafe clock_gettime(clock, &self)
    }

    var milliseconds: UInt64 { UInt64(tv_sec) * 1_000 + UInt64(tv_nsec) / 1_000_000 }
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
