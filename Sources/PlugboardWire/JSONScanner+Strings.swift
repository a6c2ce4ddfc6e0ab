// Strings: RFC 8259, section 7, and the UTF-8 in them: RFC 3629, section 4.
// Plain text is crossed eight bytes at a time; only quotes, escapes, control
// bytes and bytes beyond ASCII are looked at one by one.

extension JSONScanner {
    /// Moves over the rest of a string whose opening quote was just passed.
    /// Returns whether it contains an escape.
    @discardableResult
    mutating func skipString() throws(JSONFailure) -> Bool {
        var escaped = false
        while true {
            skipPlainText()
            let byte = current
            if byte == UInt8(ascii: "\"") {
                position += 1
                return escaped
            }
            if byte >= 0x80 {
                try skipMultibyte()
            } else if byte == UInt8(ascii: "\\") {
                escaped = true
                try skipEscape()
            } else {
                throw syntax(isAtEnd ? "a closing quote" : "no control character in a string")
            }
        }
    }

    /// Stops at the first byte that is a quote, a backslash, a control or not ASCII.
    @inline(__always)
    private mutating func skipPlainText() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        while position + 8 <= end {
            let word = UInt64(
                littleEndian: UnsafeRawPointer(base + position).loadUnaligned(as: UInt64.self)
            )
            let quote = word ^ (ones &* 0x22)
            let backslash = word ^ (ones &* 0x5C)
            // A byte's top bit is set where that byte is below the subtrahend (exact for the
            // lowest such byte, which is the only one looked at) or is itself beyond ASCII.
            let hits =
                ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash
                    | (word &- (ones &* 0x20)) & ~word | word) & (ones &* 0x80)
            if hits != 0 {
                position += hits.trailingZeroBitCount >> 3
                return
            }
            position += 8
        }
        while position < end, Self.isPlain(base[position]) { position += 1 }
    }

    @inline(__always)
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x80 && byte != 0x22 && byte != 0x5C
    }

    private mutating func skipEscape() throws(JSONFailure) {
        let start = position
        position += 1
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            position += 1
            try skipUnicodeEscape(from: start)
        default:
            throw syntax("an escape that JSON has")
        }
    }

    /// A unit beyond the basic plane takes two escapes; one alone names no character.
    private mutating func skipUnicodeEscape(from start: Int) throws(JSONFailure) {
        let unit = try readHexUnit()
        guard unit & 0xF800 == 0xD800 else { return }
        let lone = JSONFailure(.encoding, at: start, "a surrogate with its partner")
        guard unit < 0xDC00, current == UInt8(ascii: "\\"), position + 1 < end,
            base[position + 1] == UInt8(ascii: "u")
        else { throw lone }
        position += 2
        guard try readHexUnit() & 0xFC00 == 0xDC00 else { throw lone }
    }

    /// Reads the four hexadecimal digits of a `\u` escape.
    mutating func readHexUnit() throws(JSONFailure) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Self.hexDigit(current) else { throw syntax("four hexadecimal digits") }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    private mutating func skipMultibyte() throws(JSONFailure) {
        let length = UTF8Sequence.length(base + position, available: end - position)
        guard length > 0 else { throw JSONFailure(.encoding, at: position, "UTF-8") }
        position += length
    }

    static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
