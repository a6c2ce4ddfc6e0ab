// A sign of life that the loop gives by turning: a loop that hangs gives none.

/// What is done again and again.
public struct Heartbeat: Sendable {
    /// From one to the next.
    let nanoseconds: UInt64
    private let beat: @Sendable () -> Void
    /// When it is due.
    private(set) var next: UInt64 = 0

    public init(nanoseconds: UInt64, beat: @escaping @Sendable () -> Void) {
        self.nanoseconds = nanoseconds
        self.beat = beat
    }

    /// Does it, if it is due.
    mutating func turn(at now: UInt64) {
        guard now >= next else { return }
        next = now + nanoseconds
        beat()
    }
}
