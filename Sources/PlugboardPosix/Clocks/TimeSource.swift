// Where a program gets the time: from the system's clocks, or from one that a simulation sets. It
// is read once a turn or less, never for each message.

import Synchronization

/// The time, real or simulated. From any thread.
public struct TimeSource: Sendable {
    private let simulated: SimulatedTime?

    /// The clocks of the system.
    public static let system = TimeSource(simulated: nil)

    /// Moves only when a simulation moves it.
    public init(_ time: SimulatedTime) {
        self.init(simulated: time)
    }

    private init(simulated: SimulatedTime?) {
        self.simulated = simulated
    }

    /// Nanoseconds since an arbitrary start; never fewer than before.
    @inline(__always)
    public func nanoseconds() -> UInt64 {
        if let simulated { return simulated.nanoseconds }
        return MonotonicClock.nanoseconds()
    }

    /// Milliseconds since 1970, leap seconds not counted.
    @inline(__always)
    public func millisecondsSince1970() -> UInt64 {
        if let simulated { return simulated.millisecondsSince1970 }
        return WallClock.millisecondsSince1970()
    }

    /// Milliseconds since the machine started, asleep or awake. Nobody can set this clock.
    public func millisecondsSinceBoot() -> UInt64 {
        if let simulated { return simulated.nanoseconds / 1_000_000 }
        return SystemBoot.milliseconds()
    }
}

/// A time that moves on only on request.
public final class SimulatedTime: Sendable {
    /// 2026-01-01, a day like any other.
    private static let start: UInt64 = 1_767_225_600_000
    private let passed = Atomic<UInt64>(1_000_000_000)
    private let setBack = Atomic<UInt64>(0)

    public init() {}

    /// Moves on.
    public func advance(nanoseconds: UInt64) {
        passed.wrappingAdd(nanoseconds, ordering: .relaxed)
    }

    /// Sets the time of day, and nothing else.
    public func setClock(back milliseconds: UInt64) {
        setBack.wrappingAdd(milliseconds, ordering: .relaxed)
    }

    var nanoseconds: UInt64 { passed.load(ordering: .relaxed) }

    var millisecondsSince1970: UInt64 {
        Self.start + nanoseconds / 1_000_000 - setBack.load(ordering: .relaxed)
    }
}
