// The grammar of keys (SPEC.md, section 4): tokens with dots between them, at most 256 bytes. Keys are
// compared byte by byte. A key that passed this check needs no escapes in a line.

import PlugboardMemory

/// Checks keys.
public enum Key {
    /// Why bytes are not a key or a pattern.
    public enum Fault: String, Error, Sendable {
        case empty = "it is empty"
        case tooLong = "it is longer than 256 bytes"
        case emptyToken = "a token is empty (two dots, or a dot at an end)"
        case forbiddenCharacter = "it has a control character, white space, *, \" or \\"
        case malformed = "it is not UTF-8"
        case wildcardInToken = "* and ** stand alone as a token"
        case earlyDeepWildcard = "** can only be the last token"
    }

    /// What is wrong with `bytes` as a key; nil if it is one.
    public static func fault(_ bytes: Span<UInt8>) -> Fault? {
        fault(bytes, wildcards: false)
    }

    /// Whether a token begins with `$`. Only the broker writes such keys.
    public static func isReserved(_ bytes: Span<UInt8>) -> Bool {
        var atTokenStart = true
        for index in bytes.indices {
            if atTokenStart, bytes[index] == UInt8(ascii: "$") { return true }
            atTokenStart = bytes[index] == UInt8(ascii: ".")
        }
        return false
    }

    static func fault(_ bytes: Span<UInt8>, wildcards: Bool) -> Fault? {
        guard !bytes.isEmpty else { return .empty }
        guard bytes.count <= Limits.keyBytesMax else { return .tooLong }
        guard UTF8Sequence.firstMalformed(bytes) == nil else { return .malformed }
        var tokenStart = 0
        for index in 0...bytes.count where index == bytes.count || bytes[index] == UInt8(ascii: ".") {
            let token = bytes[tokenStart..<index]
            if let fault = tokenFault(token, wildcards: wildcards, isLast: index == bytes.count) {
                return fault
            }
            tokenStart = index + 1
        }
        return nil
    }

    private static func tokenFault(_ token: Span<UInt8>, wildcards: Bool, isLast: Bool) -> Fault? {
        guard !token.isEmpty else { return .emptyToken }
        if wildcards, token[0] == UInt8(ascii: "*") {
            if token.count == 1 { return nil }
            guard token.count == 2, token[1] == UInt8(ascii: "*") else { return .wildcardInToken }
            return isLast ? nil : .earlyDeepWildcard
        }
        for index in token.indices where isForbidden(token[index], token, index) {
            return wildcards && token[index] == UInt8(ascii: "*") ? .wildcardInToken : .forbiddenCharacter
        }
        return nil
    }

    /// Control characters (C0, DEL and C1), white space (Unicode's White_Space), `*`, `"` and `\`.
    private static func isForbidden(_ byte: UInt8, _ token: Span<UInt8>, _ index: Int) -> Bool {
        switch byte {
        case 0...0x20, 0x7F, UInt8(ascii: "*"), UInt8(ascii: "\""), UInt8(ascii: "\\"): true
        case 0xC2: token[index + 1] <= 0xA0 || token[index + 1] == 0x85
        case 0xE1: token[index + 1] == 0x9A && token[index + 2] == 0x80
        case 0xE2: isGeneralPunctuationSpace(token[index + 1], token[index + 2])
        case 0xE3: token[index + 1] == 0x80 && token[index + 2] == 0x80
        default: false
        }
    }

    /// U+2000…U+200A, U+2028, U+2029, U+202F and U+205F.
    private static func isGeneralPunctuationSpace(_ second: UInt8, _ third: UInt8) -> Bool {
        switch (second, third) {
        case (0x80, 0x80...0x8A), (0x80, 0xA8), (0x80, 0xA9), (0x80, 0xAF), (0x81, 0x9F): true
        default: false
        }
    }
}
