// Which keys cross the bridge, and in which direction. Read from the command line once; never changes. What
// is no key of a bus, and what belongs to brokers and bridges, never crosses, whatever the patterns say.

import PlugboardWire

/// What the bridge does with a key.
struct Direction: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// Writes on the bus go to etcd.
    static let out = Direction(rawValue: 1)
    /// Writes in etcd go to the bus.
    static let into = Direction(rawValue: 2)
    /// This host is the key's only author. It overwrites what others write.
    static let own = Direction(rawValue: 4)
}

/// The patterns of a bridge.
struct Sharing: Sendable, Equatable {
    var share: [String] = []
    var send: [String] = []
    var receive: [String] = []
    var own: [String] = []

    var all: [String] { share + send + receive + own }

    func direction(of key: String) -> Direction {
        let bytes = Array(key.utf8)
        guard Obstacle(key: bytes.span) == nil else { return [] }
        if Self.matches(own, bytes) { return [.out, .own] }
        if Self.matches(share, bytes) { return [.out, .into] }
        var direction: Direction = []
        if Self.matches(send, bytes) { direction.insert(.out) }
        if Self.matches(receive, bytes) { direction.insert(.into) }
        return direction
    }

    /// What is wrong with the patterns; nil if nothing is.
    var mistake: String? {
        if all.isEmpty { return "nothing is shared: give --share, --send, --receive or --own" }
        if all.count > Limits.patternsMax { return "more than \(Limits.patternsMax) patterns" }
        for pattern in all {
            if Pattern.fault(Array(pattern.utf8).span) != nil { return "\"\(pattern)\" is not a pattern" }
            if let obstacle = Obstacle(spelling: Array(pattern.utf8).span) {
                return "\"\(pattern)\" never crosses: \(obstacle)"
            }
        }
        for (index, pattern) in all.enumerated() {
            for other in all.dropFirst(index + 1) where Self.overlaps(pattern, other) {
                return "\"\(pattern)\" and \"\(other)\" overlap"
            }
        }
        return nil
    }

    /// The first of these patterns that has keys in common with one of the others.
    func overlap(with others: [String]) -> String? {
        all.first { pattern in others.contains { Self.overlaps(pattern, $0) } }
    }

    static func overlaps(_ one: String, _ other: String) -> Bool {
        Pattern.overlaps(Array(one.utf8).span, Array(other.utf8).span)
    }

    private static func matches(_ patterns: [String], _ key: [UInt8]) -> Bool {
        patterns.contains { Pattern.matches(Array($0.utf8).span, key.span) }
    }
}
