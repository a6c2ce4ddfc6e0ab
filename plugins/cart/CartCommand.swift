// The commands to the cart, read from events, and the reasons to refuse one. It knows
// neither the bus nor the catalogue. What it accepts is a well-formed command, and the cart
// may still refuse it.

import PlugboardClient

/// One command, checked as far as possible without the catalogue.
enum CartCommand: Equatable {
    case add(sku: String, quantity: Int)
    case remove(sku: String)
    case clear

    init(key: String, value: JSON?) throws(Rejection) {
        switch key {
        case "cart.add": self = try .add(sku: Self.sku(value), quantity: Self.quantity(value))
        case "cart.remove": self = try .remove(sku: Self.sku(value, allowsQuantity: false))
        case "cart.clear": self = .clear
        default: throw Rejection(sku: nil, .badRequest, "there is no command \(key)")
        }
    }

    /// A removal takes out all pieces. A removal with a quantity is refused, because its author expects
    /// something else.
    private static func sku(_ value: JSON?, allowsQuantity: Bool = true) throws(Rejection) -> String {
        guard let sku = value?["sku"]?.string, sku.isKeyToken else {
            throw Rejection(sku: value?["sku"]?.string, .badRequest, "\"sku\" is not a product's key")
        }
        if !allowsQuantity, value?["quantity"] != nil {
            throw Rejection(
                sku: sku, .badRequest, "cart.remove takes the product out whole, without a quantity"
            )
        }
        return sku
    }

    private static func quantity(_ value: JSON?) throws(Rejection) -> Int {
        guard let given = value?["quantity"] else { return 1 }
        guard let quantity = given.integer, CartLimits.quantities.contains(quantity) else {
            let bounds = "1 to \(CartLimits.quantities.upperBound)"
            throw Rejection(
                sku: value?["sku"]?.string, .badRequest, "\"quantity\" is a whole number, \(bounds)"
            )
        }
        return quantity
    }
}

/// Why a command is refused.
struct Rejection: Error, Equatable {
    enum Reason: String {
        case unknownProduct = "unknown_product"
        case notForSale = "not_for_sale"
        case badRequest = "bad_request"
    }

    /// The product's key, if it could be read.
    let sku: String?
    let reason: Reason
    /// The text for a person who reads this plugin's output.
    let explanation: String

    init(sku: String?, _ reason: Reason, _ explanation: String) {
        self.sku = sku
        self.reason = reason
        self.explanation = explanation
    }

    /// The value of `cart.rejected`.
    var json: JSON {
        .object(["sku": sku.map { .string($0) } ?? .null, "reason": .string(reason.rawValue)])
    }
}
