// The supervisor's source of time and chance, so that tests can set both.

import PlugboardPosix

/// The sources of times and random numbers.
struct SupervisorClock {
    /// The monotonic clock, for deadlines.
    var nanoseconds: () -> UInt64 = MonotonicClock.nanoseconds
    /// The time since 1970, for people.
    var wallMilliseconds: () -> UInt64 = WallClock.millisecondsSince1970
    /// A random number from 0 up to, not including, 1.
    var chance: () -> Double = { Double.random(in: 0..<1) }

    /// The time of the monotonic clock so many seconds from now.
    func nanoseconds(afterSeconds seconds: Double) -> UInt64 {
        nanoseconds() + UInt64(max(0, seconds) * 1e9)
    }
}
