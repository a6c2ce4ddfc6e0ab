// Goes through the tokens of a JSON Pointer (RFC 6901) that was checked when its request was read. It builds
// nothing: a token is a place in the pointer's spelling, which is a JSON string without its quotes.

import PlugboardMemory

/// The tokens of a checked pointer, from left to right.
struct PointerTokens: ~Escapable {
    private var reader: JSONCharacters
    private var isAtEnd: Bool

    @_lifetime(copy pointer)
    init(_ pointer: Span<UInt8>) {
        reader = JSONCharacters(pointer)
        // A slash comes before each token.
        isAtEnd = reader.next() == nil
    }

    /// The place of the next token in the spelling; nil at the end.
    mutating func next() -> ByteRange? {
        if isAtEnd { return nil }
        let start = reader.position
        while true {
            let end = reader.position
            let byte = reader.next()
            isAtEnd = byte == nil
            if byte == nil || byte == UInt8(ascii: "/") { return ByteRange(start, end) }
        }
    }

    /// The last token, and where the pointer to what contains it ends; nil for the whole value.
    static func last(of pointer: Span<UInt8>) -> (token: ByteRange, containerEnd: Int)? {
        var tokens = PointerTokens(pointer)
        var last: (token: ByteRange, containerEnd: Int)?
        while let token = tokens.next() { last = (token, last?.token.end ?? 0) }
        return last
    }

    /// The number of tokens.
    static func count(of pointer: Span<UInt8>) -> Int {
        var tokens = PointerTokens(pointer)
        var count = 0
        while tokens.next() != nil { count += 1 }
        return count
    }

    /// Calls `body` with the characters of a token. Only a token with escapes takes memory.
    static func withCharacters<Result>(of token: Span<UInt8>, _ body: (Span<UInt8>) -> Result) -> Result {
        guard token.contains(UInt8(ascii: "~")) || token.contains(UInt8(ascii: "\\")) else {
            return body(token)
        }
        return body(characters(of: token).span)
    }

    private static func characters(of token: Span<UInt8>) -> [UInt8] {
        var characters: [UInt8] = []
        var reader = JSONCharacters(token)
        while let byte = reader.next() {
            guard byte == UInt8(ascii: "~") else {
                characters.append(byte)
                continue
            }
            characters.append(reader.next() == UInt8(ascii: "0") ? UInt8(ascii: "~") : UInt8(ascii: "/"))
        }
        return characters
    }
}
