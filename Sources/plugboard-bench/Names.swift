// The keys and patterns of workloads, in this project's spelling: `a.b` and `a.*`. Dialects translate
// them. All keys of a workload have the same length, so all its messages have.

enum Names {
    /// The key with this number.
    static func key(_ number: Int, of workload: Workload) -> String {
        if workload.mixed != nil { return MixedTraffic.key(number) }
        return switch workload.interest {
        case .keys: "bench.k" + padded(number, to: workload.keyDigits)
        case .patterns(_, let matching): tokens(matching: matching).joined(separator: ".")
        }
    }

    /// The key that the resting connection with this number observes.
    static func restingKey(_ number: Int) -> String { "quiet.k" + padded(number, to: 6) }

    /// What an observer of the workload subscribes to. Patterns that match come first.
    static func subscriptions(of workload: Workload) -> [String] {
        guard case .patterns(let count, let matching) = workload.interest else {
            return (0..<workload.keys).map { key($0, of: workload) }
        }
        let tokens = tokens(matching: matching)
        let others = (matching..<max(count, matching)).map { ["app\($0)", "*"] + tokens.dropFirst(2) }
        return ((1...max(1, matching)).map { pattern(of: tokens, mask: $0) } + others)
            .map { $0.joined(separator: ".") }
    }

    /// The tokens of a key: enough for `matching` different patterns to match it.
    private static func tokens(matching: Int) -> [String] {
        matching > 15 ? (0..<10).map { "t\($0)" } : ["app0", "item", "state", "now"]
    }

    /// The key with a wildcard for each token whose bit in `mask` is set; the last token has the lowest
    /// bit. Only `*` is used, because some systems spell `**` in this way.
    private static func pattern(of tokens: [String], mask: Int) -> [String] {
        tokens.enumerated().map { place, token in
            mask >> (tokens.count - 1 - place) & 1 == 1 ? "*" : token
        }
    }

    private static func padded(_ number: Int, to count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
