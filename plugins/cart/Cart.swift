// The cart: its lines, what may be in them, and their form on the bus. It knows
// nothing of the bus. Every change either happens completely, or throws and
// changes nothing.

import PlugboardClient

/// The most that a cart takes. Within these limits, every total fits in an `ExactDecimal`.
enum CartLimits {
    /// Pieces of one product, even if it is added several times.
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

    /// Reads `catalog.<sku>`. A product without a title gets its sku as one.
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
    /// The line as it is in `cart.items`. It is made once, however often the cart is written.
    let json: JSON

    /// Reads a line of `cart.items`; nil if it isn't one.
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

    /// The cart of `cart.items`; nil if that has another form.
    init?(_ items: JSON) {
        guard let elements = items.elements else { return nil }
        for element in elements {
            guard let line = CartLine(element) else { return nil }
            lines.append(line)
        }
    }

    /// Adds a product, or raises its quantity. The line gets the product's new title and price.
    @discardableResult
    mutating func add(_ product: Product, quantity: Int) throws(Rejection) -> LineChange {
        guard let index = lines.firstIndex(where: { $0.sku == product.sku }) else {
            guard lines.count < CartLimits.linesMax else {
                throw Rejection(sku: product.sku, .badRequest, "the cart has \(lines.count) lines already")
            }
            lines.append(CartLine(product, quantity: quantity))
            return LineChange(at: "-", lines[lines.count - 1].json)
        }
        // Both are within the limits, so the sum can't overflow.
        let sum = lines[index].quantity + quantity
        guard CartLimits.quantities.contains(sum) else {
            throw Rejection(sku: product.sku, .badRequest, "\(sum) pieces are more than one cart takes")
        }
        lines[index] = CartLine(product, quantity: sum)
        return LineChange(at: "\(index)", lines[index].json)
    }

    /// Removes a product with all its pieces.
    @discardableResult
    mutating func remove(sku: String) throws(Rejection) -> LineChange {
        guard let index = lines.firstIndex(where: { $0.sku == sku }) else {
            throw Rejection(sku: sku, .unknownProduct, "it isn't in the cart")
        }
        lines.remove(at: index)
        return LineChange(at: "\(index)", .null)
    }

    /// The number of pieces of a product.
    func quantity(of sku: String) -> Int { lines.first { $0.sku == sku }?.quantity ?? 0 }

    /// The value of `cart.items`.
    var json: JSON { .array(lines.map(\.json)) }
}

/// What a command changes of `cart.items`: one line.
struct LineChange: Equatable {
    /// The line's place, as a JSON Pointer. `/-` is the one behind the last.
    let field: String
    /// The line; null if it goes.
    let value: JSON

    init(at token: String, _ value: JSON) {
        field = "/" + token
        self.value = value
    }
}
