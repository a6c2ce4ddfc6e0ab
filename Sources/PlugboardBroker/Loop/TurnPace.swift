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
    /// Turns become smaller by this power of two at most.
    static let shiftMax = 3

    private(set) var shift = 0
    private var start: UInt64?
    /// How long the last turn took, if it was timed.
    private var taken: UInt64?

    /// Call before a turn: it is to be as large as the last one suggests. A turn keeps its size to its end.
    mutating func adapt() {
        guard let taken else { return }
        if taken > Self.nanosecondsMax { shift = min(shift + 1, Self.shiftMax) }
        if taken < Self.nanosecondsMin { shift = max(shift - 1, 0) }
    }

    /// Call when a turn begins to work. `isFull` means that there was more to do than fitted into the last one. A
    /// turn that isn't timed reads no clock.
    mutating func begin(isFull: Bool, _ time: TimeSource) { start = isFull ? time.nanoseconds() : nil }

    /// Call when the turn has done its work.
    mutating func end(_ time: TimeSource) { taken = start.map { time.nanoseconds() - $0 } }
}
