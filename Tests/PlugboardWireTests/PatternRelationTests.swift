import PlugboardWire
import Testing

@Suite("how two patterns compare")
struct PatternRelationTests {
    /// All rows of one to `length` tokens.
    private func rows(of tokens: [String], upTo length: Int) -> [String] {
        var (all, last) = (tokens, tokens)
        for _ in 1..<length {
            last = last.flatMap { row in tokens.map { "\(row).\($0)" } }
            all += last
        }
        return all
    }

    @Test("for all patterns of up to three tokens, the answer is that of the keys")
    func agreesWithKeys() {
        let plain = rows(of: ["a", "b", "$x", "*"], upTo: 3)
        let shorter = rows(of: ["a", "b", "$x", "*"], upTo: 2)
        let patterns = plain + shorter.map { "\($0).**" } + ["**"]
        // A token that no pattern spells, and one token more than any pattern has.
        let keys = rows(of: ["a", "b", "c", "$x", "$y"], upTo: 4).map { Array($0.utf8) }
        let matched = patterns.map { pattern in
            Set(keys.indices.filter { index in compare(Pattern.matches, Array(pattern.utf8), keys[index]) })
        }
        for (left, leftKeys) in zip(patterns, matched) {
            for (right, rightKeys) in zip(patterns, matched) {
                let (one, other) = (Array(left.utf8), Array(right.utf8))
                let covers = compare(Pattern.covers, one, other)
                let overlaps = compare(Pattern.overlaps, one, other)
                if covers != rightKeys.isSubset(of: leftKeys) {
                    Issue.record("\(left) covers \(right): \(covers)")
                }
                if overlaps == leftKeys.isDisjoint(with: rightKeys) {
                    Issue.record("\(left) overlaps \(right): \(overlaps)")
                }
            }
        }
    }

    private func compare(
        _ relation: (Span<UInt8>, Span<UInt8>) -> Bool, _ left: [UInt8], _ right: [UInt8]
    ) -> Bool {
        relation(left.span, right.span)
    }
}
