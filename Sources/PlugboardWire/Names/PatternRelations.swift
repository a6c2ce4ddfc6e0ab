// Compares two patterns by their tokens: does one cover the other, and do they overlap? Both answers must
// be exact, because the rights of users depend on them. Tests compare them with the keys that match.

import PlugboardMemory

extension Pattern {
    /// Whether `wide` matches every key that `narrow` matches. Both are well-formed.
    public static func covers(_ wide: Span<UInt8>, _ narrow: Span<UInt8>) -> Bool {
        var (wideTokens, narrowTokens) = (Tokens(wide), Tokens(narrow))
        while let wanted = wideTokens.next() {
            if isTail(wanted) { return spellsNoneReserved(narrowTokens) }
            guard let token = narrowTokens.next() else { return false }
            if isTail(token) {
                // No key is empty, so `**` alone is the same as `*.**`.
                guard isTail(narrow), isAny(wanted), let next = wideTokens.next() else { return false }
                return isTail(next)
            }
            if isAny(wanted) ? isReserved(token) : !token.isEqual(to: wanted) { return false }
        }
        return narrowTokens.next() == nil
    }

    /// Whether some key matches both. Both are well-formed.
    public static func overlaps(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        var (leftTokens, rightTokens) = (Tokens(left), Tokens(right))
        while true {
            let (leftRest, rightRest) = (leftTokens, rightTokens)
            let (one, other) = (leftTokens.next(), rightTokens.next())
            if let one, isTail(one) { return spellsNoneReserved(rightRest) }
            if let other, isTail(other) { return spellsNoneReserved(leftRest) }
            guard let one, let other else { return one == nil && other == nil }
            switch (isAny(one), isAny(other)) {
            case (true, true): continue
            case (true, false): if isReserved(other) { return false }
            case (false, true): if isReserved(one) { return false }
            case (false, false): if !one.isEqual(to: other) { return false }
            }
        }
    }

    private static func spellsNoneReserved(_ tokens: Tokens) -> Bool {
        var rest = tokens
        while let token = rest.next() {
            if isReserved(token) { return false }
        }
        return true
    }

    private static func isReserved(_ token: Span<UInt8>) -> Bool {
        token.first == UInt8(ascii: "$")
    }

    private static func isAny(_ token: Span<UInt8>) -> Bool {
        token.count == 1 && token[0] == UInt8(ascii: "*")
    }

    private static func isTail(_ token: Span<UInt8>) -> Bool {
        token.count == 2 && token[0] == UInt8(ascii: "*")
    }
}
