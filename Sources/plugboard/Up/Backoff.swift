// How long to wait before a child that crashed is started again.

/// Doubling delays, forgotten once a child has lived a while.
struct Backoff {
    static let firstSeconds = 0.1
    static let mostSeconds = 5.0
    /// A child that lived this long starts with the first delay again.
    static let steadySeconds = 10.0

    private var next = firstSeconds

    /// The delay after a crash.
    mutating func delay(afterLivingSeconds lived: Double) -> Double {
        if lived >= Self.steadySeconds { next = Self.firstSeconds }
        defer { next = min(next * 2, Self.mostSeconds) }
        return next
    }
}
