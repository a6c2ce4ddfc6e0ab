// How fast turns go on this machine. The broker's meter counts steps, and how long a step takes depends on the
// machine, on what else it does, and on what is in its cache. So while there is more to do than fits into a turn,
// turns are timed, and become smaller until each takes a few milliseconds at most.

import PlugboardPosix

/// How much smaller than usual turns are.
struct TurnPace {
    /// A turn that takes longer is too long.
    static let nanosecondsMax: UInt64 = 3_000_000
    /// Turns become larger again if they are this short.
    static let nanosecondsMin: UInt64 = 1_000_000
    /// A turn is at least this power of two smaller than usual.
    static let shiftMax = 3

    private(set) var shift = 0
    private var start: UInt64?

    /// Call when a turn begins to work. `isFull` means that there was more to do than fitted into the last one. A
    /// turn that isn't timed reads no clock.
    mutating func begin(isFull: Bool, _ time: TimeSource) { start = isFull ? time.nanoseconds() : nil }

    /// Call when the turn has done its work.
    mutating func end(_ time: TimeSource) {
        guard let start else { return }
        let taken = time.nanoseconds() - start
        if taken > Self.nanosecondsMax { shift = min(shift + 1, Self.shiftMax) }
        if taken < Self.nanosecondsMin { shift = max(shift - 1, 0) }
    }
}
