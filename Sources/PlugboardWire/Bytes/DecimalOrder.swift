// Compares JSON numbers by value. They are exact decimals of any size, and their spelling doesn't matter.
// It compares digits and their places, so 1e999999999 costs no more than 1. It copies nothing.

import PlugboardMemory

/// The order of two numbers. Both are texts that the scanner accepted.
enum DecimalOrder {
    /// Negative if the left number is less, 0 if both are equal, positive if the left number is greater.
    static func order(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        if isWhole(left), isWhole(right) {
            // Neither begins with a zero that isn't its only digit, so the longer one is the larger one.
            return left.count == right.count ? left.order(to: right) : left.count - right.count
        }
        let (left, right) = (DecimalText(left), DecimalText(right))
        guard left.sign == right.sign, left.sign != 0 else { return left.sign - right.sign }
        return left.sign * left.magnitudeOrder(right)
    }

    /// Whether a number has only digits, as most have.
    static func isWhole(_ text: Span<UInt8>) -> Bool {
        if text.count < 8 { return isShortWhole(text) }
        var place = 0
        while place + 8 < text.count {
            if JSONScanner.others(text.word(at: place)) != 0 { return false }
            place += 8
        }
        return JSONScanner.others(text.word(at: text.count - 8)) == 0
    }

    /// The same for up to seven bytes: two halves of a word, which may overlap, or single bytes.
    private static func isShortWhole(_ text: Span<UInt8>) -> Bool {
        if text.count >= 4 {
            let last = UInt64(text.halfWord(at: text.count - 4))
            return JSONScanner.others(last &<< 32 | UInt64(text.halfWord(at: 0))) == 0
        }
        for place in text.indices where text[place] &- 0x30 > 9 { return false }
        return true
    }
}

/// The parts of a number's text: a sign, and 0.DIGITS × 10^(exponent + shift). The first
/// digit is not 0.
private struct DecimalText: ~Escapable {
    /// −1, 0 or 1. Zero always has the sign 0.
    private(set) var sign = 0
    private let bytes: Span<UInt8>
    /// From the first to the last digit that is not 0, perhaps with a decimal point among them.
    private var digits = ByteRange.none
    private var shift = 0
    /// The digits after the `e`, without leading zeros.
    private var exponent = ByteRange.none
    private var exponentSign = 1

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
        let start = bytes.first == UInt8(ascii: "-") ? 1 : 0
        let point = digitsEnd(from: start)
        var end = point
        if end < bytes.count, bytes[end] == UInt8(ascii: ".") { end = digitsEnd(from: end + 1) }
        var first = start
        while first < end, Self.isZeroOrPoint(bytes[first]) { first += 1 }
        guard first < end else { return }
        sign = start == 0 ? 1 : -1
        // If the first digit is after the decimal point, each zero before it is one place less.
        shift = first < point ? point - first : point + 1 - first
        readExponent(from: end + 1)
        while Self.isZeroOrPoint(bytes[end - 1]) { end -= 1 }
        digits = ByteRange(first, end)
    }

    /// The order of the absolute values. Neither number is 0.
    func magnitudeOrder(_ other: DecimalText) -> Int {
        let places = exponentDifference(other) + shift - other.shift
        guard places == 0 else { return places.signum() }
        var (place, otherPlace) = (digits.start, other.digits.start)
        while true {
            let (digit, otherDigit) = (nextDigit(&place), other.nextDigit(&otherPlace))
            // Trailing zeros are cut off, so the number that has digits left is the larger one.
            guard let digit else { return otherDigit == nil ? 0 : -1 }
            guard let otherDigit else { return 1 }
            if digit != otherDigit { return digit < otherDigit ? -1 : 1 }
        }
    }

    private mutating func readExponent(from start: Int) {
        var place = start
        guard place < bytes.count else { return }
        if bytes[place] == UInt8(ascii: "-") { exponentSign = -1 }
        while place < bytes.count, bytes[place] <= UInt8(ascii: "0") { place += 1 }
        exponent = ByteRange(min(place, bytes.count), bytes.count)
    }

    /// The difference of the exponents. It is exact up to 2^40. Beyond that it is only somewhere above
    /// 2^40, which the digits of a line can't outweigh.
    private func exponentDifference(_ other: DecimalText) -> Int {
        let count = max(exponent.count, other.exponent.count)
        var difference = 0
        for place in 0..<count {
            let digit = exponentDigit(place, of: count) - other.exponentDigit(place, of: count)
            difference = difference * 10 + digit
            // The remaining digits can change the difference by less than a tenth.
            if abs(difference) > 1 << 40 { break }
        }
        return difference
    }

    /// A digit of the exponent with the exponent's sign, as if the exponent had `count` digits.
    private func exponentDigit(_ place: Int, of count: Int) -> Int {
        let zeros = count - exponent.count
        guard place >= zeros else { return 0 }
        return exponentSign * (Int(bytes[exponent.start + place - zeros]) - 0x30)
    }

    /// Nil after the last digit.
    private func nextDigit(_ place: inout Int) -> UInt8? {
        if place < digits.end, bytes[place] == UInt8(ascii: ".") { place += 1 }
        guard place < digits.end else { return nil }
        place += 1
        return bytes[place - 1] &- 0x30
    }

    private func digitsEnd(from start: Int) -> Int {
        var place = start
        while place < bytes.count, bytes[place] &- 0x30 <= 9 { place += 1 }
        return place
    }

    private static func isZeroOrPoint(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "0") || byte == UInt8(ascii: ".")
    }
}
