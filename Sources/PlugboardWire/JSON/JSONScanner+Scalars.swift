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

    /// Eight at a time: with a loop over single ones, the processor guesses how many there are.
    @inline(__always)
    private mutating func skipDigits() throws(JSONFailure) {
        var place = position
        var others: UInt64
        repeat {
            // After the end, `word` has zeros, which are no digits.
            others = Self.others(word(at: place))
            place &+= others.trailingZeroBitCount &>> 3
        } while others == 0
        guard place > position else { throw syntax("a digit") }
        position = place
    }

    /// A word whose lowest set bit is the top bit of the first byte that is no digit; 0 if all are digits. A digit
    /// becomes at most 9 and then 127, any other byte more. What an addition carries only reaches higher bytes.
    @inline(__always)
    static func others(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let digits = word ^ (ones &* 0x30)
        return (digits | (digits &+ (ones &* 0x76))) & (ones &* 0x80)
    }
}
