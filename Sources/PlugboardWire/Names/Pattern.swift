// The grammar of patterns: keys in which `*` stands for one token, and a last `**` for any
// number of tokens, including none. A wildcard never matches a token that begins with `$`.
// So only observers that spell out the broker's own keys get them.

import PlugboardMemory

/// The rules for patterns.
public enum Pattern {
    /// The first fault of `bytes` as a pattern, if any.
    public static func fault(_ bytes: Span<UInt8>) -> Key.Fault? {
        Key.fault(bytes, wildcards: true)
    }

    /// Whether a well-formed pattern has a wildcard. Without one it is a plain key.
    public static func hasWildcard(_ pattern: Span<UInt8>) -> Bool {
        pattern.contains(UInt8(ascii: "*"))
    }

    /// The bytes that every matching key begins with: those before the first wildcard.
    @_lifetime(copy pattern)
    public static func literalPrefix(_ pattern: Span<UInt8>) -> Span<UInt8> {
        guard let star = pattern.firstIndex(of: UInt8(ascii: "*")) else { return pattern }
        let isDeep = star + 1 < pattern.count && star > 0
        // `a.**` also matches `a`, so its dot isn't part of every matching key.
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

/// The tokens of a well-formed key or pattern, one after the other.
public struct Tokens: ~Escapable {
    private let bytes: Span<UInt8>
    private var position = 0

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
        defer { position = end + 1 }
        return bytes[position..<end]
    }
}
