// The last line of a bench, for people who remember only one: how many times faster the bus is than the
// fastest peer that does the same work, and how far it is from a server that only copies bytes.

enum Headline {
    /// The rows that may be summed up. The first one that was measured is.
    static let rows = ["1→100", "1→10", "1→1", "1→1000"]

    /// The line, with a line feed; empty if no such row was measured.
    static func text(of report: Report) -> String {
        let lines = rows.lazy.compactMap { report.row($0).flatMap(text) }
        return lines.first ?? ""
    }

    private static func text(of row: Row) -> String? {
        let parts = [rate(in: row), cost(in: row)].compactMap(\.self)
        return parts.isEmpty ? nil : "in short: \(row.workload.name), \(parts.joined(separator: "; "))\n"
    }

    /// The fastest peer is the one over which the advantage is smallest.
    private static func rate(in row: Row) -> String? {
        let peers = row.systems.filter(\.isEqualPeer).map(\.system)
        let ratios = peers.compactMap { peer in
            row.advantage(.messagesPerSecond, over: peer).map { (peer: peer, value: $0) }
        }
        guard let least = ratios.min(by: { $0.value < $1.value }) else { return nil }
        return "\(Digits.ratio(least.value)) × the rate of the fastest peer, \(least.peer)"
    }

    private static func cost(in row: Row) -> String? {
        row.ratio(.cpuNanosecondsPerDelivery, "plugboard", to: "limit").map {
            "\(Digits.ratio($0)) × the CPU of mere copying"
        }
    }
}
