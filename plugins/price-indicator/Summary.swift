// What a cart comes to. Knows nothing of the bus.

import PlugboardClient

/// The number of pieces in a cart and their price.
struct Summary: Equatable {
    private(set) var items = 0
    private(set) var total = ExactDecimal.zero

    /// Adds up the lines of `cart.items`. Nil where that is no cart, or one whose sum is
    /// past what can be counted exactly.
    init?(_ cart: JSON) {
        guard let lines = cart.elements else { return nil }
        for line in lines {
            guard let price = line["price"].flatMap({ ExactDecimal($0) }),
                let quantity = line["quantity"]?.integer, quantity >= 0,
                let sum = price.multiplied(by: quantity).flatMap({ total.adding($0) })
            else { return nil }
            let (count, overflow) = items.addingReportingOverflow(quantity)
            if overflow { return nil }
            (items, total) = (count, sum)
        }
    }

    /// The value of `cart.summary`: two decimals, always. A price may have more; then the
    /// sum is rounded once, at the end.
    var json: JSON {
        .object(["items": .integer(items), "total": total.json(decimals: 2)])
    }

    /// For people.
    var text: String {
        "\(items) \(items == 1 ? "item" : "items"), total \(total.text(decimals: 2))"
    }
}
