// Checks a JSON Pointer and splits it into tokens (RFC 6901, sections 3 and 4). `JSONPointerSet` does
// this once for each pointer, so all other code has only valid pointers.

import PlugboardMemory

/// Checks a pointer and reads its tokens.
struct JSONPointerReader: ~Escapable {
    /// The pointer as UTF-8, with JSON's escapes decoded.
    let characters: [UInt8]
    private let spelling: Span<UInt8>
    private let offset: Int

    /// `spelling` is the pointer's JSON string without quotes, and `offset` its place in the line. Throws
    /// `wrong_type` or `limit`.
    @_lifetime(copy spelling)
    init(_ spelling: Span<UInt8>, at offset: Int) throws(Refusal) {
        self.spelling = spelling
        self.offset = offset
        characters = JSONText.characters(spelling)
        guard characters.count <= Limits.pointerBytesMax else {
            let message = "a JSON Pointer has at most \(Limits.pointerBytesMax) bytes"
            throw Refusal(.limit, message, at: offset)
        }
        guard let first = characters.first, first != UInt8(ascii: "/") else { return }
        let hint = "\"/\(excerpt(characters.span))\" names a member"
        throw Refusal(.wrongType, "a JSON Pointer begins with \"/\"", hint: hint, at: offset)
    }

    /// The characters of each token, with `~0` and `~1` decoded. The pointer to the whole value has no
    /// tokens. Throws `wrong_type`.
    func tokens() throws(Refusal) -> [[UInt8]] {
        var tokens: [[UInt8]] = []
        var place = 0
        while place < characters.count {
            // A slash comes before each token.
            place += 1
            var token: [UInt8] = []
            while place < characters.count, characters[place] != UInt8(ascii: "/") {
                token.append(try readCharacter(&place))
            }
            tokens.append(token)
        }
        return tokens
    }

    /// The array index that a token spells: digits without leading zeros. −1 for any other token, such as
    /// `-`, which RFC 6901 uses for the element after the last.
    static func element(_ token: Span<UInt8>) -> Int {
        // Nine digits can't overflow, and no line has 10^9 elements.
        guard (1...9).contains(token.count), token[0] != 0x30 || token.count == 1 else { return -1 }
        var element = 0
        for index in token.indices {
            let digit = token[index] &- 0x30
            guard digit <= 9 else { return -1 }
            element = element * 10 + Int(digit)
        }
        return element
    }

    private func readCharacter(_ place: inout Int) throws(Refusal) -> UInt8 {
        let byte = characters[place]
        place += 1
        guard byte == UInt8(ascii: "~") else { return byte }
        let digit = place < characters.count ? characters[place] : 0
        place += 1
        if digit == UInt8(ascii: "0") { return UInt8(ascii: "~") }
        if digit == UInt8(ascii: "1") { return UInt8(ascii: "/") }
        let message = "in a JSON Pointer a \"~\" is written ~0, and a \"/\" within a name ~1"
        throw Refusal(.wrongType, message, at: offset + spellingPlace(place - 2))
    }

    /// The place in the spelling of a byte of the decoded text.
    private func spellingPlace(_ place: Int) -> Int {
        var reader = JSONCharacters(spelling)
        for _ in 0..<place { _ = reader.next() }
        return reader.position
    }
}
