// How systems write the same names: what stands between tokens, and for "any".

/// One system's way of writing keys and patterns.
struct PatternSpelling: Sendable {
    let separator: String
    let anyOne: String
    let anyRest: String

    static let plugboard = PatternSpelling(separator: ".", anyOne: "*", anyRest: "**")
    static let redis = PatternSpelling(separator: ".", anyOne: "*", anyRest: "*")
    static let nats = PatternSpelling(separator: ".", anyOne: "*", anyRest: ">")
    static let mqtt = PatternSpelling(separator: "/", anyOne: "+", anyRest: "#")

    func text(_ key: [String]) -> String {
        key.joined(separator: separator)
    }

    func text(_ pattern: [PatternToken]) -> String {
        pattern.map { token in
            switch token {
            case .literal(let text): text
            case .anyOne: anyOne
            case .anyRest: anyRest
            }
        }.joined(separator: separator)
    }

    /// What an observer of the workload subscribes to.
    func subscriptions(of workload: Workload) -> [String] {
        switch workload.interest {
        case .keys: (0..<workload.keys).map { text(Names.key($0, of: workload)) }
        case .patterns(let count, let matching): Names.patterns(count, matching: matching).map { text($0) }
        }
    }
}

/// What a peer does for each message: the rows "same work" and "plain publish".
enum PeerWork: Sendable {
    /// Keeps the value and tells the observers, as plugboard does.
    case keepAndTell
    /// Tells the observers and keeps nothing.
    case tell
}

extension Array {
    /// In pieces of at most `size`.
    func pieces(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
