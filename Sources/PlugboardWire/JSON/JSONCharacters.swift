// Reads the characters of a JSON string as UTF-8, byte by byte, from its spelling. So strings can be
// compared by their characters without decoding them into memory.

import PlugboardMemory

/// Reads the characters of a string. The spelling is without quotes.
struct JSONCharacters: ~Escapable {
    private var scanner: JSONScanner
    /// What is left of an escape that was decoded.
    private var pending: UTF8Word?

    @_lifetime(copy spelling)
    init(_ spelling: Span<UInt8>) {
        scanner = JSONScanner(spelling)
    }

    /// The offset in the spelling after the last character that was read.
    var position: Int { scanner.position }

    /// The next byte of UTF-8; nil at the end.
    mutating func next() -> UInt8? {
        if pending != nil { return nextPending() }
        guard !scanner.isAtEnd else { return nil }
        let byte = scanner.current
        scanner.position += 1
        guard byte == UInt8(ascii: "\\") else { return byte }
        pending = JSONText.decodeEscape(&scanner)
        return nextPending()
    }

    /// The order of two strings by code point: negative, 0 or positive.
    static func order(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        let common = min(left.count, right.count)
        var place = 0
        // Before the first escape, bytes are characters, and the order of UTF-8 is that of code points.
        while place < common, left[place] == right[place], left[place] != UInt8(ascii: "\\") { place += 1 }
        guard place < common else { return left.count - right.count }
        let (byte, other) = (left[place], right[place])
        guard byte == UInt8(ascii: "\\") || other == UInt8(ascii: "\\") else {
            return byte < other ? -1 : 1
        }
        var leftReader = JSONCharacters(left[place...])
        var rightReader = JSONCharacters(right[place...])
        return order(&leftReader, &rightReader)
    }

    /// A hash of the characters, the same for all spellings, and another one in each process.
    static func hash(_ spelling: Span<UInt8>) -> UInt32 {
        var hasher = CharacterHasher()
        var reader = JSONCharacters(spelling)
        while let byte = reader.next() { hasher.add(byte) }
        return hasher.finish()
    }

    /// The same for characters without escapes.
    static func hash(characters: Span<UInt8>) -> UInt32 {
        var hasher = CharacterHasher()
        for index in characters.indices { hasher.add(characters[index]) }
        return hasher.finish()
    }

    static func areEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        left.isEqual(to: right) || order(left, right) == 0
    }

    /// Whether a string has these characters. `characters` is UTF-8 without escapes.
    static func areEqual(_ spelling: Span<UInt8>, characters: Span<UInt8>) -> Bool {
        if spelling.isEqual(to: characters) {
            return !spelling.contains(UInt8(ascii: "\\"))
        }
        // An escape is longer than the character that it stands for.
        guard spelling.count > characters.count else { return false }
        var reader = JSONCharacters(spelling)
        for index in characters.indices where reader.next() != characters[index] { return false }
        return reader.next() == nil
    }

    /// Whether the characters of `text` begin with those of `prefix`.
    static func begins(_ text: Span<UInt8>, with prefix: Span<UInt8>) -> Bool {
        var textReader = JSONCharacters(text)
        var prefixReader = JSONCharacters(prefix)
        while let byte = prefixReader.next() {
            guard textReader.next() == byte else { return false }
        }
        return true
    }

    private static func order(_ left: inout JSONCharacters, _ right: inout JSONCharacters) -> Int {
        while true {
            let (byte, other) = (left.next(), right.next())
            guard let byte else { return other == nil ? 0 : -1 }
            guard let other else { return 1 }
            if byte != other { return byte < other ? -1 : 1 }
        }
    }

    private mutating func nextPending() -> UInt8? {
        let byte = pending?.removeFirst()
        if pending?.count == 0 { pending = nil }
        return byte
    }
}

/// Hashes bytes, eight at a time.
private struct CharacterHasher {
    private var hasher = Hasher()
    private var (word, shift): (UInt64, UInt64) = (0, 0)

    mutating func add(_ byte: UInt8) {
        word |= UInt64(byte) << shift
        shift = (shift + 8) % 64
        guard shift == 0 else { return }
        hasher.combine(word)
        word = 0
    }

    mutating func finish() -> UInt32 {
        hasher.combine(word)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }
}

extension Span where Element == UInt8 {
    /// The part between the quotes of a JSON string.
    var characters: Span<UInt8> {
        @_lifetime(copy self)
        get {
            // Shorter text isn't a string, but must not crash the program.
            count < 2 ? self : self[1..<(count - 1)]
        }
    }
}
