// Moves past strings (RFC 8259, section 7) and checks their UTF-8 (RFC 3629, section 4). It reads plain
// text sixteen bytes at a time. Only quotes, escapes, control bytes and bytes above ASCII are checked one
// by one.
//
// Why the bits of a mask may be read as two words: sixteen lanes of eight bits have the size of two
// words, and any bits are a valid number.

extension JSONScanner {
    /// Moves past the rest of a string, from just after its opening quote. Returns whether it contains an
    /// escape.
    @discardableResult
    @inline(__always)
    mutating func skipString() throws(JSONFailure) -> Bool {
        // One load covers most names and many values.
        if readShortString() != nil { return false }
        let rest = try restOfString()
        position = rest.end
        return rest.isEscaped
    }

    /// Reads a string of up to seven plain bytes, from just after its opening quote, as one little-endian
    /// word. If the string is longer or has an escape, returns nil and doesn't move.
    @inline(__always)
    mutating func readShortString() -> UInt64? {
        let word = word(at: position)
        let hits = Self.special(word)
        guard hits != 0 else { return nil }
        let bits = UInt64(truncatingIfNeeded: hits.trailingZeroBitCount & ~7)
        guard word &>> bits & 0xFF == 0x22 else { return nil }
        position &+= Int(bits &>> 3) &+ 1
        return word & ((1 &<< bits) &- 1)
    }

    /// Moves to the first byte that is a quote, a backslash, a control character or not ASCII.
    @inline(__always)
    mutating func skipPlainText() {
        while position &+ 16 <= end {
            let hits = special(at: position)
            if hits.low | hits.high != 0 {
                let bit = hits.low != 0 ? hits.low.trailingZeroBitCount : 64 &+ hits.high.trailingZeroBitCount
                position &+= bit &>> 3
                return
            }
            position &+= 16
        }
        // After the end, `word` has zeros. They count as control characters, so this stops there.
        while true {
            let hits = Self.special(word(at: position))
            if hits != 0 {
                position &+= hits.trailingZeroBitCount &>> 3
                return
            }
            position &+= 8
        }
    }

    /// The next eight bytes, the first byte lowest. Bytes after the end are zero.
    @inline(__always)
    func word(at place: Int) -> UInt64 {
        place &+ 8 <= end ? wholeWord(at: place) : lastWord(at: place)
    }

    /// The bytes up to the end, if there are fewer than eight. `place` is at most the end.
    @inline(never)
    private func lastWord(at place: Int) -> UInt64 {
        if end >= 8 { return wholeWord(at: end &- 8) >> UInt64((place &+ 8 &- end) &* 8) }
        var word: UInt64 = 0
        for index in place..<end { word |= UInt64(byte(at: index)) &<< UInt64((index &- place) &* 8) }
        return word
    }

    /// Finds the end of a string that `readShortString` couldn't read.
    @inline(never)
    private func restOfString() throws(JSONFailure) -> StringEnd {
        var scanner = self
        var isEscaped = false
        while true {
            scanner.skipPlainText()
            let byte = scanner.current
            if byte == UInt8(ascii: "\"") {
                return StringEnd(end: scanner.position &+ 1, isEscaped: isEscaped)
            } else if byte >= 0x80 {
                scanner.position = try scanner.endOfMultibyte()
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
                scanner.position = try scanner.endOfEscape()
            } else {
                throw scanner.syntax(scanner.isAtEnd ? "a closing quote" : "no control character in a string")
            }
        }
    }

    /// Marks the special bytes among sixteen, eight in each word: all bits of a special byte are set. As
    /// a signed number, a byte above ASCII is less than any other, so one comparison finds these bytes
    /// and the control characters. Both sides of each operator have a stated vector type, and the mask is
    /// read as two words. Otherwise the compiler chooses the generic operators, which are loops over the
    /// lanes. In a debug build, any conversion of a vector except a cast is such a loop, too.
    @inline(__always)
    private func special(at place: Int) -> (low: UInt64, high: UInt64) {
        let quote = SIMD16<UInt8>(repeating: 0x22)
        let backslash = SIMD16<UInt8>(repeating: 0x5C)
        let space = SIMD16<Int8>(repeating: 0x20)
        let chunk = sixteen(at: place)
        let signed = unsafe unsafeBitCast(chunk, to: SIMD16<Int8>.self)
        let mask: SIMDMask<SIMD16<Int8>> = (chunk .== quote) .| (chunk .== backslash) .| (signed .< space)
        return Self.words(of: mask)
    }

    /// The bits of a mask of sixteen lanes, eight in each word: all bits of a true lane are set.
    @inline(__always)
    static func words(of mask: SIMDMask<SIMD16<Int8>>) -> (low: UInt64, high: UInt64) {
        let words = unsafe unsafeBitCast(mask, to: SIMD2<UInt64>.self)
        return (UInt64(littleEndian: words[0]), UInt64(littleEndian: words[1]))
    }

    /// A word whose lowest set bit is the top bit of the first special byte. A byte's top bit is set if a
    /// subtraction borrows (the byte is the wanted one, or a control character), or if the byte is above
    /// ASCII. Borrows only spread upward, so no bit below the first special byte is set.
    @inline(__always)
    private static func special(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = (word ^ (ones &* 0x22)) &- ones
        let backslash = (word ^ (ones &* 0x5C)) &- ones
        let control = word &- (ones &* 0x20)
        return (quote | backslash | control | word) & (ones &* 0x80)
    }

    /// The place after the escape that begins here.
    private func endOfEscape() throws(JSONFailure) -> Int {
        var scanner = self
        scanner.position += 1
        switch scanner.current {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return position + 2
        case UInt8(ascii: "u"):
            scanner.position += 1
            try scanner.skipUnicodeEscape(from: position)
            return scanner.position
        default:
            throw scanner.syntax("an escape that JSON has")
        }
    }

    /// Moves past a `\u` escape. A character above U+FFFF takes two of them, and one alone is no
    /// character.
    private mutating func skipUnicodeEscape(from start: Int) throws(JSONFailure) {
        let unit = try readHexUnit()
        guard unit & 0xF800 == 0xD800 else { return }
        let lone = JSONFailure(.encoding, at: start, "a surrogate with its partner")
        guard unit < 0xDC00, current == UInt8(ascii: "\\"), position + 1 < end,
            byte(at: position + 1) == UInt8(ascii: "u")
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

    /// The place after the characters above ASCII that begin here.
    private func endOfMultibyte() throws(JSONFailure) -> Int {
        var place = position
        repeat {
            let length = UTF8Sequence.length(bytes, at: place)
            guard length > 0 else { throw JSONFailure(.encoding, at: place, "a character") }
            place += length
        } while place < end && byte(at: place) >= 0x80
        return place
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

private struct StringEnd {
    /// The place after the closing quote.
    let end: Int
    let isEscaped: Bool
}
