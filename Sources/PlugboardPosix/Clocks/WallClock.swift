// The time of day, for people to read; never for deadlines.

/// A time of day in UTC, as all times of the bus are.
public struct WallClock: Sendable, CustomStringConvertible {
    public let hour: Int
    public let minute: Int
    public let second: Int
    public let millisecond: Int

    public static func now() -> WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var parts = tm()
        gmtime_r(&time.tv_sec, &parts)
        return WallClock(
            hour: Int(parts.tm_hour),
            minute: Int(parts.tm_min),
            second: Int(parts.tm_sec),
            millisecond: time.tv_nsec / 1_000_000
        )
    }

    /// Milliseconds since 1970, leap seconds not counted.
    @inline(__always)
    public static func millisecondsSince1970() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(max(0, time.tv_sec)) * 1000 + UInt64(max(0, time.tv_nsec)) / 1_000_000
    }

    /// `09:05:01.020Z`.
    public var description: String {
        "\(digits(hour, 2)):\(digits(minute, 2)):\(digits(second, 2)).\(digits(millisecond, 3))Z"
    }

    private func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
