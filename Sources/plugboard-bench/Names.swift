// Keys and patterns as tokens, for dialects to spell: `a.b` here, `a/b` elsewhere.

/// One token of a pattern.
enum PatternToken: Equatable, Sendable {
    case literal(String)
    /// Exactly one token, whichever.
    case anyOne
    /// Whatever follows.
    case anyRest
}

/// The names that workloads use.
enum Names {
    /// Of a workload's keys, by number; all of one length.
    static func key(_ number: Int, of workload: Workload) -> [String] {
        switch workload.interest {
        case .keys: ["bench", "k" + padded(number)]
        case .patterns(_, let matching): observedKey(matching: matching)
        }
    }

    /// The key that the connection at rest with that number observes.
    static func restingKey(_ number: Int) -> [String] {
        ["quiet", "k" + padded(number)]
    }

    /// What the observers of a workload with patterns subscribe to: first those that match.
    static func patterns(_ count: Int, matching: Int) -> [[PatternToken]] {
        let key = observedKey(matching: matching)
        let matches = (1...max(1, matching)).map { mask in pattern(of: key, mask: mask) }
        let others = (matching..<max(count, matching)).map { number in
            [.literal("app\(number)"), .anyOne] + key.dropFirst(2).map { PatternToken.literal($0) }
        }
        return matches + others
    }

    /// Of enough tokens for so many different patterns to match it.
    private static func observedKey(matching: Int) -> [String] {
        matching > 15 ? (0..<10).map { "t\($0)" } : ["app0", "item", "state", "now"]
    }

    /// The key with a wildcard for each token whose bit is set; the last token's is the
    /// lowest. Only `*`, since in some systems `**` is spelled the same.
    private static func pattern(of key: [String], mask: Int) -> [PatternToken] {
        key.enumerated().map { place, token in
            mask >> (key.count - 1 - place) & 1 == 1 ? .anyOne : .literal(token)
        }
    }

    private static func padded(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
}
