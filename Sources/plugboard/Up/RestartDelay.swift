// How long to wait before a child that crashed is started again.

/// Delays that double after each crash, and begin again when a child has run for a while.
struct RestartDelay {
    static let firstSeconds = 0.1
    static let mostSeconds = 30.0
    /// If a child has run this long, its next delay is the first one again.
    static let steadySeconds = 10.0
    /// The largest random part of the delay. So children that crashed together for one reason don't start
    /// again at the same moment.
    static let jitter = 0.25

    private var next = firstSeconds

    /// The delay after a crash. `chance` is a random number from 0 up to, not including, 1.
    mutating func delay(afterLivingSeconds lived: Double, chance: Double) -> Double {
        if lived >= Self.steadySeconds { next = Self.firstSeconds }
        defer { next = min(next * 2, Self.mostSeconds) }
        return next * (1 + Self.jitter * chance)
    }
}
