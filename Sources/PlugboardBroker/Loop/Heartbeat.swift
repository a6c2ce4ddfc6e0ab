// A sign of life from the loop. A loop that hangs gives none.

/// Something that is done at an interval.
public struct Heartbeat: Sendable {
    /// The interval.
    let nanoseconds: UInt64
    private let beat: @Sendable () -> Void
    /// When it is done next.
    private(set) var next: UInt64 = 0

    public init(nanoseconds: UInt64, beat: @escaping @Sendable () -> Void) {
        self.nanoseconds = nanoseconds
        self.beat = beat
    }

    /// Does it, if it is time.
    mutating func turn(at now: UInt64) {
        guard now >= next else { return }
        next = now + nanoseconds
        beat()
    }
}
