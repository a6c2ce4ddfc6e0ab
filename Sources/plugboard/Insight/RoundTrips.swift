// The times of round trips. Memory is bounded: of very many, the last ones count.

import PlugboardWire

/// The measured times, in nanoseconds.
struct RoundTrips {
    /// How many times are kept.
    static let keptMax = 100_000

    private(set) var sent = 0
    private(set) var received = 0
    private var kept: [UInt64] = []

    mutating func begin() { sent += 1 }

    mutating func end(nanoseconds: UInt64) {
        if kept.count < Self.keptMax {
            kept.append(nanoseconds)
        } else {
            kept[received % Self.keptMax] = nanoseconds
        }
        received += 1
    }

    /// `5 sent, 5 received; p50 85 µs, p99 120 µs, max 130 µs`.
    var summary: String {
        let counts = "\(sent) sent, \(received) received"
        let sorted = kept.sorted()
        guard let longest = sorted.last else { return counts }
        let figures = [("p50", quantile(0.5, sorted)), ("p99", quantile(0.99, sorted)), ("max", longest)]
        let last = received > Self.keptMax ? " (of the last \(Amount.count(UInt64(Self.keptMax))))" : ""
        return counts + "; " + figures.map { "\($0.0) \(Self.text($0.1))" }.joined(separator: ", ") + last
    }

    static func text(_ nanoseconds: UInt64) -> String {
        Amount.duration(microseconds: Double(nanoseconds) / 1_000)
    }

    /// The least time that this part of all times doesn't exceed.
    private func quantile(_ part: Double, _ sorted: [UInt64]) -> UInt64 {
        let rank = Int((part * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
