// The characters of a JSON string as UTF-8, one byte after the other, read where they
// stand: strings are compared by what they mean, and nothing is decoded into memory.

/// Reads a string's characters. The spelling, without its quotes, outlives the reader.
struct JSONCharacters {
    private var scanner: JSONScanner
    /// What is left of a decoded escape, the next byte lowest.
    private var pending: UInt32 = 0
    private var pendingCount = 0

    init(_ spelling: UnsafeRawBufferPointer) {
        scanner = JSONScanner(spelling)
    }

    /// The offset in the spelling behind what was read.
    var position: Int { scanner.position }

    /// The next byte of UTF-8; nil at the end.
    mutating func next() -> UInt8? {
        if pendingCount > 0 { return nextPending() }
        guard !scanner.isAtEnd else { return nil }
        let byte = scanner.current
        scanner.position += 1
        guard byte == UInt8(ascii: "\\") else { return byte }
        decodeEscape()
        return nextPending()
    }

    /// How two strings stand to each other by code point: below 0, 0 or above 0.
    static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let common = min(left.count, right.count)
        var place = 0
        // Up to the first escape, bytes are characters, and UTF-8 sorts as its characters do.
        while place < common, left[place] == right[place], left[place] != UInt8(ascii: "\\") { place += 1 }
        guard place < common else { return left.count - right.count }
        let (byte, other) = (left[place], right[place])
        guard byte == UInt8(ascii: "\\") || other == UInt8(ascii: "\\") else {
            return byte < other ? -1 : 1
        }
        var leftReader = JSONCharacters(UnsafeRawBufferPointer(rebasing: left[place...]))
        var rightReader = JSONCharacters(UnsafeRawBufferPointer(rebasing: right[place...]))
        return order(&leftReader, &rightReader)
    }

    /// The first eight bytes of the characters as a number, zeros where there are fewer. Where
    /// two strings have different ones, these stand to each other as the strings do.
    static func firstWord(_ spelling: UnsafeRawBufferPointer) -> UInt64 {
        var reader = JSONCharacters(spelling)
        var word: UInt64 = 0
        var shift: UInt64 = 64
        while shift > 0, let byte = reader.next() {
            shift -= 8
            word |= UInt64(byte) << shift
        }
        return word
    }

    static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        ByteSearch.areEqual(left, right) || order(left, right) == 0
    }

    /// Whether a string's characters are these, which are UTF-8 without escapes.
    static func areEqual(_ spelling: UnsafeRawBufferPointer, characters: UnsafeRawBufferPointer) -> Bool {
        if ByteSearch.areEqual(spelling, characters) {
            return ByteSearch.first(UInt8(ascii: "\\"), in: spelling, from: 0) == nil
        }
        // An escape is longer than what it means.
        guard spelling.count > characters.count else { return false }
        var reader = JSONCharacters(spelling)
        for character in characters where reader.next() != character { return false }
        return reader.next() == nil
    }

    /// Whether a string begins with another's characters.
    static func begins(_ text: UnsafeRawBufferPointer, with prefix: UnsafeRawBufferPointer) -> Bool {
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

    private mutating func nextPending() -> UInt8 {
        let byte = UInt8(truncatingIfNeeded: pending)
        pending >>= 8
        pendingCount -= 1
        return byte
    }

    /// Leaves at least one byte pending, and at most the four of one character.
    private mutating func decodeEscape() {
        var bytes: UInt32 = 0
        pendingCount = withUnsafeMutablePointer(to: &bytes) { word in
            word.withMemoryRebound(to: UInt8.self, capacity: 4) { JSONText.decodeEscape(&scanner, to: $0) }
        }
        pending = UInt32(littleEndian: bytes)
    }
}

extension UnsafeRawBufferPointer {
    /// What stands between the quotes of a JSON string.
    var characters: UnsafeRawBufferPointer {
        // Anything shorter is no string, and nobody is to fall over it.
        count < 2 ? self : UnsafeRawBufferPointer(rebasing: self[1..<(count - 1)])
    }
}
