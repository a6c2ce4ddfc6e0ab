// Limits how fast lines are published. Every step is counted from the first
// one, so that delays don't add up. The tracker owns it, and without a
// limit it never waits.

/// At most so many steps per second.
struct Pace {
    private let perSecond: Double?
    private var start: ContinuousClock.Instant?
    private var steps = 0

    /// Without a number there is no limit.
    init(perSecond: Double?) {
        self.perSecond = perSecond
    }

    /// Waits until the next step is due.
    mutating func wait() async throws {
        guard let perSecond else { return }
        let start = start ?? .now
        self.start = start
        try await Task.sleep(until: start + .seconds(Double(steps) / perSecond), clock: .continuous)
        steps += 1
    }
}
