// Integers as text, written straight into a buffer.

extension ByteBuffer {
    /// Adds an integer in decimal.
    public mutating func append(decimal value: UInt64) {
        let target = reserve(20).assumingMemoryBound(to: UInt8.self)
        let digits = DecimalDigits.count(value)
        var rest = value
        var place = digits
        while place > 0 {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            place -= 1
            target[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
            rest = quotient
        }
        commit(digits)
    }
}

enum DecimalDigits {
    /// How many digits a number has; 0 has one.
    static func count(_ value: UInt64) -> Int {
        var digits = 1
        var bound: UInt64 = 10
        while value >= bound {
            digits += 1
            if digits == 20 { break }
            bound &*= 10
        }
        return digits
    }
}
