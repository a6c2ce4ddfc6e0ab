// Moves past numbers and literals (RFC 8259, sections 3 and 6). Numbers may have any size and precision.
// They stay text, so none is ever rounded. After a failure, the position is where the mistake is.

extension JSONScanner {
    @inline(__always)
    mutating func skipNumber() throws(JSONFailure) {
        if current == UInt8(ascii: "-") { position &+= 1 }
        if current == UInt8(ascii: "0") {
            position &+= 1
        } else {
            try skipDigits()
        }
        if current == UInt8(ascii: ".") {
            position &+= 1
            try skipDigits()
        }
        if current | 0x20 == UInt8(ascii: "e") {
            position &+= 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position &+= 1 }
            try skipDigits()
        }
    }

    /// Moves past `true`, `false` or `null`.
    @inline(__always)
    mutating func skipLiteral(_ literal: StaticString) throws(JSONFailure) {
        let count = literal.utf8CodeUnitCount
        let wrong = word(at: position) ^ NameWord(literal).word
        // The lowest bits are zero up to the first byte that differs.
        let place = min(wrong.trailingZeroBitCount &>> 3, count)
        position &+= place
        guard place == count else { throw syntax("true, false or null") }
    }

    @inline(__always)
    private mutating func skipDigits() throws(JSONFailure) {
        var place = position
        while place < end, byte(at: place) &- UInt8(ascii: "0") <= 9 { place &+= 1 }
        guard place > position else { throw syntax("a digit") }
        position = place
    }
}
