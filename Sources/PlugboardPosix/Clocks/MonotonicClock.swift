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
