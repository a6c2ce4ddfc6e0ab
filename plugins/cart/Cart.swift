// The cart itself: its lines, what may be in them, and their shape on the bus. Knows
// nothing of the bus; every change either happens whole or throws and changes nothing.

import PlugboardClient

/// What the cart takes at most. Within these, no total outgrows an `ExactDecimal`.
enum CartLimits {
    /// Pieces of one product, also when it is added again and again.
    static let quantities = 1...1_000_000
    /// Different products.
    static let linesMax = 1_000
    /// The price of one piece.
    static let priceMax = ExactDecimal(1_000_000_000_000)
}

/// A product as the catalogue describes it.
struct Product: Equatable {
    let sku: String
    let title: String
    /// A JSON number, spelled as in the catalogue.
    let price: JSON

    /// Reads `catalog.<sku>`. A product without a title goes by its sku.
    init(sku: String, catalogue value: JSON) throws(Rejection) {
        guard let price = value["price"], let number = ExactDecimal(price),
            number >= .zero, number <= CartLimits.priceMax
        else { throw Rejection(sku: sku, .notForSale, "it has no price") }
        self.sku = sku
        title = value["title"]?.string ?? sku
        self.price = price
    }
}

/// A product in the cart.
struct CartLine: Equatable {
    let sku: String
    let quantity: Int
    /// The line as it stands in `cart.items`: written once, however often the cart is.
    let json: JSON

    /// Reads a line of `cart.items`; nil where it isn't one.
    init?(_ value: JSON) {
        guard let sku = value["sku"]?.string, let title = value["title"]?.string,
            let price = value["price"], ExactDecimal(price) != nil,
            let quantity = value["quantity"]?.integer, CartLimits.quantities.contains(quantity)
        else { return nil }
        self.init(sku: sku, title: title, price: price, quantity: quantity)
    }

    init(_ product: Product, quantity: Int) {
        self.init(sku: product.sku, title: product.title, price: product.price, quantity: quantity)
    }

    private init(sku: String, title: String, price: JSON, quantity: Int) {
        self.sku = sku
        self.quantity = quantity
        json = .object([
            "sku": .string(sku), "title": .string(title), "price": price, "quantity": .integer(quantity),
        ])
    }
}

/// The lines, in the order in which their products were first added.
struct Cart: Equatable {
    private(set) var lines: [CartLine] = []

    /// An empty cart.
    init() {}

    /// The cart of `cart.items`; nil where that holds something else.
    init?(_ items: JSON) {
        guard let elements = items.elements else { return nil }
        for element in elements {
            guard let line = CartLine(element) else { return nil }
            lines.append(line)
        }
    }

    /// Adds a product, or raises its quantity; its title and price are then the new ones.
    mutating func add(_ product: Product, quantity: Int) throws(Rejection) {
        guard let index = lines.firstIndex(where: { $0.sku == product.sku }) else {
            guard lines.count < CartLimits.linesMax else {
                throw Rejection(sku: product.sku, .badRequest, "the cart has \(lines.count) lines already")
            }
            return lines.append(CartLine(product, quantity: quantity))
        }
        // Both are within the limits, so the sum is far from what an Int holds.
        let sum = lines[index].quantity + quantity
        guard CartLimits.quantities.contains(sum) else {
            throw Rejection(sku: product.sku, .badRequest, "\(sum) pieces are more than one cart takes")
        }
        lines[index] = CartLine(product, quantity: sum)
    }

    /// Takes a product out whole.
    mutating func remove(sku: String) throws(Rejection) {
        guard let index = lines.firstIndex(where: { $0.sku == sku }) else {
            throw Rejection(sku: sku, .unknownProduct, "it isn't in the cart")
        }
        lines.remove(at: index)
    }

    /// The value of `cart.items`.
    var json: JSON { .array(lines.map(\.json)) }
}
