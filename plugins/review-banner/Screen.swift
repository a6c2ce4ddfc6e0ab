// The values of `screen` and `reviews.<sku>`: what the user looks at, and a
// product's reviews. An unknown screen shows no product, and reviews without a
// count count as none.

import PlugboardClient

/// The screen that is shown.
enum Screen: Equatable {
    case list
    case detail(sku: String)
    /// No screen, or one that shows no product.
    case other

    init(_ value: JSON?) {
        switch value?["name"]?.string {
        case "list": self = .list
        case "detail":
            guard let sku = value?["sku"]?.string else { fallthrough }
            self = .detail(sku: sku)
        default: self = .other
        }
    }

    /// Whether the screen shows the product.
    func shows(_ sku: String) -> Bool {
        switch self {
        case .list: true
        case .detail(let own): own == sku
        case .other: false
        }
    }
}

/// A product's reviews.
struct Reviews: Equatable {
    /// As it is written on the bus; empty if there is none.
    let rating: String
    let count: Int

    /// Nil if there is no count.
    init?(_ value: JSON) {
        guard let count = value["count"]?.integer, count >= 0 else { return nil }
        self.count = count
        rating = value["rating"].flatMap { ExactDecimal($0) }?.description ?? ""
    }
}
