// What is asked of the cart, read from an event; and how a request is turned down.

import PlugboardClient

/// One request, checked as far as it can be without the catalogue.
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

    /// A removal takes the product out whole. One that names a quantity meant something
    /// else, and is better refused than understood wrongly.
    private static func sku(_ value: JSON?, allowsQuantity: Bool = true) throws(Rejection) -> String {
        guard let sku = value?["sku"]?.string, sku.isKeyToken else {
            throw Rejection(sku: value?["sku"]?.string, .badRequest, "\"sku\" is not a product's key")
        }
        if !allowsQuantity, value?["quantity"] != nil {
            throw Rejection(
                sku: sku,
                .badRequest,
                "cart.remove takes the product out whole, without a quantity"
            )
        }
        return sku
    }

    private static func quantity(_ value: JSON?) throws(Rejection) -> Int {
        guard let given = value?["quantity"] else { return 1 }
        guard let quantity = given.integer, CartLimits.quantities.contains(quantity) else {
            let bounds = "1 to \(CartLimits.quantities.upperBound)"
            throw Rejection(
                sku: value?["sku"]?.string,
                .badRequest,
                "\"quantity\" is a whole number, \(bounds)"
            )
        }
        return quantity
    }
}

/// Why a request is not carried out.
struct Rejection: Error, Equatable {
    enum Reason: String {
        case unknownProduct = "unknown_product"
        case notForSale = "not_for_sale"
        case badRequest = "bad_request"
    }

    /// As far as one could be read.
    let sku: String?
    let reason: Reason
    /// For the person who looks at this plugin's output.
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
