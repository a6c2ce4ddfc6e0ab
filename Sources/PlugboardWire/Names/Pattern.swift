// The grammar of patterns (SPEC.md, section 4): keys in which `*` stands for one token, and a last `**`
// for any number of tokens, even none. A wildcard never matches a token that begins with `$`. So only
// observers whose pattern spells them out get the broker's own keys.

import PlugboardMemory

/// Checks patterns and matches keys with them.
public enum Pattern {
    /// What is wrong with `bytes` as a pattern; nil if it is one.
    public static func fault(_ bytes: Span<UInt8>) -> Key.Fault? {
        Key.fault(bytes, wildcards: true)
    }

    /// Whether a well-formed pattern has a wildcard. If not, it is a key.
    public static func hasWildcard(_ pattern: Span<UInt8>) -> Bool {
        pattern.contains(UInt8(ascii: "*"))
    }

    /// Bytes with which every matching key begins: those before the first wildcard, mostly without the
    /// dot.
    @_lifetime(copy pattern)
    public static func literalPrefix(_ pattern: Span<UInt8>) -> Span<UInt8> {
        guard let star = pattern.firstIndex(of: UInt8(ascii: "*")) else { return pattern }
        let isDeep = star + 1 < pattern.count && star > 0
        // `a.**` also matches `a`, so the dot is not part of every matching key.
        return pattern[..<(isDeep ? star - 1 : star)]
    }

    /// Whether a well-formed pattern matches a well-formed key.
    public static func matches(_ pattern: Span<UInt8>, _ key: Span<UInt8>) -> Bool {
        var patternTokens = Tokens(pattern)
        var keyTokens = Tokens(key)
        while let wanted = patternTokens.next() {
            if wanted.count == 2, wanted[0] == UInt8(ascii: "*") { return noneReserved(&keyTokens) }
            guard let token = keyTokens.next() else { return false }
            let isWildcard = wanted.count == 1 && wanted[0] == UInt8(ascii: "*")
            guard isWildcard ? token.first != UInt8(ascii: "$") : token.isEqual(to: wanted) else {
                return false
            }
        }
        return keyTokens.next() == nil
    }

    private static func noneReserved(_ tokens: inout Tokens) -> Bool {
        while let token = tokens.next() {
            if token.first == UInt8(ascii: "$") { return false }
        }
        return true
    }
}

/// The tokens of a well-formed key or pattern.
public struct Tokens: ~Escapable {
    private let bytes: Span<UInt8>
    private var position = 0
    /// How many tokens were returned.
    public private(set) var passed = 0

    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
    }

    /// The next token; nil after the last.
    @_lifetime(copy self)
    public mutating func next() -> Span<UInt8>? {
        guard position < bytes.count else { return nil }
        var end = position
        while end < bytes.count, bytes[end] != UInt8(ascii: ".") { end += 1 }
        defer { (position, passed) = (end + 1, passed + 1) }
        return bytes[position..<end]
    }
}
