// Keys and patterns as this project spells them: `a.b` and `a.*`.

/// The names that workloads use.
enum Names {
    /// Of a workload's keys, by number; all of one length.
    static func key(_ number: Int, of workload: Workload) -> String {
        switch workload.interest {
        case .keys: "bench.k" + padded(number)
        case .patterns(_, let matching): tokens(matching: matching).joined(separator: ".")
        }
    }

    /// The key that the connection at rest with that number observes.
    static func restingKey(_ number: Int) -> String { "quiet.k" + padded(number) }

    /// What an observer of the workload subscribes to: of patterns first those that match.
    static func subscriptions(of workload: Workload) -> [String] {
        guard case .patterns(let count, let matching) = workload.interest else {
            return (0..<workload.keys).map { key($0, of: workload) }
        }
        let tokens = tokens(matching: matching)
        let others = (matching..<max(count, matching)).map { ["app\($0)", "*"] + tokens.dropFirst(2) }
        return ((1...max(1, matching)).map { pattern(of: tokens, mask: $0) } + others)
            .map { $0.joined(separator: ".") }
    }

    /// A key's, enough of them for so many different patterns to match it.
    private static func tokens(matching: Int) -> [String] {
        matching > 15 ? (0..<10).map { "t\($0)" } : ["app0", "item", "state", "now"]
    }

    /// The key with a wildcard for each token whose bit is set; the last token's is the
    /// lowest. Only `*`, since in some systems `**` is spelled the same.
    private static func pattern(of tokens: [String], mask: Int) -> [String] {
        tokens.enumerated().map { place, token in
            mask >> (tokens.count - 1 - place) & 1 == 1 ? "*" : token
        }
    }

    private static func padded(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
}
