// Numbers and literals: RFC 8259, sections 3 and 6.

extension JSONScanner {
    /// Moves over a number of any size; its text is the value, nobody rounds it here.
    mutating func skipNumber() throws(JSONFailure) {
        if current == UInt8(ascii: "-") { position += 1 }
        if current == UInt8(ascii: "0") {
            position += 1
        } else {
            try skipDigits()
        }
        if current == UInt8(ascii: ".") {
            position += 1
            try skipDigits()
        }
        if current | 0x20 == UInt8(ascii: "e") {
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            try skipDigits()
        }
    }

    /// Moves over `true`, `false` or `null`.
    @inline(__always)
    mutating func skipLiteral(_ literal: StaticString) throws(JSONFailure) {
        for index in 0..<literal.utf8CodeUnitCount {
            guard current == literal.utf8Start[index] else { throw syntax("true, false or null") }
            position += 1
        }
    }

    @inline(__always)
    private mutating func skipDigits() throws(JSONFailure) {
        var place = position
        while place < end, base[place] &- UInt8(ascii: "0") <= 9 { place &+= 1 }
        guard place > position else { throw syntax("a digit") }
        position = place
    }
}
