// Writes integers as decimal text into a buffer. Nearly every line has a revision, so this makes eight
// digits at a time, all in one word. It allocates nothing, except when the buffer grows.

import PlugboardMemory

extension ByteBuffer {
    /// Adds an integer in decimal.
    public mutating func append(decimal value: UInt64) {
        DecimalDigits.append(value, to: &self)
    }
}

enum DecimalDigits {
    /// The number of digits of the largest number.
    static let countMax = 20
    private static let wordful: UInt64 = 100_000_000

    @inline(__always)
    static func append(_ value: UInt64, to buffer: inout ByteBuffer) {
        value < wordful ? appendFirst(value, to: &buffer) : appendLong(value, to: &buffer)
    }

    /// Up to eight digits, without leading zeros.
    @inline(__always)
    private static func appendFirst(_ value: UInt64, to buffer: inout ByteBuffer) {
        let digits = digits(of: value)
        // The last digit always counts, so that 0 is written as "0".
        let zeros = (digits | 1 &<< 56).trailingZeroBitCount &>> 3
        let text = (digits | 0x3030_3030_3030_3030) &>> UInt64(zeros &* 8)
        buffer.append(word: text, count: 8 &- zeros)
    }

    private static func appendLong(_ value: UInt64, to buffer: inout ByteBuffer) {
        let (high, low) = value.quotientAndRemainder(dividingBy: wordful)
        append(high, to: &buffer)
        buffer.append(word: digits(of: low) | 0x3030_3030_3030_3030, count: 8)
    }

    /// The eight digits of a number below 10^8, the first digit in the lowest byte. Splits the number
    /// into two of four digits, then four of two, then eight of one. Each division is a multiplication by
    /// a rounded-up fraction, which is exact in its range.
    @inline(__always)
    private static func digits(of value: UInt64) -> UInt64 {
        let fours = value / 10_000 | (value % 10_000) &<< 32
        let hundreds = (fours &* 10_486) &>> 20 & 0x7F_0000_007F
        let twos = hundreds | (fours &- 100 &* hundreds) &<< 16
        let tens = (twos &* 103) &>> 10 & 0x000F_000F_000F_000F
        return tens | (twos &- 10 &* tens) &<< 8
    }

    /// The number of digits; 0 has one.
    static func count(_ value: UInt64) -> Int {
        var digits = 1
        var bound: UInt64 = 10
        while value >= bound {
            digits += 1
            if digits == countMax { break }
            bound &*= 10
        }
        return digits
    }
}
