// Strings: RFC 8259, section 7, and the UTF-8 in them: RFC 3629, section 4.
// Plain text is crossed sixteen bytes at a time; only quotes, escapes, control
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

    /// Reads a string of up to seven plain bytes whose opening quote was just passed, as
    /// one little-endian word. Nil, and nothing moved, where it is longer or has an escape.
    @inline(__always)
    mutating func readShortString() -> UInt64? {
        guard position + 8 <= end else { return nil }
        let word = word(at: position)
        let hits = Self.special(word)
        guard hits != 0 else { return nil }
        let bits = UInt64(truncatingIfNeeded: hits.trailingZeroBitCount & ~7)
        guard word >> bits & 0xFF == 0x22 else { return nil }
        position += Int(bits >> 3) + 1
        return word & ((1 << bits) &- 1)
    }

    /// Stops at the first byte that is a quote, a backslash, a control or not ASCII.
    @inline(__always)
    mutating func skipPlainText() {
        // In registers; written back once. Offsets stay far below overflow.
        var place = position
        while place &+ 16 <= end, !hasSpecial(at: place) { place &+= 16 }
        while place &+ 8 <= end {
            let hits = Self.special(word(at: place))
            if hits != 0 {
                position = place &+ (hits.trailingZeroBitCount >> 3)
                return
            }
            place &+= 8
        }
        while place < end, Self.isPlain(base[place]) { place &+= 1 }
        position = place
    }

    /// Whether any of sixteen bytes is special. Taken as signed, a byte beyond ASCII is
    /// below every other, so one comparison finds it together with the controls. Spelled
    /// with vectors of a stated type on both sides, and the mask read as two words: else the
    /// compiler chooses the generic operators, which are loops over the lanes.
    @inline(__always)
    private func hasSpecial(at place: Int) -> Bool {
        let quote = SIMD16<UInt8>(repeating: 0x22)
        let backslash = SIMD16<UInt8>(repeating: 0x5C)
        let space = SIMD16<Int8>(repeating: 0x20)
        let chunk = UnsafeRawPointer(base + place).loadUnaligned(as: SIMD16<UInt8>.self)
        let signed = unsafeBitCast(chunk, to: SIMD16<Int8>.self)
        let mask: SIMDMask<SIMD16<Int8>> = (chunk .== quote) .| (chunk .== backslash) .| (signed .< space)
        let words = unsafeBitCast(mask, to: SIMD2<UInt64>.self)
        return words[0] | words[1] != 0
    }

    @inline(__always)
    private func word(at place: Int) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(base + place).loadUnaligned(as: UInt64.self))
    }

    /// A word in which the lowest set bit is the top bit of the first special byte. A byte's
    /// top bit is set where a subtraction borrows (the byte is the one looked for, or a
    /// control) or where the byte is beyond ASCII; borrows spread upward only, so nothing
    /// below the first special byte is ever marked.
    @inline(__always)
    private static func special(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = (word ^ (ones &* 0x22)) &- ones
        let backslash = (word ^ (ones &* 0x5C)) &- ones
        let control = word &- (ones &* 0x20)
        return (quote | backslash | control | word) & (ones &* 0x80)
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
