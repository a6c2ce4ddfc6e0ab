// How fast lines are published, counted from the first one, so that no delay adds up.

/// At most so many steps a second.
struct Pace {
    private let perSecond: Double?
    private var start: ContinuousClock.Instant?
    private var steps = 0

    /// Without a limit where there is no number.
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
