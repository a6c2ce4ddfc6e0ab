// Reads prices as shops print them: `$49.95`, `$1,299.99`, `$1,149.99,$1,249.99`, or
// nothing. A comma before three digits belongs to the number; any other comma separates two
// prices. Tables put such texts in quotation marks because of the commas. These are
// ignored.

import PlugboardClient

/// Reads prices from text.
enum PriceText {
    /// The lowest price as a JSON number, with its decimals as printed; null if the text is empty.
    static func lowest(_ text: String) throws(FeedFault) -> JSON {
        var rest = Array(text.utf8).filter { $0 != UInt8(ascii: " ") }[...]
        if rest.count > 1, rest.first == quote, rest.last == quote { rest = rest.dropFirst().dropLast() }
        guard !rest.isEmpty else { return .null }
        var lowest: (price: ExactDecimal, json: JSON)?
        repeat {
            _ = rest.skip("$")
            let digits = rest.takePrice()
            guard let price = ExactDecimal(digits), let json = try? JSON(digits) else {
                throw FeedFault("\"\(text)\" is not a price")
            }
            if lowest.map({ price < $0.price }) ?? true { lowest = (price, json) }
        } while rest.skip(",")
        guard rest.isEmpty, let lowest else { throw FeedFault("\"\(text)\" is not a price") }
        return lowest.json
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: character) else { return false }
        removeFirst()
        return true
    }

    /// Digits without the commas between thousands, and decimals.
    fileprivate mutating func takePrice() -> String {
        var price = takeDigits()
        let mayHaveThousands = (1...3).contains(price.count)
        while mayHaveThousands, first == UInt8(ascii: ","), dropFirst().prefix(while: isDigit).count == 3 {
            removeFirst()
            price += takeDigits()
        }
        if skip(".") { price += [UInt8(ascii: ".")] + takeDigits() }
        return String(decoding: price, as: UTF8.self)
    }

    private mutating func takeDigits() -> ArraySlice<UInt8> {
        let digits = prefix(while: isDigit)
        removeFirst(digits.count)
        return digits
    }
}

private let quote = UInt8(ascii: "\"")

private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
