// Decimal numbers for money and the like. They are exactly what the JSON number says, because no binary
// floating point is involved. A number that can't be exact is nil.

/// An exact decimal number with up to 12 decimals and 26 digits before the point.
///
/// ```swift
/// let price = ExactDecimal("0.10")
/// let total = price?.multiplied(by: 10_000)
/// print(total?.text(decimals: 2) ?? "too large")   // 1000.00
/// ```
/// Nothing here traps or rounds silently. If a number can't be held exactly, the result is nil. Only
/// `text(decimals:)` rounds, if there are more decimals than it is asked for.
public struct ExactDecimal: Sendable, Hashable, Comparable {
    /// The most decimals a number can have.
    public static let decimalsMax = 12
    /// The most digits before the point.
    public static let integerDigitsMax = 26

    public static let zero = ExactDecimal(units: 0)

    /// The number in units of 10⁻¹². 128 bits are enough for any 26 digits before the point and 12 after
    /// it.
    private let units: Int128

    private init(units: Int128) {
        self.units = units
    }

    /// A whole number.
    public init(_ number: Int) {
        units = Int128(number) * Self.unitsPerOne
    }

    /// A number as JSON spells it, perhaps with an exponent. Nil for any other text, and for a number
    /// with too many digits on either side of the point.
    public init?(_ text: some StringProtocol) {
        guard let literal = NumberLiteral(text.utf8) else { return nil }
        guard literal.digits.isEmpty == false else {
            units = 0
            return
        }
        let decimals = -literal.exponent
        let integerDigits = literal.digits.count - decimals
        guard decimals <= Self.decimalsMax, integerDigits <= Self.integerDigitsMax else { return nil }
        let magnitude = literal.digits.reduce(Int128(0)) { $0 * 10 + Int128($1) }
        let units = magnitude * Self.powerOfTen(Self.decimalsMax - decimals)
        self.units = literal.isNegative ? -units : units
    }

    /// A JSON value; nil if it isn't a number, or can't be held exactly.
    public init?(_ json: JSON) {
        self.init(json.text)
    }

    public static func < (left: ExactDecimal, right: ExactDecimal) -> Bool {
        left.units < right.units
    }

    /// The sum; nil if it is too large.
    public func adding(_ other: ExactDecimal) -> ExactDecimal? {
        let (sum, overflow) = units.addingReportingOverflow(other.units)
        return overflow ? nil : ExactDecimal(units: sum)
    }

    /// The product; nil if it is too large.
    public func multiplied(by factor: Int) -> ExactDecimal? {
        let (product, overflow) = units.multipliedReportingOverflow(by: Int128(factor))
        return overflow ? nil : ExactDecimal(units: product)
    }

    /// The number with exactly `decimals` decimals (0 to 12), as JSON spells numbers. Halves are rounded
    /// away from zero, as cash registers do.
    public func text(decimals: Int) -> String {
        let decimals = min(max(0, decimals), Self.decimalsMax)
        let step = Self.powerOfTen(Self.decimalsMax - decimals)
        let (quotient, rest) = units.magnitude.quotientAndRemainder(dividingBy: step.magnitude)
        let rounded = quotient + (rest * 2 >= step.magnitude ? 1 : 0)
        let sign = units < 0 && rounded != 0 ? "-" : ""
        var digits = String(rounded)
        digits = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        guard decimals > 0 else { return sign + digits }
        return "\(sign)\(digits.dropLast(decimals)).\(digits.suffix(decimals))"
    }

    /// The number as a JSON value with exactly `decimals` decimals.
    public func json(decimals: Int) -> JSON {
        JSON(trusted: Array(text(decimals: decimals).utf8))
    }

    private static let unitsPerOne = powerOfTen(decimalsMax)

    private static func powerOfTen(_ exponent: Int) -> Int128 {
        (0..<exponent).reduce(1) { power, _ in power * 10 }
    }
}

extension ExactDecimal: CustomStringConvertible {
    /// The exact number with as few decimals as possible.
    public var description: String {
        var text = text(decimals: Self.decimalsMax)
        while text.hasSuffix("0") { text.removeLast() }
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}

/// The parts of a JSON number: digits × 10^exponent. The digits begin and end with no zero, and zero has
/// no digits.
private struct NumberLiteral {
    var isNegative = false
    var digits: [UInt8] = []
    var exponent = 0

    /// Nil if the bytes are not a number of RFC 8259, section 6.
    init?(_ bytes: some Collection<UInt8>) {
        var rest = Array(bytes)[...]
        isNegative = rest.skip("-")
        let integer = rest.takeDigits()
        guard !integer.isEmpty, integer.count == 1 || integer.first != 0 else { return nil }
        var fraction: ArraySlice<UInt8> = []
        if rest.skip(".") {
            fraction = rest.takeDigits()
            guard !fraction.isEmpty else { return nil }
        }
        if rest.skip("e") || rest.skip("E") {
            guard let value = rest.takeExponent() else { return nil }
            exponent = value
        }
        guard rest.isEmpty else { return nil }
        digits = Array((integer + fraction).drop { $0 == 0 })
        exponent -= fraction.count
        while digits.last == 0 {
            digits.removeLast()
            exponent += 1
        }
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: character) else { return false }
        removeFirst()
        return true
    }

    /// Removes the digits at the beginning and returns their values.
    fileprivate mutating func takeDigits() -> ArraySlice<UInt8> {
        let digits = prefix { (0x30...0x39).contains($0) }
        removeFirst(digits.count)
        return ArraySlice(digits.map { $0 - 0x30 })
    }

    /// Removes an exponent with its sign and returns it, limited to ±1,000,000,000. Beyond that, every
    /// number except zero is too large or too small anyway.
    fileprivate mutating func takeExponent() -> Int? {
        let isNegative = skip("-")
        if !isNegative { _ = skip("+") }
        let digits = takeDigits()
        guard !digits.isEmpty else { return nil }
        let value = digits.reduce(0) { Swift.min($0 * 10 + Int($1), 1_000_000_000) }
        return isNegative ? -value : value
    }
}
