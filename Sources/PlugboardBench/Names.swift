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
        case .patterns(_, let matching): matching > 10 ? deepKey : ["app0", "item", "state"]
        }
    }

    /// What the observers of a workload with patterns subscribe to: first those that match.
    static func patterns(_ count: Int, matching: Int) -> [[PatternToken]] {
        let matches = matching > 10 ? deepPatterns(matching) : Array(nearPatterns.prefix(matching))
        let others = (matching..<max(count, matching)).map { number in
            [.literal("app\(number)"), .anyOne, .literal("state")] as [PatternToken]
        }
        return matches + others
    }

    private static let nearPatterns: [[PatternToken]] = [
        [.literal("app0"), .anyOne, .literal("state")],
        [.literal("app0"), .literal("item"), .anyOne],
        [.literal("app0"), .anyOne, .anyOne],
        [.anyOne, .literal("item"), .literal("state")],
        [.anyOne, .literal("item"), .anyOne],
        [.anyOne, .anyOne, .literal("state")],
        [.anyOne, .anyOne, .anyOne],
        [.literal("app0"), .literal("item"), .anyRest],
        [.literal("app0"), .anyRest],
        [.anyRest],
    ]

    private static let deepKey = (0..<10).map { "t\($0)" }

    /// Each token stands for itself or is a wildcard: 1,024 patterns that match one key.
    private static func deepPatterns(_ count: Int) -> [[PatternToken]] {
        (0..<count).map { mask in
            deepKey.enumerated().map { mask >> $0.offset & 1 == 1 ? .anyOne : .literal($0.element) }
        }
    }

    private static func padded(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
}
