// What a message costs depends on how many of them a server's turn takes in. So the
// publishers of a system that is compared by CPU write as much at once as it needs to
// take in about as many a turn as the broker did.

/// Chooses the batch of one system by the batch of another.
enum BatchMatch {
    private static let triesMax = 3
    /// Mean batches this far apart are equal.
    private static let tolerance = 0.1
    private static let growthMax = 4

    /// Sets the session's batch so that it takes in about so many messages a read; as near
    /// as a few tries come.
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

    /// The batch to try next, where `batch` came to `mean` messages a read.
    static func next(batch: Int, mean: Double, wanted: Double, given: Int) -> Int {
        let scaled = (Double(batch) * wanted / mean).rounded()
        let bounds = Double(max(1, given / growthMax))...Double(given * growthMax)
        return Int(min(max(scaled, bounds.lowerBound), bounds.upperBound))
    }

    /// Whether two mean batches can be compared.
    static func areEqual(_ one: Double, _ other: Double) -> Bool {
        other > 0 && abs(one / other - 1) <= tolerance * 2
    }
}
