// Numbers as people read them: few digits, and commas between thousands. It doesn't use Foundation,
// because the program would start more slowly. Where it matters, a value above zero is never shown as
// zero.

import PlugboardWire

/// Decimal text of measured values.
enum Digits {
    /// About three significant digits, with commas between thousands: `1,234,567`, `105`, `25.4`,
    /// `0.98`.
    static func text(_ value: Double) -> String {
        guard value.isFinite else { return "–" }
        let size = abs(value)
        if size == 0 { return "0" }
        if size < 10 { return fixed(value, 2) }
        if size < 100 { return fixed(value, 1) }
        return TextLayout.grouped(Int(value.rounded()))
    }

    /// A count that should be zero: `0`, `0.003`, `<0.001`, or like other values.
    static func rare(_ value: Double) -> String {
        if value > 0, value < 0.001 { return "<0.001" }
        return value > 0 && value < 0.1 ? fixed(value, 3) : text(value)
    }

    /// A number on a scale: `0`, `2.5`, `10,000`.
    static func tick(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? TextLayout.grouped(Int(value)) : fixed(value, 2)
    }

    /// A number with as few digits as possible, and at most two decimals: `120`, `1.6`, `0.95`.
    static func short(_ value: Double) -> String {
        let text = fixed(value, 2)
        if text.hasSuffix(".00") { return String(text.dropLast(3)) }
        return text.hasSuffix("0") ? String(text.dropLast()) : text
    }

    /// A number with two decimals below ten, and one above.
    static func ratio(_ value: Double) -> String {
        fixed(value, abs(value) < 10 ? 2 : 1)
    }

    /// A number with exactly `decimals` decimals.
    static func fixed(_ value: Double, _ decimals: Int) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "0" }
        let scale = (0..<decimals).reduce(1) { product, _ in product * 10 }
        let scaled = Int((abs(value) * Double(scale)).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard decimals > 0 else { return sign + String(scaled) }
        let fraction = String(scaled % scale)
        return sign + "\(scaled / scale)." + String(repeating: "0", count: decimals - fraction.count)
            + fraction
    }
}
