// Adds up a cart. It knows nothing of the bus. Sums are exact:
// nothing is rounded before the end. A cart whose sum can't be exact
// has no summary at all.

import PlugboardClient

/// The number of pieces in a cart and their price.
struct Summary: Equatable {
    private(set) var items = 0
    private(set) var total = ExactDecimal.zero

    /// Adds up the lines of `cart.items`. Nil if it is not a cart, or its sum is too large to be
    /// exact.
    init?(_ cart: JSON) {
        var sum = CartSum()
        guard let summary = sum.summary(of: cart) else { return nil }
        self = summary
    }

    fileprivate init?(_ amounts: [Amount]) {
        for amount in amounts {
            let (count, overflow) = items.addingReportingOverflow(amount.quantity)
            guard !overflow, let sum = total.adding(amount.price) else { return nil }
            (items, total) = (count, sum)
        }
    }

    /// The value of `cart.summary`, always with two decimals. A price may have more. Then the sum
    /// is rounded once, at the end.
    var json: JSON {
        .object(["items": .integer(items), "total": total.json(decimals: 2)])
    }

    /// The text for people.
    var text: String {
        "\(items) \(items == 1 ? "item" : "items"), total \(total.text(decimals: 2))"
    }
}

/// Adds up one cart after the other. A change affects few lines. So unchanged lines at the
/// beginning and at the end are not read again.
struct CartSum {
    private var lines: [JSON] = []
    /// The amount of each line.
    private var amounts: [Amount] = []
    /// The number of lines that were read, for tests.
    private(set) var linesRead = 0

    /// The sum of a cart; nil as in `Summary`.
    mutating func summary(of cart: JSON) -> Summary? {
        guard let lines = cart.elements, let amounts = amounts(of: lines) else { return nil }
        (self.lines, self.amounts) = (lines, amounts)
        return Summary(amounts)
    }

    private mutating func amounts(of new: [JSON]) -> [Amount]? {
        let shorter = min(lines.count, new.count)
        let start = zip(lines, new).prefix { $0 == $1 }.count
        let end = zip(lines.reversed(), new.reversed()).prefix(shorter - start).prefix { $0 == $1 }.count
        var between: [Amount] = []
        for line in new[start..<new.count - end] {
            linesRead += 1
            guard let amount = Amount(line) else { return nil }
            between.append(amount)
        }
        return amounts.prefix(start) + between + amounts.suffix(end)
    }
}

/// The amount of one line of a cart.
private struct Amount {
    let quantity: Int
    let price: ExactDecimal

    init?(_ line: JSON) {
        guard let price = line["price"].flatMap({ ExactDecimal($0) }),
            let quantity = line["quantity"]?.integer, quantity >= 0,
            let product = price.multiplied(by: quantity)
        else { return nil }
        self.quantity = quantity
        self.price = product
    }
}
