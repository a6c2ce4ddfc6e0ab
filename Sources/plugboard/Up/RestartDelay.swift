// How long to wait before a child that crashed is started again.

/// Doubling delays, forgotten once a child has lived a while.
struct RestartDelay {
    static let firstSeconds = 0.1
    static let mostSeconds = 30.0
    /// A child that lived this long starts with the first delay again.
    static let steadySeconds = 10.0
    /// What chance adds at most, as a part of the delay: children that crashed together for one
    /// reason don't come back in the same instant.
    static let jitter = 0.25

    private var next = firstSeconds

    /// The delay after a crash; `chance` is from 0 up to, not including, 1.
    mutating func delay(afterLivingSeconds lived: Double, chance: Double) -> Double {
        if lived >= Self.steadySeconds { next = Self.firstSeconds }
        defer { next = min(next * 2, Self.mostSeconds) }
        return next * (1 + Self.jitter * chance)
    }
}
