// Chooses how much the publishers of a system write at once. A message costs less if a server's turn
// reads more of them. So for a fair comparison of CPU, the limit gets a batch with which it reads about
// as many messages per turn as the broker.

/// Chooses the batch of one system by the mean batch of another.
enum BatchMatch {
    private static let triesMax = 3
    /// A mean is good enough if it is off by at most this part.
    private static let tolerance = 0.1
    private static let growthMax = 4

    /// Sets the session's batch so that the system reads about `wanted` messages at a time. It makes a
    /// few tries and keeps the best.
    static func approach(messagesPerRead wanted: Double, _ session: LoadSession) throws {
        let given = session.workload.batch
        var best: (batch: Int, distance: Double)?
        for _ in 0..<triesMax {
            guard let mean = try session.messagesPerRead(), mean > 0 else { break }
            let batch = session.workload.batch
            let distance = abs(mean / wanted - 1)
            if best.map({ distance < $0.distance }) ?? true { best = (batch, distance) }
            if distance <= tolerance { return }
            let next = self.next(batch: batch, mean: mean, wanted: wanted, given: given)
            if next == batch { break }
            try session.setBatch(next)
        }
        if let best, best.batch != session.workload.batch { try session.setBatch(best.batch) }
    }

    /// The batch to try next, if `batch` gave a mean of `mean` messages per read.
    static func next(batch: Int, mean: Double, wanted: Double, given: Int) -> Int {
        let scaled = (Double(batch) * wanted / mean).rounded()
        let bounds = Double(max(1, given / growthMax))...Double(given * growthMax)
        return Int(min(max(scaled, bounds.lowerBound), bounds.upperBound))
    }

    /// Whether two means are near enough to compare CPU per message.
    static func areEqual(_ one: Double, _ other: Double) -> Bool {
        other > 0 && abs(one / other - 1) <= tolerance * 2
    }
}
