// The time of day, for people to read; never for deadlines.

/// The system's clock.
public enum WallClock {
    /// Milliseconds since 1970, leap seconds not counted.
    @inline(__always)
    public static func millisecondsSince1970() -> UInt64 {
        let time = timespec(of: CLOCK_REALTIME)
        return UInt64(max(0, time.tv_sec)) * 1000 + UInt64(max(0, time.tv_nsec)) / 1_000_000
    }
}
