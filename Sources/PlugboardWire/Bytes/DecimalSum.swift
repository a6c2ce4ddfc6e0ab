// Adds JSON numbers exactly. They are decimals, and so is the sum: nothing is rounded, and 0.1 + 0.2 is 0.3.
// The sum is written without an exponent, with as many digits after the point as the number that has more of
// them. What always holds: a number has at most `Limits.sumDigitsMax` digits when it is written so.

import PlugboardMemory

/// A number of limited length, written out in digits.
struct DecimalSum {
    private let isNegative: Bool
    /// The digits from the highest to the lowest, each 0 to 9. At least one stands before the point.
    private let digits: [UInt8]
    /// How many of the digits stand after the point.
    private let scale: Int

    /// Reads a number that the scanner accepted. Nil if it would have too many digits.
    init?(_ text: Span<UInt8>) {
        var digits: [UInt8] = []
        var (place, fractionStart) = (0, Int?.none)
        let isNegative = text.first == UInt8(ascii: "-")
        if isNegative { place = 1 }
        while place < text.count, text[place] | 0x20 != UInt8(ascii: "e") {
            if text[place] == UInt8(ascii: ".") {
                fractionStart = digits.count
            } else {
                digits.append(text[place] &- UInt8(ascii: "0"))
            }
            place += 1
            // Even zeros count: they are digits of the sum.
            if digits.count > Limits.sumDigitsMax { return nil }
        }
        let isZero = digits.allSatisfy { $0 == 0 }
        let fraction = fractionStart.map { digits.count - $0 } ?? 0
        // Zero times any power is zero.
        let exponent = isZero ? 0 : Self.exponent(text, after: place)
        self.init(isNegative: isNegative, digits, scale: fraction - exponent)
    }

    /// `scale` may be negative, or beyond the digits: then zeros are added.
    private init?(isNegative: Bool, _ significant: [UInt8], scale: Int) {
        let digits = Array(significant.drop { $0 == 0 })
        let before = max(0, -scale)
        let lacking = max(0, max(0, scale) + 1 - digits.count)
        guard digits.count + before + lacking <= Limits.sumDigitsMax else { return nil }
        self.digits =
            [UInt8](repeating: 0, count: lacking) + digits + [UInt8](repeating: 0, count: before)
        self.scale = max(0, scale)
        self.isNegative = isNegative
    }

    /// The sum; nil if it has too many digits.
    func adding(_ other: DecimalSum) -> DecimalSum? {
        let scale = max(scale, other.scale)
        let count = max(digits.count - self.scale, other.digits.count - other.scale) + scale
        let (left, right) = (padded(scale, count), other.padded(scale, count))
        if isNegative == other.isNegative {
            return DecimalSum(isNegative: isNegative, Self.sum(left, right), scale: scale)
        }
        let isLess = left.lexicographicallyPrecedes(right)
        let rest = isLess ? Self.difference(right, left) : Self.difference(left, right)
        return DecimalSum(isNegative: isLess ? other.isNegative : isNegative, rest, scale: scale)
    }

    /// Writes it without an exponent. Zero has no sign.
    func append(to buffer: inout ByteBuffer) {
        if isNegative, digits.contains(where: { $0 > 0 }) { buffer.append("-") }
        for (place, digit) in digits.enumerated() {
            if place == digits.count - scale { buffer.append(".") }
            buffer.append(decimal: UInt64(digit))
        }
    }

    /// The exponent behind an `e`; one that no number within the limit has, if it is very large.
    private static func exponent(_ text: Span<UInt8>, after place: Int) -> Int {
        guard place < text.count else { return 0 }
        var (exponent, isNegative) = (0, false)
        for index in (place + 1)..<text.count {
            let digit = text[index] &- UInt8(ascii: "0")
            if digit <= 9 {
                exponent = min(exponent * 10 + Int(digit), 1_000_000)
            } else if text[index] == UInt8(ascii: "-") {
                isNegative = true
            }
        }
        return isNegative ? -exponent : exponent
    }

    /// The digits with zeros before and behind, so that those of two numbers stand below each other.
    private func padded(_ scale: Int, _ count: Int) -> [UInt8] {
        let behind = scale - self.scale
        let before = count - digits.count - behind
        return [UInt8](repeating: 0, count: before) + digits + [UInt8](repeating: 0, count: behind)
    }

    /// Both have the same number of digits. The sum has one more.
    private static func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var carry: UInt8 = 0
        for (one, other) in zip(left.reversed(), right.reversed()) {
            let sum = one + other + carry
            carry = sum / 10
            result.append(sum % 10)
        }
        result.append(carry)
        return result.reversed()
    }

    /// `left` is not less than `right`, and has as many digits.
    private static func difference(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var borrowed: UInt8 = 0
        for (one, other) in zip(left.reversed(), right.reversed()) {
            let isShort = one < other + borrowed
            result.append(one + (isShort ? 10 : 0) - other - borrowed)
            borrowed = isShort ? 1 : 0
        }
        return result.reversed()
    }
}
