// The supervisor's source of time and chance, so that tests can set both.

import PlugboardPosix

/// Where moments and chance come from.
struct SupervisorClock {
    /// Of the monotonic clock; for deadlines.
    var nanoseconds: () -> UInt64 = MonotonicClock.nanoseconds
    /// Since 1970; for people.
    var wallMilliseconds: () -> UInt64 = WallClock.millisecondsSince1970
    /// From 0 up to, not including, 1.
    var chance: () -> Double = { Double.random(in: 0..<1) }

    /// The moment so many seconds from now.
    func nanoseconds(afterSeconds seconds: Double) -> UInt64 {
        nanoseconds() + UInt64(max(0, seconds) * 1e9)
    }
}
